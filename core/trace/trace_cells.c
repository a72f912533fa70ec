/* The cells of a trace's columns: arrays and columns of it as they are, and
 * views of them; nothing is copied. */
#include <string.h>

#include "base/alloc.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

static const void *pointer_at(const llmprof_trace *trace, size_t at) {
  const void *there;
  memcpy(&there, (const char *)trace + at, sizeof there);
  return there;
}

static size_t count_at(const llmprof_trace *trace, size_t at) {
  size_t count;
  memcpy(&count, (const char *)trace + at, sizeof count);
  return count;
}

static size_t size_of(llmprof_column_type type) {
  bool wide = type == LLMPROF_I64 || type == LLMPROF_F64;
  return wide ? sizeof(int64_t) : sizeof(uint32_t);
}

/* ---- what it takes ---- */

static bool load_needs(llmprof_trace *trace, llmprof_column_needs needs,
                       llmprof_error *err) {
  if (needs == NEEDS_DETAILS)
    return llmprof_trace_load(trace, LLMPROF_PART_DETAILS, err);
  if (needs == NEEDS_LINKS) return llmprof_trace_load_links(trace, err);
  if (needs == NEEDS_ATTRIBUTION)
    return llmprof_trace_attribution(trace, err) != NULL;
  return true;
}

/* What a getter may look at. */
static bool load_rows(const llmprof_axis *from, const llmprof_column_spec *spec,
                      llmprof_error *err) {
  bool is_part = from->piece < LLMPROF_PARTS;
  if (is_part &&
      !llmprof_trace_load(from->trace, (llmprof_part)from->piece, err))
    return false;
  return load_needs(from->trace, is_part ? spec->needs : NEEDS_ATTRIBUTION,
                    err);
}

static bool have(llmprof_trace *trace, size_t at, llmprof_error *err) {
  return !at || llmprof_trace_have(trace, at, err);
}

static bool have_all(llmprof_trace *trace, const llmprof_column_spec *spec,
                     llmprof_error *err) {
  bool ok = have(trace, spec->array, err) && have(trace, spec->index, err);
  for (size_t i = 0; ok && i < LLMPROF_VALUES_IN; i++)
    ok = have(trace, spec->in[i].key, err) && have(trace, spec->in[i].of, err);
  return ok;
}

/* Twice: when something is no good, what was looked at before is read anew. */
static bool load(const llmprof_axis *from, const llmprof_column_spec *spec,
                 llmprof_error *err) {
  if (spec->get && !load_rows(from, spec, err)) return false;
  return have_all(from->trace, spec, err) && have_all(from->trace, spec, err);
}

/* ---- views ---- */

/* A view becomes the frame's; NULL is for want of memory. */
static const llmprof_values *own(llmprof_frame *frame, llmprof_values *view) {
  return view && llmprof_frame_own(frame, view) ? view : NULL;
}

static const llmprof_values *source(const llmprof_trace *trace,
                                    const llmprof_source *from,
                                    llmprof_frame *frame) {
  const llmprof_values *of = pointer_at(trace, from->of);
  if (!from->key) return of;
  return own(frame, llmprof_values_lookup(pointer_at(trace, from->key), of));
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
  return own(frame, llmprof_values_computed(spec->function, in, count));
}

/* Whom a getter is asked of. */
typedef struct asked {
  const llmprof_trace *trace;
  llmprof_getter get;
} asked;

static int64_t ask(const void *user, size_t row) {
  const asked *a = user;
  return a->get(a->trace, row);
}

static const llmprof_values *ask_of(const llmprof_trace *trace,
                                    const llmprof_column_spec *spec,
                                    llmprof_frame *frame) {
  const asked of = {trace, spec->get};
  void *user = llmprof_memdup(&of, sizeof of);
  if (!user || !llmprof_frame_own(frame, user)) return NULL;
  const llmprof_values *values = own(frame, llmprof_values_of(ask, user));
  if (!values || !spec->in[0].of) return values;
  const llmprof_values *number = source(trace, &spec->in[0], frame);
  return number ? own(frame, llmprof_values_lookup(number, values)) : NULL;
}

static const llmprof_values *values_of(const llmprof_trace *trace,
                                       const llmprof_column_spec *spec,
                                       llmprof_frame *frame) {
  if (spec->function) return compute(trace, spec, frame);
  if (spec->get) return ask_of(trace, spec, frame);
  return source(trace, &spec->in[0], frame);
}

/* ---- by column ---- */

static void point(const llmprof_axis *from, const llmprof_column_spec *spec,
                  llmprof_column *column) {
  const char *array = pointer_at(from->trace, spec->array);
  column->data = array ? array + from->first * size_of(spec->type) : NULL;
}

/* What is asked of numbers that lie in an array. */
static void reach(const llmprof_axis *from, const llmprof_column_spec *spec,
                  llmprof_frame *frame, llmprof_column *column) {
  const uint32_t *index = pointer_at(from->trace, spec->index);
  column->index = index ? index + from->first : NULL;
  llmprof_frame_set_items(frame, llmprof_frame_find(frame, column->name),
                          count_at(from->trace, spec->domain));
}

bool llmprof_trace_cells(const llmprof_axis *from,
                         const llmprof_column_spec *spec, llmprof_frame *frame,
                         llmprof_column *column, llmprof_error *err) {
  if (from->index && spec->get == llmprof_row_number) {
    column->data = from->index;
    column->index = NULL;
    return true;
  }
  if (!load(from, spec, err)) return false;
  if (spec->array) {
    point(from, spec, column);
    return true;
  }
  column->values = values_of(from->trace, spec, frame);
  if (spec->index)
    reach(from, spec, frame, column);
  else if (column->values && from->first)
    column->values =
        own(frame, llmprof_values_from(column->values, from->first));
  return column->values || llmprof_fail_nomem(err);
}
