/* A file in the schema of nsys: rows go table by table; StringIds comes last,
 * when it is known which strings are referred to. */
#include "nsys/nsys_write.h"

#include <stdlib.h>

#include "llmprof/alloc.h"
#include "nsys/nsys_samples.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

/* ---- strings ---- */

typedef struct string_use {
  uint32_t string, uses;
} string_use;

static int by_use(const void *left, const void *right) {
  const string_use *a = left, *b = right;
  if (a->uses != b->uses) return a->uses > b->uses ? -1 : 1;
  return a->string < b->string ? -1 : 1;
}

/* Numbered from 1, those that are referred to most often first; how many. */
static size_t number_strings(const nsys_writer *w, string_use *used) {
  size_t count = 0, all = llmprof_strings_count(w->strings);
  for (size_t i = 0; i < all; i++)
    if (w->uses[i]) used[count++] = (string_use){(uint32_t)i, w->uses[i]};
  qsort(used, count, sizeof *used, by_use);
  for (size_t i = 0; i < count; i++) w->ids[used[i].string] = (uint32_t)i + 1;
  return count;
}

static bool put_strings(nsys_writer *w, const string_use *used, size_t count) {
  static const char *const columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                        "value TEXT NOT NULL"};
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "StringIds", columns, 2);
  for (size_t i = 0; ok && i < count; i++) {
    nsys_put_integer(&sheet, w->ids[used[i].string]);
    nsys_put_text(&sheet, used[i].string);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

static bool write_strings(nsys_writer *w) {
  string_use *used =
      llmprof_alloc(llmprof_strings_count(w->strings) + 1, sizeof *used);
  if (!used) return llmprof_fail_nomem(w->edit->err);
  bool ok = put_strings(w, used, number_strings(w, used));
  llmprof_free(used);
  return ok;
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

static bool write_tables(nsys_writer *w, bool looking) {
  w->looking = looking;
  w->table = 0;
  w->counts = (llmprof_nsys_counts){0};
  return nsys_write_ops(w) && nsys_write_stacks(w) && nsys_write_calls(w) &&
         nsys_write_ranges(w) && nsys_write_samples(w) &&
         nsys_write_cpu_samples(w) && nsys_write_target(w) && write_strings(w);
}

static bool fill(llmprof_edit *edit, void *user) {
  nsys_writer *w = user;
  w->edit = edit;
  return write_tables(w, true) && llmprof_edit_run(edit, "BEGIN") &&
         write_tables(w, false) && nsys_add_common(w) &&
         llmprof_nsys_make_view(edit) && llmprof_edit_run(edit, "COMMIT");
}

static bool begin(nsys_writer *w) {
  size_t count = llmprof_strings_count(w->strings);
  w->ids = llmprof_zalloc(count, sizeof *w->ids);
  w->uses = llmprof_zalloc(count, sizeof *w->uses);
  return w->ids && w->uses;
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
  bool ok = begin(&w) ? llmprof_edit_new(llmprof_trace_path(trace), to,
                                         "written", fill, &w, err)
                      : llmprof_fail_nomem(err);
  llmprof_free(w.ids);
  llmprof_free(w.uses);
  llmprof_free(w.facts);
  if (ok && written) *written = w.counts;
  return ok;
}
