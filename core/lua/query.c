/* Methods of frames that make frames of other rows or columns: what the query
 * language of llmprof.query is built on. */
#include <string.h>

#include "frame.h"
#include "frame/within.h"
#include "llmprof/alloc.h"

static size_t rows_of(lua_State *L, int arg) {
  return llmprof_frame_rows(llmprof_lua_check_frame(L, arg));
}

/* frame:take(rows) -> frame with the rows listed, counted from 1 */
static int q_take(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = (size_t)lua_rawlen(L, 2), there = rows_of(L, 1);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i);
    lua_Integer row = lua_tointeger(L, -1); /* 0 when it is none */
    luaL_argcheck(L, row >= 1 && (size_t)row <= there, 2, "no such row");
    lua_pop(L, 1);
  }
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  uint32_t *rows = llmprof_alloc(count, sizeof *rows);
  if (!rows) return llmprof_lua_raise_nomem(L);
  for (size_t i = 0; i < count; i++) { /* checked above: nothing raises */
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    rows[i] = (uint32_t)(lua_tointeger(L, -1) - 1);
    lua_pop(L, 1);
  }
  llmprof_error err;
  return llmprof_lua_made_frame(
      L, box, llmprof_frame_take(frame, rows, count, &err), &err);
}

/* frame:slice(first, last) -> frame with those rows, as far as they are there;
 * both count from 1 */
static int q_slice(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
  lua_Integer rows = (lua_Integer)rows_of(L, 1);
  if (first < 1) first = 1;
  if (last > rows) last = rows;
  size_t count = last >= first ? (size_t)(last - first + 1) : 0;
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  llmprof_frame *made =
      llmprof_frame_slice(frame, count ? (size_t)first - 1 : 0, count, &err);
  return llmprof_lua_made_frame(L, box, made, &err);
}

/* A field of the table on top of the stack that holds an integer. */
static int64_t check_integer(lua_State *L, const char *field) {
  lua_Integer value = llmprof_lua_opt_integer(L, -1, field, LLMPROF_ABSENT);
  if (value == LLMPROF_ABSENT)
    luaL_error(L, "an interval has an integer '%s'", field);
  return value;
}

/* The list at argument 2; the array is a box left on the stack. */
static llmprof_keyed_interval *check_intervals(lua_State *L, const char *key,
                                               size_t *count) {
  luaL_checktype(L, 2, LUA_TTABLE);
  *count = (size_t)lua_rawlen(L, 2);
  llmprof_keyed_interval *intervals =
      llmprof_lua_scratch(L, *count, sizeof *intervals);
  for (size_t i = 0; i < *count; i++) {
    if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TTABLE)
      luaL_error(L, "an interval is a table");
    intervals[i].start = check_integer(L, "start");
    intervals[i].end = check_integer(L, "stop");
    if (key) intervals[i].key = check_integer(L, key);
    lua_pop(L, 1);
  }
  return intervals;
}

/* frame:within(intervals [, column]) -> frame with the rows whose start and end
 * lie within an interval, once for each. intervals: list of { start, stop } in
 * ns; with a column of integers, a row's is that of the field of this name. */
static int q_within(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  const char *key = luaL_optstring(L, 3, NULL);
  size_t start = llmprof_lua_column_named(L, frame, "start");
  size_t end = llmprof_lua_column_named(L, frame, "end");
  size_t number = key ? llmprof_lua_column_named(L, frame, key) : SIZE_MAX;
  if (key && llmprof_frame_peek(frame, number)->type > LLMPROF_U32)
    luaL_error(L, "column '%s' does not hold integers", key);
  size_t count;
  const llmprof_keyed_interval *intervals = check_intervals(L, key, &count);
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  llmprof_frame *made =
      llmprof_frame_within(frame, start, end, number, intervals, count, &err);
  return llmprof_lua_made_frame(L, box, made, &err);
}

/* frame:select(columns) -> frame with these columns only */
static int q_select(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  size_t count;
  size_t *columns = llmprof_lua_check_columns(L, frame, 2, &count);
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  return llmprof_lua_made_frame(
      L, box, llmprof_frame_select(frame, columns, count, &err), &err);
}

/* frame:sort(keys [, limit]) -> frame in that order, its first rows only.
 * keys: list of { column, descending (boolean) }. */
static int q_sort(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer limit = luaL_optinteger(L, 3, LUA_MAXINTEGER);
  luaL_argcheck(L, limit >= 0, 3, "a number of rows expected");
  size_t count = (size_t)lua_rawlen(L, 2);
  llmprof_order *keys = llmprof_lua_scratch(L, count, sizeof *keys);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    luaL_argcheck(L, lua_istable(L, -1), 2, "{ column, descending } expected");
    lua_rawgeti(L, -1, 1);
    keys[i].column = llmprof_lua_check_column(L, frame, -1);
    lua_rawgeti(L, -2, 2);
    keys[i].descending = lua_toboolean(L, -1);
    lua_pop(L, 3);
  }
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  return llmprof_lua_made_frame(
      L, box, llmprof_frame_sort(frame, keys, count, (size_t)limit, &err),
      &err);
}

/* frame:alias(column, name) -> the frame, with the column by that name, too */
static int q_alias(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_settop(L, 3);
  size_t column = llmprof_lua_check_column(L, frame, 2);
  const char *name = luaL_checkstring(L, 3);
  llmprof_lua_check_new(L, frame, name);
  llmprof_error err;
  return llmprof_lua_changed(L, llmprof_frame_alias(frame, column, name, &err),
                             &err);
}

void llmprof_lua_check_numbers(lua_State *L, const llmprof_frame *frame,
                               size_t column) {
  const llmprof_column *peeked = llmprof_frame_peek(frame, column);
  if (peeked->type == LLMPROF_STRING_ID)
    luaL_error(L, "column '%s' holds strings, not numbers", peeked->name);
}

const luaL_Reg llmprof_lua_query_methods[] = {
    {"take", q_take},     {"slice", q_slice}, {"within", q_within},
    {"select", q_select}, {"sort", q_sort},   {"alias", q_alias},
    {NULL, NULL},
};
