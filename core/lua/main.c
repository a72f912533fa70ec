/* The host: a Lua state with llmprof's modules, handed to lua/llmprof/boot.lua.
 * Everything the user sees is decided there; this file only starts it. */
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <lualib.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/pool.h"
#include "llmprof/alloc.h"
#include "llmprof_lua.h"
#include "resources.h"

#define BOOT "lua/llmprof/boot.lua"

/* Bytes of stack with which every command ends in order. */
#define LEAST_STACK (128L << 10)

/* What is left is not taken apart block by block, which takes as long as many
 * names were read: the finalizer that runs after all others leaves the memory
 * to the kernel. A debugger of memory shall see each block given back, but
 * where a signal has ended it all. */
static struct {
  bool at_once;
  int status;
} ending;

static int end_at_once(lua_State *L) {
  (void)L;
  if (ending.at_once) exit(ending.status);
  return 0;
}

static bool is_debugged(void) {
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

/* They run in the order that is the reverse of this. */
static void add_last_finalizer(lua_State *L) {
  lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, end_at_once);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Stack: argc, argv. Returns the exit status that boot.lua gives. */
static int protected_main(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  add_last_finalizer(L);
  luaL_openlibs(L);
  llmprof_lua_preload(L);
  const llmprof_resource *boot = llmprof_resource_find(BOOT);
  if (!boot) return luaL_error(L, "this build has no %s", BOOT);
  if (luaL_loadbuffer(L, boot->begin, (size_t)(boot->end - boot->begin),
                      "@" BOOT) != LUA_OK)
    return lua_error(L);
  luaL_checkstack(L, argc, "too many arguments");
  for (int i = 0; i < argc; i++) lua_pushstring(L, argv[i]);
  lua_call(L, argc, 1);
  return 1;
}

/* What is raised before there is a handler, or for want of memory to call it;
 * message may be NULL. */
static void print_error(int status, const char *message) {
  llmprof_error err;
  if (status == LUA_ERRMEM && !llmprof_fail_nomem(&err)) message = err.message;
  fprintf(stderr, "llmprof: %s\n", message ? message : "unknown error");
}

/* Of standard input, output and error, what is closed would be the number of
 * the next file that is opened, and what is printed would go into it. In its
 * place a file that cannot be written to. */
static void hold_standard_files(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDONLY);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

/* Lua's memory is counted with ours: a bound on bytes holds for both. Its small
 * blocks are of a pool, but where a debugger of memory shall see each. */
static void *allocate(void *pool, void *block, size_t old, size_t size) {
#ifdef NDEBUG
  return llmprof_pool_resize(pool, block, block ? old : 0, size);
#else
  (void)pool;
  (void)old;
  if (size) return llmprof_resize(block, size, 1);
  llmprof_free(block);
  return NULL;
#endif
}

/* Columns are large blocks that come and go: kept, not given back and cleared
 * by the kernel each time, which took up to half of the time. And small blocks
 * that are given back are joined at once: left for later, a million of them are
 * gone through whenever a large one is. */
static void keep_memory(void) {
#ifdef M_MXFAST
  mallopt(M_MXFAST, 0);
#endif
#ifdef M_MMAP_MAX
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

/* A stack that is too small ends in a fault in the middle of a command. */
static int stack_suffices(void) {
  struct rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur >= LEAST_STACK)
    return 1;
  fprintf(stderr,
          "llmprof: the stack is limited to %ld KiB and %ld are needed: "
          "ulimit -s 8192\n",
          (long)(stack.rlim_cur >> 10), LEAST_STACK >> 10);
  return 0;
}

int main(int argc, char **argv) {
  hold_standard_files();
  if (!stack_suffices()) return EXIT_FAILURE;
  keep_memory();
  llmprof_pool pool = {0};
  lua_State *L = lua_newstate(allocate, &pool);
  if (!L) {
    fputs("llmprof: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  llmprof_lua_catch_signals(L);
  lua_pushcfunction(L, protected_main);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int status = EXIT_FAILURE, raised = lua_pcall(L, 2, 1, 0);
  if (raised == LUA_OK)
    status = (int)lua_tointeger(L, -1);
  else
    print_error(raised, lua_tostring(L, -1));
  llmprof_lua_release_signals();
  pool.ends = true;
  ending.at_once = !is_debugged() || llmprof_lua_is_ending();
  ending.status = status;
  lua_close(L);
  llmprof_pool_free(&pool);
  return status;
}
