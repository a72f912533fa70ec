/* llmprof.scrub: copies of exports that can be handed on.
 *
 *   local taken = assert(scrub.copy("run.sqlite", "scrubbed.sqlite"))
 *   print(math.type(taken.rows))                  --> integer
 */
#include "nsys/scrub.h"

#include "llmprof_lua.h"

/* scrub.copy(from, to) -> { rows, tables, strings } | nil, message, code:
 * what was taken out */
static int scrub_copy(lua_State *L) {
  const char *from = llmprof_lua_check_path(L, 1);
  const char *to = llmprof_lua_check_path(L, 2);
  llmprof_scrub_report report;
  llmprof_error err;
  if (!llmprof_trace_scrub(from, to, &report, &err))
    return llmprof_lua_fail(L, &err);
  lua_createtable(L, 0, 3);
  llmprof_lua_set_integer(L, "rows", (int64_t)report.rows);
  llmprof_lua_set_integer(L, "tables", (int64_t)report.tables);
  llmprof_lua_set_integer(L, "strings", (int64_t)report.strings);
  return 1;
}

static const luaL_Reg functions[] = {
    {"copy", scrub_copy},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(scrub, functions)
