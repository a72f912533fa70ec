/* The one list of C modules. */
#include "llmprof_lua.h"

#define MODULES(X) \
  X(bounds)        \
  X(chrome_trace)  \
  X(classes)       \
  X(cluster)       \
  X(collectives)   \
  X(csv)           \
  X(cuda)          \
  X(digest)        \
  X(error)         \
  X(fork)          \
  X(frame)         \
  X(fs)            \
  X(gpu)           \
  X(interrupt)     \
  X(json)          \
  X(lineedit)      \
  X(listen)        \
  X(markdown)      \
  X(merge)         \
  X(ncu)           \
  X(pack)          \
  X(period)        \
  X(replay)        \
  X(resources)     \
  X(scrub)         \
  X(sheet)         \
  X(spans)         \
  X(spawn)         \
  X(spool)         \
  X(sqlite)        \
  X(sys)           \
  X(text)          \
  X(trace)         \
  X(version)       \
  X(yaml)

#define DECLARE(name) int luaopen_llmprof_##name(lua_State *L);
MODULES(DECLARE)

#define ENTRY(name) {"llmprof." #name, luaopen_llmprof_##name},
static const luaL_Reg modules[] = {MODULES(ENTRY){NULL, NULL}};

void llmprof_lua_preload(lua_State *L) {
  llmprof_lua_error_class(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  luaL_setfuncs(L, modules, 0);
  lua_pop(L, 1);
}
