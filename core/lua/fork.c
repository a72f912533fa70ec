/* llmprof.fork: a second process that goes on from here.
 *
 *   local other = assert(fork.start(function() return digest.of(path) end))
 *   local here = digest.of(another)
 *   local there = assert(other:wait())
 */
#include "llmprof/fork.h"

#include "llmprof_lua.h"
#include "lua_buffer.h"

#define FORK "llmprof.fork"

/* In the second process: what the function at 1 returns is handed over. */
static void work(lua_State *L, llmprof_fork *own) {
  lua_settop(L, 1);
  bool ok = lua_pcall(L, 0, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING;
  size_t size = 0;
  const char *bytes = ok ? lua_tolstring(L, -1, &size) : NULL;
  llmprof_fork_end(own, bytes, size);
}

/* fork.start(f) -> process | nil, message, code. There f is called, which has
 * everything as it is here now, and returns a string; what it raises is lost,
 * and what it prints may be. It hears of no signal. */
static int fork_start(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  void **box = llmprof_lua_box(L, FORK, 0);
  llmprof_fork *made;
  llmprof_error err;
  int which = llmprof_fork_start(&made, &err);
  if (which < 0) return llmprof_lua_fail(L, &err);
  if (which == 0) work(L, made);
  *box = made;
  return 1;
}

/* process:wait() -> the string | nil, message, code: "io" when it ended
 * without one; again and again if you like */
static int f_wait(lua_State *L) {
  llmprof_fork *other = llmprof_lua_unbox(L, 1, FORK);
  llmprof_buffer *bytes = llmprof_lua_buffer(L);
  llmprof_error err;
  return llmprof_lua_text(L, llmprof_fork_wait(other, bytes, &err), bytes,
                          &err);
}

/* process:ended() -> has it */
static int f_ended(lua_State *L) {
  lua_pushboolean(L, llmprof_fork_ended(llmprof_lua_unbox(L, 1, FORK)));
  return 1;
}

static int f_pid(lua_State *L) {
  lua_pushinteger(L, llmprof_fork_pid(llmprof_lua_unbox(L, 1, FORK)));
  return 1;
}

/* process:close(): kills it if it still runs */
static int f_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, FORK);
  llmprof_fork_free(*box);
  *box = NULL;
  return 0;
}

static const luaL_Reg methods[] = {
    {"close", f_close}, {"ended", f_ended}, {"pid", f_pid},
    {"wait", f_wait},   {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"start", fork_start},
    {NULL, NULL},
};

int luaopen_llmprof_fork(lua_State *L);
int luaopen_llmprof_fork(lua_State *L) {
  llmprof_lua_class(L, FORK, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
