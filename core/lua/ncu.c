/* llmprof.ncu: counters of the raw page that Nsight Compute prints.
 *
 *   local page = assert(ncu.open "raw.csv")
 *   print(page:metrics()["gpu__time_duration.sum"])  --> s
 *   local wanted = { ["gpu__time_duration.sum"] = true }
 *   local counters = assert(page:counters(wanted))
 *   print(#counters > 0)                             --> true
 */
#include "frame.h"
#include "ncu/ncu_page.h"

#define PAGE "llmprof.ncu.page"

/* ncu.open(path) -> page | nil, message, code */
LLMPROF_LUA_OPEN(ncu_open, PAGE, 0, llmprof_ncu_page_open)

/* page:metrics() -> table of base units by metric */
static int f_metrics(lua_State *L) {
  const llmprof_ncu_page *page = llmprof_lua_unbox(L, 1, PAGE);
  size_t count = llmprof_ncu_page_metrics(page);
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) {
    const char *unit, *name = llmprof_ncu_page_metric(page, i, &unit);
    llmprof_lua_set_string(L, name, unit);
  }
  return 1;
}

/* page:counters(set of metrics) -> frame | nil, message, code; once
 * (ncu/ncu_page.h has its columns) */
static int f_counters(lua_State *L) {
  llmprof_ncu_page *page = llmprof_lua_unbox(L, 1, PAGE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  size_t count = 0, all = llmprof_ncu_page_metrics(page);
  uint32_t *wanted = llmprof_lua_scratch(L, all, sizeof *wanted);
  for (uint32_t i = 0; i < all; i++) {
    const char *unit;
    lua_getfield(L, 2, llmprof_ncu_page_metric(page, i, &unit));
    if (lua_toboolean(L, -1)) wanted[count++] = i;
    lua_pop(L, 1);
  }
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_ncu_page_counters(page, wanted, count, &err);
  if (*made) return 1;
  return err.code == LLMPROF_INTERRUPTED ? llmprof_lua_raise(L, &err)
                                         : llmprof_lua_fail(L, &err);
}

LLMPROF_LUA_CLOSE(f_close, PAGE, llmprof_ncu_page_close)

static const luaL_Reg methods[] = {
    {"metrics", f_metrics},
    {"counters", f_counters},
    {"close", f_close},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", ncu_open},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(ncu) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, PAGE, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
