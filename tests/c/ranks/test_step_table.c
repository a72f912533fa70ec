#include "ranks/step_table.h"

#include "support.h"

/* Rank 0 has steps 0, 2 and 3, of which 3 has no work; rank 1 has step 1. */
enum {
  STEPS = 4,
  OPS = 9
};

static const uint32_t ranks[STEPS] = {0, 1, 0, 0};
static const int64_t step_starts[STEPS] = {0, 0, 50, 90};

static const uint32_t of_step[OPS] = {0, 0, 0, 2, 2, 1, 7, UINT32_MAX, 0};
static const int64_t op_starts[OPS] = {10, 15, 30, 55, 38, 100, 1, 1, 12};
static const int64_t op_ends[OPS] = {20, 25, 40, 70, 44, 130, 2, 2, 11};
static const uint32_t works[OPS] = {
    LLMPROF_COMPUTE, LLMPROF_COMMUNICATION, LLMPROF_MOVE,
    LLMPROF_COMPUTE, LLMPROF_COMPUTE,       LLMPROF_COMMUNICATION,
    LLMPROF_COMPUTE, LLMPROF_COMPUTE,       LLMPROF_COMPUTE};
static const uint32_t graphs[OPS] = {1, 1, 1, 0, UINT32_MAX, 0, 1, 1, 1};

static const int64_t launches[OPS] = {4, 3, 9, 41, 42, 1, 1, 1, 1};

static llmprof_frame *steps_frame(void) {
  const test_column columns[] = {
      {"rank", NULL, LLMPROF_U32, ranks, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, step_starts, NULL, NULL, NULL},
  };
  return test_frame(STEPS, NULL, columns, 2);
}

static llmprof_frame *ops_frame(void) {
  const test_column columns[] = {
      {"step", NULL, LLMPROF_U32, of_step, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, op_starts, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, op_ends, NULL, NULL, NULL},
      {"work", NULL, LLMPROF_U32, works, NULL, NULL, NULL},
      {"graphed", NULL, LLMPROF_U32, graphs, NULL, NULL, NULL},
      {"launched", "ns", LLMPROF_I64, launches, NULL, NULL, NULL},
  };
  return test_frame(OPS, NULL, columns, 6);
}

static const llmprof_step_columns by_number = {0, 1, 0, 1,       2,
                                               3, 5, 4, SIZE_MAX};

#define ABSENT INT64_MIN

TEST(measures) {
  llmprof_error err;
  llmprof_frame *steps = steps_frame(), *ops = ops_frame();
  assert_true(llmprof_steps_measure(steps, ops, &by_number, &err));
  TEST_CELLS(steps, "launched", 3, 1, 41, ABSENT);
  TEST_CELLS(steps, "first", 10, 100, 38, ABSENT);
  TEST_CELLS(steps, "last", 40, 130, 70, ABSENT);
  /* step 2 launches while step 0 still copies */
  TEST_CELLS(steps, "begin", 10, 100, 40, ABSENT);
  TEST_CELLS(steps, "length", 30, 30, 30, ABSENT);
  TEST_CELLS(steps, "interval", ABSENT, ABSENT, 30, ABSENT);
  TEST_CELLS(steps, "idle", ABSENT, ABSENT, 0, ABSENT);
  TEST_CELLS(steps, "busy", 25, 30, 21, 0);
  TEST_CELLS(steps, "gpu_time", 30, 30, 21, 0);
  TEST_CELLS(steps, "kernels", 2, 1, 2, 0);
  TEST_CELLS(steps, "graphed", 2, 0, 0, 0);
  TEST_CELLS(steps, "graphs", 1, 0, 0, 0);
  TEST_CELLS(steps, "before", ABSENT, ABSENT, 40, ABSENT);
  TEST_CELLS(steps, "moves", 1, 0, 0, 0);
  TEST_CELLS(steps, "collectives", 1, 1, 0, 0);
  TEST_CELLS(steps, "move_time", 10, 0, 0, 0);
  TEST_CELLS(steps, "comm_time", 10, 30, 0, 0);
  TEST_CELLS(steps, "comm_hidden", 5, 0, 0, 0);
  llmprof_frame_free(steps);
  llmprof_frame_free(ops);
}

TEST(idle_between) {
  static const uint32_t later[] = {0, 2};
  static const int64_t from[] = {10, 100}, to[] = {20, 150};
  static const uint32_t work[] = {0, 0};
  const test_column columns[] = {
      {"step", NULL, LLMPROF_U32, later, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, to, NULL, NULL, NULL},
      {"work", NULL, LLMPROF_U32, work, NULL, NULL, NULL},
  };
  llmprof_error err;
  llmprof_frame *steps = steps_frame(), *ops = test_frame(2, NULL, columns, 4);
  llmprof_step_columns no_graphs = by_number;
  no_graphs.graphed = no_graphs.launched = SIZE_MAX;
  assert_true(llmprof_steps_measure(steps, ops, &no_graphs, &err));
  TEST_CELLS(steps, "idle", ABSENT, ABSENT, 80, ABSENT);
  TEST_CELLS(steps, "interval", ABSENT, ABSENT, 130, ABSENT);
  TEST_CELLS(steps, "length", 10, ABSENT, 50, ABSENT);
  TEST_CELLS(steps, "graphed", 0, 0, 0, 0);
  llmprof_frame_free(steps);
  llmprof_frame_free(ops);
}

/* A GPU that ran what is of no step was not idle, on its own rank alone. */
TEST(outside) {
  static const uint32_t later[] = {0, UINT32_MAX, UINT32_MAX, 2};
  static const uint32_t work[] = {0, 0, 0, 0}, whose[] = {0, 0, 1, 0};
  static const int64_t from[] = {10, 30, 40, 100}, to[] = {20, 70, 99, 150};
  const test_column columns[] = {
      {"step", NULL, LLMPROF_U32, later, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, to, NULL, NULL, NULL},
      {"work", NULL, LLMPROF_U32, work, NULL, NULL, NULL},
      {"rank", NULL, LLMPROF_U32, whose, NULL, NULL, NULL},
  };
  llmprof_error err;
  llmprof_frame *steps = steps_frame(), *ops = test_frame(4, NULL, columns, 5);
  llmprof_step_columns ranked = by_number;
  ranked.graphed = ranked.launched = SIZE_MAX;
  ranked.rank = 4;
  assert_true(llmprof_steps_measure(steps, ops, &ranked, &err));
  TEST_CELLS(steps, "free", ABSENT, ABSENT, 70, ABSENT);
  TEST_CELLS(steps, "idle", ABSENT, ABSENT, 30, ABSENT);
  TEST_CELLS(steps, "interval", ABSENT, ABSENT, 130, ABSENT);
  llmprof_frame_free(steps);
  llmprof_frame_free(ops);
}

/* What was launched before the step before it ended could begin then. */
TEST(queued) {
  static const uint32_t later[] = {0, 2}, work[] = {0, 0};
  static const int64_t from[] = {10, 23}, to[] = {20, 50}, called[] = {1, 20};
  const test_column columns[] = {
      {"step", NULL, LLMPROF_U32, later, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, to, NULL, NULL, NULL},
      {"work", NULL, LLMPROF_U32, work, NULL, NULL, NULL},
      {"launched", "ns", LLMPROF_I64, called, NULL, NULL, NULL},
  };
  llmprof_error err;
  llmprof_frame *steps = steps_frame(), *ops = test_frame(2, NULL, columns, 5);
  llmprof_step_columns queued = by_number;
  queued.graphed = SIZE_MAX;
  queued.launched = 4;
  assert_true(llmprof_steps_measure(steps, ops, &queued, &err));
  TEST_CELLS(steps, "begin", 10, ABSENT, 20, ABSENT);
  TEST_CELLS(steps, "length", 10, ABSENT, 30, ABSENT);
  TEST_CELLS(steps, "idle", ABSENT, ABSENT, 3, ABSENT);
  llmprof_frame_free(steps);
  llmprof_frame_free(ops);
}

/* Times as far apart as a broken file may have them. */
TEST(extremes) {
  static const uint32_t step[] = {0, 0};
  static const int64_t from[] = {INT64_MIN + 1, INT64_MIN + 1};
  static const int64_t to[] = {INT64_MAX, INT64_MAX};
  static const uint32_t work[] = {2, 2};
  const test_column columns[] = {
      {"step", NULL, LLMPROF_U32, step, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, to, NULL, NULL, NULL},
      {"work", NULL, LLMPROF_U32, work, NULL, NULL, NULL},
  };
  llmprof_error err;
  llmprof_frame *steps = steps_frame(), *ops = test_frame(2, NULL, columns, 4);
  llmprof_step_columns no_graphs = by_number;
  no_graphs.graphed = no_graphs.launched = SIZE_MAX;
  assert_true(llmprof_steps_measure(steps, ops, &no_graphs, &err));
  TEST_CELLS(steps, "gpu_time", INT64_MAX, 0, 0, 0);
  TEST_CELLS(steps, "length", INT64_MAX, ABSENT, ABSENT, ABSENT);
  llmprof_frame_free(steps);
  llmprof_frame_free(ops);
}

static bool measure(void *arg, llmprof_error *err) {
  llmprof_frame *steps = steps_frame(), *ops = ops_frame();
  bool ok = (steps && ops) || llmprof_fail_nomem(err);
  ok = ok && llmprof_steps_measure(steps, ops, &by_number, err);
  llmprof_frame_free(steps);
  llmprof_frame_free(ops);
  return ok;
}

TEST(out_of_memory) {
  test_every_allocation(measure, NULL);
}
