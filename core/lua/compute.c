/* Methods of frames that compute with their numbers.
 *
 *   frame:compute { name = "rate", unit = "byte/s",
 *                   steps = { { "bytes" }, { "seconds" }, "/" } }
 *   local sums, weights = frame:weigh({ "rate" }, "seconds")
 *   frame:rows_by { "name" } */
#include "frame/compute.h"
#include "frame/group_by.h"

#include <string.h>

#include "frame.h"

/* A formula cannot be as long as a file. */
enum {
  MOST_STEPS = 1 << 16
};

static llmprof_step_kind check_operator(lua_State *L, int index) {
  static const char *const names[] = {
      [LLMPROF_STEP_TIMES] = "*",       [LLMPROF_STEP_OVER] = "/",
      [LLMPROF_STEP_PLUS] = "+",        [LLMPROF_STEP_TOGETHER] = "together",
      [LLMPROF_STEP_LEAST] = "least",   [LLMPROF_STEP_MOST] = "most",
      [LLMPROF_STEP_OR] = "or",         [LLMPROF_STEP_WHERE] = "where",
      [LLMPROF_STEP_UNLESS] = "unless", [LLMPROF_STEP_ABOVE] = "above",
  };
  const char *name = lua_tostring(L, index);
  for (size_t i = LLMPROF_STEP_TIMES; name && i < sizeof names / sizeof *names;
       i++) {
    if (strcmp(names[i], name) == 0) return (llmprof_step_kind)i;
  }
  luaL_error(L, "no step '%s'", name ? name : luaL_typename(L, index));
  return LLMPROF_STEP_NUMBER;
}

/* The step on top of the stack, popped: a number, { column } or the name of an
 * operator. */
static llmprof_step check_step(lua_State *L, llmprof_frame *frame) {
  llmprof_step step = {.kind = LLMPROF_STEP_NUMBER};
  int type = lua_type(L, -1);
  if (type == LUA_TNUMBER) {
    step.number = lua_tonumber(L, -1);
  } else if (type == LUA_TTABLE) {
    lua_rawgeti(L, -1, 1);
    step.kind = LLMPROF_STEP_COLUMN;
    step.column = llmprof_lua_check_column(L, frame, -1);
    lua_pop(L, 1);
  } else {
    step.kind = check_operator(L, -1);
  }
  lua_pop(L, 1);
  return step;
}

/* The unit, which the frame keeps as long as itself. */
static const char *keep_unit(lua_State *L) {
  if (lua_getfield(L, 2, "unit") != LUA_TSTRING) {
    lua_pop(L, 1);
    return NULL;
  }
  const char *unit = lua_tostring(L, -1);
  llmprof_lua_keep_with(L, 1);
  return unit;
}

/* frame:compute { name, steps, unit, type } -> the frame, with that column.
 * steps: numbers, { column } (a string is there or not) and operators, each
 * behind its two operands: * / + least most or where unless from above
 * together. type: "number" or "integer", the nearest. */
static int c_compute(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  const char *name = llmprof_lua_new_name(L, frame);
  const char *type = llmprof_lua_opt_string(L, 2, "type", "number");
  bool whole = strcmp(type, "integer") == 0;
  if (!whole && strcmp(type, "number") != 0)
    return luaL_error(L, "column '%s': no type '%s'", name, type);
  if (lua_getfield(L, 2, "steps") != LUA_TTABLE) /* 3 */
    return luaL_error(L, "column '%s' has no steps", name);
  size_t count = (size_t)lua_rawlen(L, 3);
  if (count > MOST_STEPS) return luaL_error(L, "too many steps");
  llmprof_step *steps = llmprof_lua_scratch(L, count, sizeof *steps);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 3, (lua_Integer)i + 1);
    steps[i] = check_step(L, frame);
  }
  llmprof_error err;
  return llmprof_lua_changed(
      L,
      llmprof_frame_compute(frame, name, keep_unit(L),
                            whole ? LLMPROF_I64 : LLMPROF_F64, steps, count,
                            &err),
      &err);
}

/* frame:weigh(columns [, weight]) -> sums, weights, in the order of the
 * columns: of its numbers, each times the row's weight, and of the weights of
 * the rows that have one; weights are 1 without that column and where it is
 * absent */
static int c_weigh(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_settop(L, 3);
  size_t count, weight = SIZE_MAX;
  size_t *columns = llmprof_lua_check_columns(L, frame, 2, &count);
  if (!lua_isnil(L, 3)) weight = llmprof_lua_check_column(L, frame, 3);
  for (size_t i = 0; i < count; i++)
    llmprof_lua_check_numbers(L, frame, columns[i]);
  if (weight != SIZE_MAX) llmprof_lua_check_numbers(L, frame, weight);
  llmprof_weighed *weighed = llmprof_lua_scratch(L, count, sizeof *weighed);
  llmprof_error err;
  if (!llmprof_frame_weigh(frame, columns, count, weight, weighed, &err))
    return llmprof_lua_raise(L, &err);
  lua_createtable(L, (int)count, 0);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, weighed[i].sum);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    lua_pushnumber(L, weighed[i].weight);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 2;
}

const luaL_Reg llmprof_lua_compute_methods[] = {
    {"compute", c_compute},
    {"weigh", c_weigh},
    {NULL, NULL},
};
