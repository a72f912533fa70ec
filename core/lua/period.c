/* llmprof.period: rows of a frame that come back at regular distances.
 *
 *   local kernels = require("llmprof.frame").new(3, {
 *     { name = "start", type = "integer", values = { 0, 100, 200 } },
 *     { name = "end", type = "integer", values = { 50, 150, 250 } },
 *     { name = "name", type = "string", values = { "a", "a", "a" } } })
 *   local rhythm = period.rhythms(kernels, { "name" }, 2)[1]
 *   print(rhythm.period, rhythm.distances)        --> 100  2
 *   print(#period.cycles(kernels, { "name" }, rhythm.row))  --> 3
 */
#include "frame/period.h"
#include "frame/group_by.h"

#include "frame.h"

/* What both functions are given: a frame and, as argument 2, the columns that
 * tell its rows apart. Boxes are left on the stack. */
typedef struct request {
  llmprof_frame *frame;
  llmprof_groups *groups;
  size_t start;
} request;

static request check_request(lua_State *L) {
  request r = {.frame = llmprof_lua_check_frame(L, 1)};
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count;
  const size_t *keys = llmprof_lua_check_columns(L, r.frame, 2, &count);
  luaL_argcheck(L, count > 0, 2, "at least one column");
  lua_pushliteral(L, "start");
  r.start = llmprof_lua_check_column(L, r.frame, -1);
  lua_pop(L, 1);
  r.groups = llmprof_lua_new_groups(L, r.frame, keys, count);
  return r;
}

/* Rows count from 1; UINT32_MAX is none. */
static void set_row(lua_State *L, const char *field, uint32_t row) {
  if (row != UINT32_MAX) llmprof_lua_set_integer(L, field, (int64_t)row + 1);
}

/* period.rhythms(frame, columns, least) -> list, in order of the groups' first
 * rows, of { row (the group's first), distances, runs, longest, period
 * (ns), span (ns), spread }. least: distances of the shortest run that
 * counts. */
static int period_rhythms(lua_State *L) {
  lua_Integer least = luaL_checkinteger(L, 3);
  luaL_argcheck(L, least >= 1 && least <= UINT32_MAX, 3, "at least 1");
  request r = check_request(L);
  void **box = llmprof_lua_scratch_box(L);
  llmprof_rhythm *rhythms;
  size_t count;
  llmprof_error err;
  if (!llmprof_rhythms_find(r.frame, r.start, r.groups, (uint32_t)least,
                            &rhythms, &count, &err))
    return llmprof_lua_raise(L, &err);
  *box = rhythms;
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 7);
    set_row(L, "row", rhythms[i].row);
    llmprof_lua_set_integer(L, "distances", rhythms[i].distances);
    llmprof_lua_set_integer(L, "runs", rhythms[i].runs);
    llmprof_lua_set_integer(L, "longest", rhythms[i].longest);
    llmprof_lua_set_integer(L, "period", rhythms[i].period);
    llmprof_lua_set_integer(L, "span", rhythms[i].span);
    llmprof_lua_set_number(L, "spread", rhythms[i].spread);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* period.cycles(frame, columns, row) -> list of { first, next, rows, likeness,
 * head, head_last } of the group that the row is in, in order. The last cycle
 * has no `next`, one whose head was not compared no `head_last`. */
static int period_cycles(lua_State *L) {
  lua_Integer row = luaL_checkinteger(L, 3);
  request r = check_request(L);
  luaL_argcheck(L, row >= 1 && (size_t)row <= llmprof_frame_rows(r.frame), 3,
                "no such row");
  void **box = llmprof_lua_scratch_box(L);
  llmprof_cycle *cycles;
  size_t count;
  llmprof_error err;
  if (!llmprof_cycles_find(r.frame, r.start, r.groups,
                           r.groups->of_row[row - 1], &cycles, &count, &err))
    return llmprof_lua_raise(L, &err);
  *box = cycles;
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 6);
    set_row(L, "first", cycles[i].first);
    set_row(L, "next", cycles[i].next);
    llmprof_lua_set_integer(L, "rows", cycles[i].rows);
    llmprof_lua_set_number(L, "likeness", cycles[i].likeness);
    llmprof_lua_set_number(L, "head", cycles[i].head);
    set_row(L, "head_last", cycles[i].head_last);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"rhythms", period_rhythms},
    {"cycles", period_cycles},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(period) {
  llmprof_lua_frame_classes(L);
  luaL_newlib(L, functions);
  return 1;
}
