/* NVIDIA's rule on small traces, and on random ones against the rule as SQL
 * would evaluate it: every operation with every call and every range. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/buffer.h"
#include "exports.h"
#include "trace/trace_events.h"

/* ---- attribution as text ---- */

static const char *tag_of(const llmprof_trace *trace,
                          const llmprof_ranges *ranges, uint32_t range) {
  const char *tag = llmprof_strings_get(
      llmprof_trace_strings(trace), llmprof_id_at(ranges->tag, range), NULL);
  return tag ? tag : "?";
}

/* By operation, what it is in, innermost first: "step<decode, -". */
static void describe_ops(llmprof_trace *trace, llmprof_buffer *out) {
  llmprof_error err = {0};
  const llmprof_attribution *a = llmprof_trace_attribution(trace, &err);
  if (!a) fail_msg("%s", err.message);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  llmprof_frame *frame = test_frame_of(trace, "gpu");
  for (size_t op = 0; op < llmprof_frame_rows(frame); op++) {
    if (op) llmprof_buffer_puts(out, ", ");
    uint32_t link = llmprof_id_at(a->link, op);
    bool lost = test_cell(frame, "launch_tid", op) == LLMPROF_ABSENT;
    if (link == LLMPROF_NONE) llmprof_buffer_puts(out, lost ? "lost" : "-");
    for (; link != LLMPROF_NONE; link = llmprof_id_at(a->outer, link)) {
      llmprof_buffer_puts(out,
                          tag_of(trace, ranges, llmprof_id_at(a->range, link)));
      if (llmprof_id_at(a->outer, link) != LLMPROF_NONE)
        llmprof_buffer_putc(out, '<');
    }
  }
  llmprof_frame_free(frame);
}

/* By range, its level and parent: "decode 0, step 1 in decode". */
static void describe_ranges(llmprof_trace *trace, llmprof_buffer *out) {
  llmprof_error err = {0};
  const llmprof_attribution *a = llmprof_trace_attribution(trace, &err);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  for (uint32_t r = 0; r < ranges->count; r++) {
    if (r) llmprof_buffer_puts(out, ", ");
    llmprof_buffer_puts(out, tag_of(trace, ranges, r));
    if (llmprof_id_at(a->level, r) == LLMPROF_NONE)
      llmprof_buffer_puts(out, " out");
    else
      llmprof_buffer_printf(out, " %u", llmprof_id_at(a->level, r));
    if (llmprof_id_at(a->parent, r) != LLMPROF_NONE)
      llmprof_buffer_printf(out, " in %s",
                            tag_of(trace, ranges, llmprof_id_at(a->parent, r)));
  }
}

/* "decode 10-90 3 ops 1 child". */
static void describe_projections(llmprof_trace *trace, llmprof_buffer *out) {
  llmprof_error err = {0};
  const llmprof_projections *p = llmprof_trace_projections(trace, &err);
  if (!p) fail_msg("%s", err.message);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  for (size_t i = 0; i < p->count; i++)
    llmprof_buffer_printf(
        out, "%s%s %lld-%lld %u ops %u children", i ? ", " : "",
        tag_of(trace, ranges, llmprof_id_at(p->range, i)),
        (long long)llmprof_values_get(p->start, i),
        (long long)llmprof_values_get(p->end, i),
        llmprof_id_at(p->operations, i), llmprof_id_at(p->children, i));
}

typedef void (*describer)(llmprof_trace *trace, llmprof_buffer *out);

static void expect(const char *sql, describer describe, const char *expected) {
  llmprof_trace *trace = test_trace(sql);
  llmprof_buffer got = {0};
  llmprof_buffer_puts(&got, "");
  describe(trace, &got);
  assert_false(got.failed);
  assert_string_equal(got.bytes, expected);
  llmprof_buffer_free(&got);
  llmprof_trace_close(trace);
}

/* ---- the rule ---- */

#define NESTED                                                           \
  EXPORT_TABLES RANGE(0, 100, T11, "decode") RANGE(10, 40, T11, "step")  \
      RANGE(15, 35, T11, "layer") RANGE(50, 90, T11, "step")             \
          CALL(16, 20, T11, 1) CALL(36, 38, T11, 2) CALL(45, 46, T11, 3) \
              CALL(60, 61, T11, 4) CALL(120, 121, T11, 5)                \
                  KERNEL(200, 210, P1, 1) KERNEL(210, 220, P1, 2)        \
                      KERNEL(220, 230, P1, 3) KERNEL(300, 330, P1, 4)    \
                          KERNEL(340, 350, P1, 5)

TEST(nested_ranges) {
  expect(NESTED, describe_ops,
         "layer<step<decode, step<decode, decode, step<decode, -");
  expect(NESTED, describe_ranges,
         "decode 0, step 1 in decode, layer 2 in step, step 1 in decode");
  expect(NESTED, describe_projections,
         "decode 200-330 4 ops 2 children, step 200-220 2 ops 1 children, "
         "layer 200-210 1 ops 0 children, step 300-330 1 ops 0 children");
}

/* Start/end ranges need not nest: in order of their starts. */
TEST(overlapping_ranges) {
#define OVERLAPPING                                                           \
  EXPORT_TABLES RANGE_OF(60, 0, 50, T11, "a", "NULL")                         \
      RANGE_OF(60, 20, 80, T11, "b", "NULL") RANGE(30, 40, T11, "c")          \
          CALL(10, 11, T11, 1) CALL(25, 26, T11, 2) CALL(35, 36, T11, 3)      \
              CALL(45, 55, T11, 4) CALL(60, 61, T11, 5) KERNEL(90, 91, P1, 1) \
                  KERNEL(91, 92, P1, 2) KERNEL(92, 93, P1, 3)                 \
                      KERNEL(93, 94, P1, 4) KERNEL(94, 95, P1, 5)
  expect(OVERLAPPING, describe_ops, "a, b<a, c<b<a, b, b");
  /* c lies in both; a is the shorter one */
  expect(OVERLAPPING, describe_ranges, "a 0, b 0, c 1 in a");
}

TEST(ranges_alike) {
  expect(EXPORT_TABLES RANGE(10, 20, T11, "inner") RANGE(0, 30, T11, "first")
             RANGE(0, 30, T11, "second") CALL(12, 13, T11, 1)
                 KERNEL(90, 91, P1, 1),
         describe_ops, "inner<second<first");
}

/* Imported ranges (70, 71) count as those recorded (59, 60); marks do not. */
TEST(kinds_of_events) {
  expect(EXPORT_TABLES RANGE_OF(70, 0, 30, T11, "a", "NULL")
             RANGE_OF(71, 1, 30, T11, "b", "NULL")
                 RANGE_OF(34, 2, 30, T11, "mark", "NULL") CALL(12, 13, T11, 1)
                     KERNEL(90, 91, P1, 1),
         describe_ops, "b<a");
}

TEST(threads) {
#define THREADS                                                         \
  EXPORT_TABLES RANGE(0, 100, T11, "main") RANGE(0, 100, T12, "worker") \
      RANGE_OF(60, 0, 100, T11, "moved", T12) CALL(10, 11, T11, 1)      \
          CALL(12, 13, T12, 2) KERNEL(20, 21, P1, 1) KERNEL(21, 22, P1, 2)
  expect(THREADS, describe_ops, "main, worker");
  expect(THREADS, describe_ranges, "main 0, worker 0, moved out");
}

/* Correlation ids are per process, whatever the order of the rows. */
TEST(processes) {
  expect(EXPORT_TABLES RANGE(0, 100, T11, "one") RANGE(0, 100, T21, "two")
             CALL(10, 11, T21, 7) CALL(10, 11, T11, 7) CALL(12, 13, T21, 8)
                 KERNEL(20, 21, P2, 7) KERNEL(20, 21, P1, 7)
                     KERNEL(22, 23, P1, 8) KERNEL(22, 23, P2, 8),
         describe_ops, "two, one, lost, two");
}

/* All kernels of a graph have the id of its launch and count as one. */
TEST(graph_launches) {
  expect(EXPORT_TABLES RANGE(0, 100, T11, "decode") RANGE(0, 50, T11, "step")
             CALL(10, 11, T11, 1) CALL(60, 61, T11, 2) KERNEL(20, 21, P1, 1)
                 KERNEL(21, 29, P1, 1) KERNEL(22, 23, P1, 1)
                     KERNEL(70, 75, P1, 2),
         describe_projections,
         "decode 20-75 2 ops 1 children, step 20-29 1 ops 0 children");
}

/* A graph traced as one operation is attributed but, as in NVIDIA's reports,
 * not projected. */
TEST(whole_graphs) {
#define WHOLE_GRAPH                                                            \
  EXPORT_TABLES RANGE(0, 100, T11, "decode") CALL(10, 11, T11, 1) CALL(12, 13, \
                                                                       T11, 2) \
      KERNEL(20, 21, P1, 1) "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE "    \
                            "(start INTEGER, end INTEGER, correlationId "      \
                            "INTEGER, globalPid INTEGER);"                     \
                            "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE "     \
                            "VALUES (30, 60, 2, " P1 ");"
  expect(WHOLE_GRAPH, describe_ops, "decode, decode");
  expect(WHOLE_GRAPH, describe_projections, "decode 20-21 1 ops 0 children");
}

TEST(range_left_open) {
  expect(EXPORT_TABLES RANGE(0, null, T11, "open") RANGE(50, 80, T11, "in")
             CALL(10, 11, T11, 1) CALL(60, 61, T11, 2) CALL(70, 90, T11, 3)
                 KERNEL(100, 101, P1, 1) KERNEL(101, 102, P1, 2)
                     KERNEL(102, 103, P1, 3),
         describe_ops, "open, in<open, open");
}

/* A step without an end is over when the next one begins, or what is around
 * it is; of another thread, or of ranges by start and end, that says nothing.
 */
TEST(step_left_open) {
#define LEFT_OPEN                                                             \
  EXPORT_TABLES RANGE(0, 50, T11, "decode") RANGE(10, null, T11, "step")      \
      RANGE(20, 30, T11, "step") RANGE(40, null, T11, "step")                 \
          RANGE(60, 70, T11, "step") RANGE_OF(60, 10, null, T12, "b", "NULL") \
              RANGE_OF(60, 20, 30, T12, "b", "NULL") CALL(15, 16, T11, 1)     \
                  CALL(22, 23, T11, 2) CALL(35, 36, T11, 3)                   \
                      CALL(45, 46, T11, 4) CALL(80, 81, T11, 5)               \
                          CALL(85, 86, T12, 6) KERNEL(90, 91, P1, 1)          \
                              KERNEL(91, 92, P1, 2) KERNEL(92, 93, P1, 3)     \
                                  KERNEL(93, 94, P1, 4) KERNEL(94, 95, P1, 5) \
                                      KERNEL(95, 96, P1, 6)
  expect(LEFT_OPEN, describe_ops,
         "step<decode, step<decode, decode, step<decode, -, b");
}

/* Times are absent in no file of nsys's; SQL's comparisons would be NULL. */
TEST(what_lacks_ids_or_times) {
  expect(EXPORT_TABLES RANGE(0, 100, "NULL", "nowhere")
             RANGE(null, 100, T11, "early") RANGE(0, 100, T11, "all")
                 CALL(10, 11, "NULL", 1) CALL(10, 11, T11, null)
                     CALL(10, 11, T11, 2) CALL(null, 11, T11, 3)
                         CALL(10, null, T11, 4) KERNEL(20, 21, "NULL", 1)
                             KERNEL(20, 21, P1, null) KERNEL(20, 21, P1, 1)
                                 KERNEL(20, 21, P1, 2) KERNEL(20, 21, P1, 3)
                                     KERNEL(20, 21, P1, 4),
         describe_ops, "lost, lost, lost, all, lost, lost");
}

TEST(missing_tables) {
  const char *kernel = KERNEL(20, 21, P1, 1);
  char sql[4096];
  static const struct {
    const char *table, *ops;
  } cases[] = {
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "lost"},
      {"NVTX_EVENTS", "-"},
      {"StringIds", "a"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(sql, sizeof sql, "%s%s%s%sDROP TABLE %s;", EXPORT_TABLES, kernel,
             CALL(10, 11, T11, 1), RANGE(0, 50, T11, "a"), cases[i].table);
    expect(sql, describe_ops, cases[i].ops);
  }
  expect(EXPORT_TABLES, describe_ops, "");
  expect(EXPORT_TABLES, describe_ranges, "");
  expect(EXPORT_TABLES, describe_projections, "");
}

/* ---- random traces against the rule itself ---- */

enum {
  EVENTS = 24,
  TIMES = 60
};

typedef struct dice {
  uint32_t next;
} dice;

static uint32_t roll(dice *d, uint32_t sides) {
  d->next = d->next * 1664525 + 1013904223;
  return (d->next >> 8) % sides;
}

/* Times are few, so that many events touch and nest; ids are few, too. */
static void add_random_events(llmprof_buffer *sql, dice *d) {
  static const char *const threads[] = {T11, T12, T21};
  uint32_t ranges = roll(d, EVENTS), calls = roll(d, EVENTS);
  for (uint32_t i = 0; i < ranges; i++) {
    uint32_t start = roll(d, TIMES), thread = roll(d, 3);
    bool moved = roll(d, 8) == 0, open = roll(d, 12) == 0;
    llmprof_buffer_printf(sql, "INSERT INTO NVTX_EVENTS VALUES (%u, ", start);
    llmprof_buffer_printf(sql, open ? "NULL" : "%u",
                          start + roll(d, TIMES - start));
    llmprof_buffer_printf(sql, ", %u, 'r%u', %s, %s);", 59 + roll(d, 2), i,
                          threads[thread],
                          moved ? threads[(thread + 1) % 3] : "NULL");
  }
  for (uint32_t i = 0; i < calls; i++) {
    uint32_t start = roll(d, TIMES);
    llmprof_buffer_printf(
        sql,
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%u, %u, %s, %u, 0);",
        start, start + roll(d, 10), threads[roll(d, 3)], i);
  }
  for (uint32_t i = 0; i < EVENTS; i++) {
    uint32_t start = roll(d, TIMES);
    llmprof_buffer_printf(
        sql,
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%u, %u, 0, %u, %s, 0);",
        start, start + roll(d, 10), roll(d, EVENTS), roll(d, 3) ? P1 : P2);
  }
}

typedef struct loaded {
  llmprof_trace *trace;
  const llmprof_ops *ops;
  const llmprof_calls *calls;
  const llmprof_ranges *ranges;
  const llmprof_attribution *attribution;
} loaded;

static int64_t pid_of_op(const loaded *l, size_t op) {
  size_t count;
  const llmprof_place *places =
      llmprof_trace_rows(l->trace, LLMPROF_PLACES, &count);
  return llmprof_trace_processes(
             l->trace, &count)[places[llmprof_id_at(l->ops->place, op)].process]
      .id;
}

static int64_t pid_of_call(const loaded *l, size_t call) {
  size_t count;
  return llmprof_trace_threads(l->trace,
                               &count)[llmprof_id_at(l->calls->thread, call)]
             .id &
         ~INT64_C(0xffffff);
}

/* The join: the call, LLMPROF_NONE without one. Ids are unique per process. */
static uint32_t call_by_rule(const loaded *l, size_t op) {
  for (uint32_t c = 0; c < l->calls->count; c++) {
    if (llmprof_id_at(l->calls->correlation, c) ==
            llmprof_id_at(l->ops->correlation, op) &&
        pid_of_call(l, c) == pid_of_op(l, op))
      return c;
  }
  return LLMPROF_NONE;
}

static bool is_in_range(const loaded *l, uint32_t call, size_t range) {
  return call != LLMPROF_NONE &&
         llmprof_id_at(l->ranges->end_thread, range) == LLMPROF_NONE &&
         llmprof_id_at(l->ranges->thread, range) ==
             llmprof_id_at(l->calls->thread, call) &&
         llmprof_values_get(l->ranges->start, range) <=
             llmprof_values_get(l->calls->start, call) &&
         llmprof_values_get(l->ranges->end, range) >=
             llmprof_end_at(l->calls->start, l->calls->duration, call);
}

/* Each range of the chain by the rule, from the last start to the first, and
 * as many as the rule gives. */
static void check_chain(const loaded *l, size_t op) {
  uint32_t call = call_by_rule(l, op);
  assert_int_equal(llmprof_id_at(l->attribution->call, op), call);
  size_t wanted = 0, got = 0;
  for (size_t r = 0; r < l->ranges->count; r++)
    wanted += is_in_range(l, call, r);
  int64_t last = INT64_MAX;
  for (uint32_t link = llmprof_id_at(l->attribution->link, op);
       link != LLMPROF_NONE;
       link = llmprof_id_at(l->attribution->outer, link)) {
    uint32_t range = llmprof_id_at(l->attribution->range, link);
    assert_true(is_in_range(l, call, range));
    assert_true(llmprof_values_get(l->ranges->start, range) <= last);
    last = llmprof_values_get(l->ranges->start, range);
    got++;
  }
  assert_int_equal(got, wanted);
}

/* Extent and distinct calls of what a range launched. */
static void check_projection(const loaded *l, const llmprof_projections *p,
                             size_t row) {
  int64_t start = INT64_MAX, end = INT64_MIN;
  bool counted[EVENTS] = {false};
  uint32_t operations = 0;
  for (size_t op = 0; op < l->ops->count; op++) {
    uint32_t call = llmprof_id_at(l->attribution->call, op);
    if (!is_in_range(l, call, llmprof_id_at(p->range, row))) continue;
    if (llmprof_values_get(l->ops->start, op) < start)
      start = llmprof_values_get(l->ops->start, op);
    if (llmprof_end_at(l->ops->start, l->ops->duration, op) > end)
      end = llmprof_end_at(l->ops->start, l->ops->duration, op);
    operations += !counted[call];
    counted[call] = true;
  }
  assert_int_equal(llmprof_values_get(p->start, row), start);
  assert_int_equal(llmprof_values_get(p->end, row), end);
  assert_int_equal(llmprof_id_at(p->operations, row), operations);
}

static bool encloses(const llmprof_ranges *r, size_t outer, size_t inner) {
  return llmprof_id_at(r->thread, outer) == llmprof_id_at(r->thread, inner) &&
         llmprof_values_get(r->start, outer) <=
             llmprof_values_get(r->start, inner) &&
         llmprof_values_get(r->end, outer) >= llmprof_values_get(r->end, inner);
}

/* A parent encloses, no other range lies strictly between, and levels count
 * parents. */
static void check_parent(const loaded *l, uint32_t range) {
  const llmprof_ranges *r = l->ranges;
  uint32_t parent = llmprof_id_at(l->attribution->parent, range);
  uint32_t level = llmprof_id_at(l->attribution->level, range);
  if (llmprof_id_at(r->end_thread, range) != LLMPROF_NONE) {
    assert_int_equal(level, LLMPROF_NONE);
    return;
  }
  if (parent != LLMPROF_NONE) assert_true(encloses(r, parent, range));
  assert_int_equal(level,
                   parent == LLMPROF_NONE
                       ? 0
                       : llmprof_id_at(l->attribution->level, parent) + 1);
  for (size_t other = 0; other < r->count; other++) {
    if (other == range || llmprof_id_at(r->end_thread, other) != LLMPROF_NONE ||
        !encloses(r, other, range) || encloses(r, range, other))
      continue;
    assert_int_not_equal(parent, LLMPROF_NONE);
    assert_true(llmprof_values_get(r->end, parent) -
                    llmprof_values_get(r->start, parent) <=
                llmprof_values_get(r->end, other) -
                    llmprof_values_get(r->start, other));
  }
}

static void check_trace(const char *sql) {
  llmprof_error err = {0};
  loaded l = {.trace = test_trace(sql)};
  const llmprof_projections *projections =
      llmprof_trace_projections(l.trace, &err);
  if (!projections) fail_msg("%s", err.message);
  l.ops = llmprof_trace_ops(l.trace, &err);
  l.calls = llmprof_trace_calls(l.trace, &err);
  l.ranges = llmprof_trace_ranges(l.trace, &err);
  l.attribution = llmprof_trace_attribution(l.trace, &err);
  for (size_t op = 0; op < l.ops->count; op++) check_chain(&l, op);
  for (uint32_t r = 0; r < l.ranges->count; r++) check_parent(&l, r);
  for (size_t i = 0; i < projections->count; i++)
    check_projection(&l, projections, i);
  size_t with_ops = 0;
  for (size_t r = 0; r < l.ranges->count; r++) {
    bool any = false;
    for (size_t op = 0; op < l.ops->count; op++)
      any = any || is_in_range(&l, llmprof_id_at(l.attribution->call, op), r);
    with_ops += any;
  }
  assert_int_equal(projections->count, with_ops);
  llmprof_trace_close(l.trace);
}

TEST(random_traces) {
  for (uint32_t seed = 1; seed <= 400; seed++) {
    llmprof_buffer sql = {0};
    llmprof_buffer_puts(&sql, "BEGIN;" EXPORT_TABLES);
    add_random_events(&sql, &(dice){seed * 7919});
    llmprof_buffer_puts(&sql, "COMMIT;");
    assert_false(sql.failed);
    check_trace(sql.bytes);
    llmprof_buffer_free(&sql);
  }
}

/* ---- out of memory ---- */

/* A failure leaves a trace that can be asked again. */
static bool load_twice(void *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  bool ok = trace && llmprof_trace_projections(trace, err);
  if (trace && !ok) {
    const llmprof_projections *again = llmprof_trace_projections(trace, NULL);
    assert_non_null(again);
    assert_int_equal(again->count, 4);
  }
  llmprof_trace_close(trace);
  return ok;
}

TEST(allocations) {
  const char *path = test_database("nested.sqlite", NESTED);
  test_every_allocation(load_twice, (void *)(uintptr_t)path);
}

/* ---- more calls than one part has ---- */

enum {
  MANY = 700000, /* calls, one every 10 ns, which take 5 */
  LAYER = 900,   /* calls of a layer; */
  STEP = 5000,   /* of a step, which is not a whole number of these */
  SPAN = 7000,   /* and from one span, twice as long, to the next */
};

/* Calls within each of a kind of ranges, in order; spans overlap. */
static const struct {
  const char *name;
  uint32_t every, calls;
} kinds_of_ranges[] = {{"run", MANY, MANY},
                       {"step", STEP, STEP},
                       {"span", SPAN, 2 * SPAN},
                       {"layer", LAYER, LAYER}};

enum {
  KINDS_OF_RANGES = sizeof kinds_of_ranges / sizeof *kinds_of_ranges
};

static bool add_ranges(llmprof_builder *b, int kind, llmprof_error *err) {
  llmprof_range_row row = {.end_thread = LLMPROF_NONE,
                           .domain = LLMPROF_NO_STRING,
                           .category = LLMPROF_NO_STRING,
                           .payload = LLMPROF_ABSENT};
  const char *name = kinds_of_ranges[kind].name;
  if (!llmprof_builder_text(b, name, strlen(name), &row.text))
    return llmprof_fail_nomem(err);
  for (int64_t i = 0; i < MANY; i += kinds_of_ranges[kind].every) {
    row.start = 10 * i;
    row.end = 10 * (i + kinds_of_ranges[kind].calls) - 1;
    if (!llmprof_builder_add_range(b, &row, err)) return false;
  }
  return true;
}

/* Even calls launch kernels, odd ones copies, and some nothing. */
static bool launches(uint32_t call, llmprof_op_kind kind) {
  return call % 5 && (call % 2 ? kind == LLMPROF_COPY : kind == LLMPROF_KERNEL);
}

static bool add_ops(llmprof_builder *b, llmprof_op_kind kind,
                    llmprof_error *err) {
  llmprof_op_row row = {.kind = kind, .bytes = 8};
  const llmprof_place place = {.process = 0};
  bool ok = llmprof_builder_add_place(b, &place, &row.place);
  for (uint32_t call = 0; ok && call < MANY; call++) {
    if (!launches(call, kind)) continue;
    row.start = 10 * (int64_t)call + 3;
    row.end = row.start + 4;
    row.correlation = call;
    ok = llmprof_builder_add_op(b, &row, err);
  }
  return ok;
}

static bool add_calls(llmprof_builder *b, llmprof_error *err) {
  bool ok = true;
  for (uint32_t call = 0; ok && call < MANY; call++) {
    const llmprof_call_row row = {.start = 10 * (int64_t)call,
                                  .end = 10 * (int64_t)call + 5,
                                  .correlation = call};
    ok = llmprof_builder_add_call(b, &row, err);
  }
  return ok;
}

static bool open_many(const char *path, llmprof_builder *b, void **state,
                      llmprof_error *err) {
  uint32_t row;
  return (llmprof_builder_add_process(b, 1, 1, &row) &&
          llmprof_builder_add_thread(b, 1, 1, 0, &row)) ||
         llmprof_fail_nomem(err);
}

static bool load_many(void *state, llmprof_builder *b, llmprof_part part,
                      llmprof_error *err) {
  bool ok = true;
  if (part == LLMPROF_PART_OPS)
    return add_ops(b, LLMPROF_KERNEL, err) && add_ops(b, LLMPROF_COPY, err);
  if (part == LLMPROF_PART_CALLS) return add_calls(b, err);
  for (int kind = 0;
       part == LLMPROF_PART_RANGES && ok && kind < KINDS_OF_RANGES; kind++)
    ok = add_ranges(b, kind, err);
  return ok;
}

/* By kind, how many ranges are around a call. */
static void assert_chain(const llmprof_attribution *a,
                         const llmprof_ranges *ranges, const uint32_t *texts,
                         size_t op, uint32_t call) {
  uint32_t found[KINDS_OF_RANGES] = {0};
  int64_t before = INT64_MAX;
  for (uint32_t link = llmprof_id_at(a->link, op); link != LLMPROF_NONE;
       link = llmprof_id_at(a->outer, link)) {
    uint32_t range = llmprof_id_at(a->range, link);
    assert_true(llmprof_values_get(ranges->start, range) <= 10 * (int64_t)call);
    assert_true(llmprof_values_get(ranges->end, range) >=
                10 * (int64_t)call + 5);
    assert_true(llmprof_values_get(ranges->start, range) <= before);
    before = llmprof_values_get(ranges->start, range);
    for (int kind = 0; kind < KINDS_OF_RANGES; kind++)
      found[kind] += llmprof_id_at(ranges->text, range) == texts[kind];
  }
  assert_int_equal(found[0], 1);
  assert_int_equal(found[1], 1);
  assert_int_equal(found[2], call < SPAN ? 1 : 2);
  assert_int_equal(found[3], 1);
}

static void check_many(llmprof_trace *trace) {
  llmprof_error err = {0};
  const llmprof_attribution *a = llmprof_trace_attribution(trace, &err);
  if (!a) fail_msg("%s", err.message);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  uint32_t texts[KINDS_OF_RANGES];
  for (int kind = 0; kind < KINDS_OF_RANGES; kind++)
    texts[kind] = llmprof_strings_find(llmprof_trace_strings(trace),
                                       kinds_of_ranges[kind].name,
                                       strlen(kinds_of_ranges[kind].name));
  size_t op = 0;
  for (int kind = LLMPROF_KERNEL; kind <= LLMPROF_COPY; kind++)
    for (uint32_t call = 0; call < MANY; call++)
      if (launches(call, (llmprof_op_kind)kind))
        assert_chain(a, ranges, texts, op++, call);
  const llmprof_projections *projections =
      llmprof_trace_projections(trace, &err);
  assert_non_null(projections);
  assert_int_equal(projections->count, ranges->count);
}

/* Parts are walked at once, and it is the same for any number of threads. */
TEST(many_calls) {
  static const llmprof_reader reader = {
      .name = "many", .what = "many", .open = open_many, .load = load_many};
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    llmprof_error err = {0};
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    llmprof_trace *trace = llmprof_reader_open(&reader, "many", &err);
    if (!trace) fail_msg("%s", err.message);
    check_many(trace);
    llmprof_trace_close(trace);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}
