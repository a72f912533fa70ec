/* llmprof.markdown: tables and escaping.
 *
 *   local columns = { { title = "Kernel", max = 40, code = true },
 *                     { title = "ms", align = "right" } }
 *   local rows = { { "void f()", "1.25" } }
 *   io.write((markdown.table(columns, rows)))
 *   print(markdown.escape "a|b")                  --> a\|b
 */
#include "text/markdown.h"

#include <string.h>

#include "lua_buffer.h"

/* Arguments of markdown.table */
enum {
  COLUMNS = 1,
  ROWS,
  OPTIONS,
};

typedef void (*writer)(llmprof_buffer *out, const char *text, size_t size);

static int push_written(lua_State *L, writer write) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  write(buf, text, size);
  if (buf->failed) return llmprof_lua_raise_nomem(L);
  return llmprof_lua_text(L, true, buf, NULL);
}

/* markdown.escape(text) -> text that renders as it is, in a paragraph or a
 * heading */
static int markdown_escape(lua_State *L) {
  return push_written(L, llmprof_markdown_escape);
}

/* markdown.code(text) -> text as inline code */
static int markdown_code(lua_State *L) {
  return push_written(L, llmprof_markdown_code);
}

/* ---- the declaration of a table ---- */

static llmprof_align check_align(lua_State *L, int column) {
  const char *wanted = llmprof_lua_opt_string(L, column, "align", "left");
  if (strcmp(wanted, "right") == 0) return LLMPROF_RIGHT;
  if (strcmp(wanted, "left") != 0) luaL_error(L, "invalid align '%s'", wanted);
  return LLMPROF_LEFT;
}

/* Push an array of the columns; it borrows their titles. */
static const llmprof_markdown_column *check_columns(lua_State *L,
                                                    size_t *count) {
  *count = lua_rawlen(L, COLUMNS);
  luaL_argcheck(L, *count > 0, COLUMNS, "no columns");
  llmprof_markdown_column *columns =
      lua_newuserdatauv(L, *count * sizeof *columns, 0);
  for (size_t i = 0; i < *count; i++) {
    if (lua_rawgeti(L, COLUMNS, (lua_Integer)i + 1) != LUA_TTABLE)
      luaL_error(L, "column %I is not a table", (LUAI_UACINT)i + 1);
    if (lua_getfield(L, -1, "title") != LUA_TSTRING)
      luaL_error(L, "column %I has no title", (LUAI_UACINT)i + 1);
    llmprof_slice title; /* the column keeps it alive */
    title.bytes = lua_tolstring(L, -1, &title.size);
    lua_Integer max = llmprof_lua_opt_integer(L, -2, "max", 0);
    if (max < 0) luaL_error(L, "'max' must not be negative");
    columns[i] = (llmprof_markdown_column){
        .title = title,
        .align = check_align(L, -2),
        .max = (size_t)max,
        .code = llmprof_lua_opt_bool(L, -2, "code", false),
    };
    lua_pop(L, 2);
  }
  return columns;
}

/* ---- its cells ---- */

static llmprof_slice check_cell(lua_State *L, size_t row, size_t column) {
  llmprof_slice text = {"", 0};
  int type = lua_rawgeti(L, -1, (lua_Integer)column + 1);
  if (type == LUA_TSTRING)
    text.bytes = lua_tolstring(L, -1, &text.size);
  else if (type != LUA_TNIL && (type != LUA_TBOOLEAN || lua_toboolean(L, -1)))
    luaL_error(L, "row %I, column %I: string expected, got %s",
               (LUAI_UACINT)row + 1, (LUAI_UACINT)column + 1,
               lua_typename(L, type));
  lua_pop(L, 1);
  return text;
}

/* Push an array of the cells; it borrows their strings. */
static const llmprof_slice *check_cells(lua_State *L, size_t columns,
                                        size_t *rows) {
  *rows = lua_rawlen(L, ROWS);
  luaL_argcheck(L, *rows < SIZE_MAX / sizeof(llmprof_slice) / columns, ROWS,
                "too many rows");
  llmprof_slice *cells =
      lua_newuserdatauv(L, *rows * columns * sizeof *cells, 0);
  llmprof_slice *cell = cells;
  for (size_t row = 0; row < *rows; row++) {
    if (lua_rawgeti(L, ROWS, (lua_Integer)row + 1) != LUA_TTABLE)
      luaL_error(L, "row %I is not a table", (LUAI_UACINT)row + 1);
    if (lua_rawlen(L, -1) > columns)
      luaL_error(L, "row %I has %I cells for %I columns", (LUAI_UACINT)row + 1,
                 (LUAI_UACINT)lua_rawlen(L, -1), (LUAI_UACINT)columns);
    for (size_t i = 0; i < columns; i++) *cell++ = check_cell(L, row, i);
    lua_pop(L, 1);
  }
  return cells;
}

static const char *check_prefix(lua_State *L) {
  const char *prefix = llmprof_lua_opt_string(L, OPTIONS, "prefix", "k");
  size_t size = strspn(prefix, "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
  luaL_argcheck(L, size && !prefix[size], OPTIONS,
                "option 'prefix': letters and digits expected");
  return prefix;
}

/* markdown.table(columns, rows [, options]) -> table, footnotes or nil, the
 * number of footnotes
 * columns: list of { title, align ("left" or "right"), max (columns
 * shown of a cell; a longer one gets a footnote; 0: all), code (boolean) }.
 * rows: list of lists of strings; a cell that is nil or false is empty.
 * options: prefix (of footnotes, "k"), first (their first number, 1). */
static int markdown_table(lua_State *L) {
  luaL_checktype(L, COLUMNS, LUA_TTABLE);
  luaL_checktype(L, ROWS, LUA_TTABLE);
  lua_settop(L, OPTIONS);
  lua_Integer first = llmprof_lua_opt_integer(L, OPTIONS, "first", 1);
  luaL_argcheck(L, first >= 0, OPTIONS, "option 'first' must not be negative");
  llmprof_markdown_table table = {
      .first_note = (size_t)first,
      .note_prefix = check_prefix(L),
  };
  llmprof_buffer *out = llmprof_lua_buffer(L);
  llmprof_buffer *notes = llmprof_lua_buffer(L);
  table.columns = check_columns(L, &table.column_count);
  table.cells = check_cells(L, table.column_count, &table.row_count);
  size_t count;
  llmprof_error err;
  if (!llmprof_markdown_render(out, notes, &table, &count, &err))
    return llmprof_lua_raise_nomem(L);
  llmprof_lua_text(L, true, out, NULL);
  if (count)
    llmprof_lua_text(L, true, notes, NULL);
  else
    lua_pushnil(L);
  lua_pushinteger(L, (lua_Integer)count);
  return 3;
}

static const luaL_Reg functions[] = {
    {"escape", markdown_escape},
    {"code", markdown_code},
    {"table", markdown_table},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(markdown, functions)
