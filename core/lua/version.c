/* llmprof.version: what this build is; fields, no functions.
 *
 *   print(version.version:match "^%d+%.%d+%.%d+$" ~= nil)  --> true
 *
 * version.version: "1.2.3"
 * version.compiler: its name and version */
#include "llmprof/version.h"

#include "llmprof_lua.h"

LLMPROF_LUA_MODULE(version) {
  lua_createtable(L, 0, 2);
  llmprof_lua_set_string(L, "version", LLMPROF_VERSION);
  llmprof_lua_set_string(L, "compiler", LLMPROF_COMPILER);
  return 1;
}
