/* llmprof.lineedit: lines typed at a terminal.
 *
 *   local editor, why = lineedit.open "llmprof"
 *   if not editor then return print(why) end
 *   local line, message, code = editor:read "> "  -- nil alone: end of input
 */
#include "os/lineedit.h"

#include "base/alloc.h"
#include "llmprof_lua.h"

#define EDITOR "llmprof.lineedit.editor"

static llmprof_lineedit *check_editor(lua_State *L) {
  return llmprof_lua_unbox(L, 1, EDITOR);
}

/* lineedit.open(program) -> editor | nil, message, code */
LLMPROF_LUA_OPEN(lineedit_open, EDITOR, 1, llmprof_lineedit_new)

LLMPROF_LUA_CLOSE(f_close, EDITOR, llmprof_lineedit_free)

/* A failure; one by an interrupt is over once it is told. */
static int tell_failure(lua_State *L, const llmprof_error *err) {
  if (err->code == LLMPROF_INTERRUPTED) llmprof_lua_clear_interrupt(L);
  return llmprof_lua_fail(L, err);
}

/* editor:key() -> key, as read() */
static int f_key(lua_State *L) {
  char key[8];
  llmprof_error err;
  llmprof_typed got = llmprof_lineedit_key(check_editor(L), key, &err);
  if (got == LLMPROF_TYPED_FAILED) return tell_failure(L, &err);
  if (got == LLMPROF_TYPED_LINE)
    lua_pushstring(L, key);
  else
    lua_pushnil(L);
  return 1;
}

/* A copy of the string at `index`, NULL for nil. */
static char *copy_string(lua_State *L, int index) {
  const char *text = lua_tostring(L, index);
  return text ? llmprof_strdup(text) : NULL;
}

/* Calls the function in the editor's user value; what it raises is shown. */
static void call_completer(void *user, const char *before,
                           llmprof_completion *completion) {
  lua_State *L = user; /* the one that reads, with the editor at 1 */
  int top = lua_gettop(L);
  if (!lua_checkstack(L, 8)) return;
  lua_getiuservalue(L, 1, 1);
  lua_pushstring(L, before);
  if (lua_pcall(L, 1, 2, 0) == LUA_OK) {
    completion->insert = copy_string(L, -2);
    completion->listing = copy_string(L, -1);
  } else {
    completion->listing = copy_string(L, -1);
  }
  lua_settop(L, top);
}

/* editor:read(prompt) -> line | nil at the end of input | nil, message, code
 * ("interrupted": Ctrl-C) */
static int f_read(lua_State *L) {
  llmprof_lineedit *editor = check_editor(L);
  const char *prompt = luaL_checkstring(L, 2), *line;
  llmprof_error err;
  bool completes = lua_getiuservalue(L, 1, 1) == LUA_TFUNCTION;
  llmprof_lineedit_complete(editor, completes ? call_completer : NULL, L);
  llmprof_typed got = llmprof_lineedit_read(editor, prompt, &line, &err);
  if (got == LLMPROF_TYPED_FAILED) return tell_failure(L, &err);
  if (got == LLMPROF_TYPED_LINE)
    lua_pushstring(L, line);
  else
    lua_pushnil(L);
  return 1;
}

/* editor:complete(f): Tab calls f(line up to the cursor) -> text to insert or
 * nil, lines to show or nil */
static int f_complete(lua_State *L) {
  check_editor(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_setiuservalue(L, 1, 1);
  return 0;
}

/* editor:remember(line): add to the history */
static int f_remember(lua_State *L) {
  if (!llmprof_lineedit_remember(check_editor(L), luaL_checkstring(L, 2)))
    return llmprof_lua_raise_nomem(L);
  return 0;
}

static const luaL_Reg methods[] = {
    {"read", f_read},         {"key", f_key},     {"complete", f_complete},
    {"remember", f_remember}, {"close", f_close}, {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", lineedit_open},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(lineedit) {
  llmprof_lua_class(L, EDITOR, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
