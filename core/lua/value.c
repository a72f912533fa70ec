/* Both directions hold their C memory in one userdata, the holder, so that any
 * Lua call in between may raise. Encoding takes a map's keys in their final
 * order: which of several mistakes is reported does not depend on pairs().
 * Those that __keys does not list are copied and sorted before their values are
 * looked at, and no key is borrowed from a table that a finalizer might
 * change. */
#include "value.h"

#include <limits.h>
#include <string.h>

#include "base/interrupt.h"
#include "llmprof_lua.h"
#include "text/path.h"

#define HOLDER  "llmprof.value.holder"
#define NULLS   "llmprof.null"
#define LIST    "llmprof.list"
#define ORDERED "llmprof.ordered"

static const char null_key; /* its address is null's key in the registry */

typedef struct holder {
  llmprof_value *tree;
  llmprof_buffer text;
  size_t nodes; /* that were gone through */
} holder;

static void release(holder *h) {
  llmprof_value_free(h->tree);
  h->tree = NULL;
  llmprof_buffer_free(&h->text);
}

static int f_release(lua_State *L) {
  release(luaL_checkudata(L, 1, HOLDER));
  return 0;
}

static holder *push_holder(lua_State *L) {
  holder *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (holder){0};
  luaL_setmetatable(L, HOLDER);
  return h;
}

/* ---- to Lua ---- */

static void push_null(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key);
}

static int size_hint(size_t count) {
  return count < INT_MAX ? (int)count : INT_MAX;
}

/* The tree at hand is a userdata's. */
static void check_interrupt(lua_State *L, holder *h) {
  llmprof_error err;
  if (!llmprof_interrupted_at(h->nodes++)) return;
  llmprof_fail_interrupted(&err);
  llmprof_lua_raise(L, &err);
}

static void push_value(lua_State *L, holder *h, const llmprof_value *value,
                       bool ordered);

static void push_list(lua_State *L, holder *h, const llmprof_value *list,
                      bool ordered) {
  size_t count = llmprof_value_count(list);
  lua_createtable(L, size_hint(count), 0);
  luaL_setmetatable(L, LIST);
  for (size_t i = 0; i < count; i++) {
    push_value(L, h, llmprof_value_at(list, i), ordered);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Let the table at `index` be written with its keys in the order of the list on
 * top of the stack, which is popped. */
static void set_order(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_createtable(L, 0, 2);
  llmprof_lua_set_string(L, "__name", ORDERED);
  lua_insert(L, -2);
  lua_setfield(L, -2, "__keys");
  lua_setmetatable(L, index);
}

/* The keys of a map become the order of the table on top of the stack. */
static void keep_order(lua_State *L, const llmprof_value *map) {
  size_t count = llmprof_value_count(map);
  lua_createtable(L, size_hint(count), 0);
  for (size_t i = 0; i < count; i++) {
    size_t size;
    const char *key = llmprof_value_key(map, i, &size);
    lua_pushlstring(L, key, size);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_order(L, -2);
}

static void push_map(lua_State *L, holder *h, const llmprof_value *map,
                     bool ordered) {
  size_t count = llmprof_value_count(map);
  lua_createtable(L, 0, size_hint(count));
  for (size_t i = 0; i < count; i++) {
    size_t size;
    const char *key = llmprof_value_key(map, i, &size);
    lua_pushlstring(L, key, size);
    push_value(L, h, llmprof_value_at(map, i), ordered);
    lua_rawset(L, -3); /* map[key] = value */
  }
  if (ordered) keep_order(L, map);
}

static void push_string(lua_State *L, const llmprof_value *value) {
  size_t size;
  const char *bytes = llmprof_value_string(value, &size);
  lua_pushlstring(L, bytes, size);
}

static void push_value(lua_State *L, holder *h, const llmprof_value *value,
                       bool ordered) {
  luaL_checkstack(L, 5, "value nested too deep");
  check_interrupt(L, h);
  switch (llmprof_value_type(value)) {
  case LLMPROF_NULL:
    push_null(L);
    break;
  case LLMPROF_BOOL:
    lua_pushboolean(L, llmprof_value_bool(value));
    break;
  case LLMPROF_INT:
    lua_pushinteger(L, llmprof_value_int(value));
    break;
  case LLMPROF_DOUBLE:
    lua_pushnumber(L, llmprof_value_double(value));
    break;
  case LLMPROF_STRING:
    push_string(L, value);
    break;
  case LLMPROF_LIST:
    push_list(L, h, value, ordered);
    break;
  case LLMPROF_MAP:
    push_map(L, h, value, ordered);
    break;
  }
}

void llmprof_lua_push_value(lua_State *L, const llmprof_value *value,
                            bool ordered) {
  holder counter = {0};
  push_value(L, &counter, value, ordered);
}

/* Push what is wrong with a value, nil where it fits. */
static int push_check(lua_State *L, llmprof_lua_schema schema,
                      const llmprof_value *value) {
  llmprof_error err;
  if (llmprof_schemas_check(schema.schemas, schema.name, schema.definition,
                            value, &err))
    lua_pushnil(L);
  else if (err.code == LLMPROF_SYNTAX)
    lua_pushstring(L, err.message);
  else
    return llmprof_lua_raise(L, &err);
  return 1;
}

/* The tree and, with a schema, what is wrong with it, or err says why there is
 * none. */
static int finish_reading(lua_State *L, holder *h, bool ordered,
                          llmprof_lua_schema schema, const llmprof_error *err) {
  if (!h->tree) return llmprof_lua_fail(L, err);
  h->nodes = 0;
  push_value(L, h, h->tree, ordered);
  int count = schema.name ? 1 + push_check(L, schema, h->tree) : 1;
  release(h);
  return count;
}

int llmprof_lua_decode(lua_State *L, const llmprof_lua_format *format,
                       llmprof_lua_schema schema) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  const char *name = llmprof_lua_opt_string(L, 2, "name", format->name);
  bool ordered = llmprof_lua_opt_bool(L, 2, "ordered", false);
  holder *h = push_holder(L);
  llmprof_error err;
  h->tree = format->parse(text, size, name, &err);
  return finish_reading(L, h, ordered, schema, &err);
}

int llmprof_lua_load(lua_State *L, const llmprof_lua_format *format,
                     llmprof_lua_schema schema) {
  const char *path = llmprof_lua_check_path(L, 1);
  bool ordered = llmprof_lua_opt_bool(L, 2, "ordered", false);
  holder *h = push_holder(L);
  llmprof_error err;
  h->tree = format->load(path, &err);
  return finish_reading(L, h, ordered, schema, &err);
}

/* ---- from Lua ---- */

/* A table being encoded, on the C stack. */
typedef struct frame {
  const struct frame *up;
  const void *table; /* identity only */
  llmprof_path path; /* to the item at hand */
  size_t depth;
} frame;

static int misuse(lua_State *L, const llmprof_path *path, const char *what) {
  char where[512];
  return luaL_error(L, "cannot encode %s at %s", what,
                    llmprof_path_text(path, where, sizeof where));
}

static const llmprof_path *path_of(const frame *f) {
  return f ? &f->path : NULL;
}

/* Hand over a new value: it belongs to the tree from here on. Returns it, or
 * NULL when out of memory. */
static llmprof_value *place(holder *h, const frame *f, llmprof_value *into,
                            llmprof_value *value) {
  bool ok = value;
  if (!f)
    h->tree = value;
  else if (f->path.key)
    ok = llmprof_value_set(into, f->path.key, f->path.size, value);
  else
    ok = llmprof_value_append(into, value);
  return ok ? value : NULL;
}

static bool has_mark(lua_State *L, const char *name) {
  bool has = lua_getmetatable(L, -1);
  if (!has) return false;
  luaL_getmetatable(L, name);
  has = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return has;
}

/* The key below the top of the stack fits neither list nor map. */
static int bad_key(lua_State *L, const llmprof_path *path) {
  if (lua_type(L, -2) != LUA_TNUMBER)
    return misuse(
        L, path,
        lua_pushfstring(L, "a table with a %s as key", luaL_typename(L, -2)));
  lua_pushvalue(L, -2); /* lua_tostring would change the key in place */
  return misuse(
      L, path,
      lua_pushfstring(L, "a table with the key %s", lua_tostring(L, -1)));
}

typedef struct shape {
  lua_Integer items, last; /* integer keys from 1 on, and the largest */
  size_t names;            /* string keys */
} shape;

/* Look at all keys of the table on top of the stack. */
static shape check_keys(lua_State *L, const llmprof_path *path) {
  shape s = {0};
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      s.names++;
    } else {
      if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1) bad_key(L, path);
      lua_Integer index = lua_tointeger(L, -2);
      s.items++;
      if (index > s.last) s.last = index;
    }
    lua_pop(L, 1);
  }
  return s;
}

/* Whether the table on top of the stack is a list of this length, or this
 * number of names; raises on a mixture. */
static bool is_list(lua_State *L, const llmprof_path *path, size_t *count) {
  shape s = check_keys(L, path);
  *count = s.items ? (size_t)s.items : s.names;
  if (s.items && s.names) misuse(L, path, "a table that is both list and map");
  if (s.last != s.items) misuse(L, path, "a list with holes");
  bool marked = has_mark(L, LIST);
  if (marked && s.names) misuse(L, path, "a list with string keys");
  return marked || s.items;
}

static void check_recursion(lua_State *L, const frame *f, const void *table) {
  for (const frame *above = f; above; above = above->up) {
    if (above->table == table)
      misuse(L, &f->path, "a table that contains itself");
  }
  if (f && f->depth >= LLMPROF_MAX_DEPTH)
    misuse(L, &f->path, "a table nested too deep");
}

/* The value on top of the stack, which stays there, goes into `into` at the
 * frame's path, or becomes the tree when there is no frame. False when out of
 * memory. */
static bool convert(lua_State *L, holder *h, frame *f, llmprof_value *into);

static bool convert_items(lua_State *L, holder *h, frame *f,
                          llmprof_value *list, size_t count) {
  for (size_t i = 1; i <= count; i++) {
    f->path.index = i;
    lua_rawgeti(L, -1, (lua_Integer)i);
    if (!convert(L, h, f, list)) return false;
    lua_pop(L, 1);
  }
  return true;
}

/* Those of the keys in __keys that the table on top of the stack has, with
 * their values. */
static bool convert_first_names(lua_State *L, holder *h, frame *f,
                                llmprof_value *map) {
  int type = luaL_getmetafield(L, -1, "__keys");
  if (type == LUA_TNIL) return true;
  if (type != LUA_TTABLE)
    misuse(L, f->path.up, "a table whose __keys is not a list");
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  bool ok = true;
  for (lua_Integer i = 1; ok && i <= count; i++) {
    if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
      misuse(L, f->path.up, "a table whose __keys are not all strings");
    f->path.key = lua_tolstring(L, -1, &f->path.size);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -4) != LUA_TNIL &&
        !llmprof_value_get(map, f->path.key, f->path.size))
      ok = convert(L, h, f, map);
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return ok;
}

/* The other keys of the table on top of the stack, null for values so far. */
static bool add_other_names(lua_State *L, llmprof_value *map) {
  size_t first = llmprof_value_count(map);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    size_t size;
    const char *name = lua_tolstring(L, -2, &size); /* a string already */
    if (!llmprof_value_get(map, name, size) &&
        !llmprof_value_set(map, name, size, llmprof_value_new_null()))
      return false;
    lua_pop(L, 1);
  }
  llmprof_value_sort(map, first);
  return true;
}

static bool convert_names(lua_State *L, holder *h, frame *f, llmprof_value *map,
                          size_t names) {
  if (!convert_first_names(L, h, f, map)) return false;
  size_t first = llmprof_value_count(map);
  if (first < names && !add_other_names(L, map)) return false;
  for (size_t i = first; i < llmprof_value_count(map); i++) {
    f->path.key = llmprof_value_key(map, i, &f->path.size);
    lua_pushlstring(L, f->path.key, f->path.size);
    lua_rawget(L, -2);
    if (!convert(L, h, f, map)) return false;
    lua_pop(L, 1);
  }
  return true;
}

static bool convert_table(lua_State *L, holder *h, const frame *f,
                          llmprof_value *into) {
  size_t count;
  const void *table = lua_topointer(L, -1);
  check_recursion(L, f, table);
  bool list = is_list(L, path_of(f), &count);
  llmprof_value *value = place(
      h, f, into, list ? llmprof_value_new_list() : llmprof_value_new_map());
  if (!value) return false;
  frame inner = {.up = f, .table = table, .depth = f ? f->depth + 1 : 1};
  inner.path.up = path_of(f);
  return list ? convert_items(L, h, &inner, value, count)
              : convert_names(L, h, &inner, value, count);
}

static llmprof_value *new_number(lua_State *L) {
  return lua_isinteger(L, -1) ? llmprof_value_new_int(lua_tointeger(L, -1))
                              : llmprof_value_new_double(lua_tonumber(L, -1));
}

static llmprof_value *new_string(lua_State *L) {
  size_t size;
  const char *bytes = lua_tolstring(L, -1, &size);
  return llmprof_value_new_string(bytes, size);
}

static bool is_null(lua_State *L) {
  push_null(L);
  bool is = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  return is;
}

static bool convert(lua_State *L, holder *h, frame *f, llmprof_value *into) {
  luaL_checkstack(L, 6, "table nested too deep");
  if (llmprof_interrupted_at(h->nodes++)) return false; /* as out of memory */
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN:
    return place(h, f, into, llmprof_value_new_bool(lua_toboolean(L, -1)));
  case LUA_TNUMBER:
    return place(h, f, into, new_number(L));
  case LUA_TSTRING:
    return place(h, f, into, new_string(L));
  case LUA_TTABLE:
    return convert_table(L, h, f, into);
  case LUA_TUSERDATA:
    if (is_null(L)) return place(h, f, into, llmprof_value_new_null());
    break;
  default:
    break;
  }
  misuse(L, path_of(f), lua_pushfstring(L, "a %s", luaL_typename(L, -1)));
  return false;
}

int llmprof_lua_encode(lua_State *L, const llmprof_lua_format *format,
                       unsigned indent, llmprof_lua_schema schema) {
  luaL_checkany(L, 1);
  holder *h = push_holder(L);
  llmprof_error err;
  lua_pushvalue(L, 1);
  bool ok = convert(L, h, NULL, NULL) || llmprof_fail_nomem(&err);
  ok = ok && format->write(h->tree, indent, &h->text, &err);
  if (ok) lua_pushlstring(L, h->text.bytes, h->text.size);
  int count = ok && schema.name ? 1 + push_check(L, schema, h->tree) : 1;
  release(h);
  return ok ? count : llmprof_lua_fail(L, &err);
}

int llmprof_lua_check_value(lua_State *L, llmprof_lua_schema schema) {
  holder *h = push_holder(L);
  lua_pushvalue(L, -2);
  if (!convert(L, h, NULL, NULL)) return llmprof_lua_raise_nomem(L);
  push_check(L, schema, h->tree);
  release(h);
  return 1;
}

/* ---- what formats share ---- */

/* list([t]) -> t, marked as a list */
static int value_list(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lua_newtable(L);
    lua_replace(L, 1);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argcheck(L, has_mark(L, LIST) || !lua_getmetatable(L, 1), 1,
                "table has a metatable");
  luaL_setmetatable(L, LIST);
  return 1;
}

/* ordered(t, keys) -> t, whose keys are written in that order first */
static int value_ordered(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_getmetatable(L, 1)) {
    bool ours = luaL_getmetafield(L, 1, "__name") == LUA_TSTRING &&
                strcmp(lua_tostring(L, -1), ORDERED) == 0;
    luaL_argcheck(L, ours, 1, "table has a metatable: set its __keys");
  }
  lua_pushvalue(L, 2);
  set_order(L, 1);
  lua_settop(L, 1);
  return 1;
}

static int null_tostring(lua_State *L) {
  lua_pushliteral(L, "null");
  return 1;
}

/* Make null once per state; every format gets the same one. */
static void make_null(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key) == LUA_TNIL) {
    lua_newuserdatauv(L, 0, 0);
    luaL_newmetatable(L, NULLS);
    lua_pushcfunction(L, null_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &null_key);
  }
  lua_pop(L, 1);
}

void llmprof_lua_value_functions(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"list", value_list},
      {"ordered", value_ordered},
      {NULL, NULL},
  };
  llmprof_lua_class(L, HOLDER, NULL, f_release);
  luaL_newmetatable(L, LIST);
  lua_pop(L, 1);
  make_null(L);
  luaL_setfuncs(L, functions, 0);
  push_null(L);
  lua_setfield(L, -2, "null");
}
