/* llmprof.merge: the exports of one run as one.
 *
 *   assert(merge.files({ "run.1.sqlite", "run.2.sqlite" }, "all.sqlite"))
 */
#include "nsys/merge.h"

#include "llmprof_lua.h"

/* merge.files(list of paths, to) -> true | nil, message, code */
static int merge_files(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *to = llmprof_lua_check_path(L, 2);
  lua_Integer count = luaL_len(L, 1);
  luaL_argcheck(L, count >= 1, 1, "a path or more expected");
  const char **paths = lua_newuserdatauv(L, (size_t)count * sizeof *paths, 0);
  for (lua_Integer i = 0; i < count; i++)
    paths[i] = llmprof_lua_check_item(L, 1, i + 1);
  llmprof_error err;
  return llmprof_lua_result(
      L, llmprof_trace_merge(paths, (size_t)count, to, &err), &err);
}

static const luaL_Reg functions[] = {
    {"files", merge_files},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(merge, functions)
