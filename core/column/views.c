/* Values that are made of others while they are read. */
#include "base/alloc.h"
#include "column/values_internal.h"

static llmprof_values *made(const void *view, size_t size) {
  return llmprof_memdup(view, size);
}

/* ---- some rows of others ---- */

typedef struct slice {
  llmprof_values values;
  const llmprof_values *of;
  size_t first;
} slice;

static void read_slice(const llmprof_values *values, size_t first, size_t count,
                       int64_t *out) {
  const slice *s = (const slice *)values;
  s->of->way->read(s->of, s->first + first, count, out);
}

static void pick_slice(const llmprof_values *values, int64_t *rows,
                       size_t count) {
  const slice *s = (const slice *)values;
  for (size_t i = 0; i < count; i++)
    if (rows[i] != LLMPROF_ABSENT) rows[i] += (int64_t)s->first;
  s->of->way->pick(s->of, rows, count);
}

static bool bound_slice(const llmprof_values *values,
                        llmprof_values_bounds *bounds) {
  return llmprof_values_find_bounds(((const slice *)values)->of, bounds);
}

static const llmprof_values_way by_slice = {read_slice, pick_slice,
                                            bound_slice};

llmprof_values *llmprof_values_from(const llmprof_values *of, size_t first) {
  const slice view = {{.way = &by_slice}, of, first};
  return made(&view, sizeof view);
}

/* ---- through a key ---- */

typedef struct lookup {
  llmprof_values values;
  const llmprof_values *key, *of;
} lookup;

static void read_lookup(const llmprof_values *values, size_t first,
                        size_t count, int64_t *out) {
  const lookup *l = (const lookup *)values;
  l->key->way->read(l->key, first, count, out);
  l->of->way->pick(l->of, out, count);
}

static void pick_lookup(const llmprof_values *values, int64_t *rows,
                        size_t count) {
  const lookup *l = (const lookup *)values;
  l->key->way->pick(l->key, rows, count);
  l->of->way->pick(l->of, rows, count);
}

enum {
  MANY = 1 << 16 /* keys are more than few from here on */
};

/* Of what few keys lead to, all of it. */
static bool bound_few(const llmprof_values *of, int64_t low, int64_t high,
                      llmprof_values_bounds *bounds) {
  if (low > high || high - low >= MANY) return low > high;
  for (int64_t key = low; key <= high; key++) {
    int64_t value = llmprof_values_get(of, (size_t)key);
    if (value == LLMPROF_ABSENT) bounds->nulls = true;
    if (value == LLMPROF_ABSENT) continue;
    if (value < bounds->low) bounds->low = value;
    if (value > bounds->high) bounds->high = value;
  }
  return true;
}

static bool bound_lookup(const llmprof_values *values,
                         llmprof_values_bounds *bounds) {
  const lookup *l = (const lookup *)values;
  llmprof_values_bounds keys;
  bool known = llmprof_values_find_bounds(l->key, &keys);
  *bounds = (llmprof_values_bounds){INT64_MAX, INT64_MIN, false, false};
  if (!llmprof_values_find_bounds(l->of, bounds) &&
      !(known && bound_few(l->of, keys.low, keys.high, bounds)))
    return false;
  bounds->nulls |= !known || keys.nulls;
  bounds->ascend = false;
  return true;
}

static const llmprof_values_way by_lookup = {read_lookup, pick_lookup,
                                             bound_lookup};

llmprof_values *llmprof_values_lookup(const llmprof_values *key,
                                      const llmprof_values *of) {
  const lookup view = {{.way = &by_lookup}, key, of};
  return made(&view, sizeof view);
}

/* ---- by a function of others ---- */

typedef struct computed {
  llmprof_values values;
  llmprof_values_function function;
  const llmprof_values *in[LLMPROF_VALUES_IN];
  size_t count;
} computed;

static void read_computed(const llmprof_values *values, size_t first,
                          size_t count, int64_t *out) {
  const computed *c = (const computed *)values;
  int64_t blocks[LLMPROF_VALUES_IN][LLMPROF_BLOCK];
  const int64_t *in[LLMPROF_VALUES_IN] = {NULL};
  for (size_t i = 0; i < c->count; i++) {
    c->in[i]->way->read(c->in[i], first, count, blocks[i]);
    in[i] = blocks[i];
  }
  c->function(in, count, out);
}

/* Of rows that are none the function is not asked. */
static void pick_computed(const llmprof_values *values, int64_t *rows,
                          size_t count) {
  const computed *c = (const computed *)values;
  int64_t blocks[LLMPROF_VALUES_IN][LLMPROF_BLOCK], made_of[LLMPROF_BLOCK];
  const int64_t *in[LLMPROF_VALUES_IN] = {NULL};
  for (size_t i = 0; i < c->count; i++) {
    for (size_t k = 0; k < count; k++) blocks[i][k] = rows[k];
    c->in[i]->way->pick(c->in[i], blocks[i], count);
    in[i] = blocks[i];
  }
  c->function(in, count, made_of);
  for (size_t k = 0; k < count; k++)
    if (rows[k] != LLMPROF_ABSENT) rows[k] = made_of[k];
}

static const llmprof_values_way by_function = {read_computed, pick_computed,
                                               NULL};

llmprof_values *llmprof_values_computed(llmprof_values_function function,
                                        const llmprof_values *const *in,
                                        size_t count) {
  computed view = {{.way = &by_function}, function, {NULL}, count};
  for (size_t i = 0; i < count; i++) view.in[i] = in[i];
  return made(&view, sizeof view);
}

/* ---- of an array ---- */

typedef struct array {
  llmprof_values values;
  const void *of;
} array;

static inline int64_t id_at(const void *of, size_t row) {
  uint32_t id = ((const uint32_t *)of)[row];
  return id == UINT32_MAX ? LLMPROF_ABSENT : (int64_t)id;
}

static inline int64_t number_at(const void *of, size_t row) {
  return ((const int64_t *)of)[row];
}

static inline int64_t row_at(const void *of, size_t row) {
  (void)of;
  return (int64_t)row;
}

#define ARRAY(name)                                                            \
  static void read_##name(const llmprof_values *values, size_t first,          \
                          size_t count, int64_t *out) {                        \
    const void *of = ((const array *)values)->of;                              \
    for (size_t i = 0; i < count; i++) out[i] = name##_at(of, first + i);      \
  }                                                                            \
  static void pick_##name(const llmprof_values *values, int64_t *rows,         \
                          size_t count) {                                      \
    const void *of = ((const array *)values)->of;                              \
    for (size_t i = 0; i < count; i++)                                         \
      if (rows[i] != LLMPROF_ABSENT) rows[i] = name##_at(of, (size_t)rows[i]); \
  }                                                                            \
  static const llmprof_values_way by_##name = {read_##name, pick_##name, NULL};
ARRAY(id)
ARRAY(number)
ARRAY(row)

static llmprof_values *array_by(const llmprof_values_way *way, const void *of) {
  const array view = {{.way = way}, of};
  return made(&view, sizeof view);
}

llmprof_values *llmprof_values_ids(const uint32_t *of) {
  return array_by(&by_id, of);
}

llmprof_values *llmprof_values_numbers(const int64_t *of) {
  return array_by(&by_number, of);
}

llmprof_values *llmprof_values_rows(void) {
  return array_by(&by_row, NULL);
}
