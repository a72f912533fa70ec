/* llmprof.cuda: one empty kernel, to try profilers on.
 *
 *   local done, why = cuda.probe()
 *   if not done then print(why) end
 */
#include "device/cuda.h"

#include "llmprof_lua.h"

/* cuda.probe([device]) -> true | nil, message, code */
static int cuda_probe(lua_State *L) {
  lua_Integer device = luaL_optinteger(L, 1, 0);
  luaL_argcheck(L, device >= 0 && device < 1024, 1, "no such device");
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_cuda_probe((int)device, &err), &err);
}

static const luaL_Reg functions[] = {
    {"probe", cuda_probe},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(cuda, functions)
