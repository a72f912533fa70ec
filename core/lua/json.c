/* llmprof.json: JSON text and Lua values.
 *
 *   local metrics = assert(json.load "metrics.json")
 *   print(json.encode({ name = "decode", ms = json.list {} }, { pretty = true
 * }))
 *
 * json.null, json.list and json.ordered are those of value.h. */
#include "llmprof/json.h"

#include "llmprof_lua.h"
#include "value.h"

static const llmprof_lua_format format = {
    .name = "json",
    .parse = llmprof_json_parse,
    .load = llmprof_json_load,
    .write = llmprof_json_write,
};

/* json.decode(text [, options]) -> value | nil, message, code
 * options: name (in messages, "json"), max_depth, max_size, max_nodes, ordered
 * (boolean: objects keep the order of their keys, as json.ordered gives it) */
static int json_decode(lua_State *L) {
  return llmprof_lua_decode(L, &format);
}

/* json.load(path [, options]) -> value | nil, message, code */
static int json_load(lua_State *L) {
  return llmprof_lua_load(L, &format);
}

/* json.encode(value [, options]) -> text | nil, message, code
 * options: pretty (boolean: on many lines), indent (spaces a level, 1 to 16;
 * implies pretty; 2), read (boolean: return text and what json.decode(text)
 * does) */
static int json_encode(lua_State *L) {
  static const llmprof_limits limits = {.max_depth = LLMPROF_JSON_DEPTH,
                                        .max_size = LLMPROF_JSON_SIZE,
                                        .max_nodes = LLMPROF_JSON_NODES};
  bool pretty = llmprof_lua_opt_bool(L, 2, "pretty", false);
  lua_Integer indent = llmprof_lua_opt_integer(L, 2, "indent", pretty ? 2 : 0);
  if (pretty || indent)
    luaL_argcheck(L, indent >= 1 && indent <= 16, 2,
                  "option 'indent': from 1 to 16 expected");
  if (llmprof_lua_opt_bool(L, 2, "read", false))
    return llmprof_lua_encode_and_decode(L, &format, (unsigned)indent, &limits);
  return llmprof_lua_encode(L, &format, (unsigned)indent);
}

static const luaL_Reg functions[] = {
    {"decode", json_decode},
    {"load", json_load},
    {"encode", json_encode},
    {NULL, NULL},
};

int luaopen_llmprof_json(lua_State *L);
int luaopen_llmprof_json(lua_State *L) {
  luaL_newlib(L, functions);
  llmprof_lua_value_functions(L);
  return 1;
}
