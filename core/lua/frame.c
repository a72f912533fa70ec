/* Frames in Lua: filter, group, sum up, read.
 *
 *   local slow = frame:where { device = 0, { "duration", ">", 1000 } }
 *   local rows = slow:group { by = { "name" }, sum = { "duration" } }
 */
#include "frame.h"

#include <stdio.h>
#include <string.h>

#include "intervals.h"
#include "llmprof/alloc.h"

#define FRAME   "llmprof.frame"
#define GROUPS  "llmprof.frame.groups"
#define SCRATCH "llmprof.frame.scratch"

/* ---- boxes ---- */

llmprof_frame **llmprof_lua_new_frame(lua_State *L, int owner) {
  owner = lua_absindex(L, owner);
  void **box = llmprof_lua_box(L, FRAME, 1);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  return (llmprof_frame **)box;
}

/* A frame borrows from what it was made from: the trace, or the frame below a
 * view. All of them must be open still. */
llmprof_frame *llmprof_lua_check_frame(lua_State *L, int arg) {
  llmprof_frame *frame = llmprof_lua_unbox(L, arg, FRAME);
  lua_pushvalue(L, arg);
  while (lua_getiuservalue(L, -1, 1) == LUA_TUSERDATA) {
    lua_remove(L, -2);
    if (!*(void **)lua_touserdata(L, -1))
      luaL_argerror(L, arg, "what the frame was made from is closed");
  }
  lua_pop(L, 2);
  return frame;
}

static int f_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, FRAME);
  llmprof_frame_free(*box);
  *box = NULL;
  return 0;
}

/* Memory for the length of one call, freed by the collector if it raises. */
static int free_scratch(lua_State *L) {
  void **box = luaL_checkudata(L, 1, SCRATCH);
  llmprof_free(*box);
  *box = NULL;
  return 0;
}

static void *scratch(lua_State *L, size_t count, size_t size) {
  void **box = llmprof_lua_box(L, SCRATCH, 0);
  *box = llmprof_zalloc(count, size);
  if (!*box) luaL_error(L, "out of memory");
  return *box;
}

static int free_groups(lua_State *L) {
  llmprof_groups_free(luaL_checkudata(L, 1, GROUPS));
  return 0;
}

/* ---- columns and cells ---- */

static size_t check_column(lua_State *L, llmprof_frame *frame, int index) {
  const char *name = lua_tostring(L, index);
  if (!name)
    luaL_error(L, "a column name is a string, not a %s",
               luaL_typename(L, index));
  size_t column = llmprof_frame_find(frame, name);
  if (column == SIZE_MAX) luaL_error(L, "no column '%s' here", name);
  return column;
}

static const llmprof_column *load_column(lua_State *L, llmprof_frame *frame,
                                         size_t number) {
  llmprof_error err;
  const llmprof_column *column = llmprof_frame_column(frame, number, &err);
  if (!column) luaL_error(L, "%s", err.message);
  return column;
}

static void push_cell(lua_State *L, const llmprof_frame *frame,
                      const llmprof_column *column, size_t row) {
  int64_t value = llmprof_cell(column, row);
  if (value == INT64_MIN) {
    lua_pushnil(L);
  } else if (column->type == LLMPROF_STRING_ID) {
    size_t size;
    const char *text = llmprof_strings_get(llmprof_frame_strings(frame),
                                           (uint32_t)value, &size);
    lua_pushlstring(L, text, size);
  } else {
    lua_pushinteger(L, value);
  }
}

static int f_len(lua_State *L) {
  lua_pushinteger(
      L, (lua_Integer)llmprof_frame_rows(llmprof_lua_check_frame(L, 1)));
  return 1;
}

/* frame:columns() -> list of { name, type, unit } */
static int f_columns(lua_State *L) {
  static const char *const types[] = {"integer", "integer", "string"};
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  size_t count = llmprof_frame_columns(frame);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const llmprof_column *column = llmprof_frame_peek(frame, i);
    lua_createtable(L, 0, 3);
    lua_pushstring(L, column->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, types[column->type]);
    lua_setfield(L, -2, "type");
    lua_pushstring(L, column->unit); /* nil without one */
    lua_setfield(L, -2, "unit");
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
  size_t number = check_column(L, frame, 3);
  push_cell(L, frame, load_column(L, frame, number), (size_t)row - 1);
  return 1;
}

/* frame:values(column) -> list of all values; absent ones are false */
static int f_values(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  const llmprof_column *column =
      load_column(L, frame, check_column(L, frame, 2));
  size_t rows = llmprof_frame_rows(frame);
  lua_createtable(L, rows < INT32_MAX ? (int)rows : 0, 0);
  for (size_t row = 0; row < rows; row++) {
    push_cell(L, frame, column, row);
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
    return INT64_MIN; /* false: absent */
  if (column->type == LLMPROF_STRING_ID) {
    size_t size;
    if (lua_type(L, index) != LUA_TSTRING)
      luaL_error(L, "column '%s' holds strings, not a %s", column->name,
                 luaL_typename(L, index));
    const char *text = lua_tolstring(L, index, &size);
    uint32_t id =
        llmprof_strings_find(llmprof_frame_strings(frame), text, size);
    return id == LLMPROF_NO_STRING ? INT64_MAX : (int64_t)id;
  }
  int is_integer = 0;
  lua_Integer value = lua_tointegerx(L, index, &is_integer);
  if (!is_integer || lua_type(L, index) != LUA_TNUMBER)
    luaL_error(L, "column '%s' holds integers, not a %s", column->name,
               luaL_typename(L, index));
  return value;
}

/* The value, or list of values, on top of the stack into a condition, whose
 * memory is a scratch box left below it. */
static void set_operands(lua_State *L, llmprof_frame *frame,
                         llmprof_condition *condition) {
  const llmprof_column *column = llmprof_frame_peek(frame, condition->column);
  bool list = lua_istable(L, -1);
  size_t count = list ? (size_t)lua_rawlen(L, -1) : 1;
  int64_t *values = scratch(L, count, sizeof *values);
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
  condition->column = check_column(L, frame, -1);
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
  llmprof_condition *conditions = scratch(L, count, sizeof *conditions); /* 3 */
  lua_newtable(L); /* 4: keeps the operands' memory */
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    llmprof_condition *condition = &conditions[used++];
    if (lua_type(L, -2) == LUA_TSTRING) {
      condition->column = check_column(L, frame, -2);
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
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

/* ---- group ---- */

/* Column numbers of the list at options[field]; the box is left on top. */
static size_t *column_list(lua_State *L, llmprof_frame *frame, int options,
                           const char *field, size_t *count) {
  int type = lua_getfield(L, options, field);
  if (type != LUA_TNIL && type != LUA_TTABLE)
    luaL_error(L, "option '%s' is a list of columns", field);
  *count = type == LUA_TTABLE ? (size_t)lua_rawlen(L, -1) : 0;
  size_t *numbers = scratch(L, *count, sizeof *numbers);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    numbers[i] = check_column(L, frame, -1);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return numbers;
}

static size_t percentile_list(lua_State *L, int options, double *wanted) {
  if (lua_getfield(L, options, "percentiles") == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (!lua_istable(L, -1))
    luaL_error(L, "option 'percentiles' is a list of numbers");
  size_t count = (size_t)lua_rawlen(L, -1);
  if (count > LLMPROF_PERCENTILES)
    luaL_error(L, "at most %d percentiles", LLMPROF_PERCENTILES);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    int is_number;
    wanted[i] = lua_tonumberx(L, -1, &is_number);
    if (!is_number || !(wanted[i] >= 0 && wanted[i] <= 100))
      luaL_error(L, "a percentile is a number between 0 and 100");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return count;
}

static void set_integer(lua_State *L, const char *field, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

static void set_number(lua_State *L, const char *field, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, field);
}

static void push_summary(lua_State *L, const llmprof_summary *summary,
                         const double *wanted, size_t wanted_count) {
  lua_createtable(L, 0, 8);
  set_integer(L, "count", (int64_t)summary->count);
  if (!summary->count) return;
  set_integer(L, "total", summary->total);
  set_integer(L, "min", summary->min);
  set_integer(L, "max", summary->max);
  set_number(L, "mean", summary->mean);
  set_number(L, "median", summary->median);
  set_number(L, "stddev", summary->stddev);
  for (size_t i = 0; i < wanted_count; i++) {
    char name[32];
    snprintf(name, sizeof name, "p%g", wanted[i]);
    set_number(L, name, summary->percentiles[i]);
  }
}

/* What group() was asked for; arrays are scratch boxes on the stack. */
typedef struct request {
  llmprof_frame *frame;
  llmprof_groups *groups;
  size_t *by, by_count;
  size_t *sum, sum_count;
  size_t *distinct, distinct_count;
  double wanted[LLMPROF_PERCENTILES];
  size_t wanted_count;
  llmprof_extent *extents;     /* by group, NULL unless asked for */
  llmprof_summary **summaries; /* by sum column, by group */
  size_t **counts;             /* by distinct column, by group */
} request;

/* `union`: start and end columns as intervals. */
static void compute_extents(lua_State *L, request *r, int options) {
  if (!llmprof_lua_opt_bool(L, options, "union", false)) return;
  lua_pushliteral(L, "start");
  lua_pushliteral(L, "end");
  size_t start = check_column(L, r->frame, -2);
  size_t end = check_column(L, r->frame, -1);
  lua_pop(L, 2);
  r->extents = scratch(L, r->groups->count, sizeof *r->extents);
  llmprof_error err;
  if (!llmprof_intervals_by_group(r->frame, start, end, r->groups, r->extents,
                                  &err))
    luaL_error(L, "%s", err.message);
}

static void check_summable(lua_State *L, const request *r) {
  for (size_t i = 0; i < r->sum_count; i++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, r->sum[i]);
    if (column->type == LLMPROF_STRING_ID)
      luaL_error(L, "column '%s' holds strings and has no sum", column->name);
  }
}

static void parse_request(lua_State *L, request *r, int options) {
  luaL_checktype(L, options, LUA_TTABLE);
  r->by = column_list(L, r->frame, options, "by", &r->by_count);
  r->sum = column_list(L, r->frame, options, "sum", &r->sum_count);
  check_summable(L, r);
  r->distinct =
      column_list(L, r->frame, options, "distinct", &r->distinct_count);
  r->wanted_count = percentile_list(L, options, r->wanted);
}

static void compute_request(lua_State *L, request *r) {
  llmprof_error err;
  r->groups = lua_newuserdatauv(L, sizeof *r->groups, 0);
  *r->groups = (llmprof_groups){0};
  luaL_setmetatable(L, GROUPS);
  luaL_checkstack(L, (int)(r->sum_count + r->distinct_count) + 10,
                  "too many columns");
  if (!llmprof_groups_make(r->groups, r->frame, r->by, r->by_count, &err))
    luaL_error(L, "%s", err.message);
  r->summaries = scratch(L, r->sum_count, sizeof *r->summaries);
  for (size_t i = 0; i < r->sum_count; i++) {
    r->summaries[i] = scratch(L, r->groups->count, sizeof **r->summaries);
    if (!llmprof_summarize(r->frame, r->sum[i], r->groups, r->wanted,
                           r->wanted_count, r->summaries[i], &err))
      luaL_error(L, "%s", err.message);
  }
  r->counts = scratch(L, r->distinct_count, sizeof *r->counts);
  for (size_t i = 0; i < r->distinct_count; i++) {
    r->counts[i] = scratch(L, r->groups->count, sizeof **r->counts);
    if (!llmprof_distinct(r->frame, r->distinct[i], r->groups, r->counts[i],
                          &err))
      luaL_error(L, "%s", err.message);
  }
}

static void push_group(lua_State *L, const request *r, size_t group) {
  lua_createtable(L, 0, (int)(r->by_count + r->sum_count) + 2);
  set_integer(L, "count", r->groups->rows[group]);
  for (size_t i = 0; i < r->by_count; i++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, r->by[i]);
    push_cell(L, r->frame, column, r->groups->first_row[group]);
    lua_setfield(L, -2, column->name);
  }
  for (size_t i = 0; i < r->sum_count; i++) {
    push_summary(L, &r->summaries[i][group], r->wanted, r->wanted_count);
    lua_setfield(L, -2, llmprof_frame_peek(r->frame, r->sum[i])->name);
  }
  if (r->extents) {
    const llmprof_extent *extent = &r->extents[group];
    set_integer(L, "busy", extent->busy);
    if (extent->first != INT64_MIN) {
      set_integer(L, "first", extent->first);
      set_integer(L, "last", extent->last);
    }
  }
  if (!r->distinct_count) return;
  lua_createtable(L, 0, (int)r->distinct_count);
  for (size_t i = 0; i < r->distinct_count; i++)
    set_integer(L, llmprof_frame_peek(r->frame, r->distinct[i])->name,
                (int64_t)r->counts[i][group]);
  lua_setfield(L, -2, "distinct");
}

/* frame:group(options) -> list of groups, by first appearance. options:
 * by (columns; none: all rows are one group), sum (integer columns),
 * distinct (columns), percentiles (numbers 0..100), union (boolean).
 * A group holds its key columns, count (rows), per column of sum a table
 * { count, total, min, max, mean, median, stddev, p90, ... } (count alone when
 * no value is present), distinct = { column = number of values }, and with
 * union busy (ns that start..end of any row cover), first and last (ns). */
static int f_group(lua_State *L) {
  request r = {.frame = llmprof_lua_check_frame(L, 1)};
  parse_request(L, &r, 2);
  compute_request(L, &r);
  compute_extents(L, &r, 2);
  lua_createtable(L, (int)r.groups->count, 0);
  for (size_t g = 0; g < r.groups->count; g++) {
    push_group(L, &r, g);
    lua_rawseti(L, -2, (lua_Integer)g + 1);
  }
  return 1;
}

/* frame:union() -> intervals covered by start..end of any row */
static int f_union(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_settop(L, 1);
  lua_pushliteral(L, "start");
  lua_pushliteral(L, "end");
  size_t start = check_column(L, frame, 2), end = check_column(L, frame, 3);
  llmprof_intervals *set = llmprof_lua_new_intervals(L);
  llmprof_error err;
  if (llmprof_intervals_of_frame(set, frame, start, end, &err)) return 1;
  return llmprof_lua_fail(L, &err);
}

/* ---- classes ---- */

static const luaL_Reg frame_methods[] = {
    {"columns", f_columns}, {"get", f_get},     {"values", f_values},
    {"where", f_where},     {"group", f_group}, {"union", f_union},
    {"close", f_close},     {NULL, NULL},
};

void llmprof_lua_frame_classes(lua_State *L) {
  static const luaL_Reg none[] = {{NULL, NULL}};
  llmprof_lua_class(L, FRAME, frame_methods, f_close);
  llmprof_lua_class(L, GROUPS, none, free_groups);
  llmprof_lua_class(L, SCRATCH, none, free_scratch);
  llmprof_lua_class_len(L, FRAME, f_len);
  llmprof_lua_interval_classes(L);
}
