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

static bool follows(const llmprof_samples *samples, size_t row) {
  return row &&
         llmprof_values_get(samples->device, row - 1) ==
             llmprof_values_get(samples->device, row) &&
         llmprof_values_get(samples->end, row - 1) ==
             llmprof_values_get(samples->start, row);
}

/* Where a sample begins is told by the end of the one before it; where there
 * is none, by one without values. */
static void put_sample(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_samples *samples = from;
  uint32_t device = llmprof_id_at(samples->device, row);
  if (!follows(samples, row)) {
    nsys_put_integer(sheet, llmprof_values_get(samples->start, row));
    put_type(sheet, device);
    nsys_put_nulls(sheet, LLMPROF_SAMPLED);
    nsys_end_row(sheet);
  }
  nsys_put_integer(sheet, llmprof_values_get(samples->end, row));
  put_type(sheet, device);
  for (int i = 0; i < LLMPROF_SAMPLED; i++)
    nsys_put_integer(sheet, parts_of(llmprof_real_of(samples->values[i], row)));
  nsys_end_row(sheet);
}

/* Of each GPU that has samples. */
static void put_names(nsys_sheet *sheet, const void *from, size_t device) {
  const bool *is_sampled = from;
  char name[64];
  for (int i = 0; is_sampled[device] && i < LLMPROF_SAMPLED; i++) {
    snprintf(name, sizeof name, "%s%s", nsys_sampled_names[i],
             NSYS_SAMPLED_UNIT);
    put_type(sheet, (uint32_t)device);
    put_type(sheet, (uint32_t)device);
    nsys_put_null(sheet);
    nsys_put_integer(sheet, i);
    nsys_put_chars(sheet, name);
    nsys_end_row(sheet);
  }
}

bool nsys_write_samples(nsys_writer *w) {
  static const char *const values[] = {"timestamp",         "typeId",
                                       "grActive",          "smsActive",
                                       "tensorActive",      "dramReadBandwidth",
                                       "dramWriteBandwidth"};
  static const char *const names[] = {"typeId", "sourceId", "typeName TEXT",
                                      "metricId", "metricName TEXT"};
  bool is_sampled[NSYS_METRICS_GPU_MASK + 1] = {0};
  const llmprof_samples *samples =
      llmprof_trace_samples(w->trace, w->edit->err);
  if (!samples) return false;
  if (!llmprof_trace_has(w->trace, LLMPROF_TABLE_SAMPLES)) return true;
  for (size_t i = 0; i < samples->count; i++)
    is_sampled[llmprof_id_at(samples->device, i) & NSYS_METRICS_GPU_MASK] =
        true;
  return nsys_write_table(w, NSYS_SAMPLES_TABLE, values, COUNT(values),
                          put_sample, samples, samples->count) &&
         nsys_write_table(w, "TARGET_INFO_GPU_METRICS", names, COUNT(names),
                          put_names, is_sampled, COUNT(is_sampled));
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
