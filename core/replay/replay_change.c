/* Changes: what they override. */
#include <string.h>

#include "base/alloc.h"
#include "replay/replay_internal.h"

llmprof_change *llmprof_change_new(const llmprof_replay *r) {
  llmprof_change *c = llmprof_zalloc(1, sizeof *c);
  if (!c) return NULL;
  c->replay = r;
  c->work = llmprof_alloc(r->operation_count, sizeof *c->work);
  for (size_t i = 0; c->work && i < r->operation_count; i++) c->work[i] = 1;
  if (c->work) return c;
  llmprof_change_free(c);
  return NULL;
}

/* Values of points or operations, all of them `value` at first. */
static bool need(float **values, size_t count, float value) {
  if (*values) return true;
  *values = llmprof_alloc(count, sizeof **values);
  for (size_t i = 0; *values && i < count; i++) (*values)[i] = value;
  return *values != NULL;
}

/* What is overridden of points; most changes are of operations only. */
static bool need_points(llmprof_change *c, llmprof_error *err) {
  size_t count = c->replay->point_count;
  if (!c->flags) c->flags = llmprof_zalloc(count, sizeof *c->flags);
  return (c->flags && need(&c->own, count, 1) && need(&c->gap, count, 1)) ||
         llmprof_fail_nomem(err);
}

static bool need_lags(llmprof_change *c, llmprof_error *err) {
  return need(&c->lag, c->replay->operation_count, -1) ||
         llmprof_fail_nomem(err);
}

void llmprof_change_free(llmprof_change *c) {
  if (!c) return;
  llmprof_free(c->work);
  llmprof_free(c->own);
  llmprof_free(c->gap);
  llmprof_free(c->flags);
  llmprof_free(c->ignored);
  llmprof_free(c->lag);
  llmprof_free(c);
}

/* ---- operations ---- */

typedef struct chosen {
  const replay_part *part;
  const llmprof_column *op;
  size_t rows;
} chosen;

static bool choose(chosen *rows, const llmprof_change *c, size_t part,
                   llmprof_frame *frame, llmprof_error *err) {
  static const char *const names[] = {"op"};
  rows->part = c->replay->parts + part;
  rows->rows = llmprof_frame_rows(frame);
  return replay_columns(frame, names, 1, 1, &rows->op, err);
}

static uint32_t chosen_operation(const chosen *rows, size_t row) {
  int64_t op = llmprof_cell(rows->op, row);
  if (op < 0 || (size_t)op >= rows->part->ops) return REPLAY_NONE;
  return rows->part->by_op[op];
}

bool llmprof_change_scale(llmprof_change *c, size_t part, llmprof_frame *frame,
                          double factor, size_t *count, llmprof_error *err) {
  chosen rows;
  *count = 0;
  if (!choose(&rows, c, part, frame, err)) return false;
  for (size_t row = 0; row < rows.rows; row++) {
    uint32_t o = chosen_operation(&rows, row);
    if (o == REPLAY_NONE || c->work[o] < 0) continue;
    c->work[o] *= (float)factor;
    ++*count;
  }
  return true;
}

bool llmprof_change_ignore(llmprof_change *c, size_t part, llmprof_frame *frame,
                           size_t *count, llmprof_error *err) {
  chosen rows;
  *count = 0;
  if (!c->ignored)
    c->ignored = llmprof_zalloc(c->replay->operation_count, sizeof *c->ignored);
  if (!c->ignored) return llmprof_fail_nomem(err);
  if (!choose(&rows, c, part, frame, err)) return false;
  for (size_t row = 0; row < rows.rows; row++) {
    uint32_t o = chosen_operation(&rows, row);
    if (o == REPLAY_NONE || !c->replay->operations[o].collective) continue;
    c->ignored[o] = true;
    ++*count;
  }
  return true;
}

static bool all_gone(const llmprof_change *c, const replay_point *p) {
  for (uint32_t k = p->operations; k < p[1].operations; k++)
    if (c->work[c->replay->by_call[k]] >= 0) return false;
  return true;
}

/* A call, and what was done for it: calls just before it that launch nothing
 * and wait for nothing. */
static void drop_call(llmprof_change *c, uint32_t i, bool with_gap) {
  const llmprof_replay *r = c->replay;
  c->flags[i] |= REPLAY_GONE;
  while (with_gap) {
    c->gap[i] = 0;
    if (r->points[i].leads) break;
    const replay_point *p = r->points + --i;
    if (p->kind != REPLAY_CALL || replay_launches(p) ||
        r->points[i + 1].start - p->end > 100000)
      break;
    c->flags[i] |= REPLAY_GONE;
  }
}

/* Drop the call of an operation that is gone, if all of its are. */
static void drop_call_of(llmprof_change *c, uint32_t o, bool with_gap) {
  const llmprof_replay *r = c->replay;
  uint32_t call = r->operations[o].call;
  if (call != REPLAY_NONE && !(c->flags[call] & REPLAY_GONE) &&
      all_gone(c, r->points + call))
    drop_call(c, call, with_gap);
}

/* Nobody waits for a copy that is not made: the call right after it that waits
 * for its stream goes, too. */
static void drop_wait_for(llmprof_change *c, uint32_t o) {
  const llmprof_replay *r = c->replay;
  uint32_t call = r->operations[o].call;
  if (r->operations[o].kind != REPLAY_COPIED || call == REPLAY_NONE ||
      !(c->flags[call] & REPLAY_GONE))
    return;
  const replay_thread *t = replay_thread_of(r, call);
  uint32_t next = call + 1, end = t->first + t->count;
  while (next < end && r->points[next].kind == REPLAY_EDGE) next++;
  if (next == end) return;
  const replay_point *p = r->points + next;
  size_t target;
  if (p->kind != REPLAY_WAIT ||
      replay_samples_of(&r->targets, next, &target) != 1 ||
      r->targets.items[target].value != o ||
      !replay_call_is(r, p, "StreamSynchronize"))
    return;
  c->flags[next] |= REPLAY_GONE;
  c->gap[next] = 0;
}

bool llmprof_change_remove(llmprof_change *c, size_t part, llmprof_frame *frame,
                           llmprof_removal removal, size_t *count,
                           llmprof_error *err) {
  chosen rows;
  *count = 0;
  if (!need_points(c, err) || !choose(&rows, c, part, frame, err)) return false;
  for (size_t row = 0; row < rows.rows; row++) {
    uint32_t o = chosen_operation(&rows, row);
    if (o == REPLAY_NONE || c->work[o] < 0) continue;
    c->work[o] = -1;
    ++*count;
  }
  for (size_t row = 0; removal != LLMPROF_REMOVE_WORK && row < rows.rows;
       row++) {
    uint32_t o = chosen_operation(&rows, row);
    if (o == REPLAY_NONE) continue;
    drop_call_of(c, o, removal == LLMPROF_REMOVE_GAP);
    if (removal == LLMPROF_REMOVE_GAP) drop_wait_for(c, o);
  }
  return true;
}

/* ---- several as one ---- */

static double length_of(const llmprof_replay *r, uint32_t o) {
  return (double)(r->operations[o].end - r->operations[o].start);
}

/* Was it not removed, and can it become longer? Work is a factor of the length
 * that was recorded. */
static bool can_merge(const llmprof_change *c, uint32_t o) {
  return o != REPLAY_NONE && c->work[o] >= 0 && length_of(c->replay, o) > 0;
}

/* By operation: the first one of its group, or REPLAY_NONE. */
static void group_by_column(const llmprof_change *c, const chosen *rows,
                            const llmprof_column *group, uint32_t *first_of) {
  uint32_t first = REPLAY_NONE;
  int64_t last = LLMPROF_ABSENT;
  for (size_t row = 0; row < rows->rows; row++) {
    uint32_t o = chosen_operation(rows, row);
    int64_t value = llmprof_cell(group, row);
    if (!can_merge(c, o) || value == LLMPROF_ABSENT) continue;
    if (first == REPLAY_NONE || value != last) first = o;
    last = value;
    first_of[o] = first;
  }
}

/* Does a range begin or end, or the CPU wait, between the calls of two
 * operations? What follows then is not known yet. */
static bool are_apart(const llmprof_replay *r, uint32_t a, uint32_t b) {
  uint32_t from = r->operations[a].call, to = r->operations[b].call;
  if (from == REPLAY_NONE || to == REPLAY_NONE ||
      replay_thread_of(r, from) != replay_thread_of(r, to))
    return true;
  for (uint32_t i = from + 1; i < to; i++)
    if (r->points[i].kind == REPLAY_EDGE || r->points[i].kind == REPLAY_WAIT)
      return true;
  return false;
}

static void group_by_stream(const llmprof_change *c, const chosen *rows,
                            uint32_t *first_of) {
  const llmprof_replay *r = c->replay;
  for (size_t row = 0; row < rows->rows; row++) {
    uint32_t o = chosen_operation(rows, row);
    if (can_merge(c, o)) first_of[o] = o;
  }
  for (size_t i = 0; i < r->stream_count; i++) {
    const replay_stream *s = r->streams + i;
    uint32_t first = REPLAY_NONE, last = REPLAY_NONE;
    for (size_t k = 0; k < s->count; k++) {
      uint32_t o = r->launched[s->first + k];
      if (!can_merge(c, o)) continue;
      if (first_of[o] == REPLAY_NONE)
        first = REPLAY_NONE;
      else if (first == REPLAY_NONE || are_apart(r, last, o))
        first = o;
      else
        first_of[o] = first;
      last = o;
    }
  }
}

/* Give the first of each group its length, and take the others away. */
static bool merge_groups(llmprof_change *c, const uint32_t *first_of, bool sum,
                         size_t *count) {
  const llmprof_replay *r = c->replay;
  double *lengths = llmprof_zalloc(r->operation_count, sizeof *lengths);
  if (!lengths) return false;
  for (uint32_t o = 0; o < r->operation_count; o++) {
    uint32_t first = first_of[o];
    if (first == REPLAY_NONE) continue;
    double length = length_of(r, o) * (double)c->work[o];
    if (sum)
      lengths[first] += length;
    else if (length > lengths[first])
      lengths[first] = length;
  }
  for (uint32_t o = 0; o < r->operation_count; o++) {
    if (first_of[o] == o) {
      c->work[o] = (float)(lengths[o] / length_of(r, o));
    } else if (first_of[o] != REPLAY_NONE) {
      c->work[o] = -1;
      ++*count;
    }
  }
  llmprof_free(lengths);
  return true;
}

bool llmprof_change_merge(llmprof_change *c, size_t part, llmprof_frame *frame,
                          bool sum, llmprof_removal removal, size_t *count,
                          llmprof_error *err) {
  const llmprof_replay *r = c->replay;
  static const char *const names[] = {"group"};
  const llmprof_column *group;
  chosen rows;
  *count = 0;
  if (!need_points(c, err) || !choose(&rows, c, part, frame, err) ||
      !replay_columns(frame, names, 1, 0, &group, err))
    return false;
  uint32_t *first_of = llmprof_alloc(r->operation_count, sizeof *first_of);
  if (!first_of) return llmprof_fail_nomem(err);
  memset(first_of, 0xff, r->operation_count * sizeof *first_of);
  if (group)
    group_by_column(c, &rows, group, first_of);
  else
    group_by_stream(c, &rows, first_of);
  bool ok = merge_groups(c, first_of, sum, count);
  for (uint32_t o = 0;
       ok && removal != LLMPROF_REMOVE_WORK && o < r->operation_count; o++)
    if (first_of[o] != REPLAY_NONE && first_of[o] != o)
      drop_call_of(c, o, removal == LLMPROF_REMOVE_GAP);
  llmprof_free(first_of);
  return ok || llmprof_fail_nomem(err);
}

/* ---- calls and gaps inside ranges ---- */

/* One range after the other, with the points of its thread in it. */
typedef struct inside {
  const llmprof_replay *replay;
  const llmprof_column *start, *end, *pid, *tid;
  size_t part, row, rows; /* row: the next */
  uint32_t first, last;   /* points: not the last */
} inside;

static bool inside_open(inside *in, llmprof_change *c, size_t part,
                        llmprof_frame *ranges, llmprof_error *err) {
  static const char *const names[] = {"start", "end", "pid", "tid"};
  const llmprof_column *of[4];
  if (!need_points(c, err) || !replay_columns(ranges, names, 4, 4, of, err))
    return false;
  *in = (inside){.replay = c->replay,
                 .start = of[0],
                 .end = of[1],
                 .pid = of[2],
                 .tid = of[3],
                 .part = part,
                 .rows = llmprof_frame_rows(ranges)};
  return true;
}

static bool find_points(inside *in, size_t row) {
  const llmprof_replay *r = in->replay;
  int64_t start = llmprof_cell(in->start, row),
          end = llmprof_cell(in->end, row);
  const replay_thread key = {.pid = llmprof_cell(in->pid, row),
                             .tid = llmprof_cell(in->tid, row),
                             .part = (uint32_t)in->part};
  const replay_thread *t = llmprof_intern_seek(&r->known_threads, &key);
  if (!t || start == LLMPROF_ABSENT || end == LLMPROF_ABSENT) return false;
  in->first = replay_point_from(r, t, start);
  in->last = replay_point_from(r, t, end);
  return true;
}

/* To the next range of a thread that is known. */
static bool inside_next(inside *in) {
  while (in->row < in->rows)
    if (find_points(in, in->row++)) return true;
  return false;
}

/* Times that were set stay as they are. */
static void scale_point(llmprof_change *c, uint32_t i, double gap,
                        double call) {
  if (c->gap[i] > 0) c->gap[i] *= (float)gap;
  if (c->own[i] > 0) c->own[i] *= (float)call;
}

static void set_time(float *time, double ns) {
  *time = (float)(-1 - (double)(int64_t)ns);
}

bool llmprof_change_cpu(llmprof_change *c, size_t part, llmprof_frame *ranges,
                        double gap, double call, llmprof_error *err) {
  inside in;
  if (!ranges) {
    if (!need_points(c, err)) return false;
    for (uint32_t i = 0; i < c->replay->point_count; i++)
      scale_point(c, i, gap, call);
    return true;
  }
  if (!inside_open(&in, c, part, ranges, err)) return false;
  while (inside_next(&in))
    for (uint32_t i = in.first; i < in.last; i++) scale_point(c, i, gap, call);
  return true;
}

static bool does_wait(const replay_point *p) {
  return p->kind == REPLAY_WAIT || p->kind == REPLAY_COPY;
}

bool llmprof_change_no_waits(llmprof_change *c, size_t part,
                             llmprof_frame *ranges, llmprof_which which,
                             size_t *count, llmprof_error *err) {
  const llmprof_replay *r = c->replay;
  inside in;
  *count = 0;
  if (!inside_open(&in, c, part, ranges, err)) return false;
  while (inside_next(&in)) {
    uint32_t end = REPLAY_NONE;
    for (uint32_t i = in.first; which != LLMPROF_ALL && i < in.last; i++)
      if (does_wait(r->points + i)) end = i;
    for (uint32_t i = in.first; i < in.last; i++) {
      if (!does_wait(r->points + i) ||
          (which != LLMPROF_ALL && (i == end) != (which == LLMPROF_LAST)))
        continue;
      if (!(c->flags[i] & REPLAY_NO_WAIT)) ++*count;
      c->flags[i] |= REPLAY_NO_WAIT;
      if (r->points[i].kind == REPLAY_WAIT) c->own[i] = 0;
    }
  }
  return true;
}

/* ---- even ranges ---- */

/* What is given of some points: CPU time, and work of what they launch. */
typedef struct given_time {
  double cpu, gpu;
} given_time;

static given_time given_in(const llmprof_replay *r, uint32_t first,
                           uint32_t last) {
  given_time sum = {0, 0};
  for (uint32_t i = first; i < last; i++) {
    const replay_point *p = r->points + i;
    sum.cpu += (double)(replay_gap(p) + replay_own(r, i));
    for (uint32_t k = p->operations; k < p[1].operations; k++) {
      const replay_operation *o = r->operations + r->by_call[k];
      sum.gpu += (double)(o->end - o->start);
    }
  }
  return sum;
}

/* Whether a range takes more than the usual, but for what all differ by. */
static double less_by(double takes, double usual) {
  return takes > 1.1 * usual ? usual / takes : 1;
}

static bool make_even(llmprof_change *c, uint32_t first, uint32_t last,
                      given_time usual) {
  const llmprof_replay *r = c->replay;
  given_time takes = given_in(r, first, last);
  double cpu = less_by(takes.cpu, usual.cpu),
         gpu = less_by(takes.gpu, usual.gpu);
  if (cpu == 1 && gpu == 1) return false;
  for (uint32_t i = first; i < last; i++) {
    const replay_point *p = r->points + i;
    scale_point(c, i, cpu, cpu);
    for (uint32_t k = p->operations; k < p[1].operations; k++) {
      float *work = c->work + r->by_call[k];
      if (*work > 0) *work *= (float)gpu;
    }
  }
  return true;
}

bool llmprof_change_even(llmprof_change *c, size_t part, llmprof_frame *ranges,
                         size_t *count, llmprof_error *err) {
  const llmprof_replay *r = c->replay;
  inside in;
  replay_samples times = {0};
  bool ok = inside_open(&in, c, part, ranges, err);
  *count = 0;
  if (!ok) return false;
  while (ok && inside_next(&in)) {
    given_time takes = given_in(r, in.first, in.last);
    ok = replay_sample_add(&times, 0, (int64_t)takes.cpu) &&
         replay_sample_add(&times, 1, (int64_t)takes.gpu);
  }
  replay_samples_sort(&times);
  given_time usual = {(double)replay_quantile(&times, 0, .5, 0),
                      (double)replay_quantile(&times, 1, .5, 0)};
  in.row = 0;
  while (ok && inside_next(&in))
    *count += make_even(c, in.first, in.last, usual);
  replay_samples_free(&times);
  return ok || llmprof_fail_nomem(err);
}

/* ---- one graph in place of calls ---- */

/* Which calls launch kernels that run often in these points: the first and the
 * last. `seen` counts by name and is left as it was found, zero. */
static bool find_repeated(const llmprof_replay *r, uint32_t first,
                          uint32_t last, size_t least, uint32_t *seen,
                          uint32_t *from, uint32_t *to) {
  *from = REPLAY_NONE;
  for (int pass = 0; pass < 3; pass++)
    for (uint32_t i = first; i < last; i++) {
      const replay_point *p = r->points + i;
      if (!replay_launches(p)) continue;
      const replay_operation *o = r->operations + r->by_call[p->operations];
      if (o->kind != REPLAY_KERNEL || o->name == REPLAY_NO_NAME) continue;
      if (pass == 0) seen[o->name]++;
      if (pass == 2) seen[o->name] = 0;
      if (pass != 1 || seen[o->name] < least) continue;
      if (*from == REPLAY_NONE) *from = i;
      *to = i;
    }
  return *from != REPLAY_NONE;
}

static size_t replace_by_graph(llmprof_change *c, uint32_t from, uint32_t to,
                               const llmprof_graph_cost *cost) {
  const llmprof_replay *r = c->replay;
  size_t nodes = 0, calls = 0;
  for (uint32_t i = from; i <= to; i++) {
    const replay_point *p = r->points + i;
    nodes += replay_launches(p);
    calls += p->kind != REPLAY_EDGE;
    c->own[i] = 0;
    if (i > from) c->gap[i] = 0;
    for (uint32_t k = p->operations; i > from && k < p[1].operations; k++) {
      uint32_t o = r->by_call[k];
      if (!r->operations[o].after_start) c->lag[o] = (float)cost->between;
    }
  }
  set_time(c->own + from, cost->launch + cost->node * (double)nodes);
  return calls;
}

bool llmprof_change_graph(llmprof_change *c, size_t part, llmprof_frame *ranges,
                          const llmprof_graph_cost *cost, size_t *count,
                          llmprof_error *err) {
  const llmprof_replay *r = c->replay;
  inside in;
  *count = 0;
  if (!inside_open(&in, c, part, ranges, err) || !need_lags(c, err))
    return false;
  uint32_t *seen =
      llmprof_zalloc(llmprof_strings_count(r->names), sizeof *seen);
  bool ok = seen != NULL;
  while (ok && inside_next(&in)) {
    uint32_t from, to = 0;
    if (find_repeated(r, in.first, in.last, cost->least, seen, &from, &to))
      *count += replace_by_graph(c, from, to, cost);
  }
  llmprof_free(seen);
  return ok || llmprof_fail_nomem(err);
}

/* Is it a launch of a graph with operations that were traced? */
static bool untrace(llmprof_change *c, uint32_t point, double launch,
                    double between) {
  const llmprof_replay *r = c->replay;
  const replay_point *p = r->points + point;
  bool found = false;
  for (uint32_t k = p->operations; k < p[1].operations; k++) {
    uint32_t i = r->by_call[k];
    const replay_operation *o = r->operations + i;
    if (!o->in_graph) continue;
    found = true;
    double lag = (double)replay_lag(r, o) - between;
    if (!o->after_start) c->lag[i] = lag > 0 ? (float)lag : 0;
  }
  if (found && (double)replay_own(r, point) > launch)
    set_time(c->own + point, launch);
  return found;
}

bool llmprof_change_untraced(llmprof_change *c, size_t part,
                             llmprof_frame *ranges, double launch,
                             double between, size_t *count,
                             llmprof_error *err) {
  const llmprof_replay *r = c->replay;
  inside in;
  *count = 0;
  if (!inside_open(&in, c, part, ranges, err)) return false;
  while (inside_next(&in)) {
    for (uint32_t i = in.first; i < in.last; i++) {
      if (replay_launches(r->points + i) < 2) continue;
      if (!need_lags(c, err)) return false;
      *count += untrace(c, i, launch, between);
    }
  }
  return true;
}

/* ---- the blind check ---- */

/* Ranges of a thread that hold the same calls, in order, have one signature. */
static uint64_t signature(const llmprof_replay *r, const replay_range *range) {
  uint64_t hash = 1469598103934665603u ^
                  (uint64_t)(replay_thread_of(r, range->begin) - r->threads);
  for (uint32_t i = range->begin; i <= range->end; i++) {
    const replay_point *p = r->points + i;
    hash = (hash ^ p->name) * 1099511628211u;
    hash = (hash ^ replay_launches(p)) * 1099511628211u;
  }
  return hash;
}

/* The k-th points of all ranges of one signature: even ones give their mean to
 * the odd ones. */
static void give_means(llmprof_change *c, const replay_samples *ranges,
                       const replay_range *all, size_t first, size_t count,
                       bool *blind) {
  const llmprof_replay *r = c->replay;
  const replay_range *model = all + ranges->items[first].value;
  for (uint32_t k = 1; k <= model->end - model->begin; k++) {
    double own = 0, gap = 0;
    size_t taken = 0;
    for (size_t i = first; i < first + count; i += 2, taken++) {
      uint32_t point = all[ranges->items[i].value].begin + k;
      own += (double)replay_own(r, point);
      gap += (double)replay_gap(r->points + point);
    }
    for (size_t i = first + 1; i < first + count; i += 2) {
      uint32_t point = all[ranges->items[i].value].begin + k;
      set_time(c->own + point, own / (double)taken);
      set_time(c->gap + point, gap / (double)taken);
    }
  }
  for (size_t i = first + 1; i < first + count; i += 2)
    blind[ranges->items[i].value] = true;
}

bool llmprof_change_blind(llmprof_change *c, size_t part, bool *blind,
                          size_t *count, llmprof_error *err) {
  const llmprof_replay *r = c->replay;
  const replay_part *of = r->parts + part;
  const replay_range *all = r->ranges + of->ranges;
  replay_samples ranges = {0};
  bool ok = need_points(c, err);
  memset(blind, 0, of->range_count * sizeof *blind);
  for (size_t i = 0; ok && i < of->range_count; i++)
    if (all[i].begin != REPLAY_NONE)
      ok = replay_sample_add(&ranges, signature(r, all + i), (int64_t)i);
  replay_samples_sort(&ranges);
  for (size_t i = 0, next; ok && i < ranges.count; i = next) {
    next = i + 1;
    while (next < ranges.count && ranges.items[next].key == ranges.items[i].key)
      next++;
    if (next - i >= 4) give_means(c, &ranges, all, i, next - i, blind);
  }
  replay_samples_free(&ranges);
  *count = 0;
  for (size_t i = 0; i < of->range_count; i++) *count += blind[i];
  return ok || llmprof_fail_nomem(err);
}
