/* llmprof.sheet: frames as CSV, JSON or aligned lines, piece by piece.
 *
 *   local times = require("llmprof.frame").new(1, {
 *     { name = "total", type = "integer", values = { 1234 } } })
 *   local columns = { { key = "total", title = "Total (ns)", whole = true } }
 *   for piece in sheet.next, sheet.open(times, columns, { format = "csv" }) do
 *     io.write(piece)
 *   end
 *   assert(sheet.save(sheet.open(times, columns, {}), "kernels.csv"))
 */
#include "formats/sheet.h"

#include <string.h>

#include "frame.h"
#include "lua_buffer.h"

#define SHEET "llmprof.sheet"

static llmprof_sheet_format check_format(lua_State *L, int options) {
  static const char *const names[] = {
      [LLMPROF_SHEET_CSV] = "csv",
      [LLMPROF_SHEET_JSON] = "json",
      [LLMPROF_SHEET_LINES] = "table",
  };
  const char *name = llmprof_lua_opt_string(L, options, "format", "csv");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) return (llmprof_sheet_format)i;
  }
  luaL_error(L, "no format '%s'", name);
  return LLMPROF_SHEET_CSV;
}

/* The declaration on top of the stack, popped; its list keeps the title. */
static llmprof_sheet_column check_column(lua_State *L, llmprof_frame *frame) {
  int declared = lua_gettop(L);
  luaL_checktype(L, declared, LUA_TTABLE);
  llmprof_sheet_column column = {
      .column = llmprof_lua_column_field(L, declared, frame, "key"),
      .whole = llmprof_lua_opt_bool(L, -1, "whole", false),
      .name = llmprof_lua_opt_bool(L, -1, "name", false),
      .digits = (int)llmprof_lua_opt_integer(L, -1, "digits", 0),
      .scale = llmprof_lua_opt_number(L, -1, "scale", 1),
      .exact = llmprof_lua_opt_bool(L, -1, "exact", false),
      .raw = llmprof_lua_opt_bool(L, -1, "raw", false),
  };
  if (column.digits < 0 || column.digits > 20)
    luaL_error(L, "digits must be 0 to 20");
  if (lua_getfield(L, declared, "title") != LUA_TSTRING)
    luaL_error(L, "a column has a title");
  column.title.bytes = lua_tolstring(L, -1, &column.title.size);
  lua_settop(L, declared - 1);
  return column;
}

/* sheet.open(frame, columns, options) -> sheet. columns: list of { key (column
 * of the frame), title, whole, name, digits, scale, exact, raw }; options:
 * format ("csv", "json" or "table"), guard, keep_invisible (booleans), width
 * (integer). */
static int sheet_open(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  size_t count = (size_t)lua_rawlen(L, 2);
  luaL_argcheck(L, count > 0, 2, "at least one column");
  llmprof_sheet_options options = {
      .format = check_format(L, 3),
      .guard = llmprof_lua_opt_bool(L, 3, "guard", false),
      .keep_invisible = llmprof_lua_opt_bool(L, 3, "keep_invisible", false),
  };
  lua_Integer width = llmprof_lua_opt_integer(L, 3, "width", 0);
  options.width = width > 0 ? (size_t)width : 0;
  llmprof_sheet_column *columns =
      llmprof_lua_scratch(L, count, sizeof *columns);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    columns[i] = check_column(L, frame);
  }
  void **box = llmprof_lua_box(L, SHEET, 2);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 2);
  llmprof_error err;
  *box = llmprof_sheet_new(frame, columns, count, &options, &err);
  return *box ? 1 : llmprof_lua_raise(L, &err);
}

/* sheet.next(sheet) -> the next piece, nil at the end */
static int sheet_next(lua_State *L) {
  llmprof_sheet *sheet = llmprof_lua_unbox(L, 1, SHEET);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  llmprof_lua_check_frame(L, 2);
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  llmprof_error err;
  if (!llmprof_sheet_next(sheet, buf, &err)) return llmprof_lua_raise(L, &err);
  if (!buf->size) return 0;
  return llmprof_lua_text(L, true, buf, NULL);
}

/* sheet.save(sheet, path [, soon]): all pieces that are left, as fs.write does;
 * soon: as fs.write_soon */
static int sheet_save(lua_State *L) {
  llmprof_sheet *sheet = llmprof_lua_unbox(L, 1, SHEET);
  const char *path = llmprof_lua_check_path(L, 2);
  bool soon = lua_toboolean(L, 3);
  lua_getiuservalue(L, 1, 1);
  llmprof_lua_check_frame(L, lua_gettop(L));
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_sheet_save(sheet, path, soon, &err),
                            &err);
}

/* sheet.send(sheet, file, name): all pieces that are left, into a file of Lua,
 * which errors call by this name */
static int sheet_send(lua_State *L) {
  llmprof_sheet *sheet = llmprof_lua_unbox(L, 1, SHEET);
  const luaL_Stream *file = luaL_checkudata(L, 2, LUA_FILEHANDLE);
  const char *name = luaL_checkstring(L, 3);
  luaL_argcheck(L, file->closef, 2, "a file that is open");
  lua_getiuservalue(L, 1, 1);
  llmprof_lua_check_frame(L, lua_gettop(L));
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_sheet_send(sheet, file->f, name, &err),
                            &err);
}

LLMPROF_LUA_CLOSE(sheet_close, SHEET, llmprof_sheet_free)

static const luaL_Reg functions[] = {
    {"next", sheet_next}, {"open", sheet_open}, {"save", sheet_save},
    {"send", sheet_send}, {NULL, NULL},
};

LLMPROF_LUA_MODULE(sheet) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, SHEET, NULL, sheet_close);
  luaL_newlib(L, functions);
  return 1;
}
