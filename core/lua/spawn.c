/* llmprof.spawn: child processes.
 *
 *   local result = assert(spawn.run({ "sh", "-c", "echo hello; exit 3" }, {
 *     timeout = 30,
 *     on_line = function(line, stream) print(stream, line) end,
 *   }))                                           --> stdout  hello
 *   print(result.ok, result.code)                 --> false  3
 *   print(select(3, spawn.run { "no-such-program" }))  --> notfound
 */
#include "os/spawn.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "llmprof_lua.h"
#include "lua_buffer.h"
#include "os/sys.h"

#define PROCESS "llmprof.spawn.process"

/* The user value: the line callback or nil. */
enum {
  UV_ON_LINE = 1,
  UV_COUNT = UV_ON_LINE
};

typedef struct process {
  llmprof_spawn *child; /* NULL: closed */
  /* While the core runs, and may call back: */
  bool busy;
  lua_State *L; /* the thread that entered it */
  int on_line;  /* stack slots there: the callback, */
  int error;    /* and what it raised */
  bool raised;
} process;

/* ---- lines ---- */

/* Stack: the line, the callback. Runs protected, pushes included. */
static int call_on_line(lua_State *L) {
  static const char *const streams[] = {
      [LLMPROF_STDOUT] = "stdout", [LLMPROF_STDERR] = "stderr"};
  const llmprof_line *line = lua_touserdata(L, 1);
  lua_pushlstring(L, line->bytes, line->size);
  lua_pushstring(L, streams[line->stream]);
  lua_call(L, 2, 1);
  return 1;
}

/* Called by the core, which must not be jumped over: every error is caught
 * here and raised again when the core has returned. */
static bool on_line(void *user, const llmprof_line *line) {
  process *p = user;
  lua_State *L = p->L;
  lua_pushcfunction(L, call_on_line);
  lua_pushlightuserdata(L, (void *)line);
  lua_pushvalue(L, p->on_line);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) {
    lua_replace(L, p->error);
    p->raised = true;
    return false;
  }
  bool stop = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
  lua_pop(L, 1);
  return !stop;
}

/* Before a call that may deliver lines; the process is at index 1. */
static void enter(lua_State *L, process *p) {
  luaL_checkstack(L, 8, NULL);
  lua_getiuservalue(L, 1, UV_ON_LINE);
  p->on_line = lua_gettop(L);
  lua_pushnil(L);
  p->error = lua_gettop(L);
  p->L = L;
  p->busy = true;
}

/* After it: an error in the callback ends the child, then goes on. */
static void leave(lua_State *L, process *p) {
  if (p->raised) {
    llmprof_spawn_result result;
    llmprof_spawn_stop(p->child, &result, NULL);
    llmprof_spawn_free(p->child);
    p->child = NULL;
  }
  p->busy = false;
  if (!p->raised) return;
  lua_pushvalue(L, p->error);
  lua_error(L);
}

/* ---- arguments ---- */

/* Push argv as C wants it; the table at 1 owns the strings. */
static const char *const *check_argv(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Unsigned count = lua_rawlen(L, 1), entries = 0;
  const char **argv = lua_newuserdatauv(L, (count + 1) * sizeof *argv, 0);
  for (lua_Unsigned i = 0; i < count; i++) {
    argv[i] = llmprof_lua_check_item(L, 1, (lua_Integer)i + 1);
  }
  argv[count] = NULL;
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) entries++;
  luaL_argcheck(L, entries == count, 1, "argv is no list without holes");
  luaL_argcheck(L, count > 0, 1, "argv is empty");
  return argv;
}

static int option_error(lua_State *L, const char *name, const char *what) {
  return luaL_argerror(L, 2, lua_pushfstring(L, "option '%s': %s", name, what));
}

static void opt_output(lua_State *L, const char *name, llmprof_output *output) {
  const char *path = llmprof_lua_opt_string(L, 2, name, NULL);
  output->inherit = path && strcmp(path, "inherit") == 0;
  output->path = output->inherit ? NULL : path;
}

static int64_t nanoseconds(lua_Number seconds) {
  return seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* Seconds as ns; -1 when not given. */
static int64_t opt_seconds(lua_State *L, const char *name) {
  lua_Number seconds = llmprof_lua_opt_number(L, 2, name, -HUGE_VAL);
  if (seconds == -HUGE_VAL) return -1;
  if (!(seconds >= 0)) option_error(L, name, "seconds, 0 or more, expected");
  return nanoseconds(seconds);
}

/* The pair on top of the stack: a name, and a string or false. */
static llmprof_variable check_variable(lua_State *L) {
  if (lua_type(L, -2) != LUA_TSTRING)
    option_error(L, "env", "names must be strings");
  llmprof_variable variable = {.name = lua_tostring(L, -2)};
  if (lua_isboolean(L, -1) && !lua_toboolean(L, -1)) return variable;
  variable.value = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  if (!variable.value || strlen(variable.name) != lua_rawlen(L, -2) ||
      strlen(variable.value) != lua_rawlen(L, -1))
    option_error(L, "env",
                 lua_pushfstring(L,
                                 "%s: string without NUL byte or false "
                                 "expected, got %s",
                                 variable.name, luaL_typename(L, -1)));
  return variable;
}

/* Push what holds the variables; the env table owns the strings. */
static void opt_env(lua_State *L, llmprof_spawn_options *options) {
  if (lua_getfield(L, 2, "env") == LUA_TNIL) return;
  if (!lua_istable(L, -1)) option_error(L, "env", "table expected");
  int env = lua_gettop(L);
  size_t count = 0;
  for (lua_pushnil(L); lua_next(L, env); lua_pop(L, 1)) count++;
  llmprof_variable *variables =
      lua_newuserdatauv(L, (count + 1) * sizeof *variables, 0);
  options->variables = variables;
  for (lua_pushnil(L); lua_next(L, env); lua_pop(L, 1))
    variables[options->variable_count++] = check_variable(L);
}

static void check_names(lua_State *L) {
  static const char known[] =
      "|cwd|env|grace|helper|hold_signals|kill_group|kill_orphans|mark|on_line|"
      "stderr|stdout|timeout|";
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
    bool named = lua_type(L, -2) == LUA_TSTRING;
    luaL_argcheck(L, named, 2, "option names must be strings");
    const char *name = lua_tostring(L, -2);
    if (strchr(name, '|') || !strstr(known, lua_pushfstring(L, "|%s|", name)))
      luaL_argerror(L, 2, lua_pushfstring(L, "unknown option '%s'", name));
    lua_pop(L, 1);
  }
}

/* Read the table at 2; leave on the stack what has to live until the start. */
static void check_options(lua_State *L, llmprof_spawn_options *options) {
  if (lua_isnoneornil(L, 2)) return;
  luaL_checktype(L, 2, LUA_TTABLE);
  check_names(L);
  opt_output(L, "stdout", &options->output[LLMPROF_STDOUT]);
  opt_output(L, "stderr", &options->output[LLMPROF_STDERR]);
  options->cwd = llmprof_lua_opt_string(L, 2, "cwd", NULL);
  options->kill_group = llmprof_lua_opt_bool(L, 2, "kill_group", false);
  options->kill_orphans = llmprof_lua_opt_bool(L, 2, "kill_orphans", false);
  options->mark = llmprof_lua_opt_string(L, 2, "mark", NULL);
  options->hold_signals = llmprof_lua_opt_bool(L, 2, "hold_signals", false);
  options->helper = llmprof_lua_opt_bool(L, 2, "helper", false);
  int64_t timeout = opt_seconds(L, "timeout"), grace = opt_seconds(L, "grace");
  if (!timeout) option_error(L, "timeout", "more than 0 seconds expected");
  if (timeout > 0) options->timeout_ns = timeout;
  if (grace >= 0) options->grace_ns = grace ? grace : -1; /* 0: C's default */
  opt_env(L, options);
}

/* ---- start and end ---- */

/* Push a process, closed so far, with the callback of the options at 2. */
static process *push_process(lua_State *L) {
  process *p = lua_newuserdatauv(L, sizeof *p, UV_COUNT);
  *p = (process){0};
  luaL_setmetatable(L, PROCESS);
  if (lua_istable(L, 2)) {
    int type = lua_getfield(L, 2, "on_line");
    if (type != LUA_TNIL && type != LUA_TFUNCTION)
      option_error(L, "on_line", "function expected");
    lua_setiuservalue(L, -2, UV_ON_LINE);
  }
  return p;
}

/* Leave the running process alone on the stack; NULL on failure. */
static process *start(lua_State *L, llmprof_error *err) {
  llmprof_spawn_options options = {0};
  lua_settop(L, 2);
  const char *const *argv = check_argv(L);
  check_options(L, &options);
  process *p = push_process(L);
  if (lua_getiuservalue(L, -1, UV_ON_LINE) == LUA_TFUNCTION) {
    options.on_line = on_line;
    options.user = p;
  }
  lua_pop(L, 1);
  p->child = llmprof_spawn_start(argv, &options, err);
  if (!p->child) return NULL;
  lua_replace(L, 1);
  lua_settop(L, 1);
  return p;
}

static process *check_open(lua_State *L) {
  process *p = luaL_checkudata(L, 1, PROCESS);
  luaL_argcheck(L, p->child, 1, "process is closed");
  return p;
}

/* As check_open, for what the callback may not do to its own process. */
static process *check_idle(lua_State *L) {
  process *p = check_open(L);
  luaL_argcheck(L, !p->busy, 1,
                "called from its own on_line, which can return false to stop "
                "the process");
  return p;
}

static void set_signal(lua_State *L, const char *key, int number) {
  char name[LLMPROF_SIGNAL_SIZE];
  if (!number || !llmprof_sys_signal_name(number, name)) return;
  llmprof_lua_set_string(L, key, name);
}

static void push_orphans(lua_State *L, const llmprof_orphan *orphans,
                         size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 3);
    llmprof_lua_set_integer(L, "pid", orphans[i].pid);
    llmprof_lua_set_string(L, "name", orphans[i].name);
    llmprof_lua_set_bool(L, "lives", orphans[i].lives);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_result(lua_State *L, const llmprof_spawn_result *result) {
  lua_createtable(L, 0, 9);
  llmprof_lua_set_bool(L, "ok", result->code == 0);
  llmprof_lua_set_integer(
      L, "status", result->code >= 0 ? result->code : 128 + result->signal);
  if (result->code >= 0) llmprof_lua_set_integer(L, "code", result->code);
  set_signal(L, "signal", result->signal);
  llmprof_lua_set_bool(L, "timed_out", result->timed_out);
  set_signal(L, "interrupted", result->interrupted);
  llmprof_lua_set_number(L, "wall", (double)result->wall_ns / 1e9);
  llmprof_lua_set_integer(L, "pid", result->pid);
  push_orphans(L, result->orphans, result->orphan_count);
  lua_setfield(L, -2, "orphans");
}

typedef bool (*ending)(llmprof_spawn *child, llmprof_spawn_result *result,
                       llmprof_error *err);

/* Wait for or stop the process at 1, and push the result or the failure. */
static int finish(lua_State *L, process *p, ending end) {
  llmprof_spawn_result result;
  llmprof_error err;
  enter(L, p);
  bool ok = end(p->child, &result, &err);
  leave(L, p);
  if (!ok) return llmprof_lua_fail(L, &err);
  push_result(L, &result);
  return 1;
}

static void close_process(process *p) {
  llmprof_spawn_free(p->child);
  p->child = NULL;
}

/* spawn.run(argv [, options]) -> result | nil, message, code
 *
 * argv: list of strings; the program is looked up in PATH unless it contains
 * a "/". options:
 *   stdout, stderr  path of a file to write, or "inherit" for ours
 *   on_line         function(line, stream): stream is "stdout" or "stderr"; a
 *                   line ends at "\n", "\r\n" or "\r", and one over 1 MiB
 *                   comes in pieces. Returning false stops the process. An
 *                   error stops it, too, and is raised again
 *   env             { NAME = value, or false to remove }, over ours
 *   cwd             working directory
 *   timeout         seconds; then SIGTERM to its process group
 *   grace           seconds from there to SIGKILL; 5
 *   kill_group      true: end what is left of the group when it exits
 *   kill_orphans     true: the same for processes of it that left the group;
 *                   they have LLMPROF_RUN_MARK in their environment
 *   mark            its value, of spawn.mark; a new one unless given
 *   hold_signals    true: signals that we get are not sent on; who started
 *                   it ends it within the grace period
 *   helper          true: it works for us alone, and ends with us
 *
 * result: ok (exit code 0), code or signal ("SIGKILL"), status (the code, or
 * 128 and the signal's number, as shells have it), timed_out, interrupted
 * ("SIGINT": a signal that we got and sent on), wall (seconds), pid, orphans
 * (list of { pid, name, lives (could not be ended) }: what kill_orphans found).
 */
static int spawn_run(lua_State *L) {
  llmprof_error err;
  process *p = start(L, &err);
  if (!p) return llmprof_lua_fail(L, &err);
  int count = finish(L, p, llmprof_spawn_wait);
  close_process(p);
  return count;
}

/* spawn.start(argv [, options]) -> process | nil, message, code: as run, in
 * the background. Lines are delivered, and the time-out is seen to, by pump,
 * wait and stop only. */
static int spawn_start(lua_State *L) {
  llmprof_error err;
  return start(L, &err) ? 1 : llmprof_lua_fail(L, &err);
}

/* spawn.mark() -> a value for `mark` that nobody can guess | nil, message, code
 */
static int spawn_mark(lua_State *L) {
  char mark[LLMPROF_MARK_SIZE];
  llmprof_error err;
  if (!llmprof_spawn_mark(mark, &err)) return llmprof_lua_fail(L, &err);
  lua_pushstring(L, mark);
  return 1;
}

/* spawn.end_left(mark) -> list as a result's orphans: kill what a process that
 * is gone left of a child with this mark */
static int spawn_end_left(lua_State *L) {
  llmprof_orphan orphans[LLMPROF_ORPHANS_MAX];
  size_t count = llmprof_spawn_end_left(luaL_checkstring(L, 1), orphans);
  push_orphans(L, orphans, count);
  return 1;
}

/* spawn.which(name) -> absolute path | nil, message, code */
static int spawn_which(lua_State *L) {
  const char *name = llmprof_lua_check_path(L, 1);
  llmprof_buffer *path = llmprof_lua_buffer(L);
  llmprof_error err;
  return llmprof_lua_text(L, llmprof_spawn_which(name, path, &err), path, &err);
}

/* ---- methods ---- */

/* process:pump([seconds]) -> true while it runs, false when it is done |
 * nil, message, code. Delivers what is there; waits up to that long (0) for
 * something if there is nothing. */
static int f_pump(lua_State *L) {
  process *p = check_idle(L);
  lua_Number seconds = luaL_optnumber(L, 2, 0);
  luaL_argcheck(L, seconds >= 0, 2, "seconds, 0 or more, expected");
  llmprof_error err;
  enter(L, p);
  int more = llmprof_spawn_pump(p->child, nanoseconds(seconds), &err);
  leave(L, p);
  if (more < 0) return llmprof_lua_fail(L, &err);
  lua_pushboolean(L, more);
  return 1;
}

/* process:wait() -> result | nil, message, code; again and again if you like */
static int f_wait(lua_State *L) {
  return finish(L, check_idle(L), llmprof_spawn_wait);
}

/* process:stop() -> result | ...: SIGTERM, grace, SIGKILL, to the group */
static int f_stop(lua_State *L) {
  return finish(L, check_idle(L), llmprof_spawn_stop);
}

/* process:running() -> false once it has exited, delivered or not */
static int f_running(lua_State *L) {
  lua_pushboolean(L, llmprof_spawn_running(check_open(L)->child));
  return 1;
}

/* process:pid() -> its number */
static int f_pid(lua_State *L) {
  lua_pushinteger(L, llmprof_spawn_pid(check_open(L)->child));
  return 1;
}

/* process:interrupted() -> "SIGINT": a signal that we got while it ran, as far
 * as pumped; nil for none */
static int f_interrupted(lua_State *L) {
  int number = llmprof_spawn_interrupted(check_open(L)->child);
  char name[LLMPROF_SIGNAL_SIZE];
  if (!number || !llmprof_sys_signal_name(number, name)) return 0;
  lua_pushstring(L, name);
  return 1;
}

/* process:signal(name) -> true | nil, message, code; to its group */
static int f_signal(lua_State *L) {
  process *p = check_open(L);
  const char *name = luaL_checkstring(L, 2);
  int number = llmprof_sys_signal_number(name);
  if (!number)
    luaL_argerror(L, 2, lua_pushfstring(L, "unknown signal '%s'", name));
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_spawn_signal(p->child, number, &err),
                            &err);
}

/* process:close(): kills the group if it still runs */
static int f_close(lua_State *L) {
  process *p = luaL_checkudata(L, 1, PROCESS);
  if (p->child) close_process(check_idle(L));
  return 0;
}

/* __gc and __close. Within its own callback (os.exit there, which closes the
 * state) the core still stands on the handle. */
static int process_close(lua_State *L) {
  process *p = luaL_checkudata(L, 1, PROCESS);
  if (p->busy)
    llmprof_spawn_signal(p->child, SIGKILL, NULL);
  else
    close_process(p);
  return 0;
}

static const luaL_Reg methods[] = {
    {"close", f_close},     {"interrupted", f_interrupted},
    {"pid", f_pid},         {"pump", f_pump},
    {"running", f_running}, {"signal", f_signal},
    {"stop", f_stop},       {"wait", f_wait},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"end_left", spawn_end_left}, {"mark", spawn_mark},   {"run", spawn_run},
    {"start", spawn_start},       {"which", spawn_which}, {NULL, NULL},
};

LLMPROF_LUA_MODULE(spawn) {
  llmprof_lua_class(L, PROCESS, methods, process_close);
  luaL_newlib(L, functions);
  return 1;
}
