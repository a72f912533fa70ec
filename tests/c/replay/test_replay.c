#include "replay/replay.h"

#include "support.h"

/* A program of STEPS steps on one thread. In each it launches two kernels, of
 * 40 and 20 us, waits for both, and works for 10 us. All times in ns. */
enum {
  STEPS = 24,
  LAUNCH = 5000,  /* a launch takes so much CPU time */
  LATENCY = 2000, /* from its return to the kernel's start */
  FIRST = 40000,  /* kernels */
  SECOND = 20000,
  BETWEEN = 1000, /* two queued kernels */
  RETURN = 3000,  /* from the last kernel's end to the return of the wait */
  WORK = 10000,   /* after the wait */
  CALLS = 3 * STEPS,
  KERNELS = 2 * STEPS
};

typedef struct program {
  llmprof_strings *pool;
  uint32_t launch, sync, kernel, first, second, copying, copy;
  bool graph;      /* one launch of a graph, which has both kernels */
  bool copies;     /* the second is a copy that blocks */
  int64_t between; /* the first kernel's end and the second's start */
  int64_t call_start[CALLS], call_end[CALLS], one[CALLS], numbers[CALLS];
  uint32_t call_name[CALLS];
  int64_t op_start[KERNELS], op_end[KERNELS], zero[KERNELS], call[KERNELS];
  uint32_t kind[KERNELS], name[KERNELS];
  int64_t step_start[STEPS], step_end[STEPS];
  llmprof_frame *calls, *operations, *steps;
  int64_t length; /* of a step */
} program;

static uint32_t word(llmprof_strings *pool, const char *text) {
  uint32_t id;
  assert_true(llmprof_strings_add(pool, text, strlen(text), &id));
  return id;
}

static void add_call(program *p, size_t i, int64_t start, int64_t end,
                     uint32_t name) {
  p->call_start[i] = start;
  p->call_end[i] = end;
  p->one[i] = 1;
  p->numbers[i] = (int64_t)i;
  p->call_name[i] = name;
}

static void add_kernel(program *p, size_t i, int64_t start, int64_t length,
                       size_t call, uint32_t name) {
  p->op_start[i] = start;
  p->op_end[i] = start + length;
  p->call[i] = (int64_t)call;
  p->kind[i] = p->kernel;
  p->name[i] = name;
}

static void add_step(program *p, size_t step, int64_t *now) {
  size_t call = 3 * step, op = 2 * step;
  p->step_start[step] = *now;
  add_call(p, call, *now, *now + LAUNCH, p->launch);
  add_kernel(p, op, *now + LAUNCH + LATENCY, FIRST, call, p->first);
  add_kernel(p, op + 1, p->op_end[op] + p->between, SECOND,
             p->graph ? call : call + 1, p->second);
  if (p->copies) p->kind[op + 1] = p->copy;
  int64_t end = p->copies ? p->op_end[op + 1] + RETURN : *now + LAUNCH + LAUNCH;
  add_call(p, call + 1, *now + LAUNCH, end, p->copies ? p->copying : p->launch);
  int64_t done = p->op_end[op + 1] + RETURN;
  add_call(p, call + 2, end, done > end ? done : end + RETURN, p->sync);
  *now = p->call_end[call + 2] + WORK;
  p->step_end[step] = *now;
}

static void make_as(program *p, bool graph, bool copies, int64_t between) {
  memset(p, 0, sizeof *p);
  p->graph = graph;
  p->copies = copies;
  p->between = between;
  p->pool = llmprof_strings_new();
  p->launch = word(p->pool, graph ? "cudaGraphLaunch" : "cudaLaunchKernel");
  p->copying = word(p->pool, "cudaMemcpyAsync");
  p->copy = word(p->pool, "copy");
  p->sync = word(p->pool, "cudaStreamSynchronize");
  p->kernel = word(p->pool, "kernel");
  p->first = word(p->pool, "gemm");
  p->second = word(p->pool, "add");
  int64_t now = 1000;
  for (size_t step = 0; step < STEPS; step++) add_step(p, step, &now);
  p->length = p->step_end[0] - p->step_start[0];
  const test_column calls[] = {
      {.name = "start", .type = LLMPROF_I64, .data = p->call_start},
      {.name = "end", .type = LLMPROF_I64, .data = p->call_end},
      {.name = "pid", .type = LLMPROF_I64, .data = p->one},
      {.name = "tid", .type = LLMPROF_I64, .data = p->one},
      {.name = "correlation", .type = LLMPROF_I64, .data = p->numbers},
      {.name = "name", .type = LLMPROF_STRING_ID, .data = p->call_name}};
  const test_column operations[] = {
      {.name = "op", .type = LLMPROF_I64, .data = p->numbers},
      {.name = "start", .type = LLMPROF_I64, .data = p->op_start},
      {.name = "end", .type = LLMPROF_I64, .data = p->op_end},
      {.name = "device", .type = LLMPROF_I64, .data = p->zero},
      {.name = "stream", .type = LLMPROF_I64, .data = p->zero},
      {.name = "pid", .type = LLMPROF_I64, .data = p->one},
      {.name = "call", .type = LLMPROF_I64, .data = p->call},
      {.name = "kind", .type = LLMPROF_STRING_ID, .data = p->kind},
      {.name = "name", .type = LLMPROF_STRING_ID, .data = p->name}};
  const test_column steps[] = {
      {.name = "start", .type = LLMPROF_I64, .data = p->step_start},
      {.name = "end", .type = LLMPROF_I64, .data = p->step_end},
      {.name = "pid", .type = LLMPROF_I64, .data = p->one},
      {.name = "tid", .type = LLMPROF_I64, .data = p->one}};
  p->calls = test_frame(CALLS, p->pool, calls, 6);
  p->operations = test_frame(KERNELS, p->pool, operations, 9);
  p->steps = test_frame(STEPS, p->pool, steps, 4);
}

static void make(program *p) {
  make_as(p, false, false, BETWEEN);
}

static void drop(program *p) {
  llmprof_frame_free(p->calls);
  llmprof_frame_free(p->operations);
  llmprof_frame_free(p->steps);
  llmprof_strings_free(p->pool);
}

static llmprof_replay *replay_of(const program *p, llmprof_error *err) {
  llmprof_replay *r = llmprof_replay_new();
  llmprof_replay_part part = {
      .operations = p->operations, .calls = p->calls, .ranges = p->steps};
  if (r && llmprof_replay_add(r, &part, err) && llmprof_replay_link(r, err))
    return r;
  if (!r) llmprof_fail_nomem(err);
  llmprof_replay_free(r);
  return NULL;
}

/* How long the steps take with a change, in all. */
static int64_t total(llmprof_replay *r, const llmprof_change *change) {
  int64_t start[STEPS], end[STEPS], gpu_start[STEPS], gpu_end[STEPS], sum = 0;
  llmprof_replayed_ranges ranges = {start, end, gpu_start, gpu_end};
  size_t missing;
  llmprof_error err;
  assert_true(llmprof_replay_run(r, change, &ranges, &missing, &err));
  assert_int_equal(missing, 0);
  for (size_t i = 0; i < STEPS; i++) sum += end[i] - start[i];
  return sum;
}

static llmprof_frame *rows_named(const program *p, uint32_t name) {
  int64_t wanted = name;
  llmprof_condition is = {.column = llmprof_frame_find(p->operations, "name"),
                          .compare = LLMPROF_EQ,
                          .values = &wanted,
                          .count = 1};
  return llmprof_frame_where(p->operations, &is, 1, NULL);
}

/* A program, its replay, and a change that changes nothing yet. */
typedef struct trial {
  program p;
  llmprof_replay *r;
  llmprof_change *change;
  llmprof_error err;
  size_t count;
} trial;

static void begin_as(trial *t, bool graph, bool copies, int64_t between) {
  make_as(&t->p, graph, copies, between);
  t->r = replay_of(&t->p, &t->err);
  assert_non_null(t->r);
  t->change = llmprof_change_new(t->r);
  assert_non_null(t->change);
}

static void begin(trial *t) {
  begin_as(t, false, false, BETWEEN);
}

static void finish(trial *t) {
  llmprof_change_free(t->change);
  llmprof_replay_free(t->r);
  drop(&t->p);
}

/* What the change gains, in all. */
static int64_t gain(const trial *t) {
  return total(t->r, NULL) - total(t->r, t->change);
}

static bool scale(trial *t, uint32_t name, double factor) {
  llmprof_frame *rows = rows_named(&t->p, name);
  bool ok =
      llmprof_change_scale(t->change, 0, rows, factor, &t->count, &t->err);
  llmprof_frame_free(rows);
  return ok;
}

static bool take_away(trial *t, uint32_t name, llmprof_removal removal) {
  llmprof_frame *rows = rows_named(&t->p, name);
  bool ok =
      llmprof_change_remove(t->change, 0, rows, removal, &t->count, &t->err);
  llmprof_frame_free(rows);
  return ok;
}

static bool merge(trial *t, bool sum) {
  return llmprof_change_merge(t->change, 0, t->p.operations, sum,
                              LLMPROF_REMOVE_WORK, &t->count, &t->err);
}

TEST(unchanged) {
  trial t;
  begin(&t);
  assert_int_equal(total(t.r, NULL), STEPS * t.p.length);
  llmprof_replay_basis basis = llmprof_replay_basis_of(t.r);
  assert_int_equal(basis.calls, CALLS);
  assert_int_equal(basis.operations, KERNELS);
  assert_int_equal(basis.orphans, 0);
  assert_int_equal(basis.unexplained, 0);
  assert_true(basis.derived > 0);
  int64_t recorded, replayed;
  llmprof_replay_waits(t.r, &recorded, &replayed);
  assert_int_equal(recorded, replayed);
  llmprof_replay_busy busy;
  assert_true(llmprof_replay_busy_of(t.r, true, &busy, &t.err));
  assert_int_equal(busy.busy, STEPS * (FIRST + SECOND));
  assert_int_equal(busy.window, STEPS * t.p.length);
  finish(&t);
}

/* The wait becomes shorter by what the kernel does. */
TEST(scale) {
  trial t;
  begin(&t);
  assert_true(scale(&t, t.p.first, .5));
  assert_int_equal(t.count, STEPS);
  assert_int_equal(gain(&t), STEPS * FIRST / 2);
  finish(&t);
}

/* With the call goes its CPU time, as far as nothing else is waited for: the
 * second kernel's launch lies in the shadow of the first. */
TEST(remove) {
  static const llmprof_removal ways[] = {LLMPROF_REMOVE_WORK,
                                         LLMPROF_REMOVE_CALL};
  for (size_t i = 0; i < 2; i++) {
    trial t;
    begin(&t);
    assert_true(take_away(&t, t.p.second, ways[i]));
    assert_int_equal(t.count, STEPS);
    assert_int_equal(gain(&t), STEPS * (SECOND + BETWEEN));
    finish(&t);
  }
}

/* What is left of a graph still waits for its launch. */
TEST(remove_first_of_graph) {
  trial t;
  begin_as(&t, true, false, BETWEEN);
  assert_true(take_away(&t, t.p.first, LLMPROF_REMOVE_GAP));
  assert_int_equal(t.count, STEPS);
  assert_int_equal(gain(&t), STEPS * FIRST);
  finish(&t);
}

/* With a copy goes the wait for it, so that the CPU runs ahead. */
TEST(remove_copies) {
  trial t;
  begin_as(&t, false, true, BETWEEN);
  assert_true(take_away(&t, t.p.second, LLMPROF_REMOVE_GAP));
  assert_int_equal(t.count, STEPS);
  assert_int_equal(total(t.r, t.change), STEPS * (LAUNCH + WORK));
  finish(&t);
}

/* The two kernels of a step follow each other; one that is gone already is
 * neither merged nor takes the other along. */
TEST(merge) {
  trial t;
  for (int sum = 0; sum < 2; sum++) {
    begin(&t);
    assert_true(merge(&t, sum));
    assert_int_equal(t.count, STEPS);
    assert_int_equal(gain(&t), STEPS * (BETWEEN + (sum ? 0 : SECOND)));
    finish(&t);
  }
  begin(&t);
  assert_true(take_away(&t, t.p.first, LLMPROF_REMOVE_WORK));
  int64_t without = total(t.r, t.change);
  assert_true(merge(&t, true));
  assert_int_equal(t.count, 0);
  assert_int_equal(total(t.r, t.change), without);
  finish(&t);
}

/* Without waits the CPU goes ahead: a step is its launches and its work. */
TEST(no_waits) {
  trial t;
  begin(&t);
  assert_true(llmprof_change_no_waits(t.change, 0, t.p.steps, LLMPROF_ALL,
                                      &t.count, &t.err));
  assert_int_equal(t.count, STEPS);
  assert_int_equal(total(t.r, t.change), STEPS * (2 * LAUNCH + WORK));
  finish(&t);
}

TEST(bounds) {
  trial t;
  begin(&t);
  assert_true(
      llmprof_change_scale(t.change, 0, t.p.operations, 0, &t.count, &t.err));
  int64_t without_gpu = total(t.r, t.change);
  assert_true(without_gpu < STEPS * t.p.length);
  assert_true(without_gpu >= STEPS * (2 * LAUNCH + WORK));
  finish(&t);
  begin(&t);
  assert_true(llmprof_change_cpu(t.change, 0, NULL, 0, 0, &t.err));
  int64_t without_cpu = total(t.r, t.change);
  assert_true(without_cpu >= STEPS * (FIRST + SECOND));
  assert_true(without_cpu < STEPS * t.p.length);
  finish(&t);
}

/* Steps that are all alike are predicted from each other without an error. */
TEST(blind) {
  trial t;
  bool blind[STEPS];
  begin(&t);
  assert_true(llmprof_change_blind(t.change, 0, blind, &t.count, &t.err));
  assert_true(t.count >= STEPS / 2 - 1);
  assert_int_equal(total(t.r, t.change), STEPS * t.p.length);
  finish(&t);
}

/* A copy that blocks starts once what is before it has ended. */
TEST(blocking_copy) {
  trial t;
  begin_as(&t, false, true, BETWEEN);
  assert_true(scale(&t, t.p.first, .5));
  assert_int_equal(gain(&t), STEPS * FIRST / 2);
  finish(&t);
}

/* What found its stream idle, and a copy that blocks, begin after their call
 * and after the stream as they did, not as others do. */
TEST(own_delays) {
  program p;
  llmprof_error err;
  int64_t times[4][STEPS];
  make_as(&p, false, true, BETWEEN);
  p.op_start[2] += 300;
  p.op_start[3] += 700;
  p.op_end[3] += 700;
  llmprof_replay *r = replay_of(&p, &err);
  assert_non_null(r);
  llmprof_replayed_ranges ranges = {times[0], times[1], times[2], times[3]};
  assert_true(llmprof_replay_run(r, NULL, &ranges, NULL, &err));
  assert_int_equal(times[2][1], p.op_start[2]);
  assert_int_equal(times[3][1], p.op_end[3]);
  llmprof_replay_free(r);
  drop(&p);
}

/* A kernel that begins in the one before it does so in a graph, too. */
TEST(overlap_in_graph) {
  trial t;
  begin_as(&t, false, false, -FIRST / 4);
  llmprof_graph_cost cost = {.launch = LAUNCH, .between = 500, .least = 1};
  assert_true(
      llmprof_change_graph(t.change, 0, t.p.steps, &cost, &t.count, &t.err));
  assert_int_equal(gain(&t), 0);
  finish(&t);
}

/* Launches of graphs take less, and so does what lies between kernels. */
TEST(untraced) {
  trial t;
  begin_as(&t, true, false, BETWEEN);
  assert_true(llmprof_change_untraced(t.change, 0, t.p.steps, LAUNCH - 2000,
                                      160, &t.count, &t.err));
  assert_int_equal(t.count, STEPS);
  assert_int_equal(gain(&t), STEPS * (2000 + 160));
  finish(&t);
}

static bool all_of_it(void *arg, llmprof_error *err) {
  const program *p = arg;
  size_t count;
  int64_t times[4][STEPS];
  bool blind[STEPS];
  llmprof_replayed_ranges ranges = {times[0], times[1], times[2], times[3]};
  llmprof_replay *r = replay_of(p, err);
  if (!r) return false;
  llmprof_graph_cost cost = {.launch = 10000, .node = 1000, .least = 1};
  llmprof_change *change = llmprof_change_new(r);
  if (!change) llmprof_fail_nomem(err);
  llmprof_replay_busy busy;
  bool ok = change &&
            llmprof_change_graph(change, 0, p->steps, &cost, &count, err) &&
            llmprof_change_blind(change, 0, blind, &count, err) &&
            llmprof_change_untraced(change, 0, p->steps, 1, 1, &count, err) &&
            llmprof_change_ignore(change, 0, p->operations, &count, err) &&
            llmprof_replay_run(r, change, &ranges, NULL, err) &&
            llmprof_replay_busy_of(r, true, &busy, err);
  llmprof_change_free(change);
  llmprof_replay_free(r);
  return ok;
}

TEST(out_of_memory) {
  program p;
  make(&p);
  test_every_allocation(all_of_it, &p);
  drop(&p);
}

TEST(missing_column) {
  program p;
  llmprof_error err;
  make(&p);
  llmprof_replay *r = llmprof_replay_new();
  llmprof_replay_part part = {
      .operations = p.steps, .calls = p.calls, .ranges = p.steps};
  assert_false(llmprof_replay_add(r, &part, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_string_equal(err.message, "no column 'op'");
  llmprof_replay_free(r);
  drop(&p);
}

/* As clocks differ, an operation may begin before its call: there it stays. */
TEST(before_its_call) {
  program p;
  llmprof_error err;
  int64_t times[4][STEPS];
  make(&p);
  p.op_start[0] = p.call_start[0] - 100;
  llmprof_replay *r = replay_of(&p, &err);
  assert_non_null(r);
  llmprof_replayed_ranges ranges = {times[0], times[1], times[2], times[3]};
  assert_true(llmprof_replay_run(r, NULL, &ranges, NULL, &err));
  assert_int_equal(times[2][0], p.op_start[0]);
  llmprof_replay_free(r);
  drop(&p);
}

/* Of times that no clock shows one row is left out, or the trace is refused. */
TEST(far_times) {
  program p;
  llmprof_error err;
  make(&p);
  p.op_start[KERNELS - 1] = p.op_end[KERNELS - 1] = INT64_MAX - 1;
  llmprof_replay *r = replay_of(&p, &err);
  assert_non_null(r);
  assert_int_equal(llmprof_replay_basis_of(r).operations, KERNELS - 1);
  llmprof_replay_free(r);
  p.op_start[KERNELS - 1] = p.op_end[KERNELS - 1] = INT64_C(1) << 60;
  assert_null(replay_of(&p, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  r = llmprof_replay_new();
  llmprof_replay_part part = {.operations = p.operations,
                              .calls = p.calls,
                              .ranges = p.steps,
                              .offset = INT64_MAX};
  assert_false(llmprof_replay_add(r, &part, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  llmprof_replay_free(r);
  drop(&p);
}
