/* llmprof.resources: files built into the binary.
 *
 *   print(resources.list("conf/mode/")[1])        --> conf/mode/deep.yaml
 *   print(resources.get "none")                   -->
 */
#include "resources.h"

#include <stdlib.h>
#include <string.h>

#include "llmprof_lua.h"
#include "sqlite/packed.h"

static int compare_path(const void *path, const void *resource) {
  return strcmp(path, ((const llmprof_resource *)resource)->path);
}

const llmprof_resource *llmprof_resource_find(const char *path) {
  return bsearch(path, llmprof_resources, llmprof_resource_count,
                 sizeof *llmprof_resources, compare_path);
}

/* resources.get(path) -> contents, or nothing when there is no such file */
static int resources_get(lua_State *L) {
  const llmprof_resource *found = llmprof_resource_find(luaL_checkstring(L, 1));
  if (!found) return 0;
  lua_pushlstring(L, found->begin, (size_t)(found->end - found->begin));
  return 1;
}

/* resources.list([prefix]) -> sorted list of paths */
static int resources_list(lua_State *L) {
  const char *prefix = luaL_optstring(L, 1, "");
  size_t size = strlen(prefix);
  lua_newtable(L);
  lua_Integer count = 0;
  for (size_t i = 0; i < llmprof_resource_count; i++) {
    if (strncmp(llmprof_resources[i].path, prefix, size) != 0) continue;
    lua_pushstring(L, llmprof_resources[i].path);
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

/* resources.unpack(path, folder) -> true | nil, message, code: the files of a
 * packed capture, into a folder that is there */
static int resources_unpack(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const char *folder = llmprof_lua_check_path(L, 2);
  const llmprof_resource *found = llmprof_resource_find(path);
  luaL_argcheck(L, found, 1, "not built in");
  llmprof_error err;
  if (!llmprof_unpack_capture(path, found->begin,
                              (size_t)(found->end - found->begin), folder,
                              &err))
    return llmprof_lua_fail(L, &err);
  lua_pushboolean(L, 1);
  return 1;
}

static const luaL_Reg functions[] = {
    {"get", resources_get},
    {"list", resources_list},
    {"unpack", resources_unpack},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(resources, functions)
