/* llmprof.scrub: copies of exports that can be handed on.
 *
 *   local taken = assert(scrub.copy("run.sqlite", "scrubbed.sqlite"))
 *   print(math.type(taken.rows))                  --> integer
 */
#include "nsys/scrub.h"

#include "llmprof_lua.h"

static void set_count(lua_State *L, const char *field, size_t count) {
  lua_pushinteger(L, (lua_Integer)count);
  lua_setfield(L, -2, field);
}

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
  set_count(L, "rows", report.rows);
  set_count(L, "tables", report.tables);
  set_count(L, "strings", report.strings);
  return 1;
}

static const luaL_Reg functions[] = {
    {"copy", scrub_copy},
    {NULL, NULL},
};

int luaopen_llmprof_scrub(lua_State *L);
int luaopen_llmprof_scrub(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
