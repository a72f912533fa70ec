/* llmprof.frame: frames over values from Lua.
 *
 *   local f = frame.new(2, {
 *     { name = "kernel", type = "string", values = { "gemm", "add" } },
 *     { name = "duration", type = "integer", unit = "ns", values = { 7, 3 } },
 *   })
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "frame.h"
#include "frame/cells.h"
#include "frame/group_by.h"

/* What of the declared column the cells below are made by. */
typedef struct column_maker {
  llmprof_strings *pool;
  const char *name;
  llmprof_column_type type;
} column_maker;

static uint32_t string_cell(lua_State *L, const column_maker *made) {
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  uint32_t id;
  if (!llmprof_strings_add(made->pool, text, size, &id))
    llmprof_lua_raise_nomem(L);
  return id;
}

/* Store the value on top of the stack; nil and false are absent. */
static void store(lua_State *L, const column_maker *made, void *data,
                  size_t row) {
  bool absent = !lua_toboolean(L, -1);
  int type = lua_type(L, -1), is_integer = 0;
  int64_t integer = lua_tointegerx(L, -1, &is_integer);
  bool fits = type == LUA_TNUMBER && (made->type == LLMPROF_F64 ||
                                      (is_integer && integer > LLMPROF_ABSENT));
  if (made->type == LLMPROF_STRING_ID) fits = type == LUA_TSTRING;
  if (!absent && !fits)
    luaL_error(L, "column '%s', row %I: a %s does not fit", made->name,
               (LUAI_UACINT)row + 1, luaL_typename(L, -1));
  if (made->type == LLMPROF_STRING_ID)
    ((uint32_t *)data)[row] = absent ? LLMPROF_NO_STRING : string_cell(L, made);
  else if (made->type == LLMPROF_F64)
    ((double *)data)[row] = absent ? NAN : lua_tonumber(L, -1);
  else
    ((int64_t *)data)[row] = absent ? LLMPROF_ABSENT : integer;
}

/* What the frame keeps: a copy of `size` bytes. */
static void *keep(lua_State *L, llmprof_frame *frame, const void *bytes,
                  size_t size) {
  void *kept = llmprof_memdup(bytes, size);
  if (!kept || !llmprof_frame_own(frame, kept)) llmprof_lua_raise_nomem(L);
  return kept;
}

/* The declaration on top of the stack, `rows` values long, as a column whose
 * memory the frame keeps. */
static llmprof_column read_column(lua_State *L, llmprof_frame *frame,
                                  llmprof_strings *pool, size_t rows) {
  int declared = lua_gettop(L);
  if (!lua_istable(L, declared)) luaL_error(L, "a list of columns expected");
  const char *name = llmprof_lua_opt_string(L, -1, "name", NULL);
  const char *type = llmprof_lua_opt_string(L, -1, "type", NULL);
  const char *unit = llmprof_lua_opt_string(L, -1, "unit", NULL);
  if (!name || !type) luaL_error(L, "a column has a name and a type");
  column_maker made = {pool, name, llmprof_lua_column_type(L, name, type)};
  if (lua_getfield(L, declared, "values") != LUA_TTABLE)
    luaL_error(L, "column '%s' has no values", name);
  size_t size =
      made.type == LLMPROF_STRING_ID ? sizeof(uint32_t) : sizeof(int64_t);
  void *data = llmprof_lua_scratch(L, rows, size);
  for (size_t row = 0; row < rows; row++) {
    lua_rawgeti(L, declared + 1, (lua_Integer)row + 1);
    store(L, &made, data, row);
    lua_pop(L, 1);
  }
  llmprof_column column = {.name = name, .type = made.type, .strings = pool};
  column.values =
      llmprof_frame_array(frame, made.type, keep(L, frame, data, rows * size));
  if (!column.values) llmprof_lua_raise_nomem(L);
  if (unit) column.unit = keep(L, frame, unit, strlen(unit));
  lua_settop(L, declared);
  return column;
}

/* frame.new(rows, columns) -> frame. columns: list of { name, type ("string",
 * "integer" or "number"), unit, values }; nil and false are absent values. */
static int frame_new(lua_State *L) {
  lua_Integer rows = luaL_checkinteger(L, 1);
  luaL_argcheck(L, rows >= 0 && rows < UINT32_MAX, 1, "a number of rows");
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  llmprof_strings *pool = llmprof_lua_new_pool(L);   /* 3 */
  llmprof_frame **box = llmprof_lua_new_frame(L, 3); /* 4 */
  *box = llmprof_frame_new((size_t)rows, pool);
  if (!*box) return llmprof_lua_raise_nomem(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    llmprof_column column = read_column(L, *box, pool, (size_t)rows);
    if (!llmprof_frame_add(*box, &column, NULL, NULL))
      return llmprof_lua_raise_nomem(L);
    lua_pop(L, 1);
  }
  return 1;
}

/* frame:extend(by, groups, columns) -> frame, with columns about its groups:
 * value g of each belongs to the rows of group g of frame:aggregate(by, ...),
 * which has `groups` rows. columns as for frame.new(). */
static int f_extend(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_Integer groups = luaL_checkinteger(L, 3);
  luaL_argcheck(L, groups >= 0 && groups < UINT32_MAX, 3, "a number of groups");
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_settop(L, 4);
  llmprof_strings *pool = llmprof_lua_new_pool(L);
  llmprof_lua_keep_with(L, 1);
  size_t key_count, count = (size_t)lua_rawlen(L, 4);
  size_t *keys = llmprof_lua_check_columns(L, frame, 2, &key_count);
  llmprof_column *columns = llmprof_lua_scratch(L, count, sizeof *columns);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 4, (lua_Integer)i + 1);
    columns[i] = read_column(L, frame, pool, (size_t)groups);
    lua_pop(L, 1); /* the list keeps the name alive */
  }
  llmprof_error err;
  if (!llmprof_frame_extend(frame, keys, key_count, (size_t)groups, columns,
                            count, &err))
    return llmprof_lua_raise(L, &err);
  lua_settop(L, 1);
  return 1;
}

const luaL_Reg llmprof_lua_make_methods[] = {
    {"extend", f_extend},
    {NULL, NULL},
};

/* frame.tidy(): frees the frames that nobody refers to, if they may be large.
 * For callers that are done with many of them before others ask for memory. */
static int frame_tidy(lua_State *L) {
  enum {
    SOME = 32 << 20
  };
  llmprof_lua_collect_frames(L, SOME);
  return 0;
}

const luaL_Reg llmprof_lua_make_functions[] = {
    {"new", frame_new},
    {"tidy", frame_tidy},
    {NULL, NULL},
};
