/* llmprof.error: errors as objects, one class for C and Lua.
 *
 *   local failure = require "llmprof.error"
 *   local ok, err = pcall(error, failure.new { kind = "usage",
 *     message = "no such column", hint = "help() lists them" }, 0)
 *   print(failure.is(err), err.kind, err)  --> true  usage  no such column
 *
 * kind: a word for what to do about it, which gives the exit status
 * (lua/llmprof/process/errors.lua); code: what llmprof_code_name says, where
 * the error comes from the core. */
#include "llmprof_lua.h"

#define ERROR "llmprof.error"

static int e_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushliteral(L, "message");
  lua_rawget(L, 1);
  luaL_tolstring(L, -1, NULL);
  return 1;
}

void llmprof_lua_error_class(lua_State *L) {
  if (luaL_newmetatable(L, ERROR)) {
    lua_pushcfunction(L, e_tostring);
    lua_setfield(L, -2, "__tostring");
  }
  lua_pop(L, 1);
}

static void set_string(lua_State *L, const char *field, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}

static void push_error(lua_State *L, const llmprof_error *err) {
  bool interrupted = err->code == LLMPROF_INTERRUPTED;
  luaL_checkstack(L, 3, NULL);
  lua_createtable(L, 0, 3);
  set_string(L, "kind", interrupted ? "interrupted" : "failed");
  set_string(L, "message", err->message);
  set_string(L, "code", llmprof_code_name(err->code));
  luaL_setmetatable(L, ERROR);
}

int llmprof_lua_raise(lua_State *L, const llmprof_error *err) {
  push_error(L, err);
  return lua_error(L);
}

int llmprof_lua_raise_nomem(lua_State *L) {
  llmprof_error err;
  llmprof_fail_nomem(&err);
  return llmprof_lua_raise(L, &err);
}

/* error.new(fields) -> error: the table itself. kind, message; code, hint (what
 * to do next, one line), detail (lines shown before the message) and bug
 * (boolean) may be absent */
static int error_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_setmetatable(L, ERROR);
  return 1;
}

/* error.is(value) -> is it such an error */
static int error_is(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_getmetatable(L, ERROR);
  lua_pushboolean(L, lua_type(L, 1) == LUA_TTABLE && lua_getmetatable(L, 1) &&
                         lua_rawequal(L, -1, -2));
  return 1;
}

/* error.nomem() -> error: memory was wanted and there was none, or no more than
 * the bound on it */
static int error_nomem(lua_State *L) {
  llmprof_error err;
  llmprof_fail_nomem(&err);
  push_error(L, &err);
  return 1;
}

static const luaL_Reg functions[] = {
    {"new", error_new},
    {"is", error_is},
    {"nomem", error_nomem},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(error, functions)
