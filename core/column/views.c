/* Values that are made of others while they are read. */
#include "base/alloc.h"
#include "column/values_internal.h"

static llmprof_values *made(const void *view, size_t size) {
  return llmprof_memdup(view, size);
}

/* ---- some rows of others ---- */

typedef struct stretch {
  llmprof_values values;
  const llmprof_values *of;
  size_t first;
} stretch;

static int64_t get_stretch(const llmprof_values *values, size_t row) {
  const stretch *s = (const stretch *)values;
  return llmprof_values_get(s->of, s->first + row);
}

static void read_stretch(const llmprof_values *values, size_t first,
                         size_t count, int64_t *out) {
  const stretch *s = (const stretch *)values;
  s->of->way->read(s->of, s->first + first, count, out);
}

static void pick_stretch(const llmprof_values *values, int64_t *rows,
                         size_t count) {
  const stretch *s = (const stretch *)values;
  for (size_t i = 0; i < count; i++)
    if (rows[i] != LLMPROF_ABSENT) rows[i] += (int64_t)s->first;
  s->of->way->pick(s->of, rows, count);
}

static bool bound_stretch(const llmprof_values *values,
                          llmprof_values_bounds *bounds) {
  return llmprof_values_find_bounds(((const stretch *)values)->of, bounds);
}

static const llmprof_values_way by_stretch = {get_stretch, read_stretch,
                                              pick_stretch, bound_stretch};

llmprof_values *llmprof_values_from(const llmprof_values *of, size_t first) {
  const stretch view = {{.way = &by_stretch}, of, first};
  return made(&view, sizeof view);
}

/* ---- through a key ---- */

typedef struct lookup {
  llmprof_values values;
  const llmprof_values *key, *of;
} lookup;

static int64_t get_lookup(const llmprof_values *values, size_t row) {
  const lookup *l = (const lookup *)values;
  int64_t key = llmprof_values_get(l->key, row);
  return key == LLMPROF_ABSENT ? key : llmprof_values_get(l->of, (size_t)key);
}

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
  if (!llmprof_values_find_bounds(l->key, &keys)) return false;
  *bounds = (llmprof_values_bounds){INT64_MAX, INT64_MIN, false, false};
  if (!llmprof_values_find_bounds(l->of, bounds) &&
      !bound_few(l->of, keys.low, keys.high, bounds))
    return false;
  bounds->nulls |= keys.nulls;
  bounds->ascend = false;
  return true;
}

static const llmprof_values_way by_lookup = {get_lookup, read_lookup,
                                             pick_lookup, bound_lookup};

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

static int64_t get_computed(const llmprof_values *values, size_t row) {
  const computed *c = (const computed *)values;
  int64_t cells[LLMPROF_VALUES_IN], made_of;
  const int64_t *in[LLMPROF_VALUES_IN] = {NULL};
  for (size_t i = 0; i < c->count; i++) {
    cells[i] = llmprof_values_get(c->in[i], row);
    in[i] = &cells[i];
  }
  c->function(in, 1, &made_of);
  return made_of;
}

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

static const llmprof_values_way by_function = {get_computed, read_computed,
                                               pick_computed, NULL};

llmprof_values *llmprof_values_computed(llmprof_values_function function,
                                        const llmprof_values *const *in,
                                        size_t count) {
  computed view = {{.way = &by_function}, function, {NULL}, count};
  for (size_t i = 0; i < count; i++) view.in[i] = in[i];
  return made(&view, sizeof view);
}

/* ---- of small numbers in an array ---- */

typedef struct ids {
  llmprof_values values;
  const uint32_t *of;
} ids;

static inline int64_t id_at(const uint32_t *of, size_t row) {
  return of[row] == UINT32_MAX ? LLMPROF_ABSENT : (int64_t)of[row];
}

static int64_t get_id(const llmprof_values *values, size_t row) {
  return id_at(((const ids *)values)->of, row);
}

static void read_ids(const llmprof_values *values, size_t first, size_t count,
                     int64_t *out) {
  const uint32_t *of = ((const ids *)values)->of + first;
  for (size_t i = 0; i < count; i++) out[i] = id_at(of, i);
}

static void pick_ids(const llmprof_values *values, int64_t *rows,
                     size_t count) {
  const uint32_t *of = ((const ids *)values)->of;
  for (size_t i = 0; i < count; i++)
    if (rows[i] != LLMPROF_ABSENT) rows[i] = id_at(of, (size_t)rows[i]);
}

static const llmprof_values_way by_id = {get_id, read_ids, pick_ids, NULL};

llmprof_values *llmprof_values_ids(const uint32_t *of) {
  const ids view = {{.way = &by_id}, of};
  return made(&view, sizeof view);
}

/* ---- by what somebody says of a row ---- */

typedef struct asked {
  llmprof_values values;
  llmprof_values_getter get;
  const void *user;
} asked;

static int64_t get_asked(const llmprof_values *values, size_t row) {
  const asked *a = (const asked *)values;
  return a->get(a->user, row);
}

static void read_asked(const llmprof_values *values, size_t first, size_t count,
                       int64_t *out) {
  const asked *a = (const asked *)values;
  for (size_t i = 0; i < count; i++) out[i] = a->get(a->user, first + i);
}

static void pick_asked(const llmprof_values *values, int64_t *rows,
                       size_t count) {
  const asked *a = (const asked *)values;
  for (size_t i = 0; i < count; i++)
    if (rows[i] != LLMPROF_ABSENT) rows[i] = a->get(a->user, (size_t)rows[i]);
}

static const llmprof_values_way by_asking = {get_asked, read_asked, pick_asked,
                                             NULL};

llmprof_values *llmprof_values_of(llmprof_values_getter get, const void *user) {
  const asked view = {{.way = &by_asking}, get, user};
  return made(&view, sizeof view);
}
