/* llmprof.collectives: kernels that are one collective on several ranks, and
 * how far the ranks' clocks differ. What adds columns to the frame that it is
 * given first returns that frame; failures are raised.
 *
 *   local rows = require("llmprof.frame").new(2, {
 *     { name = "rank", type = "integer", values = { 0, 1 } },
 *     { name = "start", type = "integer", values = { 0, 20 } },
 *     { name = "end", type = "integer", values = { 40, 40 } },
 *     { name = "key", type = "string", values = { "sum", "sum" } } })
 *   local columns = { rank = "rank", start = "start", ["end"] = "end",
 *                     key = "key" }
 *   collectives.number(rows, columns, "ordinal")
 *   columns.ordinal = "ordinal"
 *   collectives.match(rows, columns)
 *   print(rows:get(1, "waiting"), rows:get(1, "transfer"))  --> 20  20
 */
#include "ranks/collectives.h"

#include "frame.h"
#include "ranks/clock_fit.h"

static llmprof_collective_columns check_columns(lua_State *L, int arg,
                                                llmprof_frame *rows) {
  return (llmprof_collective_columns){
      .rank = llmprof_lua_column_field(L, arg, rows, "rank"),
      .start = llmprof_lua_column_field(L, arg, rows, "start"),
      .end = llmprof_lua_column_field(L, arg, rows, "end"),
      .key = llmprof_lua_opt_column_field(L, arg, rows, "key"),
      .ordinal = llmprof_lua_opt_column_field(L, arg, rows, "ordinal"),
      .lag = llmprof_lua_opt_column_field(L, arg, rows, "lag"),
  };
}

static void want_ordinal(lua_State *L, int arg,
                         const llmprof_collective_columns *columns) {
  luaL_argcheck(L, columns->ordinal != SIZE_MAX, arg,
                "which column is 'ordinal'?");
}

/* collectives.number(rows, { rank, start, end, key }, name): adds a column: the
 * place among the rows of the same rank and key, from 0 */
static int collectives_number(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  lua_settop(L, 3);
  lua_pushnil(L);
  lua_setfield(L, 2, "ordinal"); /* it is what is made here */
  llmprof_collective_columns columns = check_columns(L, 2, rows);
  const char *name = luaL_checkstring(L, 3);
  llmprof_lua_check_new(L, rows, name);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_collectives_number(rows, &columns, name, &err), &err);
}

/* collectives.match(rows, { rank, start, end, key, ordinal, lag }): adds the
 * columns of ranks/collectives.h */
static int collectives_match(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  llmprof_collective_columns columns = check_columns(L, 2, rows);
  want_ordinal(L, 2, &columns);
  llmprof_lua_check_new(L, rows, "instance");
  llmprof_error err;
  return llmprof_lua_changed(L, llmprof_collectives_match(rows, &columns, &err),
                             &err);
}

/* collectives.excess(rows, value, name): adds a column: how much more of a
 * value the rank has that came last */
static int collectives_excess(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  size_t value = llmprof_lua_check_column(L, rows, 2);
  const char *name = luaL_checkstring(L, 3);
  llmprof_lua_check_new(L, rows, name);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_collectives_excess(rows, value, name, &err), &err);
}

/* collectives.before(rows, { rank, start, end, lane }, kernels, { rank, start,
 * name }): adds previous, before, signature and follows */
static int collectives_before(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  llmprof_frame *kernels = llmprof_lua_check_frame(L, 3);
  llmprof_collective_columns columns = check_columns(L, 2, rows);
  llmprof_lua_check_new(L, rows, "previous");
  llmprof_before_columns of_kernels = {
      .rank = llmprof_lua_column_field(L, 4, kernels, "rank"),
      .start = llmprof_lua_column_field(L, 4, kernels, "start"),
      .name = llmprof_lua_column_field(L, 4, kernels, "name"),
  };
  if (llmprof_frame_peek(kernels, of_kernels.name)->type != LLMPROF_STRING_ID)
    return luaL_error(L, "column 'name' holds no strings");
  size_t lane = llmprof_lua_opt_column_field(L, 2, rows, "lane");
  llmprof_error err;
  return llmprof_lua_changed(L,
                             llmprof_collectives_before(rows, &columns, lane,
                                                        kernels, &of_kernels,
                                                        &err),
                             &err);
}

/* collectives.clock(rows, { rank, start, end, key, ordinal }, first, second
 * [, lag]) -> { count, used, at (ns), offset (ns), drift (ns per ns), raw (ns),
 * residual (ns) }. With count 0 the rest is absent. */
static int collectives_clock(lua_State *L) {
  llmprof_frame *rows = llmprof_lua_check_frame(L, 1);
  llmprof_collective_columns columns = check_columns(L, 2, rows);
  want_ordinal(L, 2, &columns);
  lua_Integer first = luaL_checkinteger(L, 3), second = luaL_checkinteger(L, 4);
  lua_Integer lag = luaL_optinteger(L, 5, 0);
  luaL_argcheck(L, lag >= -(lua_Integer)UINT32_MAX && lag <= UINT32_MAX, 5,
                "a number of rows");
  llmprof_error err;
  llmprof_clock_fit fit;
  if (!llmprof_clock_fit_ranks(rows, &columns, first, second, lag, &fit, &err))
    return llmprof_lua_raise(L, &err);
  lua_createtable(L, 0, 7);
  llmprof_lua_set_integer(L, "count", (int64_t)fit.count);
  if (!fit.count) return 1;
  llmprof_lua_set_integer(L, "used", (int64_t)fit.used);
  llmprof_lua_set_integer(L, "at", fit.at);
  llmprof_lua_set_number(L, "offset", fit.offset);
  llmprof_lua_set_number(L, "drift", fit.drift);
  llmprof_lua_set_number(L, "raw", fit.raw);
  llmprof_lua_set_number(L, "residual", fit.residual);
  return 1;
}

static const luaL_Reg functions[] = {
    {"number", collectives_number}, {"match", collectives_match},
    {"excess", collectives_excess}, {"before", collectives_before},
    {"clock", collectives_clock},   {NULL, NULL},
};

LLMPROF_LUA_MODULE(collectives) {
  llmprof_lua_frame_classes(L);
  luaL_newlib(L, functions);
  return 1;
}
