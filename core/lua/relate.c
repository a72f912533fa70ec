/* Methods of frames that add columns by their other rows. Each changes the
 * frame and returns it; names are new.
 *
 *   ops:gaps { by = { "device" }, before = "gap", previous = "row" }
 *   ops:overlap { by = { "device" }, name = "overlap" }
 *   frame:lag { column = "start", offset = 1, by = {}, name = "last" }
 *   frame:rolling { column = "duration", size = 8, statistic = "mean",
 *                   by = {}, name = "smooth" }
 *   frame:less { column = "end", by = "start", name = "duration" }
 *   frame:match { by = { "name" }, name = "row" , other = frame,
 *                 keys = { "name" } }
 *   calls:beside { column = "start", other = ops, there = "api_start",
 *                  before = true, name = "op" }
 *   frame:pair { column = "word", turn = "rep", name = "row", other = frame,
 *                key = "word" } */
#include "frame/relate.h"
#include "frame/group_by.h"

#include <string.h>

#include "frame.h"

/* The name of a column to make, or NULL where none is given. */
static const char *opt_new(lua_State *L, llmprof_frame *frame,
                           const char *field) {
  const char *name = llmprof_lua_opt_string(L, 2, field, NULL);
  if (name) llmprof_lua_check_new(L, frame, name);
  return name;
}

/* Groups by options.by; left on the stack. */
static llmprof_groups *groups_by(lua_State *L, llmprof_frame *frame) {
  size_t count;
  size_t *keys = llmprof_lua_column_list(L, 2, frame, "by", &count);
  return llmprof_lua_new_groups(L, frame, keys, count);
}

/* The frame, with a table of options at 2. */
static llmprof_frame *check_call(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  return frame;
}

static size_t number_column(lua_State *L, llmprof_frame *frame) {
  size_t column = llmprof_lua_column_field(L, 2, frame, "column");
  llmprof_lua_check_numbers(L, frame, column);
  return column;
}

/* frame:gaps { by, before, after, previous } -> the frame, with the columns
 * that are named: ns without any row until this one, and after it; the row,
 * from 0, that ended last before */
static int r_gaps(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  llmprof_gap_names names = {opt_new(L, frame, "before"),
                             opt_new(L, frame, "after"),
                             opt_new(L, frame, "previous")};
  size_t start = llmprof_lua_column_named(L, frame, "start");
  size_t end = llmprof_lua_column_named(L, frame, "end");
  llmprof_groups *groups = groups_by(L, frame);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_gaps(frame, start, end, groups, &names, &err), &err);
}

/* frame:overlap { by, name } -> the frame, with ns beside other rows */
static int r_overlap(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  size_t start = llmprof_lua_column_named(L, frame, "start");
  size_t end = llmprof_lua_column_named(L, frame, "end");
  llmprof_groups *groups = groups_by(L, frame);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_overlap(frame, start, end, groups, name, &err), &err);
}

static lua_Integer check_rows(lua_State *L, const char *field, lua_Integer low,
                              lua_Integer high) {
  lua_Integer value = llmprof_lua_opt_integer(L, 2, field, LUA_MININTEGER);
  if (value < low || value > high)
    luaL_error(L, "option '%s': a number of rows is expected", field);
  return value;
}

/* frame:lag { column, offset, by, name } -> the frame, with cells of rows
 * before (below 0: after) */
static int r_lag(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  size_t column = llmprof_lua_column_field(L, 2, frame, "column");
  long offset = (long)check_rows(L, "offset", INT32_MIN, INT32_MAX);
  llmprof_groups *groups = groups_by(L, frame);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_lag(frame, column, offset, groups, name, &err), &err);
}

/* frame:rolling { column, size, statistic ("sum", "mean", "median", "min",
 * "max"), by, name } -> the frame, with that of the last rows up to each */
static int r_rolling(lua_State *L) {
  static const char *const names[] = {"sum", "mean", "median",
                                      "min", "max",  NULL};
  static const llmprof_statistic statistics[] = {
      LLMPROF_SUM, LLMPROF_MEAN, LLMPROF_MEDIAN, LLMPROF_MIN, LLMPROF_MAX};
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  size_t column = number_column(L, frame);
  size_t size = (size_t)check_rows(L, "size", 1, INT32_MAX);
  const char *wanted = llmprof_lua_opt_string(L, 2, "statistic", "mean");
  int which = 0;
  while (names[which] && strcmp(names[which], wanted) != 0) which++;
  if (!names[which]) luaL_error(L, "no rolling '%s'", wanted);
  llmprof_groups *groups = groups_by(L, frame);
  llmprof_error err;
  return llmprof_lua_changed(L,
                             llmprof_frame_rolling(frame, column, size,
                                                   statistics[which], groups,
                                                   name, &err),
                             &err);
}

/* The column of integers that options[field] names. */
static size_t integer_column(lua_State *L, llmprof_frame *frame,
                             const char *field) {
  size_t column = llmprof_lua_column_field(L, 2, frame, field);
  if (llmprof_frame_peek(frame, column)->type > LLMPROF_U32)
    luaL_error(L, "columns of integers are expected");
  return column;
}

/* frame:less { column, by, name } -> the frame, with one column of integers
 * less another */
static int r_less(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  size_t column = integer_column(L, frame, "column");
  size_t by = integer_column(L, frame, "by");
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_less(frame, column, by, name, &err), &err);
}

/* frame:match { by, other, keys, name } -> the frame, with the row of another
 * frame, from 0, whose columns `keys` equal its own `by` */
static int r_match(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  lua_getfield(L, 2, "other"); /* 3 */
  llmprof_frame *other = llmprof_lua_check_frame(L, 3);
  size_t count, others;
  size_t *by = llmprof_lua_column_list(L, 2, frame, "by", &count);
  size_t *keys = llmprof_lua_column_list(L, 2, other, "keys", &others);
  if (count != others) luaL_error(L, "as many keys as columns are expected");
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_match(frame, by, other, keys, count, name, &err), &err);
}

/* frame:beside { column, other, there, before, name } -> the frame, with the
 * row of another frame, from 0: the last whose column `there` is less than the
 * column or, without `before`, the first in which it is not */
static int r_beside(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  size_t column = integer_column(L, frame, "column");
  bool before = llmprof_lua_opt_bool(L, 2, "before", false);
  lua_getfield(L, 2, "other"); /* 3 */
  llmprof_frame *other = llmprof_lua_check_frame(L, 3);
  size_t there = integer_column(L, other, "there");
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_beside(frame, column, other, there, before, name, &err),
      &err);
}

/* frame:pair { column, turn, other, key, name } -> the frame, with the row of
 * another frame, from 0, that it pairs off with by order */
static int r_pair(lua_State *L) {
  llmprof_frame *frame = check_call(L);
  const char *name = llmprof_lua_new_name(L, frame);
  lua_getfield(L, 2, "other"); /* 3 */
  llmprof_frame *other = llmprof_lua_check_frame(L, 3);
  size_t column = integer_column(L, frame, "column");
  size_t turn = llmprof_lua_opt_column_field(L, 2, frame, "turn");
  size_t key = integer_column(L, other, "key");
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_pair(frame, column, turn, other, key, name, &err), &err);
}

const luaL_Reg llmprof_lua_relate_methods[] = {
    {"gaps", r_gaps}, {"overlap", r_overlap}, {"lag", r_lag},
    {"less", r_less}, {"rolling", r_rolling}, {"match", r_match},
    {"pair", r_pair}, {"beside", r_beside},   {NULL, NULL},
};
