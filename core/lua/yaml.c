/* llmprof.yaml: YAML text and Lua values.
 *
 *   local preset = assert(yaml.decode "trace: [cuda, nvtx]")
 *   print(preset.trace[2])                        --> nvtx
 *   io.write(yaml.encode(yaml.ordered({ b = 1, a = 2 }, { "b" })))
 *
 * yaml.null: what null is in a table
 * yaml.list([t]) -> t, marked as a list, which an empty table is not
 * yaml.ordered(t, keys) -> t, whose keys are written in that order first */
#include "formats/yaml.h"

#include "llmprof_lua.h"
#include "value.h"

/* YAML is always written with two spaces a level. */
static bool write_yaml(const llmprof_value *value, unsigned indent,
                       llmprof_buffer *out, llmprof_error *err) {
  (void)indent;
  return llmprof_yaml_write(value, out, err);
}

static const llmprof_lua_format format = {
    .name = "yaml",
    .parse = llmprof_yaml_parse,
    .load = llmprof_yaml_load,
    .write = write_yaml,
};

static bool write_line(const llmprof_value *value, unsigned indent,
                       llmprof_buffer *out, llmprof_error *err) {
  (void)indent;
  return llmprof_yaml_write_line(value, out, err);
}

static const llmprof_lua_format line_format = {
    .name = "yaml",
    .write = write_line,
};

/* yaml.decode(text [, options]) -> value | nil, message, code
 * options: name (in messages, "yaml") */
static int yaml_decode(lua_State *L) {
  return llmprof_lua_decode(L, &format, (llmprof_lua_schema){0});
}

/* yaml.load(path [, options]) -> value | nil, message, code */
static int yaml_load(lua_State *L) {
  return llmprof_lua_load(L, &format, (llmprof_lua_schema){0});
}

/* yaml.encode(value) -> text | nil, message, code */
static int yaml_encode(lua_State *L) {
  return llmprof_lua_encode(L, &format, 0, (llmprof_lua_schema){0});
}

/* yaml.encode_line(value) -> text | nil, message, code: in flow style, to stand
 * behind "key: " */
static int yaml_encode_line(lua_State *L) {
  return llmprof_lua_encode(L, &line_format, 0, (llmprof_lua_schema){0});
}

static const luaL_Reg functions[] = {
    {"decode", yaml_decode},
    {"load", yaml_load},
    {"encode", yaml_encode},
    {"encode_line", yaml_encode_line},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(yaml) {
  luaL_newlib(L, functions);
  llmprof_lua_value_functions(L);
  return 1;
}
