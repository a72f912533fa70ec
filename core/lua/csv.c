/* llmprof.csv: rows of a CSV file as tables keyed by column name.
 *
 *   local text = "name,ms\ndecode,1.5\n"
 *   local reader = assert(csv.parse(text, { numbers = true }))
 *   for row, line in reader:rows() do
 *     print(line, row.name, row.ms)               --> 2  decode  1.5
 *   end
 */
#include "formats/csv.h"
#include "llmprof_lua.h"

#define READER "llmprof.csv.reader"

/* User values: header names, columns that stay text, the borrowed input. */
enum {
  UV_NAMES = 1,
  UV_TEXT,
  UV_INPUT,
  UV_COUNT = UV_INPUT
};

static llmprof_csv *check_reader(lua_State *L, int arg) {
  return llmprof_lua_unbox(L, arg, READER);
}

static void push_row(lua_State *L, const llmprof_csv_row *row) {
  lua_createtable(L, (int)row->count, 0);
  for (size_t i = 0; i < row->count; i++) {
    lua_pushlstring(L, row->fields[i].bytes, row->fields[i].size);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The set of columns that stay text, or nil when all do. */
static void push_text_columns(lua_State *L, int options) {
  if (!llmprof_lua_opt_bool(L, options, "numbers", false)) {
    lua_pushnil(L);
    return;
  }
  lua_newtable(L);
  if (lua_getfield(L, options, "text") == LUA_TTABLE) {
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count; i++) {
      lua_rawgeti(L, -1, i);
      if (lua_isnil(L, -1)) luaL_argerror(L, options, "option 'text': hole");
      lua_pushboolean(L, 1);
      lua_rawset(L, -4); /* set[name] = true */
    }
  }
  lua_pop(L, 1);
}

/* csv.open(path [, options]) -> reader | nil, message, code
 * options: header (a field that marks the header row), units (boolean: a
 * units row follows, which is left out), numbers (boolean: fields that read as
 * numbers become numbers, absent ones nil), text (with numbers: list of columns
 * that stay strings). */
static int open_reader(lua_State *L, bool from_text) {
  size_t size;
  const char *input = luaL_checklstring(L, 1, &size);
  llmprof_csv_options options = {
      .header_has = llmprof_lua_opt_string(L, 2, "header", NULL),
      .units_row = llmprof_lua_opt_bool(L, 2, "units", false),
  };
  lua_settop(L, 2);
  push_text_columns(L, 2);
  void **box = llmprof_lua_box(L, READER, UV_COUNT);
  llmprof_error err;
  *box = from_text ? llmprof_csv_open_bytes("csv", input, size, &options, &err)
                   : llmprof_csv_open(input, &options, &err);
  if (!*box) return llmprof_lua_fail(L, &err);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 4, UV_TEXT);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 4, UV_INPUT);
  push_row(L, llmprof_csv_header(*box));
  lua_setiuservalue(L, 4, UV_NAMES);
  return 1;
}

static int csv_open(lua_State *L) {
  return open_reader(L, false);
}

/* csv.parse(text [, options]) -> reader | nil, message, code: the same of a
 * string */
static int csv_parse(lua_State *L) {
  return open_reader(L, true);
}

/* Push the field as the options want it; nil when absent. */
static void push_field(lua_State *L, const llmprof_csv_field *field,
                       bool as_text) {
  double number;
  llmprof_number kind = LLMPROF_NUMBER_TEXT;
  if (!as_text) kind = llmprof_csv_number(field->bytes, field->size, &number);
  if (kind == LLMPROF_NUMBER_OK) {
    lua_Integer integer;
    if (lua_numbertointeger(number, &integer) && (lua_Number)integer == number)
      lua_pushinteger(L, integer);
    else
      lua_pushnumber(L, number);
  } else if (kind == LLMPROF_NUMBER_ABSENT) {
    lua_pushnil(L);
  } else {
    lua_pushlstring(L, field->bytes, field->size);
  }
}

/* Iterator step: row, line; nothing at the end; raises on a broken row, since
 * a for loop has no place for an error value. */
static int next_row(lua_State *L) {
  llmprof_csv *csv = check_reader(L, 1);
  lua_settop(L, 1);
  llmprof_csv_row row;
  llmprof_error err;
  int got = llmprof_csv_next(csv, &row, &err);
  if (got < 0) return llmprof_lua_raise(L, &err);
  if (!got) return 0;
  lua_getiuservalue(L, 1, UV_NAMES);                            /* 2 */
  bool all_text = lua_getiuservalue(L, 1, UV_TEXT) == LUA_TNIL; /* 3 */
  lua_createtable(L, 0, (int)row.count);                        /* 4 */
  for (size_t i = 0; i < row.count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    bool as_text = all_text;
    if (!all_text) {
      lua_pushvalue(L, -1);
      as_text = lua_rawget(L, 3) != LUA_TNIL;
      lua_pop(L, 1);
    }
    push_field(L, &row.fields[i], as_text);
    lua_rawset(L, 4); /* row[name] = value */
  }
  lua_pushinteger(L, (lua_Integer)row.line);
  return 2;
}

/* reader:rows() -> iterator over row (a table by column name), line; a broken
 * row raises */
static int f_rows(lua_State *L) {
  check_reader(L, 1);
  lua_pushcfunction(L, next_row);
  lua_pushvalue(L, 1);
  return 2;
}

LLMPROF_LUA_CLOSE(f_close, READER, llmprof_csv_close)

static const luaL_Reg methods[] = {
    {"rows", f_rows},
    {"close", f_close},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", csv_open},
    {"parse", csv_parse},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(csv) {
  llmprof_lua_class(L, READER, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
