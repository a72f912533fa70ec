/* llmprof.resources: files built into the binary.
 *
 *   print(resources.list("conf/mode/")[1])        --> conf/mode/deep.yaml
 *   print(resources.get "none")                   -->
 */
#include "resources.h"

#include <stdlib.h>
#include <string.h>

#include "lua_buffer.h"
#include "os/source.h"

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

/* resources.unpack(path) -> contents of a file that is packed as gzip | nil,
 * message, code */
static int resources_unpack(lua_State *L) {
  const char *path = luaL_checkstring(L, 1), *piece;
  const llmprof_resource *found = llmprof_resource_find(path);
  luaL_argcheck(L, found, 1, "not built in");
  llmprof_buffer *out = llmprof_lua_buffer(L);
  llmprof_error err;
  llmprof_source *source = llmprof_source_bytes(
      path, found->begin, (size_t)(found->end - found->begin), &err);
  size_t size = 0;
  bool ok = source != NULL;
  while (ok && (ok = llmprof_source_next(source, &piece, &size, &err)) && size)
    llmprof_buffer_add(out, piece, size);
  llmprof_source_close(source);
  if (ok && out->failed) ok = llmprof_fail_nomem(&err);
  return ok ? llmprof_lua_text(L, true, out, NULL) : llmprof_lua_fail(L, &err);
}

static const luaL_Reg functions[] = {
    {"get", resources_get},
    {"list", resources_list},
    {"unpack", resources_unpack},
    {NULL, NULL},
};

int luaopen_llmprof_resources(lua_State *L);
int luaopen_llmprof_resources(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
