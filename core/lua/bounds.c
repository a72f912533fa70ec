/* llmprof.bounds: how much reading a file may cost.
 *
 *   print(table.concat(bounds.keys(), " ", 1, 2)) --> limits.rows limits.bytes
 *   bounds.set("limits.seconds", 60)
 *   print(bounds.get "limits.seconds")            --> 60
 */
#include "base/bounds.h"

#include <string.h>

#include "llmprof_lua.h"

static llmprof_bound check_bound(lua_State *L, int arg) {
  const char *key = luaL_checkstring(L, arg);
  for (int i = 0; i < LLMPROF_BOUNDS; i++) {
    if (strcmp(llmprof_bound_key((llmprof_bound)i), key) == 0)
      return (llmprof_bound)i;
  }
  return (llmprof_bound)luaL_argerror(L, arg, "no bound of this name");
}

/* bounds.set(key, value): "limits.rows" and the like; 0 is no bound */
static int bounds_set(lua_State *L) {
  llmprof_bound bound = check_bound(L, 1);
  lua_Integer value = luaL_checkinteger(L, 2);
  luaL_argcheck(L, value >= 0, 2, "0 or more expected");
  llmprof_bound_set(bound, (uint64_t)value);
  return 0;
}

/* bounds.get(key) -> value */
static int bounds_get(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)llmprof_bound_get(check_bound(L, 1)));
  return 1;
}

/* bounds.keys() -> list */
static int bounds_keys(lua_State *L) {
  lua_createtable(L, LLMPROF_BOUNDS, 0);
  for (int i = 0; i < LLMPROF_BOUNDS; i++) {
    lua_pushstring(L, llmprof_bound_key((llmprof_bound)i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"get", bounds_get},
    {"keys", bounds_keys},
    {"set", bounds_set},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(bounds, functions)
