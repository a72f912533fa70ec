/* The cells of a trace's columns: aliases of its arrays where these have them,
 * since a copy of eight million cells costs more than most questions. */
#include <string.h>

#include "base/alloc.h"
#include "base/crew.h"
#include "base/interrupt.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

static const void *array_at(const llmprof_trace *trace, size_t offset) {
  const void *array;
  memcpy(&array, (const char *)trace + offset, sizeof array);
  return array;
}

static size_t count_at(const llmprof_trace *trace, size_t offset) {
  size_t count;
  memcpy(&count, (const char *)trace + offset, sizeof count);
  return count;
}

static size_t size_of(llmprof_column_type type) {
  bool wide = type == LLMPROF_I64 || type == LLMPROF_F64;
  return wide ? sizeof(int64_t) : sizeof(uint32_t);
}

/* ---- computing ---- */

enum {
  PART = 1 << 16 /* cells that are worth a thread's turn */
};

/* Cells that are made of getters' answers, in parts on all threads. */
typedef struct making {
  const llmprof_trace *trace;
  llmprof_getter get;
  size_t first, count;
  uint32_t *shorts; /* one of the two */
  int64_t *longs;
  _Atomic bool too_long; /* a cell is no short one */
} making;

static size_t part_end(const making *m, size_t part) {
  size_t end = (part + 1) * PART;
  return end < m->count ? end : m->count;
}

static void make_longs(const making *m, size_t part) {
  for (size_t i = part * PART; i < part_end(m, part); i++)
    m->longs[i] = m->get(m->trace, m->first + i);
}

/* False at the first cell that is too long. */
static bool make_shorts(const making *m, size_t part) {
  for (size_t i = part * PART; i < part_end(m, part); i++) {
    int64_t value = m->get(m->trace, m->first + i);
    bool is_short = value >= 0 && value < UINT32_MAX;
    if (!is_short && value != LLMPROF_ABSENT) return false;
    m->shorts[i] = is_short ? (uint32_t)value : UINT32_MAX;
  }
  return true;
}

static bool make_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)worker;
  making *m = user;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (m->longs)
    make_longs(m, part);
  else if (!m->too_long && !make_shorts(m, part))
    m->too_long = true;
  return true;
}

static bool make_all(making *m, llmprof_error *err) {
  size_t parts = (m->count + PART - 1) / PART;
  llmprof_crew crew = {.parts = parts, .work = make_part, .user = m};
  return llmprof_crew_run(&crew, llmprof_crew_size(parts), err);
}

/* Integers take four bytes each where all of them fit. */
static void *compute(const llmprof_trace *trace, llmprof_getter get,
                     size_t first, size_t count, llmprof_column_type *type,
                     llmprof_error *err) {
  making m = {.trace = trace, .get = get, .first = first, .count = count};
  m.shorts = llmprof_alloc(count, sizeof *m.shorts);
  bool ok = m.shorts ? make_all(&m, err) : llmprof_fail_nomem(err);
  if (ok && !m.too_long) {
    if (*type == LLMPROF_I64) *type = LLMPROF_U32;
    return m.shorts;
  }
  llmprof_free(m.shorts);
  if (!ok) return NULL;
  *type = LLMPROF_I64;
  m.longs = llmprof_alloc(count, sizeof *m.longs);
  if (!m.longs) return llmprof_fail_nomem(err), NULL;
  if (make_all(&m, err)) return m.longs;
  llmprof_free(m.longs);
  return NULL;
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

/* ---- what is kept ---- */

static const llmprof_kept_cells *find_kept(const llmprof_trace *trace,
                                           llmprof_getter get, size_t count) {
  for (size_t i = 0; i < trace->kept_count; i++) {
    if (trace->kept[i].get == get && trace->kept[i].count >= count)
      return &trace->kept[i];
  }
  return NULL;
}

/* Where a shared column is declared, by which it is known on a shelf; texts are
 * made sooner than they are looked over. */
static void name_kept(const llmprof_column_spec *spec,
                      llmprof_kept_cells *kept) {
  static const struct {
    const char *name;
    const llmprof_column_spec *specs;
  } tables[] = {{"ops", llmprof_gpu_columns}, {"api", llmprof_api_columns}};
  bool goes = spec->shared && spec->type != LLMPROF_STRING_ID;
  for (size_t i = 0; goes && i < sizeof tables / sizeof *tables; i++) {
    for (const llmprof_column_spec *s = tables[i].specs; s->name; s++) {
      if (!s->shared || s->get != spec->get) continue;
      kept->table = tables[i].name;
      kept->column = s->name;
      return;
    }
  }
}

/* Has the trace the cells as they are to be? */
static bool borrow_shorts(const llmprof_trace *trace,
                          const llmprof_column_spec *spec,
                          llmprof_kept_cells *made) {
  const void *cells = spec->shorts ? array_at(trace, spec->shorts) : NULL;
  if (!cells) return false;
  memcpy(&made->data, &cells, sizeof cells);
  made->type = LLMPROF_U32;
  made->borrowed = true;
  return true;
}

static bool fill_kept(const llmprof_axis *from, const llmprof_column_spec *spec,
                      size_t count, llmprof_kept_cells *made,
                      llmprof_error *err) {
  name_kept(spec, made);
  if (made->column &&
      llmprof_image_kept(from->trace, made->table, made->column, count, made))
    return true;
  made->count = count;
  if (!load_rows(from, spec, err)) return false;
  if (borrow_shorts(from->trace, spec, made)) return true;
  made->data = compute(from->trace, spec->get, 0, count, &made->type, err);
  return made->data != NULL;
}

/* The cells of rows 0 .. count - 1; more come with a trace that grows. */
static const llmprof_kept_cells *keep(const llmprof_axis *from,
                                      const llmprof_column_spec *spec,
                                      size_t count, llmprof_error *err) {
  llmprof_trace *trace = from->trace;
  const llmprof_kept_cells *found = find_kept(trace, spec->get, count);
  if (found) return found;
  llmprof_kept_cells made = {.get = spec->get, .type = spec->type};
  if (!fill_kept(from, spec, count, &made, err)) return NULL;
  if (!llmprof_grow(&trace->kept, &trace->kept_cap, trace->kept_count + 1,
                    sizeof *trace->kept)) {
    if (!made.borrowed) llmprof_free(made.data);
    return llmprof_fail_nomem(err), NULL;
  }
  trace->kept[trace->kept_count] = made;
  return &trace->kept[trace->kept_count++];
}

/* ---- by column ---- */

/* At cells of an array from the first on, or at those that they are the sum of
 * where these are there instead. */
static void point(const llmprof_trace *trace, const llmprof_column_spec *spec,
                  size_t first, llmprof_column *column) {
  const char *array = array_at(trace, spec->array);
  size_t width = size_of(spec->type);
  if (!array && spec->took && !(trace->narrow.kept & LLMPROF_CALLS_LAUNCHES)) {
    const uint32_t *took = array_at(trace, spec->took);
    array = took ? array_at(trace, spec->from) : NULL;
    column->plus = array ? took + first : NULL;
  }
  column->data = array ? array + first * width : NULL;
}

/* Both at once: when one is no good the other is read anew, too. */
static bool have_both(llmprof_trace *trace, size_t index, size_t array,
                      llmprof_error *err) {
  return llmprof_trace_have(trace, index, err) &&
         (!array || (llmprof_trace_have(trace, array, err) &&
                     llmprof_trace_have(trace, index, err)));
}

/* The cells of the things that rows are about. */
static bool keep_things(const llmprof_axis *from,
                        const llmprof_column_spec *spec, llmprof_frame *frame,
                        llmprof_column *column, llmprof_error *err) {
  size_t count = count_at(from->trace, spec->domain);
  const llmprof_kept_cells *kept = keep(from, spec, count, err);
  if (!kept) return false;
  llmprof_frame_set_items(frame, llmprof_frame_find(frame, column->name),
                          count);
  column->data = kept->data;
  column->type = kept->type;
  return true;
}

static bool reach(const llmprof_axis *from, const llmprof_column_spec *spec,
                  llmprof_frame *frame, llmprof_column *column,
                  llmprof_error *err) {
  llmprof_trace *trace = from->trace;
  if (!have_both(trace, spec->index, spec->array, err)) return false;
  if (spec->array)
    point(trace, spec, 0, column);
  else if (!keep_things(from, spec, frame, column, err))
    return false;
  if (!llmprof_trace_have(trace, spec->index, err)) return false;
  const uint32_t *index = array_at(trace, spec->index);
  column->index = index ? index + from->first : NULL;
  return true;
}

/* Of rows that are reached through an index themselves, once for all columns.
 */
static bool compose(llmprof_frame *frame, llmprof_axis *from, llmprof_getter by,
                    const uint32_t *numbers, llmprof_error *err) {
  if (from->by == by) return true;
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *made = llmprof_alloc(rows, sizeof *made);
  if (!made || !llmprof_frame_own(frame, made)) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < rows; i++)
    made[i] =
        from->index[i] == LLMPROF_NONE ? LLMPROF_NONE : numbers[from->index[i]];
  from->numbers = made;
  from->by = by;
  return true;
}

/* What `by` says of rows; NULL on failure. */
static const uint32_t *numbers_of(const llmprof_axis *from,
                                  const llmprof_column_spec *spec,
                                  llmprof_error *err) {
  const llmprof_column_spec number = {
      .type = LLMPROF_U32, .needs = spec->needs, .get = spec->by};
  if (!load_rows(from, spec, err)) return NULL;
  const uint32_t *there =
      spec->numbers ? array_at(from->trace, spec->numbers) : NULL;
  if (there) return there + from->first;
  const llmprof_kept_cells *kept = keep(from, &number, from->all, err);
  return kept ? (const uint32_t *)kept->data + from->first : NULL;
}

/* The same by numbers that are computed. */
static bool reach_by(llmprof_axis *from, const llmprof_column_spec *spec,
                     llmprof_frame *frame, llmprof_column *column,
                     llmprof_error *err) {
  const uint32_t *numbers = numbers_of(from, spec, err);
  if (!numbers || !keep_things(from, spec, frame, column, err)) return false;
  if (from->index && !compose(frame, from, spec->by, numbers, err))
    return false;
  column->index = from->index ? from->numbers : numbers;
  return true;
}

/* ---- operations that are twins ---- */

static int64_t twin_of(const llmprof_trace *trace, size_t op) {
  return trace->narrow.twins.of_op[op];
}

static bool reach_twins(llmprof_axis *from, const llmprof_column_spec *spec,
                        llmprof_frame *frame, llmprof_column *column,
                        llmprof_error *err) {
  const llmprof_column_spec kinds = {.type = spec->type,
                                     .needs = spec->needs,
                                     .domain = AT(narrow.twins.kinds.count),
                                     .get = spec->twin};
  const uint32_t *numbers = from->trace->narrow.twins.of_op + from->first;
  if (!keep_things(from, &kinds, frame, column, err)) return false;
  if (from->index && !compose(frame, from, twin_of, numbers, err)) return false;
  column->index = from->index ? from->numbers : numbers;
  return true;
}

/* ---- launches that are kept by operation ---- */

static bool is_of_launch(const llmprof_trace *trace,
                         const llmprof_column_spec *spec) {
  if (spec->near) return llmprof_narrow_is_near(trace);
  return spec->index == AT(attribution.call) && llmprof_narrow_launches(trace);
}

static bool share(const llmprof_axis *from, const llmprof_column_spec *spec,
                  llmprof_column *column, llmprof_error *err) {
  const llmprof_kept_cells *kept = keep(from, spec, from->all, err);
  if (!kept) return false;
  column->type = kept->type;
  column->data = (const char *)kept->data + from->first * size_of(kept->type);
  return true;
}

static bool alias(const llmprof_axis *from, const llmprof_column_spec *spec,
                  size_t at, llmprof_column *column, llmprof_error *err) {
  llmprof_column_spec there = *spec;
  there.array = at;
  if (!llmprof_trace_have(from->trace, at, err)) return false;
  point(from->trace, &there, from->first, column);
  return column->data || !from->count ||
         llmprof_fail(err, LLMPROF_UNSUPPORTED, "%s: '%s' is not kept",
                      from->trace->path, spec->name);
}

/* The same where they are kept shorter than the column says. */
static bool alias_short(const llmprof_axis *from,
                        const llmprof_column_spec *spec, size_t at,
                        llmprof_column *column, llmprof_error *err) {
  llmprof_column_spec shorter = *spec;
  column->type = shorter.type = LLMPROF_U32;
  return alias(from, &shorter, at, column, err);
}

/* What names of kernels tell, reached through these. */
static bool by_name(const llmprof_axis *from, const llmprof_column_spec *spec,
                    llmprof_frame *frame, llmprof_column *column,
                    llmprof_error *err) {
  const llmprof_trace *trace = from->trace;
  if (!llmprof_trace_have(from->trace, spec->array, err)) return false;
  const uint32_t *of = array_at(trace, spec->of_name);
  if (!of) return alias(from, spec, spec->array, column, err);
  column->data = of;
  column->index = trace->ops.name + from->first;
  llmprof_frame_set_items(frame, llmprof_frame_find(frame, column->name),
                          trace->narrow.names.reach);
  return true;
}

static bool make(const llmprof_axis *from, const llmprof_column_spec *spec,
                 llmprof_frame *frame, llmprof_column *column,
                 llmprof_error *err) {
  if (!load_rows(from, spec, err)) return false;
  void *data = compute(from->trace, spec->get, from->first, from->count,
                       &column->type, err);
  if (!data) return false;
  column->data = data;
  return llmprof_frame_own(frame, data) || llmprof_fail_nomem(err);
}

static bool of_launch(const llmprof_axis *from, const llmprof_column_spec *spec,
                      llmprof_frame *frame, llmprof_column *column,
                      llmprof_error *err) {
  const llmprof_trace *trace = from->trace;
  if (spec->near) return alias_short(from, spec, spec->near, column, err);
  if (spec->array == AT(calls.name))
    return alias(from, spec, AT(narrow.launched.name), column, err);
  return trace->ops.start || !from->count
             ? make(from, spec, frame, column, err)
             : alias(from, spec, AT(ops.start), column, err);
}

bool llmprof_trace_cells(llmprof_axis *from, const llmprof_column_spec *spec,
                         llmprof_frame *frame, llmprof_column *column,
                         llmprof_error *err) {
  if (from->index && spec->get == llmprof_row_number) {
    column->data = from->index;
    column->index = NULL;
    return true;
  }
  bool narrow = from->trace->narrow.kept & LLMPROF_CALLS_LAUNCHES;
  if (narrow && !load_needs(from->trace, spec->needs, err)) return false;
  if (spec->twin && from->trace->narrow.twins.of_op)
    return reach_twins(from, spec, frame, column, err);
  if (is_of_launch(from->trace, spec))
    return of_launch(from, spec, frame, column, err);
  if (spec->index) return reach(from, spec, frame, column, err);
  if (spec->by) return reach_by(from, spec, frame, column, err);
  if (spec->shared) return share(from, spec, column, err);
  if (spec->of_name) return by_name(from, spec, frame, column, err);
  return spec->array ? alias(from, spec, spec->array, column, err)
                     : make(from, spec, frame, column, err);
}
