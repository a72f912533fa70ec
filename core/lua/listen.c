/* llmprof.listen: lines from programs that connect to a Unix socket.
 *
 *   local name = "@example-" .. require("llmprof.sys").monotonic()
 *   local listener = assert(listen.open(name))
 *   for _, heard in ipairs(assert(listener:poll())) do
 *     if heard.line then assert(listener:send(heard.peer, "go\n")) end
 *   end
 *   listener:close()
 */
#include "os/listen.h"

#include "llmprof_lua.h"

#define LISTENER "llmprof.listener"

/* listen.open(path) -> listener | nil, message, code. "@NAME" is an abstract
 * socket, for any user. */
LLMPROF_LUA_OPEN(listen_open, LISTENER, 0, llmprof_listener_open)

LLMPROF_LUA_CLOSE(f_close, LISTENER, llmprof_listener_close)

/* A line that was heard; text is NULL where the peer is gone. */
typedef struct heard_line {
  uint32_t peer;
  const char *text;
  size_t size;
} heard_line;

/* Stack: the list, the line. Runs protected. */
static int keep_line(lua_State *L) {
  const heard_line *heard = lua_touserdata(L, 2);
  lua_createtable(L, 0, 2);
  llmprof_lua_set_integer(L, "peer", heard->peer);
  if (heard->text) {
    lua_pushlstring(L, heard->text, heard->size);
    lua_setfield(L, -2, "line");
  }
  lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
  return 0;
}

/* The core must not be jumped over: an error is left on the stack. */
typedef struct hearing {
  lua_State *L;
  int list;
  bool raised;
} hearing;

static bool hear(void *user, uint32_t peer, const char *bytes, size_t size) {
  hearing *h = user;
  heard_line heard = {peer, bytes, size};
  lua_pushcfunction(h->L, keep_line);
  lua_pushvalue(h->L, h->list);
  lua_pushlightuserdata(h->L, &heard);
  h->raised = lua_pcall(h->L, 2, 0, 0) != LUA_OK;
  return !h->raised;
}

/* listener:poll() -> list of { peer (a number), line }, without line where the
 * peer is gone | nil, message, code */
static int f_poll(lua_State *L) {
  llmprof_listener *listener = llmprof_lua_unbox(L, 1, LISTENER);
  luaL_checkstack(L, 8, NULL);
  lua_settop(L, 1);
  lua_newtable(L);
  hearing h = {.L = L, .list = 2};
  llmprof_error err;
  bool ok = llmprof_listener_poll(listener, hear, &h, &err);
  if (h.raised) return lua_error(L);
  return ok ? 1 : llmprof_lua_fail(L, &err);
}

/* listener:peer(peer) -> pid, uid, as the system says | nil */
static int f_peer(lua_State *L) {
  const llmprof_listener *listener = llmprof_lua_unbox(L, 1, LISTENER);
  lua_Integer peer = luaL_checkinteger(L, 2);
  uint32_t pid, uid;
  if (peer <= 0 || peer > UINT32_MAX ||
      !llmprof_listener_peer(listener, (uint32_t)peer, &pid, &uid)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, pid);
  lua_pushinteger(L, uid);
  return 2;
}

/* listener:send(peer, text) -> true | nil, message, code */
static int f_send(lua_State *L) {
  llmprof_listener *listener = llmprof_lua_unbox(L, 1, LISTENER);
  lua_Integer peer = luaL_checkinteger(L, 2);
  size_t size;
  const char *text = luaL_checklstring(L, 3, &size);
  luaL_argcheck(L, peer > 0 && peer <= UINT32_MAX, 2, "no such peer");
  llmprof_error err;
  return llmprof_lua_result(
      L, llmprof_listener_send(listener, (uint32_t)peer, text, size, &err),
      &err);
}

static const luaL_Reg methods[] = {
    {"poll", f_poll},   {"peer", f_peer}, {"send", f_send},
    {"close", f_close}, {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", listen_open},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(listen) {
  llmprof_lua_class(L, LISTENER, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
