/* llmprof.nvtx: ranges and marks in the traces of this process. Without a tool
 * that records them they cost nothing and do nothing.
 *
 *   nvtx.push "prefill"
 *   nvtx.pop()
 *   local phases = nvtx.domain "phases"
 *   phases:push "analyse"
 *   phases:pop()
 */
#include "device/nvtx.h"

#include "llmprof_lua.h"

#define DOMAIN "llmprof.nvtx.domain"

/* Each function serves as method of a domain and, without one, as function
 * for the default domain. */

static int push_to(lua_State *L, const llmprof_nvtx_domain *domain, int arg) {
  llmprof_nvtx_push(domain, luaL_checkstring(L, arg));
  return 0;
}

static int mark_to(lua_State *L, const llmprof_nvtx_domain *domain, int arg) {
  llmprof_nvtx_mark(domain, luaL_checkstring(L, arg));
  return 0;
}

static int start_to(lua_State *L, const llmprof_nvtx_domain *domain, int arg) {
  uint64_t id = llmprof_nvtx_start(domain, luaL_checkstring(L, arg));
  lua_pushinteger(L, (lua_Integer)id);
  return 1;
}

static int stop_to(lua_State *L, const llmprof_nvtx_domain *domain, int arg) {
  llmprof_nvtx_stop(domain, (uint64_t)luaL_checkinteger(L, arg));
  return 0;
}

/* nvtx.push(name): a range of this thread begins */
static int nvtx_push(lua_State *L) {
  return push_to(L, NULL, 1);
}

/* nvtx.pop(): the range pushed last ends */
static int nvtx_pop(lua_State *L) {
  (void)L;
  llmprof_nvtx_pop(NULL);
  return 0;
}

/* nvtx.mark(name): a moment */
static int nvtx_mark(lua_State *L) {
  return mark_to(L, NULL, 1);
}

/* nvtx.start(name) -> id of a range that may overlap others */
static int nvtx_start(lua_State *L) {
  return start_to(L, NULL, 1);
}

/* nvtx.stop(id) */
static int nvtx_stop(lua_State *L) {
  return stop_to(L, NULL, 1);
}

/* nvtx.available() -> whether a tool records, which one or why not */
static int nvtx_available(lua_State *L) {
  char why[LLMPROF_MESSAGE_SIZE];
  lua_pushboolean(L, llmprof_nvtx_available(why));
  lua_pushstring(L, why);
  return 2;
}

/* nvtx.domain(name) -> domain */
static int nvtx_domain(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  void **box = llmprof_lua_box(L, DOMAIN, 0);
  llmprof_error err;
  *box = llmprof_nvtx_domain_new(name, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

/* domain:push(name)
 * domain:pop()
 * domain:mark(name)
 * domain:start(name) -> id
 * domain:stop(id): as the functions, in the domain */
static int f_push(lua_State *L) {
  return push_to(L, llmprof_lua_unbox(L, 1, DOMAIN), 2);
}

static int f_pop(lua_State *L) {
  llmprof_nvtx_pop(llmprof_lua_unbox(L, 1, DOMAIN));
  return 0;
}

static int f_mark(lua_State *L) {
  return mark_to(L, llmprof_lua_unbox(L, 1, DOMAIN), 2);
}

static int f_start(lua_State *L) {
  return start_to(L, llmprof_lua_unbox(L, 1, DOMAIN), 2);
}

static int f_stop(lua_State *L) {
  return stop_to(L, llmprof_lua_unbox(L, 1, DOMAIN), 2);
}

static int f_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, DOMAIN);
  llmprof_nvtx_domain_free(*box);
  *box = NULL;
  return 0;
}

static const luaL_Reg methods[] = {
    {"push", f_push}, {"pop", f_pop},     {"mark", f_mark}, {"start", f_start},
    {"stop", f_stop}, {"close", f_close}, {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"push", nvtx_push},     {"pop", nvtx_pop},   {"mark", nvtx_mark},
    {"start", nvtx_start},   {"stop", nvtx_stop}, {"available", nvtx_available},
    {"domain", nvtx_domain}, {NULL, NULL},
};

int luaopen_llmprof_nvtx(lua_State *L);
int luaopen_llmprof_nvtx(lua_State *L) {
  llmprof_lua_class(L, DOMAIN, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
