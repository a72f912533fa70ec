/* llmprof.sqlite: read-only queries.
 *
 *   local db = assert(sqlite.open "run.sqlite")
 *   for row in db:query("SELECT ? + 1 AS n", 7) do print(row.n) end  --> 8
 *   print(db:has "CUPTI_ACTIVITY_KIND_KERNEL")    --> true
 */
#include "sqlite/sqlite.h"

#include "llmprof_lua.h"

#define DATABASE "llmprof.sqlite.database"
#define QUERY    "llmprof.sqlite.query"

/* sqlite.open(path) -> database | nil, message, code */
LLMPROF_LUA_OPEN(sqlite_open, DATABASE, 0, llmprof_sqlite_open)

static void bind(lua_State *L, llmprof_query *query, int arg, int index) {
  size_t size;
  const char *text;
  bool ok = false;
  switch (lua_type(L, arg)) {
  case LUA_TNIL:
    ok = llmprof_query_bind_null(query, index);
    break;
  case LUA_TBOOLEAN:
    ok = llmprof_query_bind_int(query, index, lua_toboolean(L, arg));
    break;
  case LUA_TNUMBER:
    ok = lua_isinteger(L, arg)
             ? llmprof_query_bind_int(query, index, lua_tointeger(L, arg))
             : llmprof_query_bind_double(query, index, lua_tonumber(L, arg));
    break;
  case LUA_TSTRING:
    text = lua_tolstring(L, arg, &size);
    ok = llmprof_query_bind_text(query, index, text, size);
    break;
  default:
    luaL_argerror(L, arg, "number, string, boolean or nil expected");
  }
  if (!ok) luaL_argerror(L, arg, "cannot be bound");
}

static void push_cell(lua_State *L, const llmprof_query *query, int column) {
  size_t size;
  const char *text;
  switch (llmprof_query_type(query, column)) {
  case LLMPROF_SQL_NULL:
    lua_pushnil(L);
    break;
  case LLMPROF_SQL_INT:
    lua_pushinteger(L, llmprof_query_int(query, column));
    break;
  case LLMPROF_SQL_DOUBLE:
    lua_pushnumber(L, llmprof_query_double(query, column));
    break;
  case LLMPROF_SQL_TEXT:
    text = llmprof_query_text(query, column, &size);
    lua_pushlstring(L, text, size);
    break;
  }
}

LLMPROF_LUA_CLOSE(close_query, QUERY, llmprof_query_free)

/* Iterator step: the next row as a table by column name, or nothing; raises
 * on failure, since a for loop has no place for an error value. */
static int next_row(lua_State *L) {
  llmprof_query *query = *(void **)luaL_checkudata(L, 1, QUERY);
  if (!query) return 0;
  lua_settop(L, 1);
  llmprof_error err;
  int got = llmprof_query_step(query, &err);
  if (got < 0) return llmprof_lua_raise(L, &err);
  if (!got) return close_query(L);
  int columns = llmprof_query_columns(query);
  lua_createtable(L, 0, columns);
  for (int i = 0; i < columns; i++) {
    push_cell(L, query, i);
    lua_setfield(L, -2, llmprof_query_name(query, i));
  }
  return 1;
}

/* Prepare the SQL at 2 with the parameters after it; the query's box is left
 * on top of the stack. */
static llmprof_query *prepare(lua_State *L) {
  llmprof_sqlite *db = llmprof_lua_unbox(L, 1, DATABASE);
  const char *sql = luaL_checkstring(L, 2);
  int given = lua_gettop(L) - 2;
  void **box = llmprof_lua_box(L, QUERY, 0);
  llmprof_error err;
  llmprof_query *query = *box = llmprof_sqlite_query(db, sql, &err);
  if (!query && err.code == LLMPROF_NOMEM) llmprof_lua_raise(L, &err);
  if (!query) luaL_error(L, "%s", err.message);
  int wanted = llmprof_query_parameters(query);
  if (wanted != given)
    luaL_error(L, "SQL statement wants %d parameters, got %d", wanted, given);
  for (int i = 1; i <= given; i++) bind(L, query, i + 2, i);
  return query;
}

/* database:query(sql, ...) -> iterator for a generic for, which also frees
 * the statement when the loop is left early. Broken SQL raises. */
static int f_query(lua_State *L) {
  prepare(L);
  int query_at = lua_gettop(L);
  lua_pushcfunction(L, next_row);
  lua_pushvalue(L, query_at); /* state */
  lua_pushnil(L);             /* control */
  lua_pushvalue(L, query_at); /* to be closed */
  return 4;
}

/* The current row into the lists from `first` on, one per column; NULL is
 * false. */
static void append_row(lua_State *L, const llmprof_query *query, int first,
                       lua_Integer row) {
  for (int i = 0; i < llmprof_query_columns(query); i++) {
    push_cell(L, query, i);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, first + i, row);
  }
}

/* database:columns(sql, ...) -> list of { name, values }, number of rows;
 * NULL is false. Broken SQL raises. */
static int f_columns(lua_State *L) {
  llmprof_query *query = prepare(L);
  int columns = llmprof_query_columns(query), first = lua_gettop(L) + 1;
  luaL_checkstack(L, columns + 8, "too many columns");
  for (int i = 0; i < columns; i++) lua_newtable(L);
  lua_Integer rows = 0;
  llmprof_error err;
  int got;
  while ((got = llmprof_query_step(query, &err)) > 0)
    append_row(L, query, first, ++rows);
  if (got < 0) return llmprof_lua_raise(L, &err);
  lua_createtable(L, columns, 0);
  for (int i = 0; i < columns; i++) {
    lua_createtable(L, 0, 2);
    llmprof_lua_set_string(L, "name", llmprof_query_name(query, i));
    lua_pushvalue(L, first + i);
    lua_setfield(L, -2, "values");
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, rows);
  return 2;
}

/* database:has(table [, column]) -> boolean */
static int f_has(lua_State *L) {
  llmprof_sqlite *db = llmprof_lua_unbox(L, 1, DATABASE);
  const char *table = luaL_checkstring(L, 2);
  const char *column = luaL_optstring(L, 3, NULL);
  llmprof_error err;
  int has = llmprof_sqlite_has(db, table, column, &err);
  if (has < 0) return llmprof_lua_raise(L, &err);
  lua_pushboolean(L, has);
  return 1;
}

LLMPROF_LUA_CLOSE(f_close, DATABASE, llmprof_sqlite_close)

static const luaL_Reg methods[] = {
    {"query", f_query}, {"columns", f_columns}, {"has", f_has},
    {"close", f_close}, {NULL, NULL},
};

static const luaL_Reg query_methods[] = {
    {"close", close_query},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", sqlite_open},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(sqlite) {
  llmprof_lua_class(L, DATABASE, methods, f_close);
  llmprof_lua_class(L, QUERY, query_methods, close_query);
  luaL_newlib(L, functions);
  return 1;
}
