/* What the bindings share. A binding checks its arguments, calls one core
 * function and pushes the result. Misuse raises; the world failing returns
 * nil, message, code. */
#ifndef LLMPROF_LUA_H
#define LLMPROF_LUA_H

#include <lauxlib.h>
#include <lua.h>

#include "llmprof/error.h"

/* Push nil, err->message and the code's name; returns 3. */
int llmprof_lua_fail(lua_State *L, const llmprof_error *err);

/* Collect all garbage, or none of what is left once there was a signal. */
void llmprof_lua_collect(lua_State *L);

/* Register the class of llmprof.error, which both sides raise; idempotent. */
void llmprof_lua_error_class(lua_State *L);

/* Raise the failure as an error of that class, so that it is not taken for a
 * bug. They do not return. */
int llmprof_lua_raise(lua_State *L, const llmprof_error *err);
int llmprof_lua_raise_nomem(lua_State *L);

/* Push the first argument, which has changed, or raise. */
int llmprof_lua_changed(lua_State *L, bool ok, const llmprof_error *err);

/* Push true, or fail. */
int llmprof_lua_result(lua_State *L, bool ok, const llmprof_error *err);

/* Make a metatable for userdata: methods in their own __index table, `close`
 * as __gc and __close alike. Leaves nothing on the stack. NULL: no methods. */
void llmprof_lua_class(lua_State *L, const char *name, const luaL_Reg *methods,
                       lua_CFunction close);

/* A function that frees what a box of the class holds, for `close`. */
#define LLMPROF_LUA_CLOSE(name, class, free)   \
  static int name(lua_State *L) {              \
    void **box = luaL_checkudata(L, 1, class); \
    free(*box);                                \
    *box = NULL;                               \
    return 0;                                  \
  }

/* A function that opens what its first argument names in a box of the class, or
 * returns the failure. */
#define LLMPROF_LUA_OPEN(name, class, uservalues, open) \
  static int name(lua_State *L) {                       \
    const char *path = llmprof_lua_check_path(L, 1);    \
    void **box = llmprof_lua_box(L, class, uservalues); \
    llmprof_error err;                                  \
    *box = open(path, &err);                            \
    return *box ? 1 : llmprof_lua_fail(L, &err);        \
  }

/* The function that opens llmprof.NAME; its body follows.
 * LLMPROF_LUA_FUNCTIONS: the whole of it, where it only makes a table of
 * `functions`. */
#define LLMPROF_LUA_MODULE(name)            \
  int luaopen_llmprof_##name(lua_State *L); \
  int luaopen_llmprof_##name(lua_State *L)
#define LLMPROF_LUA_FUNCTIONS(name, functions) \
  LLMPROF_LUA_MODULE(name) {                   \
    luaL_newlib(L, functions);                 \
    return 1;                                  \
  }

/* What # gives for userdata of a registered class. */
void llmprof_lua_class_len(lua_State *L, const char *name, lua_CFunction len);

/* Push a userdata of class `name` that holds one pointer, NULL so far: the
 * caller acquires into it, so that an error in between leaks nothing. */
void **llmprof_lua_box(lua_State *L, const char *name, int uservalues);

/* The boxed pointer; raises on a wrong type or a closed object. */
void *llmprof_lua_unbox(lua_State *L, int arg, const char *name);

/* The string at `arg`; raises when it holds a NUL byte, which a path, a name
 * or an argument for the operating system cannot. */
const char *llmprof_lua_check_path(lua_State *L, int arg);

/* The same of an item of the list at `arg`, which keeps it alive: numbers are
 * refused, since they would be strings on the stack only. */
const char *llmprof_lua_check_item(lua_State *L, int arg, lua_Integer i);

/* Option fields of the table at `arg` (nil or none: all default), the last
 * argument where they are not given. Strings have no NUL byte. Below 0: the
 * table is an item of a list, at that place of the stack. */
const char *llmprof_lua_opt_string(lua_State *L, int arg, const char *field,
                                   const char *otherwise);
bool llmprof_lua_opt_bool(lua_State *L, int arg, const char *field, bool value);
lua_Integer llmprof_lua_opt_integer(lua_State *L, int arg, const char *field,
                                    lua_Integer value);
lua_Number llmprof_lua_opt_number(lua_State *L, int arg, const char *field,
                                  lua_Number value);

/* From now on SIGINT, SIGTERM and SIGHUP raise INTERRUPTED in L at the next Lua
 * instruction, and stop the loops of the core; a second signal ends the
 * process at once. Before L is closed they are let go. */
void llmprof_lua_catch_signals(lua_State *L);
void llmprof_lua_release_signals(void);

/* Did a signal come that ends the process? What can wait, or is for the next
 * command, is not begun then. */
bool llmprof_lua_is_ending(void);

/* An interrupt was dealt with: nothing is raised any more. */
void llmprof_lua_clear_interrupt(lua_State *L);

/* Set a field of the table on top of the stack; NULL is no string, and
 * LLMPROF_ABSENT no number. */
void llmprof_lua_set_bool(lua_State *L, const char *field, bool value);
void llmprof_lua_set_string(lua_State *L, const char *field, const char *value);
void llmprof_lua_set_integer(lua_State *L, const char *field, int64_t value);
void llmprof_lua_set_number(lua_State *L, const char *field, double value);

/* Register every C module of llmprof in package.preload. */
void llmprof_lua_preload(lua_State *L);

#endif
