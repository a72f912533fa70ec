/* llmprof.sys: the machine and this process.
 *
 *   local began = sys.monotonic()
 *   print(sys.monotonic() >= began, math.type(began))  --> true  integer
 */
#include "os/sys.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "llmprof_lua.h"
#include "lua_buffer.h"

/* sys.realtime() -> nanoseconds since 1970-01-01 UTC */
static int sys_realtime(lua_State *L) {
  lua_pushinteger(L, llmprof_sys_realtime());
  return 1;
}

/* sys.monotonic() -> nanoseconds, for differences only */
static int sys_monotonic(lua_State *L) {
  lua_pushinteger(L, llmprof_sys_monotonic());
  return 1;
}

/* sys.isatty(fd) -> boolean; fd: 0 stdin, 1 stdout, 2 stderr */
static int sys_isatty(lua_State *L) {
  lua_Integer fd = luaL_checkinteger(L, 1);
  luaL_argcheck(L, fd >= 0 && fd <= 2, 1, "0, 1 or 2 expected");
  lua_pushboolean(L, isatty((int)fd));
  return 1;
}

static int push_size(lua_State *L, bool of_columns) {
  int columns, lines;
  llmprof_sys_terminal(&columns, &lines);
  int size = of_columns ? columns : lines;
  if (size)
    lua_pushinteger(L, size);
  else
    lua_pushnil(L);
  return 1;
}

/* sys.columns() -> width of the terminal, nil without one */
static int sys_columns(lua_State *L) {
  return push_size(L, true);
}

/* sys.lines() -> height of the terminal, nil without one */
static int sys_lines(lua_State *L) {
  return push_size(L, false);
}

/* sys.output_lost() -> nil while all that was printed on standard output has
 * been written, "closed" when its reader has gone away, "failed" else */
static int sys_output_lost(lua_State *L) {
  if (!ferror(stdout)) {
    lua_pushnil(L);
    return 1;
  }
  struct pollfd out = {.fd = STDOUT_FILENO};
  bool closed = poll(&out, 1, 0) == 1 && out.revents & POLLERR;
  lua_pushstring(L, closed ? "closed" : "failed");
  return 1;
}

/* sys.uname() -> { sysname, release, version, machine } */
static int sys_uname(lua_State *L) {
  struct utsname name;
  uname(&name); /* fails for a bad address only */
  lua_createtable(L, 0, 4);
  llmprof_lua_set_string(L, "sysname", name.sysname);
  llmprof_lua_set_string(L, "release", name.release);
  llmprof_lua_set_string(L, "version", name.version);
  llmprof_lua_set_string(L, "machine", name.machine);
  return 1;
}

/* sys.cpu() -> { model, cores (logical), memory (bytes) }, unknown ones nil */
static int sys_cpu(lua_State *L) {
  llmprof_cpu cpu;
  llmprof_sys_cpu(&cpu);
  lua_createtable(L, 0, 3);
  if (cpu.model[0]) llmprof_lua_set_string(L, "model", cpu.model);
  if (cpu.cores) llmprof_lua_set_integer(L, "cores", cpu.cores);
  if (cpu.memory) llmprof_lua_set_integer(L, "memory", (int64_t)cpu.memory);
  return 1;
}

/* sys.executable() -> real path of the running binary | nil, message, code */
static int sys_executable(lua_State *L) {
  llmprof_buffer *path = llmprof_lua_buffer(L);
  llmprof_error err;
  return llmprof_lua_text(L, llmprof_sys_executable(path, &err), path, &err);
}

/* sys.readable(fd, [seconds]) -> would reading not wait; within so long (0) */
static int sys_readable(lua_State *L) {
  lua_Integer fd = luaL_checkinteger(L, 1);
  lua_Number seconds = luaL_optnumber(L, 2, 0);
  luaL_argcheck(L, fd >= 0 && fd < INT_MAX, 1, "a descriptor expected");
  luaL_argcheck(L, seconds >= 0 && seconds < 1e6, 2, "seconds expected");
  lua_pushboolean(L, llmprof_sys_readable((int)fd, (int)(seconds * 1000)));
  return 1;
}

/* sys.read(fd, most) -> bytes that are there, waiting for the first; "" at the
 * end | nil, message, code */
static int sys_read(lua_State *L) {
  enum {
    MOST = 1 << 20
  };
  lua_Integer fd = luaL_checkinteger(L, 1), most = luaL_checkinteger(L, 2);
  luaL_argcheck(L, fd >= 0 && fd < INT_MAX, 1, "a descriptor expected");
  luaL_argcheck(L, most > 0 && most <= MOST, 2, "a number of bytes expected");
  luaL_Buffer b;
  char *bytes = luaL_buffinitsize(L, &b, (size_t)most);
  size_t count = 0;
  llmprof_error err;
  if (!llmprof_sys_read((int)fd, bytes, (size_t)most, &count, &err))
    return llmprof_lua_fail(L, &err);
  luaL_pushresultsize(&b, count);
  return 1;
}

/* sys.kill(pid, "SIGTERM") -> true | nil, message, code: to one process, its
 * number above 1 */
static int sys_kill(lua_State *L) {
  lua_Integer pid = luaL_checkinteger(L, 1);
  int number = llmprof_sys_signal_number(luaL_checkstring(L, 2));
  luaL_argcheck(L, pid > 1, 1, "a process above 1 expected");
  luaL_argcheck(L, number, 2, "unknown signal");
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_sys_kill(pid, number, &err), &err);
}

static const luaL_Reg functions[] = {
    {"columns", sys_columns},
    {"cpu", sys_cpu},
    {"executable", sys_executable},
    {"isatty", sys_isatty},
    {"kill", sys_kill},
    {"lines", sys_lines},
    {"monotonic", sys_monotonic},
    {"output_lost", sys_output_lost},
    {"read", sys_read},
    {"readable", sys_readable},
    {"realtime", sys_realtime},
    {"uname", sys_uname},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(sys, functions)
