/* frame:group(): groups and their statistics, as a frame or as a list. */
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "frame/group_by.h"
#include "frame/interval.h"

#define GROUPS "llmprof.frame.groups"

static int free_groups(lua_State *L) {
  llmprof_groups_free(luaL_checkudata(L, 1, GROUPS));
  return 0;
}

llmprof_groups *llmprof_lua_new_groups(lua_State *L, llmprof_frame *frame,
                                       const size_t *keys, size_t count) {
  llmprof_groups *groups = lua_newuserdatauv(L, sizeof *groups, 0);
  *groups = (llmprof_groups){0};
  luaL_setmetatable(L, GROUPS);
  llmprof_error err;
  if (!llmprof_groups_make(groups, frame, keys, count, &err))
    llmprof_lua_raise(L, &err);
  return groups;
}

/* Percentiles of the list at `arg`, none where it is nil; their number. */
static size_t check_percentiles(lua_State *L, int arg,
                                double wanted[LLMPROF_PERCENTILES]) {
  if (lua_isnil(L, arg)) return 0;
  if (!lua_istable(L, arg))
    luaL_error(L, "option 'percentiles' is a list of numbers");
  size_t count = (size_t)lua_rawlen(L, arg);
  if (count > LLMPROF_PERCENTILES)
    luaL_error(L, "at most %d percentiles", LLMPROF_PERCENTILES);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    int is_number;
    wanted[i] = lua_tonumberx(L, -1, &is_number);
    if (!is_number || !(wanted[i] >= 0 && wanted[i] <= 100))
      luaL_error(L, "a percentile is a number between 0 and 100");
    lua_pop(L, 1);
  }
  return count;
}

/* ---- as a frame ---- */

static llmprof_statistic check_statistic(lua_State *L, int index) {
  static const char *const names[] = {
      [LLMPROF_COUNT] = "count",
      [LLMPROF_DISTINCT] = "distinct",
      [LLMPROF_SUM] = "sum",
      [LLMPROF_MEAN] = "mean",
      [LLMPROF_MEDIAN] = "median",
      [LLMPROF_MIN] = "min",
      [LLMPROF_MAX] = "max",
      [LLMPROF_STDDEV] = "std",
      [LLMPROF_PERCENTILE] = "percentile",
  };
  const char *name = lua_tostring(L, index);
  for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) return (llmprof_statistic)i;
  }
  luaL_error(L, "no statistic '%s'", name ? name : luaL_typename(L, index));
  return LLMPROF_COUNT;
}

/* { name, statistic, column or nil, percentile or nil } on top of the stack,
 * popped; its strings live on in the table. */
static void check_aggregate(lua_State *L, llmprof_frame *frame,
                            llmprof_aggregate *aggregate) {
  if (!lua_istable(L, -1))
    luaL_error(L, "an aggregate is { name, statistic, column, percentile }");
  for (int i = 1; i <= 4; i++) lua_rawgeti(L, -i, i);
  if (lua_type(L, -4) != LUA_TSTRING) luaL_error(L, "an aggregate has a name");
  aggregate->name = lua_tostring(L, -4); /* its table keeps it alive */
  aggregate->statistic = check_statistic(L, -3);
  aggregate->column =
      lua_isnil(L, -2) ? SIZE_MAX : llmprof_lua_check_column(L, frame, -2);
  if (aggregate->statistic > LLMPROF_DISTINCT) {
    if (aggregate->column == SIZE_MAX) luaL_error(L, "of which column?");
    llmprof_lua_check_numbers(L, frame, aggregate->column);
  }
  if (aggregate->statistic == LLMPROF_PERCENTILE) {
    aggregate->percentile = luaL_checknumber(L, -1);
    if (!(aggregate->percentile >= 0 && aggregate->percentile <= 100))
      luaL_error(L, "a percentile is between 0 and 100");
  }
  lua_pop(L, 5);
}

/* Its columns are at `columns`. */
static int group_frame(lua_State *L, llmprof_frame *frame, int options,
                       int columns) {
  size_t key_count, count = (size_t)lua_rawlen(L, columns);
  size_t *keys = llmprof_lua_column_list(L, options, frame, "by", &key_count);
  llmprof_aggregate *wanted = llmprof_lua_scratch(L, count, sizeof *wanted);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, columns, (lua_Integer)i + 1);
    check_aggregate(L, frame, &wanted[i]);
  }
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *box = llmprof_frame_aggregate(frame, keys, key_count, wanted, count, &err);
  if (!*box) return llmprof_lua_raise(L, &err);
  return 1;
}

/* ---- as a list ---- */

enum {
  TOTALS = 4, /* of the statistics below, those that `total` asks for */
  SUMS = 7
};

static const struct {
  const char *field;
  llmprof_statistic statistic;
} statistics[SUMS] = {{"count", LLMPROF_COUNT},  {"total", LLMPROF_SUM},
                      {"min", LLMPROF_MIN},      {"max", LLMPROF_MAX},
                      {"mean", LLMPROF_MEAN},    {"median", LLMPROF_MEDIAN},
                      {"stddev", LLMPROF_STDDEV}};

/* What group() was asked for; arrays are scratch boxes on the stack. */
typedef struct request {
  llmprof_frame *frame;
  size_t *by, by_count;
  size_t *sum, sum_count;
  size_t *total, total_count;
  size_t *distinct, distinct_count;
  double wanted[LLMPROF_PERCENTILES];
  size_t wanted_count;
  llmprof_aggregate *aggregates; /* in the order in which groups have them */
  size_t count;
  llmprof_extent *extents; /* by group, NULL unless asked for */
} request;

/* `union`: start and end columns as intervals. */
static void compute_extents(lua_State *L, request *r, int options) {
  if (!llmprof_lua_opt_bool(L, options, "union", false)) return;
  size_t start = llmprof_lua_column_named(L, r->frame, "start");
  size_t end = llmprof_lua_column_named(L, r->frame, "end");
  llmprof_groups *groups =
      llmprof_lua_new_groups(L, r->frame, r->by, r->by_count);
  r->extents = llmprof_lua_scratch(L, groups->count, sizeof *r->extents);
  llmprof_error err;
  if (!llmprof_intervals_by_group(r->frame, start, end, groups, r->extents,
                                  &err))
    llmprof_lua_raise(L, &err);
  llmprof_groups_free(groups); /* not when the collector comes by */
}

static void add(request *r, size_t column, llmprof_statistic statistic,
                double percentile) {
  r->aggregates[r->count++] =
      (llmprof_aggregate){"", statistic, column, percentile};
}

static void add_numbers(lua_State *L, request *r, size_t column, size_t count) {
  llmprof_lua_check_numbers(L, r->frame, column);
  for (size_t i = 0; i < count; i++) add(r, column, statistics[i].statistic, 0);
}

static void parse_request(lua_State *L, request *r, int options) {
  r->by = llmprof_lua_column_list(L, options, r->frame, "by", &r->by_count);
  r->sum = llmprof_lua_column_list(L, options, r->frame, "sum", &r->sum_count);
  r->total =
      llmprof_lua_column_list(L, options, r->frame, "total", &r->total_count);
  r->distinct = llmprof_lua_column_list(L, options, r->frame, "distinct",
                                        &r->distinct_count);
  lua_getfield(L, options, "percentiles");
  r->wanted_count = check_percentiles(L, lua_gettop(L), r->wanted);
  r->aggregates =
      llmprof_lua_scratch(L,
                          1 + r->sum_count * (SUMS + LLMPROF_PERCENTILES) +
                              r->total_count * TOTALS + r->distinct_count,
                          sizeof *r->aggregates);
  add(r, SIZE_MAX, LLMPROF_COUNT, 0);
  for (size_t i = 0; i < r->sum_count; i++) {
    add_numbers(L, r, r->sum[i], SUMS);
    for (size_t p = 0; p < r->wanted_count; p++)
      add(r, r->sum[i], LLMPROF_PERCENTILE, r->wanted[p]);
  }
  for (size_t i = 0; i < r->total_count; i++)
    add_numbers(L, r, r->total[i], TOTALS);
  for (size_t i = 0; i < r->distinct_count; i++)
    add(r, r->distinct[i], LLMPROF_DISTINCT, 0);
}

/* The groups, and the next column of theirs. */
typedef struct reading {
  llmprof_frame *made;
  size_t row, column;
} reading;

/* Set a field to the next cell, which may be absent. */
static void set_next(lua_State *L, reading *from, const char *field) {
  llmprof_lua_push_cell(
      L, from->made, llmprof_frame_peek(from->made, from->column++), from->row);
  lua_setfield(L, -2, field);
}

static void set_numbers(lua_State *L, const request *r, reading *from,
                        const size_t *columns, size_t count, bool all) {
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 8);
    for (size_t k = 0; k < (all ? SUMS : TOTALS); k++)
      set_next(L, from, statistics[k].field);
    for (size_t p = 0; all && p < r->wanted_count; p++) {
      char name[32];
      snprintf(name, sizeof name, "p%g", r->wanted[p]);
      set_next(L, from, name);
    }
    lua_setfield(L, -2, llmprof_frame_peek(r->frame, columns[i])->name);
  }
}

static void push_group(lua_State *L, const request *r, reading from) {
  lua_createtable(L, 0, (int)(r->by_count + r->sum_count) + 2);
  for (size_t i = 0; i < r->by_count; i++)
    set_next(L, &from, llmprof_frame_peek(r->frame, r->by[i])->name);
  set_next(L, &from, "count");
  set_numbers(L, r, &from, r->sum, r->sum_count, true);
  set_numbers(L, r, &from, r->total, r->total_count, false);
  if (r->extents) {
    const llmprof_extent *extent = &r->extents[from.row];
    llmprof_lua_set_integer(L, "busy", extent->busy);
    llmprof_lua_set_integer(L, "first", extent->first);
    llmprof_lua_set_integer(L, "last", extent->last);
  }
  if (!r->distinct_count) return;
  lua_createtable(L, 0, (int)r->distinct_count);
  for (size_t i = 0; i < r->distinct_count; i++)
    set_next(L, &from, llmprof_frame_peek(r->frame, r->distinct[i])->name);
  lua_setfield(L, -2, "distinct");
}

static int group_list(lua_State *L, llmprof_frame *frame, int options) {
  request r = {.frame = frame};
  llmprof_error err;
  parse_request(L, &r, options);
  compute_extents(L, &r, options);
  llmprof_frame **box = llmprof_lua_new_frame(L, 1);
  *box = llmprof_frame_aggregate(frame, r.by, r.by_count, r.aggregates, r.count,
                                 &err);
  if (!*box) return llmprof_lua_raise(L, &err);
  size_t groups = llmprof_frame_rows(*box);
  lua_createtable(L, (int)groups, 0);
  for (size_t g = 0; g < groups; g++) {
    push_group(L, &r, (reading){*box, g, 0});
    lua_rawseti(L, -2, (lua_Integer)g + 1);
  }
  llmprof_frame_free(*box); /* not when the collector comes by */
  *box = NULL;
  return 1;
}

/* frame:group(options): the groups of rows that are equal in the columns `by`
 * (none: all rows are one group), by first appearance.
 *
 * With `columns`, a list of { name, statistic, column, percentile }: a frame
 * with a row for each group, `by` and these columns. Statistics are count
 * (without a column: rows), distinct, sum, mean, median, min, max, std and
 * percentile.
 *
 * Without: a list of tables that hold the group's key columns, count (rows),
 * per column of `sum` a table { count, total, min, max, mean, median, stddev,
 * p90, ... } (count alone when no value is present, no stddev of one value),
 * per column of `total` the same without what follows max, distinct = { column
 * = number of values } of the columns `distinct`, and with `union` (boolean)
 * busy (ns that start..end of any row cover), first and last (ns).
 * `percentiles`: numbers 0..100. */
static int f_group(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  int type = lua_getfield(L, 2, "columns"); /* 3 */
  if (type == LUA_TNIL) return group_list(L, frame, 2);
  if (type != LUA_TTABLE)
    return luaL_error(L, "option 'columns' is a list of columns");
  return group_frame(L, frame, 2, 3);
}

const luaL_Reg llmprof_lua_group_methods[] = {
    {"group", f_group},
    {NULL, NULL},
};

void llmprof_lua_group_class(lua_State *L) {
  llmprof_lua_class(L, GROUPS, NULL, free_groups);
}
