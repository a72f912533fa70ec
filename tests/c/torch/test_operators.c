#include "torch/operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "support.h"

#define ABSENT INT64_MIN

/* An event of process 1; args NULL: none. The last row has no category. */
typedef struct row {
  const char *category, *name;
  int tid;
  const char *ts, *dur, *args;
} row;

static const char op[] = "cpu_op", call[] = "cuda_runtime", kernel[] = "kernel";

static llmprof_buffer text_of(const row *rows) {
  llmprof_buffer text = {0};
  llmprof_buffer_puts(&text, "[");
  for (const row *r = rows; r->category; r++)
    llmprof_buffer_printf(&text,
                          "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\","
                          "\"pid\":1,\"tid\":%d,\"ts\":%s,\"dur\":%s,"
                          "\"args\":{%s}}",
                          r == rows ? "" : ",\n", r->category, r->name, r->tid,
                          r->ts, r->dur, r->args ? r->args : "");
  llmprof_buffer_puts(&text, "]");
  return text;
}

static llmprof_operators *load_text(const char *text) {
  llmprof_error err = {0};
  llmprof_operators *o =
      llmprof_operators_load(test_file("t.json", text, strlen(text)), &err);
  if (!o) fail_msg("%s", err.message);
  return o;
}

static llmprof_operators *load(const row *rows) {
  llmprof_buffer text = text_of(rows);
  llmprof_operators *o = load_text(text.bytes);
  llmprof_buffer_free(&text);
  return o;
}

/* The column's values as text: "1 2 -". */
static void assert_column(llmprof_operators *o, const char *frame_name,
                          const char *name, const char *wanted) {
  llmprof_error err = {0};
  llmprof_frame *frame = llmprof_operators_frame(o, frame_name, &err);
  assert_non_null(frame);
  const llmprof_column *column =
      llmprof_frame_column(frame, llmprof_frame_find(frame, name), &err);
  assert_non_null(column);
  char text[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < llmprof_frame_rows(frame); i++) {
    int64_t value = llmprof_cell(column, i);
    const char *before = i ? " " : "";
    if (value == ABSENT)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s-", before);
    else if (column->type == LLMPROF_STRING_ID)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", before,
                               llmprof_strings_get(llmprof_frame_strings(frame),
                                                   (uint32_t)value, NULL));
    else
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld",
                               before, (long long)value);
  }
  assert_string_equal(text, wanted);
  llmprof_frame_free(frame);
}

/* a calls b, which calls a again; b and d overlap inside a; another thread at
 * the same time does not matter. Children come first in the file. */
TEST(nesting) {
  static const row rows[] = {
      {op, "a", 1, "22", "5", NULL},  {op, "b", 1, "20.0", "10.5", NULL},
      {op, "a", 1, "10", "50", NULL}, {op, "d", 1, "30", "10", NULL},
      {op, "z", 2, "10", "50", NULL}, {op, "e", 1, "55", "10", NULL},
      {op, "f", 1, "60", "1", NULL},  {0},
  };
  llmprof_operators *o = load(rows);
  assert_column(o, "host", "name", "a b a d z e f");
  assert_column(o, "host", "parent", "1 2 - 2 - - 5");
  assert_column(o, "host", "self", "5000 5500 30000 10000 50000 9000 1000");
  assert_column(o, "host", "outer", "- 10500 50000 10000 50000 10000 1000");
  assert_column(o, "host", "thread", "0 0 0 0 1 0 0");
  assert_column(o, "host", "device_self", "- - - - - - -");
  llmprof_operators_free(o);
}

/* p calls itself and nothing else, twice in a row; q calls itself and r. */
TEST(calls) {
  static const row rows[] = {
      {op, "p", 1, "10", "50", NULL},  {op, "p", 1, "11", "40", NULL},
      {op, "p", 1, "12", "30", NULL},  {op, "s", 1, "13", "1", NULL},
      {op, "q", 1, "100", "50", NULL}, {op, "q", 1, "110", "10", NULL},
      {op, "r", 1, "130", "10", NULL}, {0},
  };
  llmprof_operators *o = load(rows);
  assert_column(o, "host", "calls", "1 0 0 1 1 1 1");
  llmprof_operators_free(o);
}

/* Whole microseconds are cut off: a child may seem to end 1 us too late. */
TEST(whole_microseconds) {
  static const row whole[] = {
      {op, "a", 1, "10", "5", NULL},
      {op, "b", 1, "11", "5", NULL},
      {op, "c", 1, "14", "4", NULL},
      {0},
  };
  llmprof_operators *o = load(whole);
  assert_column(o, "host", "parent", "- 0 -");
  assert_column(o, "host", "self", "1000 5000 4000");
  llmprof_operators_free(o);
  static const row parts[] = {
      {op, "a", 1, "10.000", "5.001", NULL},
      {op, "b", 1, "11", "5", NULL},
      {0},
  };
  o = load(parts);
  assert_column(o, "host", "parent", "- -");
  llmprof_operators_free(o);
}

TEST(attribution) {
  static const row rows[] = {
      {op, "outer", 1, "10.5", "50", "\"External id\":1"},
      {op, "inner", 1, "20", "10", "\"External id\":2"},
      {call, "launch", 1, "21", "1", "\"correlation\":7,\"External id\":2"},
      {call, "launch", 1, "40", "1", "\"correlation\":8"},
      {call, "launch", 2, "40", "1", "\"correlation\":9"},
      {kernel, "by id", 7, "500", "1", "\"External id\":2,\"correlation\":8"},
      {kernel, "by the call's id", 7, "500", "2", "\"correlation\":7"},
      {kernel, "by place", 7, "500", "4",
       "\"External id\":0,\"correlation\":8"},
      {kernel, "no operator", 7, "500", "8", "\"correlation\":9"},
      {kernel, "nothing", 7, "500", "16", "\"External id\":99"},
      {0},
  };
  llmprof_operators *o = load(rows);
  assert_column(o, "gpu", "operator", "inner inner outer - -");
  assert_column(o, "host", "device_self", "4000 3000 - - -");
  assert_column(o, "host", "device_outer", "7000 3000 - - -");
  llmprof_operators_info info = llmprof_operators_about(o);
  assert_int_equal(info.host, 5);
  assert_int_equal(info.gpu, 5);
  assert_int_equal(info.first, 10500);
  assert_int_equal(info.last, 516000);
  llmprof_operators_free(o);
}

/* The launch counts, not the work: it is inside b, which is inside a; another
 * thread has marks of its own, and one kernel lies between two marks. */
/* Two processes of a merged file, numbered and as text: ids are the same. */
TEST(processes) {
  static const char *const pids[][2] = {{"1", "2"}, {"\"[0] 9\"", "\"[1] 9\""}};
  for (int form = 0; form < 2; form++) {
    llmprof_buffer text = {0};
    llmprof_buffer_puts(&text, "[");
    for (int i = 0; i < 2; i++)
      llmprof_buffer_printf(
          &text,
          "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":%s,"
          "\"tid\":1,\"ts\":%d,\"dur\":9,\"args\":{\"External id\":7}},"
          "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\","
          "\"pid\":%s,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{"
          "\"correlation\":3}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
          "\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{"
          "\"correlation\":3,\"External id\":7}}",
          i ? "," : "", i, pids[form][i], 1 + i, pids[form][i], 2 + i, 20 + i,
          4 + i);
    llmprof_buffer_puts(&text, "]");
    llmprof_operators *o = load_text(text.bytes);
    llmprof_buffer_free(&text);
    assert_column(o, "gpu", "operator", "op0 op1");
    assert_column(o, "host", "device_self", "4000 - 5000 -");
    llmprof_operators_free(o);
  }
}

TEST(marks) {
  static const char mark[] = "user_annotation";
  static const row rows[] = {
      {mark, "b", 1, "20", "10", NULL},
      {mark, "a", 1, "10", "50", NULL},
      {mark, "other", 2, "0", "100", NULL},
      {mark, "c", 1, "70", "10", NULL},
      {call, "launch", 1, "25", "1", "\"correlation\":1"},
      {call, "launch", 1, "40", "1", "\"correlation\":2"},
      {call, "launch", 1, "65", "1", "\"correlation\":3"},
      {call, "launch", 2, "65", "1", "\"correlation\":4"},
      {kernel, "in b", 7, "500", "1", "\"correlation\":1"},
      {kernel, "in a", 7, "502", "1", "\"correlation\":2"},
      {kernel, "between", 7, "504", "1", "\"correlation\":3"},
      {kernel, "in other", 7, "506", "1", "\"correlation\":4"},
      {kernel, "nobody knows", 7, "508", "1", NULL},
      {0},
  };
  llmprof_operators *o = load(rows);
  assert_column(o, "marks", "name", "b a other c");
  assert_column(o, "marks", "parent", "1 - - -");
  assert_column(o, "gpu", "mark", "0 1 - 2 -");
  assert_column(o, "gpu", "launched", "25000 40000 65000 65000 -");
  llmprof_operators_free(o);
}

TEST(left_out) {
  static const row rows[] = {
      {op, "negative", 1, "1", "-5", NULL},
      {op, "huge", 1, "1", "1e18", NULL},
      {op, "far", 1, "9e15", "1", NULL},
      {op, "no duration", 1, "1", "NaN", NULL},
      {kernel, "no start", 1, "null", "1", NULL},
      {op, "no time", 1, "0.000", "0.000", NULL},
      {"user_annotation", "not kept", 1, "1", "1", NULL},
      {0},
  };
  llmprof_operators *o = load(rows);
  llmprof_operators_info info = llmprof_operators_about(o);
  assert_int_equal(info.host + info.gpu, 0);
  assert_int_equal(info.left_out, 6);
  assert_int_equal(info.last, 0);
  assert_column(o, "host", "self", "");
  llmprof_error err;
  assert_null(llmprof_operators_frame(o, "ops", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  llmprof_operators_free(o);
}

TEST(events_without_everything) {
  llmprof_operators *o =
      load_text("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":2},"
                "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"ts\":1},{}]");
  assert_column(o, "host", "name", "-");
  assert_column(o, "host", "self", "2000");
  llmprof_operators_free(o);
}

static bool load_and_free(void *arg, llmprof_error *err) {
  llmprof_operators *o = llmprof_operators_load(arg, err);
  llmprof_frame *frame = o ? llmprof_operators_frame(o, "host", err) : NULL;
  bool ok = frame;
  llmprof_frame_free(frame);
  llmprof_operators_free(o);
  return ok;
}

TEST(allocations) {
  static const row rows[] = {
      {op, "a", 1, "1", "9", "\"External id\":1"},
      {op, "b", 1, "2", "1", NULL},
      {call, "launch", 1, "2", "1", "\"correlation\":7"},
      {kernel, "k", 7, "3", "1", "\"correlation\":7"},
      {"user_annotation", "stage", 1, "1", "9", NULL},
      {0},
  };
  llmprof_buffer text = text_of(rows);
  const char *path = test_file("t.json", text.bytes, text.size);
  llmprof_buffer_free(&text);
  test_every_allocation(load_and_free, (void *)path);
}
