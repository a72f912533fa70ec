/* llmprof.spelling: names of kernels however they are spelt.
 *
 *   print(spelling.of "void at::f<(int)4>(T1)")   --> at::f<4>
 */
#include "text/spelling.h"

#include "llmprof_lua.h"

/* spelling.of(name) -> what is the same for all spellings of the name */
static int spelling_of(lua_State *L) {
  size_t size;
  const char *name = luaL_checklstring(L, 1, &size);
  char word[LLMPROF_SPELLING_MOST];
  lua_pushlstring(L, word, llmprof_spelling(name, size, word));
  return 1;
}

static const luaL_Reg functions[] = {
    {"of", spelling_of},
    {NULL, NULL},
};

int luaopen_llmprof_spelling(lua_State *L);
int luaopen_llmprof_spelling(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
