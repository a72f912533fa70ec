/* llmprof.spool: units, counters and diagnostics of the collector's spools, as
 * frames; llmprof.trace has their timeline. And the block that says what
 * generated lines were made of.
 *
 *   local recorded, why = spool.open "run.spool"
 *   if not recorded then return print(why) end
 *   local counters = assert(recorded:frame "counters")
 */
#include "spool/spool.h"

#include "frame.h"
#include "llmprof_lua.h"

#define SPOOL "llmprof.spool"

/* spool.open(path) -> spool | nil, message, code */
LLMPROF_LUA_OPEN(spool_open, SPOOL, 0, llmprof_spool_open)

LLMPROF_LUA_CLOSE(f_close, SPOOL, llmprof_spool_close)

/* spool:frame(name) -> frame | nil, message, code; name is one of units,
 * counters, metrics, diagnostics (spool/spool.h has their columns) */
static int f_frame(lua_State *L) {
  llmprof_spool *spool = llmprof_lua_unbox(L, 1, SPOOL);
  const char *name = luaL_checkstring(L, 2);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_spool_frame(spool, name, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

#define GENERATED "llmprof.spool.generated"

LLMPROF_LUA_CLOSE(g_free, GENERATED, llmprof_spool_generated_free)

/* The line in the table on top of the stack; what it has stays there. */
static llmprof_spool_line line_of(lua_State *L) {
  int at = lua_absindex(L, -1);
  llmprof_spool_line line = {0};
  lua_getfield(L, at, "file");
  line.file = luaL_checkstring(L, -1);
  lua_getfield(L, at, "name");
  line.function = luaL_optstring(L, -1, NULL);
  lua_getfield(L, at, "module");
  line.module = luaL_optstring(L, -1, NULL);
  lua_getfield(L, at, "line");
  lua_Integer number = luaL_checkinteger(L, -1);
  if (number > 0 && number <= UINT32_MAX) line.line = (uint32_t)number;
  return line;
}

static void add_generated(lua_State *L, llmprof_spool_generated *made) {
  enum {
    PUSHED = 5 /* a table and its fields */
  };
  size_t count = lua_rawlen(L, -1);
  luaL_checkstack(L, (int)count * PUSHED + PUSHED, "a long stack");
  llmprof_spool_line *lines = llmprof_lua_scratch(L, count + 1, sizeof *lines);
  lua_insert(L, -2);
  int list = lua_absindex(L, -1);
  lines[0] = line_of(L);
  for (size_t i = 1; i <= count; i++) {
    lua_geti(L, list, (lua_Integer)i);
    luaL_checktype(L, -1, LUA_TTABLE);
    lines[i] = line_of(L);
  }
  if (!llmprof_spool_generated_add(made, lines, count + 1))
    llmprof_lua_raise_nomem(L);
}

/* spool.generated(list) -> block | nil, message, code; list has a table for
 * each line of a file that torch.compile generated: file, line, and in a
 * sequence those that it was made of, outermost first: file, line, name, and
 * module where that is not the one around */
static int spool_generated(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  void **box = llmprof_lua_box(L, GENERATED, 0);
  llmprof_error err;
  size_t size;
  *box = llmprof_spool_generated_new();
  if (!*box) return llmprof_lua_raise_nomem(L);
  for (size_t i = 1; i <= lua_rawlen(L, 1); i++) {
    lua_geti(L, 1, (lua_Integer)i);
    luaL_checktype(L, -1, LUA_TTABLE);
    add_generated(L, *box);
    lua_settop(L, 2);
  }
  const char *block = llmprof_spool_generated_block(*box, &size, &err);
  if (!block) return llmprof_lua_fail(L, &err);
  lua_pushlstring(L, block, size);
  return 1;
}

static const luaL_Reg methods[] = {
    {"frame", f_frame},
    {"close", f_close},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", spool_open},
    {"generated", spool_generated},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(spool) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, SPOOL, methods, f_close);
  llmprof_lua_class(L, GENERATED, NULL, g_free);
  luaL_newlib(L, functions);
  return 1;
}
