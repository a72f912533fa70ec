#include <string.h>

#include "llmprof_lua.h"

int llmprof_lua_fail(lua_State *L, const llmprof_error *err) {
  luaL_pushfail(L);
  lua_pushstring(L, err->message);
  lua_pushstring(L, llmprof_code_name(err->code));
  return 3;
}

int llmprof_lua_changed(lua_State *L, bool ok, const llmprof_error *err) {
  if (!ok) return llmprof_lua_raise(L, err);
  lua_pushvalue(L, 1);
  return 1;
}

int llmprof_lua_result(lua_State *L, bool ok, const llmprof_error *err) {
  if (!ok) return llmprof_lua_fail(L, err);
  lua_pushboolean(L, 1);
  return 1;
}

void llmprof_lua_class(lua_State *L, const char *name, const luaL_Reg *methods,
                       lua_CFunction close) {
  if (luaL_newmetatable(L, name)) {
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__close");
    lua_newtable(L);
    if (methods) luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index"); /* metatable.__index = methods */
  }
  lua_pop(L, 1);
}

void llmprof_lua_class_len(lua_State *L, const char *name, lua_CFunction len) {
  luaL_getmetatable(L, name);
  lua_pushcfunction(L, len);
  lua_setfield(L, -2, "__len");
  lua_pop(L, 1);
}

void **llmprof_lua_box(lua_State *L, const char *name, int uservalues) {
  void **box = lua_newuserdatauv(L, sizeof *box, uservalues);
  *box = NULL;
  luaL_setmetatable(L, name);
  return box;
}

void *llmprof_lua_unbox(lua_State *L, int arg, const char *name) {
  void **box = luaL_checkudata(L, arg, name);
  if (!*box) luaL_argerror(L, arg, lua_pushfstring(L, "%s is closed", name));
  return *box;
}

static void check_no_nul(lua_State *L, int arg, const char *text, size_t size) {
  luaL_argcheck(L, strlen(text) == size, arg, "string with a NUL byte");
}

const char *llmprof_lua_check_path(lua_State *L, int arg) {
  size_t size;
  const char *path = luaL_checklstring(L, arg, &size);
  check_no_nul(L, arg, path, size);
  return path;
}

const char *llmprof_lua_check_item(lua_State *L, int arg, lua_Integer i) {
  if (lua_rawgeti(L, arg, i) != LUA_TSTRING)
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "[%I]: string expected, got %s",
                                  (LUAI_UACINT)i, luaL_typename(L, -1)));
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  check_no_nul(L, arg, text, size);
  lua_pop(L, 1);
  return text;
}

/* An item of a list is no argument, which a message would number. */
static void refuse_option(lua_State *L, int arg, const char *message) {
  if (arg < 0) luaL_error(L, "%s", message);
  luaL_argerror(L, arg, message);
}

/* Push the option's value; its type, LUA_TNIL when not given. */
static int push_option(lua_State *L, int arg, const char *field) {
  if (lua_isnoneornil(L, arg)) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  luaL_checktype(L, arg, LUA_TTABLE);
  return lua_getfield(L, arg, field);
}

static void check_option(lua_State *L, int arg, const char *field, bool ok,
                         const char *wanted) {
  if (!ok)
    refuse_option(L, arg,
                  lua_pushfstring(L, "option '%s': %s expected, got %s", field,
                                  wanted, luaL_typename(L, -1)));
}

const char *llmprof_lua_opt_string(lua_State *L, int arg, const char *field,
                                   const char *otherwise) {
  int type = push_option(L, arg, field);
  const char *value = otherwise;
  if (type != LUA_TNIL) {
    check_option(L, arg, field, type == LUA_TSTRING, "string");
    size_t size;
    value = lua_tolstring(L, -1, &size); /* the option table keeps it alive */
    if (strlen(value) != size)
      refuse_option(
          L, arg,
          lua_pushfstring(L, "option '%s': string with a NUL byte", field));
  }
  lua_pop(L, 1);
  return value;
}

bool llmprof_lua_opt_bool(lua_State *L, int arg, const char *field,
                          bool value) {
  int type = push_option(L, arg, field);
  if (type != LUA_TNIL) {
    check_option(L, arg, field, type == LUA_TBOOLEAN, "boolean");
    value = lua_toboolean(L, -1);
  }
  lua_pop(L, 1);
  return value;
}

lua_Integer llmprof_lua_opt_integer(lua_State *L, int arg, const char *field,
                                    lua_Integer value) {
  if (push_option(L, arg, field) != LUA_TNIL) {
    int is_integer = 0;
    value = lua_tointegerx(L, -1, &is_integer);
    check_option(L, arg, field, is_integer, "integer");
  }
  lua_pop(L, 1);
  return value;
}

lua_Number llmprof_lua_opt_number(lua_State *L, int arg, const char *field,
                                  lua_Number value) {
  int type = push_option(L, arg, field);
  if (type != LUA_TNIL) {
    check_option(L, arg, field, type == LUA_TNUMBER, "number");
    value = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return value;
}

void llmprof_lua_set_bool(lua_State *L, const char *field, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, field);
}

void llmprof_lua_set_string(lua_State *L, const char *field,
                            const char *value) {
  lua_pushstring(L, value); /* nil for NULL */
  lua_setfield(L, -2, field);
}

void llmprof_lua_set_integer(lua_State *L, const char *field, int64_t value) {
  if (value == LLMPROF_ABSENT) return;
  lua_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

void llmprof_lua_set_number(lua_State *L, const char *field, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, field);
}
