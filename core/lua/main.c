/* The host: a Lua state with llmprof's modules, handed to lua/llmprof/boot.lua.
 * Everything the user sees is decided there; this file only starts it. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "llmprof_lua.h"
#include "resources.h"

#define BOOT "lua/llmprof/boot.lua"

static lua_State *volatile running; /* for the signal handler only */

/* Runs at the next Lua instruction: unwinds to whoever handles it. */
static void raise_interrupt(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "interrupted");
}

/* lua_sethook is the one API call Lua allows from a signal handler. A second
 * signal ends the process at once. */
static void on_signal(int number) {
  signal(number, SIG_DFL);
  lua_sethook(running, raise_interrupt,
              LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void catch_signals(lua_State *L) {
  running = L;
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  /* A reader that goes away must not end a capture: writes fail instead. */
  signal(SIGPIPE, SIG_IGN);
}

/* Stack: argc, argv. Returns the exit status that boot.lua gives. */
static int protected_main(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_openlibs(L);
  llmprof_lua_preload(L);
  const llmprof_resource *boot = llmprof_resource_find(BOOT);
  if (!boot) return luaL_error(L, "this build has no %s", BOOT);
  if (luaL_loadbuffer(L, boot->begin, (size_t)(boot->end - boot->begin),
                      "@" BOOT) != LUA_OK)
    return lua_error(L);
  luaL_checkstack(L, argc, "too many arguments");
  for (int i = 0; i < argc; i++) lua_pushstring(L, argv[i]);
  lua_call(L, argc, 1);
  return 1;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (!L) {
    fputs("llmprof: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  catch_signals(L);
  lua_pushcfunction(L, protected_main);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int status = EXIT_FAILURE;
  if (lua_pcall(L, 2, 1, 0) == LUA_OK) {
    status = (int)lua_tointeger(L, -1);
  } else {
    const char *message = lua_tostring(L, -1);
    fprintf(stderr, "llmprof: %s\n", message ? message : "unknown error");
  }
  signal(SIGINT, SIG_DFL); /* the handler must not reach a closed state */
  signal(SIGTERM, SIG_DFL);
  lua_close(L);
  return status;
}
