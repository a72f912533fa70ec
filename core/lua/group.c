/* frame:group(): groups and their statistics, as a frame or as a list. */
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "frame/group_by.h"
#include "frame/interval.h"
#include "frame/statistics.h"

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

static void set_extremes(lua_State *L, const llmprof_summary *summary,
                         llmprof_column_type type) {
  if (type == LLMPROF_F64) {
    llmprof_lua_set_number(L, "total", summary->real_total);
    llmprof_lua_set_number(L, "min", summary->real_min);
    llmprof_lua_set_number(L, "max", summary->real_max);
  } else {
    llmprof_lua_set_integer(L, "total", summary->total);
    llmprof_lua_set_integer(L, "min", summary->min);
    llmprof_lua_set_integer(L, "max", summary->max);
  }
}

static void push_total(lua_State *L, const llmprof_summary *summary,
                       llmprof_column_type type) {
  lua_createtable(L, 0, 8);
  llmprof_lua_set_integer(L, "count", (int64_t)summary->count);
  if (summary->count) set_extremes(L, summary, type);
}

static void push_summary(lua_State *L, const llmprof_summary *summary,
                         llmprof_column_type type, const double *wanted,
                         size_t wanted_count) {
  push_total(L, summary, type);
  if (!summary->count) return;
  llmprof_lua_set_number(L, "mean", summary->mean);
  llmprof_lua_set_number(L, "median", summary->median);
  llmprof_lua_set_number(L, "stddev", summary->stddev);
  for (size_t i = 0; i < wanted_count; i++) {
    char name[32];
    snprintf(name, sizeof name, "p%g", wanted[i]);
    llmprof_lua_set_number(L, name, summary->percentiles[i]);
  }
}

/* What group() was asked for; arrays are scratch boxes on the stack. */
typedef struct request {
  llmprof_frame *frame;
  llmprof_groups *groups;
  size_t *by, by_count;
  size_t *sum, sum_count;
  size_t *total, total_count;
  size_t *distinct, distinct_count;
  double wanted[LLMPROF_PERCENTILES];
  size_t wanted_count;
  llmprof_extent *extents;     /* by group, NULL unless asked for */
  llmprof_summary **summaries; /* by sum column, by group */
  llmprof_summary **totals;    /* by total column, by group */
  size_t **counts;             /* by distinct column, by group */
} request;

/* `union`: start and end columns as intervals. */
static void compute_extents(lua_State *L, request *r, int options) {
  if (!llmprof_lua_opt_bool(L, options, "union", false)) return;
  size_t start = llmprof_lua_column_named(L, r->frame, "start");
  size_t end = llmprof_lua_column_named(L, r->frame, "end");
  r->extents = llmprof_lua_scratch(L, r->groups->count, sizeof *r->extents);
  llmprof_error err;
  if (!llmprof_intervals_by_group(r->frame, start, end, r->groups, r->extents,
                                  &err))
    llmprof_lua_raise(L, &err);
}

static void check_summable(lua_State *L, const request *r,
                           const size_t *columns, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, columns[i]);
    if (column->type == LLMPROF_STRING_ID)
      luaL_error(L, "column '%s' holds strings and has no sum", column->name);
  }
}

static void parse_request(lua_State *L, request *r, int options) {
  luaL_checktype(L, options, LUA_TTABLE);
  r->by = llmprof_lua_column_list(L, options, r->frame, "by", &r->by_count);
  r->sum = llmprof_lua_column_list(L, options, r->frame, "sum", &r->sum_count);
  r->total =
      llmprof_lua_column_list(L, options, r->frame, "total", &r->total_count);
  check_summable(L, r, r->sum, r->sum_count);
  check_summable(L, r, r->total, r->total_count);
  r->distinct = llmprof_lua_column_list(L, options, r->frame, "distinct",
                                        &r->distinct_count);
  lua_getfield(L, options, "percentiles");
  r->wanted_count = check_percentiles(L, lua_gettop(L), r->wanted);
  lua_pop(L, 1);
}

static void compute_request(lua_State *L, request *r) {
  llmprof_error err;
  r->groups = llmprof_lua_new_groups(L, r->frame, r->by, r->by_count);
  luaL_checkstack(L,
                  (int)(r->sum_count + r->total_count + r->distinct_count) + 10,
                  "too many columns");
  r->summaries = llmprof_lua_scratch(L, r->sum_count, sizeof *r->summaries);
  for (size_t i = 0; i < r->sum_count; i++) {
    r->summaries[i] =
        llmprof_lua_scratch(L, r->groups->count, sizeof **r->summaries);
    if (!llmprof_summarize(r->frame, r->sum[i], r->groups, r->wanted,
                           r->wanted_count, r->summaries[i], &err))
      llmprof_lua_raise(L, &err);
  }
  r->totals = llmprof_lua_scratch(L, r->total_count, sizeof *r->totals);
  for (size_t i = 0; i < r->total_count; i++) {
    r->totals[i] = llmprof_lua_scratch(L, r->groups->count, sizeof **r->totals);
    if (!llmprof_totals(r->frame, r->total[i], r->groups, r->totals[i], &err))
      llmprof_lua_raise(L, &err);
  }
  r->counts = llmprof_lua_scratch(L, r->distinct_count, sizeof *r->counts);
  for (size_t i = 0; i < r->distinct_count; i++) {
    r->counts[i] = llmprof_lua_scratch(L, r->groups->count, sizeof **r->counts);
    if (!llmprof_distinct(r->frame, r->distinct[i], r->groups, r->counts[i],
                          &err))
      llmprof_lua_raise(L, &err);
  }
}

static void push_group(lua_State *L, const request *r, size_t group) {
  lua_createtable(L, 0, (int)(r->by_count + r->sum_count) + 2);
  llmprof_lua_set_integer(L, "count", r->groups->rows[group]);
  for (size_t i = 0; i < r->by_count; i++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, r->by[i]);
    llmprof_lua_push_cell(L, r->frame, column, r->groups->first_row[group]);
    lua_setfield(L, -2, column->name);
  }
  for (size_t i = 0; i < r->sum_count; i++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, r->sum[i]);
    push_summary(L, &r->summaries[i][group], column->type, r->wanted,
                 r->wanted_count);
    lua_setfield(L, -2, column->name);
  }
  for (size_t i = 0; i < r->total_count; i++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, r->total[i]);
    push_total(L, &r->totals[i][group], column->type);
    lua_setfield(L, -2, column->name);
  }
  if (r->extents) {
    const llmprof_extent *extent = &r->extents[group];
    llmprof_lua_set_integer(L, "busy", extent->busy);
    if (extent->first != LLMPROF_ABSENT) {
      llmprof_lua_set_integer(L, "first", extent->first);
      llmprof_lua_set_integer(L, "last", extent->last);
    }
  }
  if (!r->distinct_count) return;
  lua_createtable(L, 0, (int)r->distinct_count);
  for (size_t i = 0; i < r->distinct_count; i++)
    llmprof_lua_set_integer(L,
                            llmprof_frame_peek(r->frame, r->distinct[i])->name,
                            (int64_t)r->counts[i][group]);
  lua_setfield(L, -2, "distinct");
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

static int group_list(lua_State *L, llmprof_frame *frame, int options) {
  request r = {.frame = frame};
  parse_request(L, &r, options);
  compute_request(L, &r);
  compute_extents(L, &r, options);
  lua_createtable(L, (int)r.groups->count, 0);
  for (size_t g = 0; g < r.groups->count; g++) {
    push_group(L, &r, g);
    lua_rawseti(L, -2, (lua_Integer)g + 1);
  }
  llmprof_groups_free(r.groups); /* not when the collector comes by */
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
 * p90, ... } (count alone when no value is present), per column of `total` the
 * same without what follows max, distinct = { column = number of
 * values } of the columns `distinct`, and with `union` (boolean) busy (ns that
 * start..end of any row cover), first and last (ns). `percentiles`: numbers
 * 0..100. */
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
