/* The cells of a trace's columns: columns of it as they are, and views of them.
 */
#include <string.h>

#include "base/alloc.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

static const llmprof_values *column_at(const llmprof_trace *trace, size_t at) {
  const llmprof_values *there;
  memcpy(&there, (const char *)trace + at, sizeof there);
  return there;
}

static bool load(llmprof_trace *trace, const llmprof_column_spec *spec,
                 llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; i < LLMPROF_VALUES_IN; i++) {
    const size_t ats[] = {spec->in[i].of, spec->in[i].key, spec->in[i].through};
    for (int k = 0; ok && k < 3; k++)
      ok = !ats[k] ||
           llmprof_trace_load(trace, llmprof_column_piece(ats[k]), err);
  }
  return ok;
}

/* ---- views ---- */

static const llmprof_values *source(const llmprof_trace *trace,
                                    const llmprof_source *from,
                                    llmprof_frame *frame) {
  const llmprof_values *of = column_at(trace, from->of);
  if (!from->key) return of;
  const llmprof_values *key = column_at(trace, from->key);
  if (from->through)
    key = llmprof_frame_lookup(frame, column_at(trace, from->through), key);
  return llmprof_frame_lookup(frame, key, of);
}

static const llmprof_values *compute(const llmprof_trace *trace,
                                     const llmprof_column_spec *spec,
                                     llmprof_frame *frame) {
  const llmprof_values *in[LLMPROF_VALUES_IN];
  size_t count = 0;
  for (; count < LLMPROF_VALUES_IN && spec->in[count].of; count++) {
    in[count] = source(trace, &spec->in[count], frame);
    if (!in[count]) return NULL;
  }
  return llmprof_frame_keep(frame,
                            llmprof_values_computed(spec->function, in, count));
}

/* What the getter says of each number that in[0] may be or, without that, of
 * each row. */
static const llmprof_values *say(const llmprof_axis *from,
                                 const llmprof_column_spec *spec,
                                 llmprof_frame *frame) {
  const llmprof_source *in = &spec->in[0];
  size_t count = from->first + from->count;
  llmprof_values_bounds numbers;
  if (in->of &&
      llmprof_values_find_bounds(column_at(from->trace, in->of), &numbers))
    count = numbers.high < 0 ? 0 : (size_t)numbers.high + 1;
  int64_t *said = llmprof_alloc(count, sizeof *said);
  for (size_t i = 0; said && i < count; i++)
    said[i] = spec->get(from->trace, i);
  if (!said || !llmprof_frame_own(frame, said)) return NULL;
  const llmprof_values *of = llmprof_frame_array(frame, LLMPROF_I64, said);
  return of && in->of
             ? llmprof_frame_lookup(frame, source(from->trace, in, frame), of)
             : of;
}

static const llmprof_values *values_of(const llmprof_axis *from,
                                       const llmprof_column_spec *spec,
                                       llmprof_frame *frame) {
  if (spec->function) return compute(from->trace, spec, frame);
  if (spec->get) return say(from, spec, frame);
  return source(from->trace, &spec->in[0], frame);
}

static bool is_row_number(const llmprof_column_spec *spec) {
  return !spec->function && !spec->get && !spec->in[0].of;
}

bool llmprof_trace_cells(const llmprof_axis *from,
                         const llmprof_column_spec *spec, llmprof_frame *frame,
                         llmprof_column *column, llmprof_error *err) {
  if (!load(from->trace, spec, err)) return false;
  bool number = is_row_number(spec);
  column->values = !number ? values_of(from, spec, frame)
                   : from->rows
                       ? from->rows
                       : llmprof_frame_keep(frame, llmprof_values_rows());
  if (column->values && from->rows && !number)
    column->values = llmprof_frame_lookup(frame, from->rows, column->values);
  else if (column->values && from->first)
    column->values = llmprof_frame_keep(
        frame, llmprof_values_from(column->values, from->first));
  return column->values || llmprof_fail_nomem(err);
}
