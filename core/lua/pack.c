/* llmprof.pack: frames that outlive their trace, and values that were counted
 * in several places.
 *
 *   local one = require("llmprof.frame").new(1, {
 *     { name = "ns", type = "integer", values = { 5 } } })
 *   local all = pack.join { one, one }
 *   print(#all, pack.decode(pack.encode(all)):get(2, "ns"))  --> 2  5
 */
#include "ranks/pack.h"

#include "frame.h"
#include "frame/group_by.h"
#include "lua_buffer.h"
#include "os/gzip.h"
#include "ranks/spread.h"

/* ---- joining ---- */

static llmprof_frame **check_frames(lua_State *L, int arg, size_t *count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *count = (size_t)lua_rawlen(L, arg);
  llmprof_frame **frames = llmprof_lua_scratch(L, *count, sizeof *frames);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    frames[i] = llmprof_lua_check_frame(L, lua_gettop(L));
    lua_pop(L, 1); /* the list keeps it alive */
  }
  return frames;
}

/* The clocks of the list at `arg`, { offset, drift, at } each. */
static const llmprof_clock *check_clocks(lua_State *L, int arg, size_t count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  luaL_argcheck(L, lua_rawlen(L, arg) == count, arg, "one for each frame");
  llmprof_clock *clocks = llmprof_lua_scratch(L, count, sizeof *clocks);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    clocks[i].offset = llmprof_lua_opt_integer(L, -1, "offset", 0);
    clocks[i].at = llmprof_lua_opt_integer(L, -1, "at", 0);
    clocks[i].drift = llmprof_lua_opt_number(L, -1, "drift", 0);
    lua_pop(L, 1);
  }
  return clocks;
}

/* The names of the list at `arg`, with a NULL behind them. */
static const char *const *check_names(lua_State *L, int arg) {
  luaL_checktype(L, arg, LUA_TTABLE);
  size_t count = (size_t)lua_rawlen(L, arg);
  const char **names = llmprof_lua_scratch(L, count + 1, sizeof *names);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, arg, "names of columns");
    names[i] = lua_tostring(L, -1);
    lua_pop(L, 1); /* the list keeps it alive */
  }
  return names;
}

/* pack.join(frames [, clocks, times]) -> frame of its own memory with the rows
 * of all and the columns of the first. clocks: for each frame { offset, drift,
 * at }: t becomes t - offset - drift * (t - at) in the columns that `times`
 * names */
static int pack_join(lua_State *L) {
  lua_settop(L, 3);
  bool moved = !lua_isnil(L, 2);
  size_t count;
  llmprof_frame **frames = check_frames(L, 1, &count);
  luaL_argcheck(L, count > 0, 1, "a frame or more");
  const llmprof_clock *clocks = moved ? check_clocks(L, 2, count) : NULL;
  const char *const *times = moved ? check_names(L, 3) : NULL;
  llmprof_strings *pool = llmprof_lua_new_pool(L);
  llmprof_frame **box = llmprof_lua_new_frame(L, -1);
  llmprof_error err;
  return llmprof_lua_made_frame(
      L, box, llmprof_frames_join(frames, count, clocks, times, pool, &err),
      &err);
}

/* ---- bytes ---- */

/* pack.encode(frame) -> string */
static int pack_encode(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  llmprof_buffer *out = llmprof_lua_buffer(L);
  llmprof_error err;
  if (!llmprof_frame_pack(frame, out, &err)) return llmprof_lua_raise(L, &err);
  return llmprof_lua_text(L, true, out, NULL);
}

/* pack.decode(string) -> frame | nil, message, code: the bytes are the world's
 */
static int pack_decode(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  llmprof_strings *pool = llmprof_lua_new_pool(L);
  llmprof_frame **box = llmprof_lua_new_frame(L, -1);
  llmprof_error err;
  *box = llmprof_frame_unpack(bytes, size, pool, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

/* pack.gzip(bytes) -> the same as gzip */
static int pack_gzip(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  llmprof_buffer *out = llmprof_lua_buffer(L);
  llmprof_error err;
  if (!llmprof_gzip(out, bytes, size, &err)) return llmprof_lua_raise(L, &err);
  return llmprof_lua_text(L, true, out, NULL);
}

/* ---- spreads ---- */

typedef struct request {
  llmprof_frame *frame;
  const size_t *keys;
  size_t key_count, value, weight;
  double wanted[LLMPROF_PERCENTILES];
  size_t wanted_count;
} request;

static void push_spread(lua_State *L, const request *r,
                        const llmprof_groups *groups, size_t group,
                        const llmprof_spread *spread) {
  lua_createtable(L, 0, 8);
  for (size_t k = 0; k < r->key_count; k++) {
    const llmprof_column *column = llmprof_frame_peek(r->frame, r->keys[k]);
    llmprof_lua_push_cell(L, r->frame, column, groups->first_row[group]);
    lua_setfield(L, -2, column->name);
  }
  llmprof_lua_set_integer(L, "count", spread->count);
  if (!spread->count) return;
  llmprof_lua_set_integer(L, "total", spread->total);
  llmprof_lua_set_integer(L, "min", spread->min);
  llmprof_lua_set_integer(L, "max", spread->max);
  const double moments[] = {spread->mean, spread->median, spread->stddev};
  llmprof_lua_set_moments(L, moments, r->wanted, spread->percentiles,
                          r->wanted_count);
}

/* pack.spread(frame, by, value, weight [, percentiles]) -> list of groups, by
 * first appearance: the key columns, and of the values, each counted as often
 * as its weight says, count, total, min, max, mean, median, stddev, p90, ... */
static int pack_spread(lua_State *L) {
  lua_settop(L, 5);
  request r = {.frame = llmprof_lua_check_frame(L, 1)};
  r.value = llmprof_lua_check_column(L, r.frame, 3);
  r.weight = llmprof_lua_check_column(L, r.frame, 4);
  r.wanted_count = llmprof_lua_check_percentiles(L, 5, r.wanted);
  r.keys = llmprof_lua_check_columns(L, r.frame, 2, &r.key_count);
  llmprof_groups *groups =
      llmprof_lua_new_groups(L, r.frame, r.keys, r.key_count);
  llmprof_spread *spreads =
      llmprof_lua_scratch(L, groups->count, sizeof *spreads);
  llmprof_error err;
  if (!llmprof_spread_of(r.frame, r.value, r.weight, groups, r.wanted,
                         r.wanted_count, spreads, &err))
    return llmprof_lua_raise(L, &err);
  lua_createtable(L, (int)groups->count, 0);
  for (size_t g = 0; g < groups->count; g++) {
    push_spread(L, &r, groups, g, &spreads[g]);
    lua_rawseti(L, -2, (lua_Integer)g + 1);
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"join", pack_join}, {"encode", pack_encode}, {"decode", pack_decode},
    {"gzip", pack_gzip}, {"spread", pack_spread}, {NULL, NULL},
};

int luaopen_llmprof_frame(lua_State *L);
LLMPROF_LUA_MODULE(pack) {
  /* the class of pools comes with it */
  luaL_requiref(L, "llmprof.frame", luaopen_llmprof_frame, 0);
  luaL_newlib(L, functions);
  return 1;
}
