/* llmprof.spool: units, counters, samples and diagnostics of the collector's
 * spools, as frames; llmprof.trace has their timeline.
 *
 *   local recorded, why = spool.open "run.spool"
 *   if not recorded then return print(why) end
 *   local counters = assert(recorded:frame "counters")
 */
#include "spool/spool.h"

#include "frame.h"
#include "llmprof_lua.h"

#define SPOOL "llmprof.spool"

/* spool.open(path) -> spool | nil, message, code */
static int spool_open(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  void **box = llmprof_lua_box(L, SPOOL, 0);
  llmprof_error err;
  *box = llmprof_spool_open(path, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

static int f_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, SPOOL);
  llmprof_spool_close(*box);
  *box = NULL;
  return 0;
}

/* spool:frame(name) -> frame | nil, message, code; name is one of units,
 * counters, samples, metrics, diagnostics (spool/spool.h has their columns) */
static int f_frame(lua_State *L) {
  llmprof_spool *spool = llmprof_lua_unbox(L, 1, SPOOL);
  const char *name = luaL_checkstring(L, 2);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_spool_frame(spool, name, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

static const luaL_Reg methods[] = {
    {"frame", f_frame},
    {"close", f_close},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", spool_open},
    {NULL, NULL},
};

int luaopen_llmprof_spool(lua_State *L);
int luaopen_llmprof_spool(lua_State *L) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, SPOOL, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
