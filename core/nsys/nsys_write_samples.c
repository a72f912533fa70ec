/* Hardware samples, and what tables of nsys say of them; its values are whole
 * percents. */
#include <math.h>
#include <stdio.h>

#include "nsys/nsys_samples.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

static void put_type(nsys_sheet *sheet, uint32_t device) {
  nsys_put_integer(sheet, device & NSYS_METRICS_GPU_MASK);
}

/* ABSENT: none that fits. */
static int64_t parts_of(double percent) {
  double parts = percent * (double)NSYS_SAMPLES_PARTS;
  return fabs(parts) < 1e15 ? llround(parts) : LLMPROF_ABSENT;
}

static bool put_sample(nsys_sheet *sheet, const llmprof_samples *samples,
                       size_t row) {
  nsys_put_integer(sheet, llmprof_values_get(samples->end, row));
  put_type(sheet, llmprof_id_at(samples->device, row));
  for (int i = 0; i < LLMPROF_SAMPLED; i++)
    nsys_put_integer(sheet, parts_of(llmprof_real_of(samples->values[i], row)));
  return nsys_sheet_end_row(sheet);
}

/* Where a sample begins is told by the end of the one before it; where there
 * is none, by one without values. */
static bool put_beginning(nsys_sheet *sheet, const llmprof_samples *samples,
                          size_t row) {
  nsys_put_integer(sheet, llmprof_values_get(samples->start, row));
  put_type(sheet, llmprof_id_at(samples->device, row));
  for (int i = 0; i < LLMPROF_SAMPLED; i++) nsys_put_null(sheet);
  return nsys_sheet_end_row(sheet);
}

static bool follows(const llmprof_samples *samples, size_t row) {
  return row &&
         llmprof_values_get(samples->device, row - 1) ==
             llmprof_values_get(samples->device, row) &&
         llmprof_values_get(samples->end, row - 1) ==
             llmprof_values_get(samples->start, row);
}

static bool write_values(nsys_writer *w, const llmprof_samples *samples) {
  static const char *const columns[] = {
      "timestamp INTEGER",         "typeId INTEGER",
      "grActive INTEGER",          "smsActive INTEGER",
      "tensorActive INTEGER",      "dramReadBandwidth INTEGER",
      "dramWriteBandwidth INTEGER"};
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, NSYS_SAMPLES_TABLE, columns, COUNT(columns));
  for (size_t i = 0; ok && i < samples->count; i++)
    ok = (follows(samples, i) || put_beginning(&sheet, samples, i)) &&
         put_sample(&sheet, samples, i);
  nsys_sheet_close(&sheet);
  return ok;
}

static bool put_name(nsys_sheet *sheet, uint32_t device, int value) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", nsys_sampled_names[value],
           NSYS_SAMPLED_UNIT);
  put_type(sheet, device);
  put_type(sheet, device);
  nsys_put_null(sheet);
  nsys_put_integer(sheet, value);
  nsys_put_chars(sheet, name);
  return nsys_sheet_end_row(sheet);
}

static bool put_names(nsys_sheet *sheet, uint32_t device) {
  bool ok = true;
  for (int i = 0; ok && i < LLMPROF_SAMPLED; i++)
    ok = put_name(sheet, device, i);
  return ok;
}

static bool write_names(nsys_writer *w, const llmprof_samples *samples) {
  static const char *const columns[] = {"typeId INTEGER", "sourceId INTEGER",
                                        "typeName TEXT", "metricId INTEGER",
                                        "metricName TEXT"};
  bool named[NSYS_METRICS_GPU_MASK + 1] = {0};
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "TARGET_INFO_GPU_METRICS", columns,
                            COUNT(columns));
  for (size_t i = 0; ok && i < samples->count; i++) {
    uint32_t device = llmprof_id_at(samples->device, i);
    bool *is_named = &named[device & NSYS_METRICS_GPU_MASK];
    if (!*is_named) ok = put_names(&sheet, device);
    *is_named = true;
  }
  nsys_sheet_close(&sheet);
  return ok;
}

bool nsys_write_samples(nsys_writer *w) {
  const llmprof_samples *samples =
      llmprof_trace_samples(w->trace, w->edit->err);
  if (!samples) return false;
  if (!llmprof_trace_has(w->trace, LLMPROF_TABLE_SAMPLES)) return true;
  return write_values(w, samples) && write_names(w, samples);
}

/* ---- the view ---- */

bool llmprof_nsys_make_view(llmprof_edit *edit) {
  if (!llmprof_edit_has(edit, "main", NSYS_SAMPLES_TABLE, NULL) ||
      llmprof_edit_has(edit, "main", "GPU_METRICS", NULL))
    return true;
  llmprof_buffer sql = {0};
  const char *before = "CREATE VIEW main.GPU_METRICS AS";
  for (int i = 0; i < LLMPROF_SAMPLED; i++) {
    const char *column = nsys_sampled_columns[i];
    if (!llmprof_edit_has(edit, "main", NSYS_SAMPLES_TABLE, column)) continue;
    llmprof_buffer_printf(&sql,
                          "%s SELECT timestamp, typeId, %d AS metricId, "
                          "%s / %d.0 AS value FROM " NSYS_SAMPLES_TABLE,
                          before, i, column, NSYS_SAMPLES_PARTS);
    before = " UNION ALL";
  }
  return llmprof_edit_run_built(edit, &sql);
}

bool llmprof_nsys_drop_view(llmprof_edit *edit) {
  llmprof_buffer sql = {0};
  size_t views = 0;
  llmprof_buffer_puts(&sql, "SELECT count(*) FROM main.sqlite_master WHERE "
                            "type = 'view' AND name = 'GPU_METRICS'");
  return llmprof_edit_count(edit, &sql, &views) &&
         (!views || llmprof_edit_run(edit, "DROP VIEW main.GPU_METRICS"));
}
