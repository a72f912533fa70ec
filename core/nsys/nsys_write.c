/* A file in the schema of nsys: rows go table by table; StringIds comes last,
 * when it is known which strings are referred to. */
#include "nsys/nsys_write.h"

#include "llmprof/alloc.h"
#include "nsys/nsys_samples.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

/* ---- strings ---- */

static void put_string(nsys_sheet *sheet, const void *from, size_t string) {
  const nsys_writer *w = from;
  if (!w->referred[string]) return;
  nsys_put_integer(sheet, (int64_t)string + 1);
  nsys_put_text(sheet, (uint32_t)string);
  nsys_end_row(sheet);
}

static bool write_strings(nsys_writer *w) {
  static const char *const columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                        "value TEXT NOT NULL"};
  return nsys_write_table(w, "StringIds", columns, COUNT(columns), put_string,
                          w, llmprof_strings_count(w->strings));
}

/* ---- tables ---- */

static bool load_all(llmprof_trace *trace, llmprof_error *err) {
  size_t count;
  return llmprof_trace_ops(trace, err) && llmprof_trace_details(trace, err) &&
         llmprof_trace_calls(trace, err) && llmprof_trace_ranges(trace, err) &&
         llmprof_trace_samples(trace, err) &&
         llmprof_trace_cpu_samples(trace, err) &&
         llmprof_trace_op_stacks(trace, err) &&
         llmprof_trace_diagnostics(trace, &count, err);
}

static bool fill(llmprof_edit *edit, void *user) {
  nsys_writer *w = user;
  w->edit = edit;
  return llmprof_edit_run(edit, "BEGIN") && nsys_write_ops(w) &&
         nsys_write_stacks(w) && nsys_write_calls(w) && nsys_write_ranges(w) &&
         nsys_write_samples(w) && nsys_write_cpu_samples(w) &&
         nsys_write_target(w) && write_strings(w) &&
         llmprof_nsys_make_view(edit) && llmprof_edit_run(edit, "COMMIT");
}

bool llmprof_nsys_write(llmprof_trace *trace, const char *to,
                        const char *product, const char *version,
                        llmprof_nsys_counts *written, llmprof_error *err) {
  if (!load_all(trace, err)) return false;
  nsys_writer w = {.trace = trace,
                   .product = product,
                   .version = version,
                   .strings = llmprof_trace_strings(trace)};
  w.stacks = llmprof_trace_knows(trace, LLMPROF_KNOWS_LINES, NULL) == 1;
  w.referred = llmprof_zalloc(llmprof_strings_count(w.strings) + 1, 1);
  bool ok = w.referred
                ? llmprof_edit_make(LLMPROF_EDIT_NEW, llmprof_trace_path(trace),
                                    to, "written", fill, &w, err)
                : llmprof_fail_nomem(err);
  llmprof_free(w.referred);
  if (ok && written) *written = w.counts;
  return ok;
}
