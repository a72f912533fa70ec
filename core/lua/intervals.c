/* Intervals in Lua: what the rows of a frame cover.
 *
 *   local busy = frame:union()
 *   local share = busy:covered() / wall
 */
#include "intervals.h"

#include "frame.h"
#include "llmprof/alloc.h"

#define INTERVALS "llmprof.intervals"

static int close_intervals(lua_State *L) {
  llmprof_intervals_free(luaL_checkudata(L, 1, INTERVALS));
  return 0;
}

llmprof_intervals *llmprof_lua_new_intervals(lua_State *L) {
  llmprof_intervals *set = lua_newuserdatauv(L, sizeof *set, 0);
  *set = (llmprof_intervals){0};
  luaL_setmetatable(L, INTERVALS);
  return set;
}

static llmprof_intervals *check_intervals(lua_State *L, int arg) {
  return luaL_checkudata(L, arg, INTERVALS);
}

llmprof_intervals *llmprof_lua_check_intervals(lua_State *L, int arg) {
  return check_intervals(L, arg);
}

static int i_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_intervals(L, 1)->count);
  return 1;
}

/* intervals:covered([from, to]) -> ns covered, within [from, to) if given */
static int i_covered(lua_State *L) {
  const llmprof_intervals *set = check_intervals(L, 1);
  int64_t from = luaL_optinteger(L, 2, INT64_MIN);
  int64_t to = luaL_optinteger(L, 3, INT64_MAX);
  lua_pushinteger(L, llmprof_intervals_covered(set, from, to));
  return 1;
}

/* intervals:overlap(other) -> ns covered by both */
static int i_overlap(lua_State *L) {
  lua_pushinteger(L, llmprof_intervals_overlap(check_intervals(L, 1),
                                               check_intervals(L, 2)));
  return 1;
}

/* intervals:join(other) -> intervals: what either covers */
static int i_join(lua_State *L) {
  const llmprof_intervals *a = check_intervals(L, 1),
                          *b = check_intervals(L, 2);
  llmprof_intervals *set = llmprof_lua_new_intervals(L);
  llmprof_error err;
  if (llmprof_intervals_join(set, a, b, &err)) return 1;
  return llmprof_lua_raise(L, &err);
}

/* intervals:span() -> first start, last end; nothing when empty */
static int i_span(lua_State *L) {
  const llmprof_intervals *set = check_intervals(L, 1);
  if (!set->count) return 0;
  lua_pushinteger(L, set->items[0].start);
  lua_pushinteger(L, set->items[set->count - 1].end);
  return 2;
}

/* intervals:gaps(from, to [, shortest]) -> intervals: the holes in between */
static int i_gaps(lua_State *L) {
  const llmprof_intervals *set = check_intervals(L, 1);
  int64_t from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
  int64_t shortest = luaL_optinteger(L, 4, 1);
  llmprof_intervals *gaps = llmprof_lua_new_intervals(L);
  llmprof_error err;
  if (llmprof_intervals_gaps(gaps, set, from, to, shortest, &err)) return 1;
  return llmprof_lua_raise(L, &err);
}

/* intervals:get(i) -> start, end */
static int i_get(lua_State *L) {
  const llmprof_intervals *set = check_intervals(L, 1);
  lua_Integer i = luaL_checkinteger(L, 2);
  luaL_argcheck(L, i >= 1 && (size_t)i <= set->count, 2, "no such interval");
  lua_pushinteger(L, set->items[i - 1].start);
  lua_pushinteger(L, set->items[i - 1].end);
  return 2;
}

/* The starts or the ends, as a column that the frame keeps. */
static void add_times(lua_State *L, llmprof_frame *frame,
                      const llmprof_intervals *set, bool ends) {
  int64_t *data = llmprof_alloc(set->count, sizeof *data);
  for (size_t i = 0; data && i < set->count; i++)
    data[i] = ends ? set->items[i].end : set->items[i].start;
  if (!llmprof_frame_give(frame, ends ? "end" : "start", "ns", LLMPROF_I64,
                          data, NULL))
    llmprof_lua_raise_nomem(L);
}

/* intervals:frame() -> frame with a row for each: start, end */
static int i_frame(lua_State *L) {
  const llmprof_intervals *set = check_intervals(L, 1);
  lua_settop(L, 1);
  llmprof_strings *pool = llmprof_lua_new_pool(L);   /* 2 */
  llmprof_frame **box = llmprof_lua_new_frame(L, 2); /* 3 */
  *box = llmprof_frame_new(set->count, pool);
  if (!*box) return llmprof_lua_raise_nomem(L);
  add_times(L, *box, set, false);
  add_times(L, *box, set, true);
  return 1;
}

static const luaL_Reg interval_methods[] = {
    {"covered", i_covered}, {"overlap", i_overlap},     {"join", i_join},
    {"span", i_span},       {"gaps", i_gaps},           {"get", i_get},
    {"frame", i_frame},     {"close", close_intervals}, {NULL, NULL},
};

void llmprof_lua_interval_classes(lua_State *L) {
  llmprof_lua_class(L, INTERVALS, interval_methods, close_intervals);
  llmprof_lua_class_len(L, INTERVALS, i_len);
}
