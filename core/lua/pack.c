/* llmprof.pack: frames that outlive their trace.
 *
 *   local one = require("llmprof.frame").new(1, {
 *     { name = "ns", type = "integer", values = { 5 } } })
 *   local all = pack.join { one, one }
 *   print(#all, pack.decode(pack.encode(all)):get(2, "ns"))  --> 2  5
 */
#include "ranks/pack.h"

#include "frame.h"
#include "lua_buffer.h"
#include "os/gzip.h"

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

static const luaL_Reg functions[] = {
    {"join", pack_join},
    {"encode", pack_encode},
    {"decode", pack_decode},
    {"gzip", pack_gzip},
    {NULL, NULL},
};

int luaopen_llmprof_frame(lua_State *L);
LLMPROF_LUA_MODULE(pack) {
  /* the class of pools comes with it */
  luaL_requiref(L, "llmprof.frame", luaopen_llmprof_frame, 0);
  luaL_newlib(L, functions);
  return 1;
}
