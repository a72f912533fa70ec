/* llmprof.spans: which span of time rows are in, and what steps took. Each
 * function adds columns to the frame that it is given first and returns that
 * frame; failures are raised.
 *
 *   local new = require("llmprof.frame").new
 *   local steps = new(2, {
 *     { name = "start", type = "integer", values = { 0, 100 } } })
 *   local ops = new(2, {
 *     { name = "time", type = "integer", values = { 99, 100 } } })
 *   spans.until_next(steps, { start = "start" }, "until")
 *   spans.assign(ops, { time = "time" }, steps,
 *                { start = "start", ["end"] = "until" }, "step")
 *   print(ops:get(1, "step"), ops:get(2, "step"))  --> 0  1
 */
#include "ranks/spans.h"

#include "frame.h"
#include "intervals.h"
#include "ranks/step_table.h"

static llmprof_span_columns span_columns(lua_State *L, int arg,
                                         llmprof_frame *frame) {
  return (llmprof_span_columns){
      .start = llmprof_lua_column_field(L, arg, frame, "start"),
      .end = llmprof_lua_column_field(L, arg, frame, "end"),
      .key = llmprof_lua_opt_column_field(L, arg, frame, "key"),
  };
}

/* spans.until_next(frame, { start, key }, name): adds a column: when the next
 * row of the key starts */
static int spans_until_next(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  size_t start = llmprof_lua_column_field(L, 2, frame, "start");
  size_t key = llmprof_lua_opt_column_field(L, 2, frame, "key");
  const char *name = luaL_checkstring(L, 3);
  llmprof_lua_check_new(L, frame, name);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_spans_until(frame, start, key, name, &err), &err);
}

/* spans.assign(rows, { time, key }, spans, { start, end, key }, name): adds a
 * column to rows: which span, counted from 0, as rows of operations are */
static int spans_assign(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  size_t time = llmprof_lua_column_field(L, 2, rows, "time");
  size_t key = llmprof_lua_opt_column_field(L, 2, rows, "key");
  llmprof_frame *spans = llmprof_lua_check_frame(L, 3);
  llmprof_span_columns columns = span_columns(L, 4, spans);
  const char *name = luaL_checkstring(L, 5);
  llmprof_lua_check_new(L, rows, name);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_spans_assign(rows, time, key, spans, &columns, name, &err),
      &err);
}

/* spans.look_up(rows, span, spans, column, name): adds a column to rows: the
 * value in a column of the span that the column `span` names */
static int spans_look_up(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  size_t span = llmprof_lua_check_column(L, rows, 2);
  llmprof_frame *spans = llmprof_lua_check_frame(L, 3);
  size_t column = llmprof_lua_check_column(L, spans, 4);
  const char *name = luaL_checkstring(L, 5);
  llmprof_lua_check_new(L, rows, name);
  lua_pushvalue(L, 3);
  llmprof_lua_keep_with(L, 1);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_spans_look_up(rows, span, spans, column, name, &err), &err);
}

/* Adds a column to spans: what is asked of a column of the rows in it. */
static int gather(lua_State *L, llmprof_span_figure figure) {
  llmprof_frame *spans = llmprof_lua_check_frame(L, 1);
  llmprof_frame *rows = llmprof_lua_check_frame(L, 2);
  size_t span = llmprof_lua_check_column(L, rows, 3);
  size_t value = llmprof_lua_check_column(L, rows, 4);
  const char *name = luaL_checkstring(L, 5);
  llmprof_lua_check_new(L, spans, name);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_spans_gather(spans, rows, span, value, figure, name, &err),
      &err);
}

/* spans.least(spans, rows, span, value, name): adds the least value */
static int spans_least(lua_State *L) {
  return gather(L, LLMPROF_SPAN_LEAST);
}

/* spans.total(spans, rows, span, value, name): adds the sum of the values */
static int spans_total(lua_State *L) {
  return gather(L, LLMPROF_SPAN_TOTAL);
}

/* The list of intervals at `arg` as an array in a scratch box. */
static const llmprof_intervals **check_sets(lua_State *L, int arg,
                                            size_t *count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *count = (size_t)lua_rawlen(L, arg);
  const llmprof_intervals **sets = llmprof_lua_scratch(L, *count, sizeof *sets);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    sets[i] = llmprof_lua_check_intervals(L, -1);
    lua_pop(L, 1); /* the list keeps it alive */
  }
  return sets;
}

/* spans.cover(spans, { start, end, key }, sets, name): adds a column: ns of
 * each span that the intervals sets[key + 1] cover; without a key those of
 * sets[1] */
static int spans_cover(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  llmprof_span_columns columns = span_columns(L, 2, frame);
  const char *name = luaL_checkstring(L, 4);
  llmprof_lua_check_new(L, frame, name);
  size_t count;
  const llmprof_intervals **sets = check_sets(L, 3, &count);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_spans_cover(frame, &columns, sets, count, name, &err), &err);
}

/* spans.rest(spans, { start, end }, covered, name): adds a column: ns of each
 * span that the column `covered` leaves */
static int spans_rest(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  llmprof_span_columns columns = span_columns(L, 2, frame);
  size_t covered = llmprof_lua_check_column(L, frame, 3);
  const char *name = luaL_checkstring(L, 4);
  llmprof_lua_check_new(L, frame, name);
  llmprof_error err;
  return llmprof_lua_changed(L,
                             llmprof_spans_rest(frame, columns.start,
                                                columns.end, covered, name,
                                                &err),
                             &err);
}

/* spans.measure(steps, { rank, start }, ops, { step, start, end, work,
 * launched, graphed, rank }): adds the columns of ranks/step_table.h to steps
 */
static int spans_measure(lua_State *L) {
  llmprof_frame *steps = llmprof_lua_check_frame(L, 1);
  llmprof_frame *ops = llmprof_lua_check_frame(L, 3);
  llmprof_lua_check_new(L, steps, "first");
  llmprof_step_columns columns = {
      .step_rank = llmprof_lua_opt_column_field(L, 2, steps, "rank"),
      .step_start = llmprof_lua_column_field(L, 2, steps, "start"),
      .step = llmprof_lua_column_field(L, 4, ops, "step"),
      .start = llmprof_lua_column_field(L, 4, ops, "start"),
      .end = llmprof_lua_column_field(L, 4, ops, "end"),
      .work = llmprof_lua_column_field(L, 4, ops, "work"),
      .launched = llmprof_lua_opt_column_field(L, 4, ops, "launched"),
      .graphed = llmprof_lua_opt_column_field(L, 4, ops, "graphed"),
      .rank = llmprof_lua_opt_column_field(L, 4, ops, "rank"),
  };
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_steps_measure(steps, ops, &columns, &err), &err);
}

static const luaL_Reg functions[] = {
    {"until_next", spans_until_next},
    {"assign", spans_assign},
    {"look_up", spans_look_up},
    {"least", spans_least},
    {"total", spans_total},
    {"cover", spans_cover},
    {"rest", spans_rest},
    {"measure", spans_measure},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(spans) {
  llmprof_lua_frame_classes(L);
  luaL_newlib(L, functions);
  return 1;
}
