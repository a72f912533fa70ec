/* llmprof.cluster: several processes of one job, by MPI.
 *
 *   local job, why = cluster.open "libllmprof_mpi_openmpi.so"
 *   if not job then return print(why) end
 *   if job:rank() == 1 then assert(job:send(0, "hello")) end
 *   if job:rank() == 0 then print(assert(job:receive(1))) end
 *   assert(job:finish())
 *
 * The last argument of what waits is for how many seconds; none: for ever. */
#include "cluster/cluster.h"

#include "llmprof_lua.h"
#include "lua_buffer.h"

#define CLUSTER "llmprof.cluster"

/* cluster.open(plugin) -> cluster | nil, message, code */
LLMPROF_LUA_OPEN(cluster_open, CLUSTER, 0, llmprof_cluster_open)

LLMPROF_LUA_CLOSE(f_close, CLUSTER, llmprof_cluster_close)

static size_t check_process(lua_State *L, int arg) {
  lua_Integer number = luaL_checkinteger(L, arg);
  luaL_argcheck(L, number >= 0, arg, "a number of a process, from 0");
  return (size_t)number;
}

static int64_t opt_wait(lua_State *L, int arg) {
  lua_Number seconds = luaL_optnumber(L, arg, -1);
  luaL_argcheck(L, seconds < 1e9, arg, "seconds");
  return seconds < 0 ? -1 : (int64_t)(seconds * 1000);
}

/* cluster:send(to, bytes [, wait]) -> true | nil, message, code */
static int f_send(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  size_t size, to = check_process(L, 2);
  const char *bytes = luaL_checklstring(L, 3, &size);
  llmprof_error err;
  return llmprof_lua_result(
      L, llmprof_cluster_send(cluster, to, bytes, size, opt_wait(L, 4), &err),
      &err);
}

/* cluster:receive(from [, wait]) -> bytes | nil, message, code */
static int f_receive(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  size_t from = check_process(L, 2);
  int64_t wait = opt_wait(L, 3);
  llmprof_buffer *bytes = llmprof_lua_buffer(L);
  llmprof_error err;
  bool ok = llmprof_cluster_receive(cluster, from, bytes, wait, &err);
  return llmprof_lua_text(L, ok, bytes, &err);
}

/* cluster:finish([wait]) -> true | nil, message, code: all are here, MPI ends
 */
static int f_finish(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  llmprof_error err;
  return llmprof_lua_result(
      L, llmprof_cluster_finish(cluster, opt_wait(L, 2), &err), &err);
}

/* cluster:abandon(status): the launcher ends all processes */
static int f_abandon(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  llmprof_cluster_abandon(cluster, (int)luaL_checkinteger(L, 2));
  return 0;
}

/* cluster:rank() -> this process, from 0 */
static int f_rank(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  lua_pushinteger(L, (lua_Integer)llmprof_cluster_rank(cluster));
  return 1;
}

/* cluster:size() -> how many */
static int f_size(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  lua_pushinteger(L, (lua_Integer)llmprof_cluster_size(cluster));
  return 1;
}

/* cluster:library() -> "Open MPI" */
static int f_library(lua_State *L) {
  llmprof_cluster *cluster = llmprof_lua_unbox(L, 1, CLUSTER);
  lua_pushstring(L, llmprof_cluster_library(cluster));
  return 1;
}

static const luaL_Reg methods[] = {
    {"send", f_send},       {"receive", f_receive}, {"finish", f_finish},
    {"abandon", f_abandon}, {"rank", f_rank},       {"size", f_size},
    {"library", f_library}, {"close", f_close},     {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", cluster_open},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(cluster) {
  llmprof_lua_class(L, CLUSTER, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
