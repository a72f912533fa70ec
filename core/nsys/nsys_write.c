/* A file in the schema of nsys: rows go table by table; StringIds comes last,
 * when it is known which strings are referred to. */
#include "llmprof/nsys_write.h"

#include "llmprof/alloc.h"
#include "nsys/nsys_writer.h"

static bool write_strings(nsys_writer *w) {
  static const char *const columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                        "value TEXT NOT NULL"};
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "StringIds", columns, 2);
  size_t count = llmprof_strings_count(w->strings);
  for (size_t i = 0; ok && i < count; i++) {
    if (!w->ids[i]) continue;
    nsys_put_integer(&sheet, w->ids[i]);
    nsys_put_text(&sheet, (uint32_t)i);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

static bool load_all(llmprof_trace *trace, llmprof_error *err) {
  size_t count;
  return llmprof_trace_details(trace, err) && llmprof_trace_calls(trace, err) &&
         llmprof_trace_ranges(trace, err) &&
         llmprof_trace_samples(trace, err) &&
         llmprof_trace_cpu_samples(trace, err) &&
         llmprof_trace_diagnostics(trace, &count, err);
}

static bool fill(llmprof_edit *edit, void *user) {
  nsys_writer *w = user;
  w->edit = edit;
  return llmprof_edit_run(edit, "BEGIN") && nsys_write_ops(w) &&
         nsys_write_calls(w) && nsys_write_ranges(w) && nsys_write_samples(w) &&
         nsys_write_cpu_samples(w) && nsys_write_target(w) &&
         write_strings(w) && llmprof_edit_run(edit, "COMMIT");
}

bool llmprof_nsys_write(llmprof_trace *trace, const char *to,
                        const char *product, const char *version,
                        llmprof_nsys_counts *written, llmprof_error *err) {
  if (!load_all(trace, err)) return false;
  nsys_writer w = {.trace = trace,
                   .product = product,
                   .version = version,
                   .strings = llmprof_trace_strings(trace)};
  w.ids = llmprof_zalloc(llmprof_strings_count(w.strings), sizeof *w.ids);
  if (!w.ids) return llmprof_fail_nomem(err);
  bool ok =
      llmprof_edit_new(llmprof_trace_path(trace), to, "written", fill, &w, err);
  llmprof_free(w.ids);
  if (ok && written) *written = w.counts;
  return ok;
}
