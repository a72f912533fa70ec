/* llmprof.frame: tables of columns; filter, group, sum up, read. The frames of
 * llmprof.trace are the same, those of the prompt wrap them. A time is in ns.
 *
 *   local kernels = frame.new(3, {
 *     { name = "name", type = "string", values = { "gemm", "add", "gemm" } },
 *     { name = "duration", type = "integer", unit = "ns",
 *       values = { 900, 100, 1100 } } })
 *   local slow = kernels:where { name = "gemm", { "duration", ">", 800 } }
 *   for _, row in ipairs(slow:group { by = { "name" },
 *                                     total = { "duration" } }) do
 *     print(row.name, row.count, row.duration.total)  --> gemm  2  2000
 *   end
 */
#include "frame.h"

#include <string.h>

#include "frame/group_by.h"
#include "intervals.h"
#include "llmprof/alloc.h"

#define FRAME "llmprof.frame"

static int f_len(lua_State *L) {
  lua_pushinteger(
      L, (lua_Integer)llmprof_frame_rows(llmprof_lua_check_frame(L, 1)));
  return 1;
}

/* frame:columns() -> list of { name, type, unit } */
static int f_columns(lua_State *L) {
  static const char *const types[] = {"integer", "integer", "string", "number"};
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  size_t count = llmprof_frame_columns(frame);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const llmprof_column *column = llmprof_frame_peek(frame, i);
    lua_createtable(L, 0, 3);
    llmprof_lua_set_string(L, "name", column->name);
    llmprof_lua_set_string(L, "type", types[column->type]);
    llmprof_lua_set_string(L, "unit", column->unit); /* nil without one */
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* frame:get(row, column) -> value or nil; rows count from 1 */
static int f_get(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_Integer row = luaL_checkinteger(L, 2);
  luaL_argcheck(L, row >= 1 && (size_t)row <= llmprof_frame_rows(frame), 2,
                "no such row");
  size_t number = llmprof_lua_check_column(L, frame, 3);
  llmprof_lua_push_cell(L, frame, llmprof_lua_load_column(L, frame, number),
                        (size_t)row - 1);
  return 1;
}

/* frame:values(column) -> list of all values; absent ones are false */
static int f_values(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  const llmprof_column *column =
      llmprof_lua_load_column(L, frame, llmprof_lua_check_column(L, frame, 2));
  size_t rows = llmprof_frame_rows(frame);
  lua_createtable(L, rows < INT32_MAX ? (int)rows : 0, 0);
  for (size_t row = 0; row < rows; row++) {
    llmprof_lua_push_cell(L, frame, column, row);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -2, (lua_Integer)row + 1);
  }
  return 1;
}

/* ---- where ---- */

/* A Lua value as the cell it is compared with. A string that the frame does
 * not know equals no cell. */
static int64_t check_operand(lua_State *L, llmprof_frame *frame,
                             const llmprof_column *column, int index) {
  if (lua_type(L, index) == LUA_TBOOLEAN && !lua_toboolean(L, index))
    return LLMPROF_ABSENT; /* false: absent */
  if (column->type == LLMPROF_STRING_ID) {
    size_t size;
    if (lua_type(L, index) != LUA_TSTRING)
      luaL_error(L, "column '%s' holds strings, not a %s", column->name,
                 luaL_typename(L, index));
    const char *text = lua_tolstring(L, index, &size);
    uint32_t id =
        llmprof_strings_find(llmprof_column_strings(frame, column), text, size);
    return id == LLMPROF_NO_STRING ? INT64_MAX : (int64_t)id;
  }
  bool is_number = lua_type(L, index) == LUA_TNUMBER;
  if (column->type == LLMPROF_F64) {
    if (!is_number)
      luaL_error(L, "column '%s' holds numbers, not a %s", column->name,
                 luaL_typename(L, index));
    return llmprof_real_cell(lua_tonumber(L, index));
  }
  int is_integer = 0;
  lua_Integer value = lua_tointegerx(L, index, &is_integer);
  if (!is_integer || !is_number)
    luaL_error(L, "column '%s' holds integers, not a %s", column->name,
               luaL_typename(L, index));
  return value;
}

/* The value, or list of values, on top of the stack into a condition, whose
 * memory is a scratch box left below it. */
static void set_operands(lua_State *L, llmprof_frame *frame,
                         llmprof_condition *condition) {
  const llmprof_column *column =
      llmprof_lua_load_column(L, frame, condition->column);
  bool list = lua_istable(L, -1);
  size_t count = list ? (size_t)lua_rawlen(L, -1) : 1;
  int64_t *values = llmprof_lua_scratch(L, count, sizeof *values);
  for (size_t i = 0; list && i < count; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    values[i] = check_operand(L, frame, column, -1);
    lua_pop(L, 1);
  }
  if (!list) values[0] = check_operand(L, frame, column, -2);
  condition->values = values;
  condition->count = count;
  lua_insert(L, -2); /* the scratch box stays, the operand is popped */
  lua_pop(L, 1);
}

static llmprof_compare check_compare(lua_State *L, int index) {
  static const char *const names[] = {"==", "~=", "<", "<=", ">", ">=", NULL};
  const char *name = lua_tostring(L, index);
  for (int i = 0; name && names[i]; i++) {
    if (strcmp(names[i], name) == 0) return (llmprof_compare)i;
  }
  luaL_error(L, "a comparison is one of == ~= < <= > >=, not '%s'",
             name ? name : luaL_typename(L, index));
  return LLMPROF_EQ;
}

/* { column, comparison, value } on top of the stack; popped. */
static void set_triple(lua_State *L, llmprof_frame *frame,
                       llmprof_condition *condition) {
  if (!lua_istable(L, -1))
    luaL_error(L, "a condition is { column, comparison, value }");
  lua_rawgeti(L, -1, 1);
  condition->column = llmprof_lua_check_column(L, frame, -1);
  lua_rawgeti(L, -2, 2);
  condition->compare = check_compare(L, -1);
  lua_rawgeti(L, -3, 3);
  bool by_order = condition->compare > LLMPROF_NE;
  if (by_order &&
      llmprof_frame_peek(frame, condition->column)->type == LLMPROF_STRING_ID)
    luaL_error(L, "strings compare with == and ~= only");
  if (by_order && lua_type(L, -1) != LUA_TNUMBER)
    luaL_error(L, "%s takes one number, not a %s", lua_tostring(L, -2),
               luaL_typename(L, -1));
  set_operands(L, frame, condition); /* ..., triple, name, op, box */
  lua_insert(L, -4);
  lua_pop(L, 3);
}

static size_t count_entries(lua_State *L, int table) {
  size_t count = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    count++;
  }
  return count;
}

/* frame:where(conditions) -> frame with the rows that satisfy all of them.
 * conditions: column = value (or list of values: any of them; false: absent),
 * and { column, comparison, value } in the list part. */
static int f_where(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  size_t count = count_entries(L, 2), used = 0;
  luaL_checkstack(L, (int)count + 10, "too many conditions");
  llmprof_condition *conditions =
      llmprof_lua_scratch(L, count, sizeof *conditions); /* 3 */
  lua_newtable(L); /* 4: keeps the operands' memory */
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    llmprof_condition *condition = &conditions[used++];
    if (lua_type(L, -2) == LUA_TSTRING) {
      condition->column = llmprof_lua_check_column(L, frame, -2);
      condition->compare = LLMPROF_EQ;
      set_operands(L, frame, condition);
    } else {
      set_triple(L, frame, condition);
    }
    lua_rawseti(L, 4, (lua_Integer)used);
  }
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_frame_where(frame, conditions, count, &err);
  return *made ? 1 : llmprof_lua_raise(L, &err);
}

/* ---- intervals ---- */

/* frame:union([start, end]) -> intervals covered by start..end of any row, or
 * by the two columns named */
static int f_union(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  if (lua_isnoneornil(L, 2)) {
    lua_settop(L, 1);
    lua_pushliteral(L, "start");
    lua_pushliteral(L, "end");
  }
  lua_settop(L, 3);
  size_t start = llmprof_lua_check_column(L, frame, 2);
  size_t end = llmprof_lua_check_column(L, frame, 3);
  llmprof_intervals *set = llmprof_lua_new_intervals(L);
  llmprof_error err;
  if (llmprof_intervals_of_frame(set, frame, start, end, &err)) return 1;
  return llmprof_lua_raise(L, &err);
}

static int64_t time_at(lua_State *L, int list, lua_Integer i) {
  lua_rawgeti(L, list, i);
  if (!lua_isinteger(L, -1)) luaL_error(L, "a window is { from, to } in ns");
  int64_t time = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return time;
}

/* The list of windows at `arg`, in a box left on the stack. */
static llmprof_interval *check_windows(lua_State *L, int arg, size_t *count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *count = (size_t)lua_rawlen(L, arg);
  llmprof_interval *list = llmprof_lua_scratch(L, *count, sizeof *list);
  for (size_t i = 0; i < *count; i++) {
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TTABLE)
      luaL_error(L, "a window is { from, to } in ns");
    int window = lua_gettop(L);
    list[i].start = time_at(L, window, 1);
    list[i].end = time_at(L, window, 2);
    lua_pop(L, 1);
    if (i &&
        (list[i].start < list[i - 1].start || list[i].end < list[i - 1].end))
      luaL_error(L, "windows ascend");
  }
  return list;
}

/* frame:covered(by, windows) -> for each group by these columns, by first
 * appearance, a list: ns of each window { from, to } that start..end of any of
 * its rows cover; windows ascend in both */
static int f_covered(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_settop(L, 3);
  size_t start = llmprof_lua_column_named(L, frame, "start");
  size_t end = llmprof_lua_column_named(L, frame, "end");
  size_t count, keys;
  llmprof_interval *windows = check_windows(L, 3, &count);
  size_t *by = llmprof_lua_check_columns(L, frame, 2, &keys);
  llmprof_groups *groups = llmprof_lua_new_groups(L, frame, by, keys);
  size_t cells = groups->count * count;
  int64_t *covered = llmprof_lua_scratch(L, cells, sizeof *covered);
  llmprof_error err;
  if (!llmprof_intervals_in_windows(frame, start, end, groups, windows, count,
                                    covered, &err))
    return llmprof_lua_raise(L, &err);
  lua_createtable(L, (int)groups->count, 0);
  for (size_t group = 0; group < groups->count; group++) {
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
      lua_pushinteger(L, covered[group * count + i]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)group + 1);
  }
  llmprof_groups_free(groups); /* not when the collector comes by */
  return 1;
}

/* ---- the class ---- */

static const luaL_Reg methods[] = {
    {"columns", f_columns},
    {"get", f_get},
    {"values", f_values},
    {"where", f_where},
    {"union", f_union},
    {"covered", f_covered},
    {"close", llmprof_lua_close_frame},
    {NULL, NULL},
};

void llmprof_lua_frame_classes(lua_State *L) {
  llmprof_lua_box_classes(L);
  llmprof_lua_group_class(L);
  llmprof_lua_interval_classes(L);
  luaL_getmetatable(L, FRAME);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, methods, 0);
  luaL_setfuncs(L, llmprof_lua_group_methods, 0);
  luaL_setfuncs(L, llmprof_lua_query_methods, 0);
  luaL_setfuncs(L, llmprof_lua_make_methods, 0);
  luaL_setfuncs(L, llmprof_lua_relate_methods, 0);
  luaL_setfuncs(L, llmprof_lua_lazy_methods, 0);
  luaL_setfuncs(L, llmprof_lua_compute_methods, 0);
  lua_pop(L, 2);
  llmprof_lua_class_len(L, FRAME, f_len);
}

LLMPROF_LUA_MODULE(frame) {
  llmprof_lua_frame_classes(L);
  lua_newtable(L);
  luaL_setfuncs(L, llmprof_lua_make_functions, 0);
  return 1;
}
