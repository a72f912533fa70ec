/* llmprof.fork: a second process that goes on from here.
 *
 *   local other <close> = assert(fork.start(1, function() return "there" end))
 *   print("here", (other:take()))                 --> here  there
 */
#include "os/fork.h"

#include "llmprof_lua.h"
#include "lua_buffer.h"

#define FORK "llmprof.fork"

/* hand_over(text), in the second process. Upvalue: it. */
static int hand_over(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  llmprof_fork *own = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushboolean(L, llmprof_fork_hand_over(own, bytes, size));
  return 1;
}

/* In the second process: what the function at 2 returns is handed over. */
static void work(lua_State *L, llmprof_fork *own) {
  size_t size;
  lua_settop(L, 2);
  lua_pushlightuserdata(L, own);
  lua_pushcclosure(L, hand_over, 1);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING) {
    const char *bytes = lua_tolstring(L, -1, &size);
    llmprof_fork_hand_over(own, bytes, size);
  }
  llmprof_fork_end(own);
}

/* fork.start(threads, f) -> process | nil, message, code. There f is called,
 * which has everything as it is here now, and `threads` threads of ours, 0
 * where it only waits for a disk; what it returns is handed over if it is a
 * string, and before that whatever it calls its argument with. What it raises
 * is lost, and what it prints may be. It hears of no signal. */
static int fork_start(lua_State *L) {
  lua_Integer threads = luaL_checkinteger(L, 1);
  luaL_argcheck(L, threads >= 0, 1, "a number of threads is expected");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  luaL_checkstack(L, 8, NULL);
  void **box = llmprof_lua_box(L, FORK, 0);
  llmprof_fork *made;
  llmprof_error err;
  int which = llmprof_fork_start((size_t)threads, &made, &err);
  if (which < 0) return llmprof_lua_fail(L, &err);
  if (which == 0) work(L, made);
  *box = made;
  return 1;
}

/* process:take() -> the next text that it hands over, waiting for it | nil,
 * message, code: "io" when it ended without one */
static int f_take(lua_State *L) {
  llmprof_fork *other = llmprof_lua_unbox(L, 1, FORK);
  llmprof_buffer *bytes = llmprof_lua_buffer(L);
  llmprof_error err;
  return llmprof_lua_text(L, llmprof_fork_take(other, bytes, &err), bytes,
                          &err);
}

/* process:rest() -> true, once it has ended | nil, message, code */
static int f_rest(lua_State *L) {
  llmprof_fork *other = llmprof_lua_unbox(L, 1, FORK);
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_fork_rest(other, &err), &err);
}

/* process:ended() -> has it */
static int f_ended(lua_State *L) {
  lua_pushboolean(L, llmprof_fork_ended(llmprof_lua_unbox(L, 1, FORK)));
  return 1;
}

/* process:pid() -> its number */
static int f_pid(lua_State *L) {
  lua_pushinteger(L, llmprof_fork_pid(llmprof_lua_unbox(L, 1, FORK)));
  return 1;
}

/* process:close(): kills it if it still runs */
LLMPROF_LUA_CLOSE(f_close, FORK, llmprof_fork_free)

static const luaL_Reg methods[] = {
    {"close", f_close}, {"ended", f_ended}, {"pid", f_pid},
    {"rest", f_rest},   {"take", f_take},   {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"start", fork_start},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(fork) {
  llmprof_lua_class(L, FORK, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
