/* llmprof.chrome_trace: operators in event files of torch.profiler.
 *
 *   local recorded = assert(chrome_trace.operators "run.pt.trace.json")
 *   local host = assert(recorded:frame "host")
 */
#include "torch/operators.h"

#include "frame.h"

#define OPERATORS "llmprof.chrome_trace.operators"

/* chrome_trace.operators(path) -> operators | nil, message, code */
LLMPROF_LUA_OPEN(chrome_trace_operators, OPERATORS, 0, llmprof_operators_load)

LLMPROF_LUA_CLOSE(operators_close, OPERATORS, llmprof_operators_free)

/* operators:info() -> { host, gpu, left_out (events), first, last (ns) } */
static int f_info(lua_State *L) {
  llmprof_operators_info info =
      llmprof_operators_about(llmprof_lua_unbox(L, 1, OPERATORS));
  lua_newtable(L);
  llmprof_lua_set_integer(L, "host", (int64_t)info.host);
  llmprof_lua_set_integer(L, "gpu", (int64_t)info.gpu);
  llmprof_lua_set_integer(L, "left_out", (int64_t)info.left_out);
  llmprof_lua_set_integer(L, "first", info.first);
  llmprof_lua_set_integer(L, "last", info.last);
  return 1;
}

/* operators:frame(name) -> frame | nil, message, code; name: host,
 * gpu or marks */
static int f_frame(lua_State *L) {
  llmprof_operators *operators = llmprof_lua_unbox(L, 1, OPERATORS);
  const char *name = luaL_checkstring(L, 2);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_operators_frame(operators, name, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

static const luaL_Reg operators_methods[] = {
    {"info", f_info},
    {"frame", f_frame},
    {"close", operators_close},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"operators", chrome_trace_operators},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(chrome_trace) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, OPERATORS, operators_methods, operators_close);
  luaL_newlib(L, functions);
  return 1;
}
