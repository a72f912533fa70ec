/* Lua values and llmprof values, for every module that reads or writes trees.
 *
 * nil, booleans, integers, floats and strings are themselves, null is one
 * userdata that prints as "null" and is true. Lists and maps are tables; a list
 * that was read carries a metatable, the mark, so that an empty one stays a
 * list; without the mark an empty table is a map. Metamethods are not called.
 * Map keys are written in the order of their bytes, after those that the
 * metatable's __keys lists. */
#ifndef LLMPROF_LUA_VALUE_H
#define LLMPROF_LUA_VALUE_H

#include <lua.h>

#include "base/buffer.h"
#include "base/value.h"
#include "formats/schema.h"
#include "llmprof/error.h"

/* A text format, by its core functions. */
typedef struct llmprof_lua_format {
  const char *name; /* stands for the path in messages */
  llmprof_value *(*parse)(const char *bytes, size_t size, const char *name,
                          llmprof_error *err);
  llmprof_value *(*load)(const char *path, llmprof_error *err);
  bool (*write)(const llmprof_value *value, unsigned indent,
                llmprof_buffer *out, llmprof_error *err);
} llmprof_lua_format;

/* Add to the module on top of the stack what every format shares: the value
 * `null` and the functions `list` and `ordered`. */
void llmprof_lua_value_functions(lua_State *L);

/* Push a tree that somebody else owns; ordered: objects keep the order of their
 * keys. */
void llmprof_lua_push_value(lua_State *L, const llmprof_value *value,
                            bool ordered);

/* What a value is held against; without a name nothing is. */
typedef struct llmprof_lua_schema {
  const llmprof_schemas *schemas;
  const char *name, *definition; /* NULL: all of the schema */
} llmprof_lua_schema;

/* Push what is wrong with the value on top of the stack, nil where it fits. */
int llmprof_lua_check_value(lua_State *L, llmprof_lua_schema schema);

/* The bodies of decode(text, options), load(path, options), encode(value). With
 * a schema the first two return, behind the value, what is wrong with it. */
int llmprof_lua_decode(lua_State *L, const llmprof_lua_format *format,
                       llmprof_lua_schema schema);
int llmprof_lua_load(lua_State *L, const llmprof_lua_format *format,
                     llmprof_lua_schema schema);
int llmprof_lua_encode(lua_State *L, const llmprof_lua_format *format,
                       unsigned indent, llmprof_lua_schema schema);

#endif
