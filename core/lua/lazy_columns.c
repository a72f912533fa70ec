/* Columns that are made when they are first looked at:
 *
 *   frame:lazy({ { name = "rep", type = "integer" } }, function(frame)
 *     return ... -- a frame of as many rows with a column "rep"
 *   end)
 *
 * The function runs on a thread of its own, since the caller is in C. */
#include <string.h>

#include "base/alloc.h"
#include "frame.h"

/* What the stack of the thread of a lazy column holds. */
enum {
  MAKE = 1, /* the function, */
  FRAME,    /* the frame, */
  MADE,     /* and, from the first look on, what was made */
};

/* The function that makes lazy columns when one is first used. */
typedef struct lazy_columns {
  lua_State *thread;
  llmprof_frame *made;
  bool running;
} lazy_columns;

/* ---- keeping it ---- */

/* Message handler: what was raised as text, after a mark of its kind. */
static int describe(lua_State *T) {
  bool interrupted = false;
  if (lua_istable(T, 1)) {
    lua_getfield(T, 1, "kind");
    const char *kind = lua_tostring(T, -1);
    interrupted = kind && strcmp(kind, "interrupted") == 0;
  }
  lua_pushstring(T, interrupted ? "i" : "f");
  luaL_tolstring(T, 1, NULL);
  lua_concat(T, 2);
  return 1;
}

static bool fail_raised(lua_State *T, llmprof_error *err) {
  const char *said = lua_tostring(T, -1);
  bool interrupted = said && said[0] == 'i';
  llmprof_fail(err, interrupted ? LLMPROF_INTERRUPTED : LLMPROF_UNSUPPORTED,
               "%s", said && said[0] ? said + 1 : "a column was not made");
  return false;
}

/* Protected: the function and the frame give the frame that is made. */
static int call_maker(lua_State *T) {
  llmprof_frame *frame = llmprof_lua_check_frame(T, 2);
  lua_pushvalue(T, 2);
  lua_insert(T, 1); /* frame, function, frame */
  lua_call(T, 1, 1);
  llmprof_frame *made = llmprof_lua_check_frame(T, 2);
  if (llmprof_frame_rows(made) != llmprof_frame_rows(frame))
    luaL_error(T, "lazy columns of another number of rows");
  return 1;
}

/* Call the function; the frame that it makes stays on the thread's stack, which
 * keeps it. */
static bool make(lazy_columns *p, llmprof_error *err) {
  lua_State *T = p->thread;
  if (p->made) return true;
  if (p->running)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED, "a column needs itself");
  if (!lua_checkstack(T, 8)) return llmprof_fail_nomem(err);
  p->running = true;
  lua_pushcfunction(T, describe);
  lua_pushcfunction(T, call_maker);
  lua_pushvalue(T, MAKE);
  lua_pushvalue(T, FRAME);
  bool ok = lua_pcall(T, 2, 1, MADE) == LUA_OK;
  p->running = false;
  if (!ok) fail_raised(T, err);
  lua_replace(T, MADE); /* the handler */
  if (ok) p->made = *(llmprof_frame **)lua_touserdata(T, MADE);
  lua_settop(T, ok ? MADE : FRAME);
  return ok;
}

/* A column is that of a frame that was made for it. */
static bool take_made(llmprof_frame *made, llmprof_column *column,
                      llmprof_error *err) {
  size_t number = llmprof_frame_find(made, column->name);
  if (number == SIZE_MAX)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED, "no column '%s' was made",
                        column->name);
  const llmprof_column *from = llmprof_frame_column(made, number, err);
  if (!from) return false;
  if (from->type == LLMPROF_U32 && column->type == LLMPROF_I64)
    column->type = LLMPROF_U32; /* integers all the same */
  if (from->type != column->type)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "column '%s' is of another type", column->name);
  column->values = from->values;
  column->strings = llmprof_column_strings(made, from);
  return true;
}

static bool load_lazy(llmprof_frame *frame, llmprof_column *column, void *user,
                      llmprof_error *err) {
  (void)frame;
  lazy_columns *p = user;
  return make(p, err) && take_made(p->made, column, err);
}

/* ---- giving it ---- */

/* The declaration on top of the stack. */
static void add_lazy(lua_State *L, llmprof_frame *frame, lazy_columns *p) {
  if (!lua_istable(L, -1)) luaL_error(L, "a list of columns expected");
  const char *name = llmprof_lua_opt_string(L, -1, "name", NULL);
  const char *type = llmprof_lua_opt_string(L, -1, "type", "integer");
  const char *unit = llmprof_lua_opt_string(L, -1, "unit", NULL);
  if (!name) luaL_error(L, "a column has a name");
  llmprof_lua_check_new(L, frame, name);
  llmprof_column column = {.name = name,
                           .type = llmprof_lua_column_type(L, name, type)};
  if (unit) {
    char *kept = llmprof_strdup(unit);
    if (!kept || !llmprof_frame_own(frame, kept)) llmprof_lua_raise_nomem(L);
    column.unit = kept;
  }
  if (!llmprof_frame_add(frame, &column, load_lazy, p))
    llmprof_lua_raise_nomem(L);
}

/* Push a thread with the function at 3 and the frame at 1. */
static lua_State *new_thread(lua_State *L) {
  lua_State *thread = lua_newthread(L);
  lua_pushvalue(L, 3);
  lua_pushvalue(L, 1);
  lua_xmove(L, thread, FRAME);
  return thread;
}

/* frame:lazy(columns, make) -> the frame, with columns { name, type, unit }
 * that are those of make(frame), called when one of them is first looked at;
 * its frame has as many rows */
static int f_lazy(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 3);
  lazy_columns *p = lua_newuserdatauv(L, sizeof *p, 1); /* 4 */
  *p = (lazy_columns){0};
  p->thread = new_thread(L);
  lua_setiuservalue(L, 4, 1);
  llmprof_lua_keep_with(L, 1);
  lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    add_lazy(L, frame, p);
    lua_pop(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

const luaL_Reg llmprof_lua_lazy_methods[] = {
    {"lazy", f_lazy},
    {NULL, NULL},
};
