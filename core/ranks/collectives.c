#include "ranks/collectives.h"

#include "base/interrupt.h"
#include "frame/intern.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "ranks/timeline.h"

/* ---- numbering ---- */

bool llmprof_collectives_number(llmprof_frame *rows,
                                const llmprof_collective_columns *columns,
                                const char *name, llmprof_error *err) {
  const llmprof_column *key;
  timeline line = {0};
  size_t count = llmprof_frame_rows(rows);
  int64_t *ordinals = llmprof_absent_cells(count);
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
  int64_t *next = llmprof_zalloc(count, sizeof *next); /* by pair */
  bool ok = ((ordinals && next) || llmprof_fail_nomem(err)) &&
            timeline_columns(rows, &columns->key, 1, &key, err) &&
            timeline_make(&line, rows, columns->start, columns->rank, err);
  for (size_t i = 0; ok && i < line.count; i++) {
    uint32_t row = line.rows[i], pair;
    int64_t of[2] = {line.keys[row], key ? llmprof_cell(key, row) : 0};
    if (of[1] == LLMPROF_ABSENT) continue;
    ok = llmprof_intern_add(&pairs, of, &pair) || llmprof_fail_nomem(err);
    if (ok) ordinals[row] = next[pair]++;
    if (llmprof_interrupted_at(i)) ok = llmprof_fail_interrupted(err);
  }
  llmprof_intern_free(&pairs);
  llmprof_free(next);
  timeline_free(&line);
  if (ok)
    return llmprof_frame_give(rows, name, NULL, LLMPROF_I64, ordinals, err);
  llmprof_free(ordinals);
  return false;
}

/* ---- matching ---- */

enum {
  INSTANCE,
  MEMBERS,
  WAITING,
  TRANSFER,
  SKEW,
  LATE,
  CAUSED,
  MATCHED,
};

static const struct {
  const char *name, *unit;
} matched[MATCHED] = {
    [INSTANCE] = {"instance", NULL}, [MEMBERS] = {"members", NULL},
    [WAITING] = {"waiting", "ns"},   [TRANSFER] = {"transfer", "ns"},
    [SKEW] = {"skew", "ns"},         [LATE] = {"late", "ns"},
    [CAUSED] = {"caused", "ns"},
};

enum {
  BY_RANK,
  BY_START,
  BY_END,
  BY_KEY,
  BY_ORDINAL,
  BY_LAG, /* none of its own: taken from the ordinal */
  INPUTS,
};

/* The rows that take part, ordered so that those of one collective are side by
 * side, by rank. */
typedef struct meeting {
  size_t rows, count;
  int64_t *in[INPUTS]; /* by row */
  int64_t *out[MATCHED];
  uint32_t *order;
} meeting;

static bool meeting_make(meeting *m, size_t rows) {
  *m = (meeting){.rows = rows, .order = llmprof_alloc(rows, sizeof *m->order)};
  bool ok = m->order != NULL;
  for (int i = 0; i < INPUTS; i++) {
    m->in[i] = llmprof_alloc(rows, sizeof **m->in);
    ok = ok && m->in[i];
  }
  for (int i = 0; i < MATCHED; i++) {
    m->out[i] = llmprof_absent_cells(rows);
    ok = ok && m->out[i];
  }
  return ok;
}

static void meeting_free(meeting *m) {
  for (int i = 0; i < INPUTS; i++) llmprof_free(m->in[i]);
  for (int i = 0; i < MATCHED; i++) llmprof_free(m->out[i]);
  llmprof_free(m->order);
}

static bool meeting_read(meeting *m, llmprof_frame *rows,
                         const llmprof_collective_columns *columns,
                         llmprof_error *err) {
  const llmprof_column *loaded[INPUTS];
  size_t numbers[INPUTS] = {
      [BY_RANK] = columns->rank,       [BY_START] = columns->start,
      [BY_END] = columns->end,         [BY_KEY] = columns->key,
      [BY_ORDINAL] = columns->ordinal, [BY_LAG] = columns->lag,
  };
  if (!timeline_columns(rows, numbers, INPUTS, loaded, err)) return false;
  for (size_t row = 0; row < m->rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    bool present = true;
    for (int i = 0; i < INPUTS; i++) {
      m->in[i][row] = loaded[i] ? llmprof_cell(loaded[i], row) : 0;
      present = present && m->in[i][row] != LLMPROF_ABSENT;
    }
    if (present)
      m->in[BY_ORDINAL][row] =
          llmprof_time_between(m->in[BY_LAG][row], m->in[BY_ORDINAL][row]);
    if (present && m->in[BY_END][row] >= m->in[BY_START][row])
      m->order[m->count++] = (uint32_t)row;
  }
  static const int by[] = {BY_START, BY_RANK, BY_ORDINAL, BY_KEY};
  for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
    if (!llmprof_sort_rows_i64(m->order, m->count, m->in[by[i]]))
      return llmprof_fail_nomem(err);
  }
  return true;
}

/* One collective: its rows, at most one a rank, stand from `from` to `to` in
 * the order. */
typedef struct gathering {
  size_t from, to;
  uint32_t members;
  int64_t first, last, before_last, left; /* arrivals, and when all were out */
  uint32_t last_row;
} gathering;

static void arrive(gathering *g, const meeting *m, uint32_t row) {
  int64_t start = m->in[BY_START][row], end = m->in[BY_END][row];
  if (!g->members++) {
    *g = (gathering){g->from, g->to, 1, start, start, LLMPROF_ABSENT, end, row};
    return;
  }
  if (start > g->last) {
    g->before_last = g->last;
    g->last = start;
    g->last_row = row;
  } else if (start > g->before_last) {
    g->before_last = start;
  }
  if (start < g->first) g->first = start;
  if (end > g->left) g->left = end;
}

static bool same_rank_as_before(const meeting *m, size_t place, size_t from) {
  return place > from &&
         m->in[BY_RANK][m->order[place]] == m->in[BY_RANK][m->order[place - 1]];
}

static gathering gather(const meeting *m, size_t from) {
  gathering g = {.from = from, .to = from};
  const int64_t *key = m->in[BY_KEY], *ordinal = m->in[BY_ORDINAL];
  uint32_t opener = m->order[from];
  for (; g.to < m->count; g.to++) {
    uint32_t row = m->order[g.to];
    if (key[row] != key[opener] || ordinal[row] != ordinal[opener]) break;
    if (!same_rank_as_before(m, g.to, from)) arrive(&g, m, row);
  }
  return g;
}

static void write_rows(meeting *m, const gathering *g) {
  int64_t caused = 0;
  for (size_t place = g->from; place < g->to; place++) {
    uint32_t row = m->order[place];
    if (same_rank_as_before(m, place, g->from)) continue;
    int64_t start = m->in[BY_START][row], end = m->in[BY_END][row];
    int64_t until = end < g->last ? end : g->last;
    m->out[MEMBERS][row] = g->members;
    m->out[WAITING][row] = llmprof_time_between(start, until);
    m->out[TRANSFER][row] = llmprof_time_between(g->last, g->left);
    m->out[SKEW][row] = llmprof_time_between(g->first, g->last);
    m->out[INSTANCE][row] = g->last; /* until they are counted */
    caused = llmprof_time_sum(caused, m->out[WAITING][row]);
  }
  m->out[CAUSED][g->last_row] = caused;
  m->out[LATE][g->last_row] = llmprof_time_between(g->before_last, g->last);
}

/* Turn the last arrivals in INSTANCE into numbers in that order: rows are
 * sorted by them, and those of one collective stay side by side, since the
 * sort is stable. */
static bool count_instances(meeting *m) {
  size_t met = 0;
  for (size_t i = 0; i < m->count; i++) {
    if (m->out[INSTANCE][m->order[i]] != LLMPROF_ABSENT)
      m->order[met++] = m->order[i];
  }
  if (!llmprof_sort_rows_i64(m->order, met, m->out[INSTANCE])) return false;
  int64_t number = -1, key = 0, ordinal = 0;
  for (size_t i = 0; i < met; i++) {
    uint32_t row = m->order[i];
    if (number < 0 || m->in[BY_KEY][row] != key ||
        m->in[BY_ORDINAL][row] != ordinal)
      number++;
    key = m->in[BY_KEY][row];
    ordinal = m->in[BY_ORDINAL][row];
    m->out[INSTANCE][row] = number;
  }
  return true;
}

static bool meeting_match(meeting *m, llmprof_error *err) {
  for (size_t from = 0; from < m->count;) {
    gathering g = gather(m, from);
    if (g.members > 1) write_rows(m, &g);
    from = g.to;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return count_instances(m) || llmprof_fail_nomem(err);
}

bool llmprof_collectives_match(llmprof_frame *rows,
                               const llmprof_collective_columns *columns,
                               llmprof_error *err) {
  meeting m;
  bool ok =
      (meeting_make(&m, llmprof_frame_rows(rows)) || llmprof_fail_nomem(err)) &&
      meeting_read(&m, rows, columns, err) && meeting_match(&m, err);
  for (int i = 0; ok && i < MATCHED; i++) {
    int64_t *values = m.out[i];
    m.out[i] = NULL;
    ok = llmprof_frame_give(rows, matched[i].name, matched[i].unit, LLMPROF_I64,
                            values, err);
  }
  meeting_free(&m);
  return ok;
}

/* ---- what the last one did more ---- */

static bool number_of(llmprof_frame *rows, const char *name, size_t *number,
                      llmprof_error *err) {
  *number = llmprof_frame_find(rows, name);
  return *number != SIZE_MAX ||
         llmprof_fail(err, LLMPROF_NOTFOUND, "no column '%s' here", name);
}

/* Sums of a value over the members of each collective. */
typedef struct sums {
  int64_t *total; /* LLMPROF_ABSENT: one of them lacks it */
  int64_t *count;
} sums;

static void add_member(sums *s, int64_t instance, int64_t value) {
  bool absent = value == LLMPROF_ABSENT || s->total[instance] == LLMPROF_ABSENT;
  s->total[instance] =
      absent ? LLMPROF_ABSENT : llmprof_time_sum(s->total[instance], value);
  s->count[instance]++;
}

static int64_t excess_of(const sums *s, int64_t instance, int64_t value) {
  if (s->total[instance] == LLMPROF_ABSENT) return LLMPROF_ABSENT;
  int64_t others = llmprof_time_between(value, s->total[instance]);
  return llmprof_time_between(others / (s->count[instance] - 1), value);
}

bool llmprof_collectives_excess(llmprof_frame *rows, size_t value,
                                const char *name, llmprof_error *err) {
  size_t numbers[3] = {0, 0, value}, count = llmprof_frame_rows(rows);
  const llmprof_column *columns[3]; /* instance, late, value */
  if (!number_of(rows, "instance", &numbers[0], err) ||
      !number_of(rows, "late", &numbers[1], err) ||
      !timeline_columns(rows, numbers, 3, columns, err))
    return false;
  int64_t *excess = llmprof_absent_cells(count);
  sums s = {llmprof_zalloc(count, sizeof *s.total),
            llmprof_zalloc(count, sizeof *s.count)};
  bool ok = (excess && s.total && s.count) || llmprof_fail_nomem(err);
  for (size_t row = 0; ok && row < count; row++) {
    int64_t instance = llmprof_cell(columns[0], row);
    if (instance != LLMPROF_ABSENT)
      add_member(&s, instance, llmprof_cell(columns[2], row));
  }
  for (size_t row = 0; ok && row < count; row++) {
    if (llmprof_cell(columns[1], row) != LLMPROF_ABSENT)
      excess[row] = excess_of(&s, llmprof_cell(columns[0], row),
                              llmprof_cell(columns[2], row));
  }
  llmprof_free(s.total);
  llmprof_free(s.count);
  if (ok)
    return llmprof_frame_give(rows, name, columns[2]->unit, LLMPROF_I64, excess,
                              err);
  llmprof_free(excess);
  return false;
}

/* ---- what came before ---- */

/* FNV-1a, which is the same on every machine and in every run. */
static uint64_t fnv(uint64_t hash, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    hash ^= ((const unsigned char *)bytes)[i];
    hash *= 0x100000001b3;
  }
  return hash;
}

static const uint64_t FNV_START = 0xcbf29ce484222325;

/* Hashes of names, each made when it is first met. */
typedef struct name_hashes {
  const llmprof_column *names;
  const llmprof_strings *pool;
  uint64_t *known; /* by string id; 0: not yet */
} name_hashes;

static uint64_t hash_of(const name_hashes *h, size_t kernel) {
  int64_t id = llmprof_cell(h->names, kernel);
  if (id == LLMPROF_ABSENT) return 0;
  if (!h->known[id]) {
    size_t size;
    const char *text = llmprof_strings_get(h->pool, (uint32_t)id, &size);
    h->known[id] = fnv(FNV_START, text, size) | 1;
  }
  return h->known[id];
}

typedef struct before {
  int64_t *previous, *kernels, *signature, *follows; /* by row of them */
} before;

enum {
  LANES = 2 /* beside each other on a rank */
};

/* A rank's collectives from `from` to `to` in the line, with the kernels that
 * began between the end of one and the start of the next of its lane. */
static void look_back(before *b, const timeline *line, size_t from, size_t to,
                      const llmprof_column *const *columns,
                      const timeline *kernels, const name_hashes *hashes) {
  int64_t previous[LANES] = {LLMPROF_ABSENT, LLMPROF_ABSENT};
  int64_t rank = line->keys[line->rows[from]];
  size_t first = timeline_after(kernels, rank, LLMPROF_ABSENT);
  size_t next[LANES] = {first, first};
  for (size_t i = from; i < to; i++) {
    uint32_t row = line->rows[i];
    int lane = columns[1] && llmprof_cell(columns[1], row) != 0;
    uint64_t signature = FNV_START;
    b->previous[row] = previous[lane];
    b->kernels[row] = 0;
    b->follows[row] = LLMPROF_ABSENT;
    for (; next[lane] < kernels->count; next[lane]++) {
      uint32_t kernel = kernels->rows[next[lane]];
      if (kernels->keys[kernel] != rank ||
          kernels->starts[kernel] > line->starts[row])
        break;
      uint64_t hash = hash_of(hashes, kernel);
      signature = fnv(signature, &hash, sizeof hash);
      b->follows[row] = (int64_t)(hash >> 1);
      b->kernels[row]++;
    }
    b->signature[row] = (int64_t)(signature >> 1);
    int64_t ended = llmprof_cell(columns[0], row);
    if (ended > previous[lane]) previous[lane] = ended;
  }
}

static bool look_back_all(before *b, const timeline *line,
                          const llmprof_column *const *columns,
                          const timeline *kernels, const name_hashes *hashes,
                          llmprof_error *err) {
  for (size_t from = 0, to; from < line->count; from = to) {
    for (to = from + 1; to < line->count && line->keys[line->rows[to]] ==
                                                line->keys[line->rows[from]];)
      to++;
    look_back(b, line, from, to, columns, kernels, hashes);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

static bool hashes_make(name_hashes *h, llmprof_frame *kernels, size_t name,
                        llmprof_error *err) {
  if (!timeline_columns(kernels, &name, 1, &h->names, err)) return false;
  h->pool = llmprof_column_strings(kernels, h->names);
  h->known = llmprof_zalloc(llmprof_strings_count(h->pool), sizeof *h->known);
  return h->known || llmprof_fail_nomem(err);
}

static bool hand_over(llmprof_frame *rows, const char *name, const char *unit,
                      int64_t **values, llmprof_error *err) {
  int64_t *given = *values;
  *values = NULL;
  return llmprof_frame_give(rows, name, unit, LLMPROF_I64, given, err);
}

bool llmprof_collectives_before(llmprof_frame *rows,
                                const llmprof_collective_columns *columns,
                                size_t lane, llmprof_frame *kernels,
                                const llmprof_before_columns *of_kernels,
                                llmprof_error *err) {
  size_t count = llmprof_frame_rows(rows);
  before b = {llmprof_absent_cells(count), llmprof_absent_cells(count),
              llmprof_absent_cells(count), llmprof_absent_cells(count)};
  timeline line = {0}, work = {0};
  name_hashes hashes = {0};
  const llmprof_column *loaded[2]; /* end, lane */
  bool ok =
      ((b.previous && b.kernels && b.signature && b.follows) ||
       llmprof_fail_nomem(err)) &&
      timeline_columns(rows, (size_t[]){columns->end, lane}, 2, loaded, err) &&
      hashes_make(&hashes, kernels, of_kernels->name, err) &&
      timeline_make(&line, rows, columns->start, columns->rank, err) &&
      (!count || /* of kernels nothing is asked, which are many */
       timeline_make(&work, kernels, of_kernels->start, of_kernels->rank,
                     err)) &&
      look_back_all(&b, &line, loaded, &work, &hashes, err) &&
      hand_over(rows, "previous", "ns", &b.previous, err) &&
      hand_over(rows, "before", NULL, &b.kernels, err) &&
      hand_over(rows, "signature", NULL, &b.signature, err) &&
      hand_over(rows, "follows", NULL, &b.follows, err);
  llmprof_free(b.previous);
  llmprof_free(b.kernels);
  llmprof_free(b.signature);
  llmprof_free(b.follows);
  llmprof_free(hashes.known);
  timeline_free(&line);
  timeline_free(&work);
  return ok;
}
