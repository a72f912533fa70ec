/* llmprof.json: JSON text and Lua values.
 *
 *   local value = assert(json.decode '{ "ms": [1.5, null] }')
 *   print(value.ms[1], value.ms[2] == json.null)  --> 1.5  true
 *   print(json.encode { ms = json.list {} })      --> {"ms":[]}
 *   print(select(2, json.decode "{"))
 *
 * json.null: what null is in a table
 * json.list([t]) -> t, marked as a list, which an empty table is not
 * json.ordered(t, keys) -> t, whose keys are written in that order first */
#include "formats/json.h"

#include "llmprof_lua.h"
#include "value.h"

#define SCHEMAS "llmprof.schemas"

static const llmprof_lua_format format = {
    .name = "json",
    .parse = llmprof_json_parse,
    .load = llmprof_json_load,
    .write = llmprof_json_write,
};

/* ---- schemas ---- */

/* json.schemas() -> schemas, none yet */
static int json_schemas(lua_State *L) {
  void **box = llmprof_lua_box(L, SCHEMAS, 0);
  *box = llmprof_schemas_new();
  return *box ? 1 : llmprof_lua_raise_nomem(L);
}

/* schemas:add(name, text) -> true | nil, message, code */
static int s_add(lua_State *L) {
  llmprof_schemas *schemas = llmprof_lua_unbox(L, 1, SCHEMAS);
  const char *name = llmprof_lua_check_path(L, 2);
  size_t size;
  const char *text = luaL_checklstring(L, 3, &size);
  llmprof_error err;
  return llmprof_lua_result(
      L, llmprof_schemas_add(schemas, name, text, size, &err), &err);
}

/* schemas:value(name) -> what json.decode(text, { ordered = true }) made of it,
 * or nil */
static int s_value(lua_State *L) {
  const llmprof_value *value = llmprof_schemas_get(
      llmprof_lua_unbox(L, 1, SCHEMAS), llmprof_lua_check_path(L, 2));
  if (value)
    llmprof_lua_push_value(L, value, true);
  else
    lua_pushnil(L);
  return 1;
}

/* schemas:lacking() -> the name of one that another refers to, or nil */
static int s_lacking(lua_State *L) {
  size_t size;
  const char *name =
      llmprof_schemas_lacking(llmprof_lua_unbox(L, 1, SCHEMAS), &size);
  if (name)
    lua_pushlstring(L, name, size);
  else
    lua_pushnil(L);
  return 1;
}

/* schemas:check(name, value [, definition]) -> nil, or what is wrong first:
 * "$.stages[1].name: string expected, got 1"; a name that is not there, and a
 * schema with what is not known, raise */
static int s_check(lua_State *L) {
  const llmprof_lua_schema schema = {llmprof_lua_unbox(L, 1, SCHEMAS),
                                     llmprof_lua_check_path(L, 2),
                                     luaL_optstring(L, 4, NULL)};
  luaL_checkany(L, 3);
  lua_pushvalue(L, 3);
  return llmprof_lua_check_value(L, schema);
}

LLMPROF_LUA_CLOSE(s_close, SCHEMAS, llmprof_schemas_free)

/* The options `schema`, a name, of `schemas`: the table keeps both alive. */
static llmprof_lua_schema check_schema(lua_State *L, int arg) {
  llmprof_lua_schema schema = {
      .name = llmprof_lua_opt_string(L, arg, "schema", NULL)};
  if (!schema.name) return schema;
  lua_getfield(L, arg, "schemas");
  schema.schemas = llmprof_lua_unbox(L, lua_gettop(L), SCHEMAS);
  lua_pop(L, 1);
  return schema;
}

/* ---- text ---- */

/* json.decode(text [, options]) -> value | nil, message, code
 * options: name (in messages, "json"), ordered (boolean: objects keep the order
 * of their keys, as json.ordered gives it), schemas, schema (a name of them:
 * return, too, what schemas:check says) */
static int json_decode(lua_State *L) {
  return llmprof_lua_decode(L, &format, check_schema(L, 2));
}

/* json.load(path [, options]) -> value | nil, message, code: the same options
 */
static int json_load(lua_State *L) {
  return llmprof_lua_load(L, &format, check_schema(L, 2));
}

/* json.encode(value [, options]) -> text | nil, message, code
 * options: pretty (boolean: on many lines), schemas, schema */
static int json_encode(lua_State *L) {
  bool pretty = llmprof_lua_opt_bool(L, 2, "pretty", false);
  return llmprof_lua_encode(L, &format, pretty ? 2 : 0, check_schema(L, 2));
}

static const luaL_Reg methods[] = {
    {"add", s_add},         {"check", s_check}, {"close", s_close},
    {"lacking", s_lacking}, {"value", s_value}, {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"decode", json_decode},   {"load", json_load}, {"encode", json_encode},
    {"schemas", json_schemas}, {NULL, NULL},
};

LLMPROF_LUA_MODULE(json) {
  llmprof_lua_class(L, SCHEMAS, methods, s_close);
  luaL_newlib(L, functions);
  llmprof_lua_value_functions(L);
  return 1;
}
