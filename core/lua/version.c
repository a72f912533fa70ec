/* llmprof.version: what this build is; fields, no functions.
 *
 *   print(version.version:match "^%d+%.%d+%.%d+$" ~= nil)  --> true
 *
 * version.version: "1.2.3"
 * version.compiler: its name and version */
#include "llmprof/version.h"

#include "llmprof_lua.h"

int luaopen_llmprof_version(lua_State *L);
int luaopen_llmprof_version(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, LLMPROF_VERSION);
  lua_setfield(L, -2, "version");
  lua_pushliteral(L, LLMPROF_COMPILER);
  lua_setfield(L, -2, "compiler");
  return 1;
}
