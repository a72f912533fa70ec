/* llmprof.interrupt: what Ctrl-C does to running Lua.
 *
 *   local done, value = interrupt.protect(function() return 7 end)
 *   print(done, value, interrupt.terminated())    --> true  7  false
 */
#include "base/interrupt.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "llmprof_lua.h"
#include "os/spawn.h"

enum {
  PATIENCE_S = 1,    /* from the signal until it has to be noticed */
  INTERRUPTED = 130, /* the exit status, as llmprof.process.errors has it */
};

static lua_State *volatile running; /* for the signal handler only */
static volatile sig_atomic_t in_session, terminated, ending;
static bool protecting; /* interrupt.protect() is on the stack */

/* ---- what does not notice ---- */

/* Loops over rows and bytes look for a request, and Lua does at its next
 * instruction; but a pattern of Lua's, say, may search for hours in one call.
 * What has not noticed a signal in time is ended as SIGKILL would end it, which
 * leaves nothing behind that the next command stumbles over. */
static void on_alarm(int number) {
  static const char line[] = "llmprof: interrupted\n";
  (void)number;
  /* there is nothing to be done about a stderr that takes no more */
  if (write(STDERR_FILENO, line, sizeof line - 1) < 0) _exit(INTERRUPTED);
  _exit(INTERRUPTED);
}

static void set_alarm(time_t seconds) {
  struct itimerval timer = {.it_value = {.tv_sec = seconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static void expect_notice(void) {
  handle(SIGALRM, on_alarm);
  set_alarm(PATIENCE_S);
}

/* ---- what does ---- */

bool llmprof_lua_is_ending(void) {
  return ending;
}

void llmprof_lua_clear_interrupt(lua_State *L) {
  set_alarm(0);
  lua_sethook(L, NULL, 0, 0);
  llmprof_interrupt(false);
}

/* Runs at the next Lua instruction: unwinds to the handler. Under
 * protect() it stays, so that a loop which catches errors ends, too. */
static void raise_interrupt(lua_State *L, lua_Debug *ar) {
  (void)ar;
  set_alarm(0);
  if (!protecting) llmprof_lua_clear_interrupt(L);
  llmprof_error err;
  llmprof_fail_interrupted(&err);
  llmprof_lua_raise(L, &err);
}

/* lua_sethook is the one API call Lua allows from a signal handler. A second
 * signal ends the process at once, but for Ctrl-C in a session; one that a
 * child's result tells of is not ours. */
static void on_signal(int number) {
  if (llmprof_spawn_signalled(number)) return;
  bool stays = number == SIGINT && in_session;
  if (number != SIGINT) terminated = 1;
  if (ending && !stays) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  if (!stays) {
    ending = 1;
    expect_notice();
  }
  llmprof_interrupt(true);
  lua_sethook(running, raise_interrupt,
              LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void catch (int number) {
  handle(number, on_signal);
}

/* The terminal may go away under a long capture, but not under nohup, which
 * has it ignored. */
static void catch_hangup(void) {
  struct sigaction now;
  sigaction(SIGHUP, NULL, &now);
  if (now.sa_handler != SIG_IGN) catch (SIGHUP);
}

void llmprof_lua_catch_signals(lua_State *L) {
  running = L;
  catch (SIGINT);
  catch (SIGTERM);
  catch_hangup();
  /* A program can inherit it ignored: the status of children would be lost. */
  signal(SIGCHLD, SIG_DFL);
  /* A reader that goes away, or a limit on the size of files, must not end a
   * capture: writes fail instead. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

static void release(int number) {
  struct sigaction now;
  sigaction(number, NULL, &now);
  if (now.sa_handler == on_signal) signal(number, SIG_DFL);
}

void llmprof_lua_release_signals(void) {
  release(SIGINT);
  release(SIGTERM);
  release(SIGHUP);
}

/* interrupt.protect(f) -> as pcall(f), but an interrupt ends f whatever f
 * catches, and is over when this returns */
static int interrupt_protect(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  bool outer = protecting;
  protecting = true;
  int status = lua_pcall(L, 0, LUA_MULTRET, 0);
  protecting = outer;
  if (!outer) llmprof_lua_clear_interrupt(L);
  lua_pushboolean(L, status == LUA_OK);
  lua_insert(L, 1);
  return lua_gettop(L);
}

/* interrupt.session(on): Ctrl-C may come again and again without ending the
 * process */
static int interrupt_session(lua_State *L) {
  in_session = lua_toboolean(L, 1);
  catch (SIGINT);
  return 0;
}

/* interrupt.collect(): collects all garbage, as collectgarbage() does, or, once
 * there was a signal, no more of it */
static int interrupt_collect(lua_State *L) {
  llmprof_lua_collect(L);
  return 0;
}

/* interrupt.terminated() -> was the process asked to end (SIGTERM) */
static int interrupt_terminated(lua_State *L) {
  lua_pushboolean(L, terminated);
  return 1;
}

static const luaL_Reg functions[] = {
    {"collect", interrupt_collect},
    {"protect", interrupt_protect},
    {"session", interrupt_session},
    {"terminated", interrupt_terminated},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(interrupt, functions)
