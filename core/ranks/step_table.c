/* Operations in order of step and start; the intervals of one step's are
 * gathered and merged at a time. */
#include "ranks/step_table.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/interval.h"
#include "ranks/timeline.h"

/* ---- what is measured ---- */

enum {
  LAUNCHED,
  BEFORE,
  FIRST,
  LAST,
  BEGIN,
  LENGTH,
  INTERVAL,
  FREE,
  IDLE,
  BUSY,
  GPU_TIME,
  KERNELS,
  GRAPHED,
  GRAPHS,
  MOVES,
  COLLECTIVES,
  MOVE_TIME,
  COMM_TIME,
  COMM_HIDDEN,
  MEASURES,
};

static const struct measure {
  const char *name, *unit;
  bool is_sum; /* 0, not absent, when there is nothing */
} measures[MEASURES] = {
    [LAUNCHED] = {"launched", "ns", false},
    [BEFORE] = {"before", "ns", false},
    [FIRST] = {"first", "ns", false},
    [LAST] = {"last", "ns", false},
    [BEGIN] = {"begin", "ns", false},
    [LENGTH] = {"length", "ns", false},
    [INTERVAL] = {"interval", "ns", false},
    [FREE] = {"free", "ns", false},
    [IDLE] = {"idle", "ns", false},
    [BUSY] = {"busy", "ns", true},
    [GPU_TIME] = {"gpu_time", "ns", true},
    [KERNELS] = {"kernels", NULL, true},
    [GRAPHED] = {"graphed", NULL, true},
    [GRAPHS] = {"graphs", NULL, true},
    [MOVES] = {"moves", NULL, true},
    [COLLECTIVES] = {"collectives", NULL, true},
    [MOVE_TIME] = {"move_time", "ns", true},
    [COMM_TIME] = {"comm_time", "ns", true},
    [COMM_HIDDEN] = {"comm_hidden", "ns", true},
};

/* One array per measure, by row of steps. */
typedef struct table {
  size_t count;
  int64_t *values[MEASURES];
} table;

static bool table_make(table *t, size_t count) {
  *t = (table){.count = count};
  for (int m = 0; m < MEASURES; m++) {
    t->values[m] = measures[m].is_sum
                       ? llmprof_zalloc(count, sizeof **t->values)
                       : llmprof_absent_cells(count);
    if (!t->values[m]) return false;
  }
  return true;
}

static void table_free(table *t) {
  for (int m = 0; m < MEASURES; m++) llmprof_free(t->values[m]);
}

/* The arrays become the frame's. */
static bool table_hand_over(table *t, llmprof_frame *steps,
                            llmprof_error *err) {
  for (int m = 0; m < MEASURES; m++) {
    int64_t *values = t->values[m];
    t->values[m] = NULL;
    if (!llmprof_frame_give(steps, measures[m].name, measures[m].unit,
                            LLMPROF_I64, values, err))
      return false;
  }
  return true;
}

/* ---- one step ---- */

/* Intervals of a step's operations, with room for the most that one has. */
typedef struct gathered {
  llmprof_intervals all, comm, compute;
  int64_t graph; /* when the latest graph so far was launched */
} gathered;

static bool gathered_make(gathered *g, size_t most) {
  *g = (gathered){.graph = LLMPROF_ABSENT};
  g->all.items = llmprof_alloc(most, sizeof *g->all.items);
  g->comm.items = llmprof_alloc(most, sizeof *g->comm.items);
  g->compute.items = llmprof_alloc(most, sizeof *g->compute.items);
  return g->all.items && g->comm.items && g->compute.items;
}

static void gathered_free(gathered *g) {
  llmprof_intervals_free(&g->all);
  llmprof_intervals_free(&g->comm);
  llmprof_intervals_free(&g->compute);
}

static int64_t merged_length(llmprof_intervals *set) {
  set->count = llmprof_intervals_merge(set->items, set->count);
  return llmprof_intervals_covered(set, INT64_MIN, INT64_MAX);
}

enum {
  OP_START,
  OP_END,
  OP_STEP,
  OP_WORK,
  OP_LAUNCHED,
  OP_GRAPHED,
  OP_RANK,
  OP_COLUMNS,
};

/* What the loop over operations goes through. */
typedef struct source {
  const llmprof_column *columns[OP_COLUMNS];
  uint32_t *step; /* by operation; how many there are: none, or no start */
  size_t *first;  /* by step, and one more: the first of its places in rows */
  uint32_t *rows; /* those of a step, by step and start */
  const uint32_t *order; /* all, by start; NULL: as they are */
  size_t count;          /* all */
} source;

static bool flag(const llmprof_column *column, size_t row) {
  return column && llmprof_cell(column, row) == 1;
}

/* A kernel of a graph, and of a new one when that was launched later than those
 * before. */
static void count_graphed(table *t, size_t step, gathered *g,
                          int64_t launched) {
  t->values[GRAPHED][step]++;
  if (launched <= g->graph) return;
  t->values[GRAPHS][step]++;
  g->graph = launched;
}

static int64_t launch_of(const source *from, size_t row) {
  const llmprof_column *column = from->columns[OP_LAUNCHED];
  return column ? llmprof_cell(column, row) : LLMPROF_ABSENT;
}

static void note_launch(table *t, size_t step, int64_t launched) {
  int64_t *first = &t->values[LAUNCHED][step];
  if (launched != LLMPROF_ABSENT &&
      (*first == LLMPROF_ABSENT || launched < *first))
    *first = launched;
}

static void count_op(table *t, size_t step, gathered *g, const source *from,
                     uint32_t row) {
  int64_t start = llmprof_cell(from->columns[OP_START], row);
  int64_t end = llmprof_cell(from->columns[OP_END], row);
  int64_t work = llmprof_cell(from->columns[OP_WORK], row);
  if (end < start) return;
  note_launch(t, step, launch_of(from, row));
  llmprof_interval item = {start, end};
  int64_t time = llmprof_time_between(start, end);
  g->all.items[g->all.count++] = item;
  t->values[GPU_TIME][step] = llmprof_time_sum(t->values[GPU_TIME][step], time);
  if (work == LLMPROF_MOVE) {
    t->values[MOVES][step]++;
    t->values[MOVE_TIME][step] =
        llmprof_time_sum(t->values[MOVE_TIME][step], time);
    return;
  }
  t->values[KERNELS][step]++;
  if (flag(from->columns[OP_GRAPHED], row))
    count_graphed(t, step, g, launch_of(from, row));
  if (work == LLMPROF_COMMUNICATION) {
    t->values[COLLECTIVES][step]++;
    g->comm.items[g->comm.count++] = item;
  } else {
    g->compute.items[g->compute.count++] = item;
  }
}

static void measure_step(table *t, size_t step, gathered *g) {
  t->values[BUSY][step] = merged_length(&g->all);
  t->values[COMM_TIME][step] = merged_length(&g->comm);
  merged_length(&g->compute);
  t->values[COMM_HIDDEN][step] =
      llmprof_intervals_overlap(&g->comm, &g->compute);
  if (!g->all.count) return;
  t->values[FIRST][step] = g->all.items[0].start;
  t->values[LAST][step] = g->all.items[g->all.count - 1].end;
}

static size_t largest_step(const source *from, size_t steps) {
  size_t largest = 0;
  for (size_t step = 0; step < steps; step++) {
    size_t count = from->first[step + 1] - from->first[step];
    if (count > largest) largest = count;
  }
  return largest;
}

static bool measure_all(table *t, const source *from, llmprof_error *err) {
  gathered g;
  bool ok = gathered_make(&g, largest_step(from, t->count)) ||
            llmprof_fail_nomem(err);
  for (size_t step = 0; ok && step < t->count; step++) {
    if (from->first[step] == from->first[step + 1]) continue;
    g.all.count = g.comm.count = g.compute.count = 0;
    g.graph = LLMPROF_ABSENT;
    for (size_t i = from->first[step]; i < from->first[step + 1]; i++)
      count_op(t, step, &g, from, from->rows[i]);
    measure_step(t, step, &g);
    if (llmprof_interrupted()) ok = llmprof_fail_interrupted(err);
  }
  gathered_free(&g);
  return ok;
}

/* ---- what ran before a step and is of none ---- */

enum {
  MOST_RANKS = 1 << 16
};

/* Until when the operations of each rank so far ran. */
typedef struct ended {
  int64_t *at;
  size_t count, cap;
} ended;

/* NULL: out of memory. */
static int64_t *ended_of(ended *e, int64_t rank) {
  size_t place = (size_t)rank;
  if (place >= e->count &&
      !llmprof_grow(&e->at, &e->cap, place + 1, sizeof *e->at))
    return NULL;
  while (e->count <= place) e->at[e->count++] = LLMPROF_ABSENT;
  return &e->at[place];
}

static bool note_ended(table *t, const source *from, ended *e, bool *seen,
                       size_t row) {
  int64_t rank = llmprof_cell(from->columns[OP_RANK], row);
  int64_t end = llmprof_cell(from->columns[OP_END], row);
  size_t step = from->step[row];
  if (rank < 0 || rank >= MOST_RANKS) return true;
  int64_t *last = ended_of(e, rank);
  if (!last) return false;
  if (step < t->count && !seen[step]) {
    seen[step] = true;
    t->values[FREE][step] = *last;
  }
  if (end > *last) *last = end;
  return true;
}

/* Operations that are of no step keep a GPU from being idle between two. */
static bool find_ended(table *t, const source *from, llmprof_error *err) {
  if (!from->columns[OP_RANK] || from->first[t->count] == from->count)
    return true;
  ended e = {0};
  bool *seen = llmprof_zalloc(t->count + 1, sizeof *seen);
  bool ok = seen != NULL;
  for (size_t i = 0; ok && i < from->count; i++)
    ok = note_ended(t, from, &e, seen, from->order ? from->order[i] : i);
  llmprof_free(seen);
  llmprof_free(e.at);
  return ok || llmprof_fail_nomem(err);
}

/* ---- one after the other ---- */

/* `before`: the last of the steps before on the same rank, or LLMPROF_ABSENT.
 */
static void chain_step(table *t, size_t step, int64_t before) {
  int64_t first = t->values[FIRST][step], last = t->values[LAST][step];
  int64_t launched = t->values[LAUNCHED][step];
  bool overlap = before != LLMPROF_ABSENT && before > first;
  bool queued = before != LLMPROF_ABSENT && launched != LLMPROF_ABSENT &&
                launched <= before;
  int64_t begin = overlap || queued ? before : first;
  t->values[BEGIN][step] = begin;
  t->values[BEFORE][step] = before;
  t->values[LENGTH][step] =
      last > begin ? llmprof_time_between(begin, last) : 0;
  int64_t *free = &t->values[FREE][step];
  if (before > *free) *free = before;
  if (*free > first) *free = first;
  if (before == LLMPROF_ABSENT) *free = LLMPROF_ABSENT;
  if (before == LLMPROF_ABSENT) return;
  t->values[INTERVAL][step] =
      last > before ? llmprof_time_between(before, last) : 0;
  t->values[IDLE][step] = llmprof_time_between(*free, first);
}

static void chain(table *t, const timeline *line) {
  int64_t before = LLMPROF_ABSENT;
  for (size_t i = 0; i < line->count; i++) {
    uint32_t step = line->rows[i];
    if (i && line->keys[line->rows[i - 1]] != line->keys[step])
      before = LLMPROF_ABSENT;
    if (t->values[FIRST][step] == LLMPROF_ABSENT) continue;
    chain_step(t, step, before);
    if (t->values[LAST][step] > before) before = t->values[LAST][step];
  }
}

/* ---- together ---- */

static void source_free(source *from) {
  llmprof_free(from->step);
  llmprof_free(from->first);
  llmprof_free(from->rows);
}

static bool find_steps(source *from, size_t rows, size_t steps,
                       llmprof_error *err) {
  from->step = llmprof_alloc(rows, sizeof *from->step);
  if (!from->step) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    int64_t numbers[LLMPROF_BLOCK], starts[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    llmprof_cells(from->columns[OP_STEP], row, count, numbers);
    llmprof_cells(from->columns[OP_START], row, count, starts);
    for (size_t i = 0; i < count; i++) {
      bool known = numbers[i] >= 0 && (uint64_t)numbers[i] < steps &&
                   starts[i] != LLMPROF_ABSENT;
      from->step[row + i] = (uint32_t)(known ? (size_t)numbers[i] : steps);
    }
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

/* Where the rows of each step begin, in first[step + 1], from how many there
 * are. */
static void count_rows(source *from, size_t rows, size_t steps) {
  for (size_t row = 0; row < rows; row++) from->first[from->step[row] + 1]++;
  size_t before = 0;
  for (size_t step = 0; step <= steps; step++) {
    size_t count = from->first[step + 1];
    from->first[step + 1] = before;
    before += count;
  }
}

/* Each row goes to the next place of its step, so that first[step + 1] ends
 * where the step after it begins. order: rows by start, NULL: as they are. */
static bool place_rows(source *from, const uint32_t *order, size_t rows,
                       size_t steps, llmprof_error *err) {
  from->rows = llmprof_alloc(from->first[steps + 1], sizeof *from->rows);
  if (!from->rows) return llmprof_fail_nomem(err);
  for (size_t place = 0; place < rows; place++) {
    if (llmprof_interrupted_at(place)) return llmprof_fail_interrupted(err);
    uint32_t row = order ? order[place] : (uint32_t)place;
    size_t step = from->step[row];
    if (step < steps) from->rows[from->first[step + 1]++] = row;
  }
  return true;
}

static bool source_make(source *from, llmprof_frame *ops, size_t steps,
                        const llmprof_step_columns *columns,
                        llmprof_error *err) {
  size_t rows = llmprof_frame_rows(ops);
  size_t numbers[] = {columns->start, columns->end,      columns->step,
                      columns->work,  columns->launched, columns->graphed,
                      columns->rank};
  if (!timeline_columns(ops, numbers, OP_COLUMNS, from->columns, err) ||
      !llmprof_frame_order(ops, columns->start, &from->order, err))
    return false;
  from->count = rows;
  from->first = llmprof_zalloc(steps + 2, sizeof *from->first);
  if (!from->first) return llmprof_fail_nomem(err);
  if (!find_steps(from, rows, steps, err)) return false;
  count_rows(from, rows, steps);
  return place_rows(from, from->order, rows, steps, err);
}

bool llmprof_steps_measure(llmprof_frame *steps, llmprof_frame *ops,
                           const llmprof_step_columns *columns,
                           llmprof_error *err) {
  table t;
  timeline order = {0};
  source from = {.first = NULL};
  bool ok =
      (table_make(&t, llmprof_frame_rows(steps)) || llmprof_fail_nomem(err)) &&
      timeline_make(&order, steps, columns->step_start, columns->step_rank,
                    err) &&
      source_make(&from, ops, t.count, columns, err) &&
      measure_all(&t, &from, err) && find_ended(&t, &from, err);
  if (ok) chain(&t, &order);
  ok = ok && table_hand_over(&t, steps, err);
  table_free(&t);
  timeline_free(&order);
  source_free(&from);
  return ok;
}
