/* Frames as userdata: boxes, columns, cells. */
#include <string.h>

#include "base/alloc.h"
#include "frame.h"

#define FRAME   "llmprof.frame"
#define SCRATCH "llmprof.frame.scratch"
#define POOL    "llmprof.frame.strings"

/* ---- boxes ---- */

/* A frame is a few bytes to the collector and millions of rows to us. */
void llmprof_lua_collect_frames(lua_State *L, size_t asked) {
  if (llmprof_alloc_asked(asked)) llmprof_lua_collect(L);
}

llmprof_frame **llmprof_lua_new_frame(lua_State *L, int owner) {
  enum {
    OFTEN = 128 << 20
  };
  owner = lua_absindex(L, owner);
  llmprof_lua_collect_frames(L, OFTEN);
  void **box = llmprof_lua_box(L, FRAME, 2);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  return (llmprof_frame **)box;
}

/* A frame borrows from what it was made from: the trace, or the frame below a
 * view. All of them must be open still. */
llmprof_frame *llmprof_lua_check_frame(lua_State *L, int arg) {
  llmprof_frame *frame = llmprof_lua_unbox(L, arg, FRAME);
  lua_pushvalue(L, arg);
  while (lua_getiuservalue(L, -1, 1) == LUA_TUSERDATA) {
    lua_remove(L, -2);
    if (!*(void **)lua_touserdata(L, -1))
      luaL_argerror(L, arg, "what the frame was made from is closed");
  }
  lua_pop(L, 2);
  return frame;
}

void **llmprof_lua_scratch_box(lua_State *L) {
  return llmprof_lua_box(L, SCRATCH, 0);
}

void *llmprof_lua_scratch(lua_State *L, size_t count, size_t size) {
  void **box = llmprof_lua_scratch_box(L);
  *box = llmprof_zalloc(count, size);
  if (!*box) llmprof_lua_raise_nomem(L);
  return *box;
}

void llmprof_lua_keep_with(lua_State *L, int frame) {
  if (lua_getiuservalue(L, frame, 2) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, frame, 2);
  }
  lua_insert(L, -2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
}

llmprof_strings *llmprof_lua_new_pool(lua_State *L) {
  void **box = llmprof_lua_box(L, POOL, 0);
  *box = llmprof_strings_new();
  if (!*box) llmprof_lua_raise_nomem(L);
  return *box;
}

int llmprof_lua_made_frame(lua_State *L, llmprof_frame **box,
                           llmprof_frame *made, const llmprof_error *err) {
  *box = made;
  return made ? 1 : llmprof_lua_raise(L, err);
}

/* ---- columns and cells ---- */

size_t llmprof_lua_check_column(lua_State *L, llmprof_frame *frame, int index) {
  const char *name = lua_tostring(L, index);
  if (!name)
    luaL_error(L, "a column name is a string, not a %s",
               luaL_typename(L, index));
  size_t column = llmprof_frame_find(frame, name);
  if (column == SIZE_MAX) luaL_error(L, "no column '%s' here", name);
  return column;
}

size_t llmprof_lua_column_named(lua_State *L, llmprof_frame *frame,
                                const char *name) {
  lua_pushstring(L, name);
  size_t column = llmprof_lua_check_column(L, frame, -1);
  lua_pop(L, 1);
  return column;
}

const llmprof_column *
llmprof_lua_load_column(lua_State *L, llmprof_frame *frame, size_t number) {
  llmprof_error err;
  const llmprof_column *column = llmprof_frame_column(frame, number, &err);
  if (!column) llmprof_lua_raise(L, &err);
  return column;
}

void llmprof_lua_push_cell(lua_State *L, const llmprof_frame *frame,
                           const llmprof_column *column, size_t row) {
  int64_t value = llmprof_cell(column, row);
  if (value == LLMPROF_ABSENT) {
    lua_pushnil(L);
  } else if (column->type == LLMPROF_STRING_ID) {
    size_t size;
    const char *text = llmprof_strings_get(
        llmprof_column_strings(frame, column), (uint32_t)value, &size);
    lua_pushlstring(L, text, size);
  } else if (column->type == LLMPROF_F64) {
    lua_pushnumber(L, llmprof_cell_real(value));
  } else {
    lua_pushinteger(L, value);
  }
}

size_t *llmprof_lua_check_columns(lua_State *L, llmprof_frame *frame, int list,
                                  size_t *count) {
  luaL_checktype(L, list, LUA_TTABLE);
  *count = (size_t)lua_rawlen(L, list);
  size_t *numbers = llmprof_lua_scratch(L, *count, sizeof *numbers);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    numbers[i] = llmprof_lua_check_column(L, frame, -1);
    lua_pop(L, 1);
  }
  return numbers;
}

size_t llmprof_lua_column_field(lua_State *L, int arg, llmprof_frame *frame,
                                const char *field) {
  luaL_checktype(L, arg, LUA_TTABLE);
  lua_getfield(L, arg, field);
  if (lua_isnil(L, -1)) luaL_error(L, "which column is '%s'?", field);
  size_t column = llmprof_lua_check_column(L, frame, -1);
  lua_pop(L, 1);
  return column;
}

size_t llmprof_lua_opt_column_field(lua_State *L, int arg, llmprof_frame *frame,
                                    const char *field) {
  luaL_checktype(L, arg, LUA_TTABLE);
  bool absent = lua_getfield(L, arg, field) == LUA_TNIL;
  lua_pop(L, 1);
  return absent ? SIZE_MAX : llmprof_lua_column_field(L, arg, frame, field);
}

size_t *llmprof_lua_column_list(lua_State *L, int arg, llmprof_frame *frame,
                                const char *field, size_t *count) {
  int type = lua_getfield(L, arg, field);
  if (type != LUA_TNIL && type != LUA_TTABLE)
    luaL_error(L, "option '%s' is a list of columns", field);
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  return llmprof_lua_check_columns(L, frame, lua_gettop(L), count);
}

llmprof_column_type llmprof_lua_column_type(lua_State *L, const char *name,
                                            const char *type) {
  if (strcmp(type, "string") == 0) return LLMPROF_STRING_ID;
  if (strcmp(type, "number") == 0) return LLMPROF_F64;
  if (strcmp(type, "integer") != 0)
    luaL_error(L, "column '%s': no type '%s'", name, type);
  return LLMPROF_I64;
}

const char *llmprof_lua_new_name(lua_State *L, llmprof_frame *frame) {
  const char *name = llmprof_lua_opt_string(L, 2, "name", NULL);
  if (!name) luaL_error(L, "a column to make has a name");
  llmprof_lua_check_new(L, frame, name);
  return name;
}

void llmprof_lua_check_new(lua_State *L, llmprof_frame *frame,
                           const char *name) {
  if (llmprof_frame_find(frame, name) != SIZE_MAX)
    luaL_error(L, "there is a column '%s' already", name);
}

/* ---- classes ---- */

int llmprof_lua_close_frame(lua_State *L) {
  void **box = luaL_checkudata(L, 1, FRAME);
  llmprof_frame_free(*box);
  *box = NULL;
  return 0;
}

LLMPROF_LUA_CLOSE(free_scratch, SCRATCH, llmprof_free)

LLMPROF_LUA_CLOSE(close_pool, POOL, llmprof_strings_free)

void llmprof_lua_box_classes(lua_State *L) {
  llmprof_lua_class(L, FRAME, NULL, llmprof_lua_close_frame);
  llmprof_lua_class(L, SCRATCH, NULL, free_scratch);
  llmprof_lua_class(L, POOL, NULL, close_pool);
}
