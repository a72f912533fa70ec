/* llmprof.classes: what was going on when rows of several kinds overlap.
 *
 *   local calls = require("llmprof.frame").new(2, {
 *     { name = "start", type = "integer", values = { 0, 30 } },
 *     { name = "end", type = "integer", values = { 10, 40 } },
 *     { name = "name", type = "string", values = { "malloc", "launch" } } })
 *   local made = classes.of(calls, "name", { { "launch" }, { "malloc" } })
 *   print(made:within(5, 35))                     --> 5  5
 */
#include "frame/classes.h"

#include <string.h>

#include "frame.h"
#include "intervals.h"

#define CLASSES "llmprof.classes"

LLMPROF_LUA_CLOSE(close_classes, CLASSES, llmprof_classes_free)

/* The classes at `arg`; raises when what they are of is closed. */
static llmprof_classes *check_classes(lua_State *L, int arg) {
  llmprof_classes *classes = llmprof_lua_unbox(L, arg, CLASSES);
  lua_getiuservalue(L, arg, 1);
  llmprof_lua_check_frame(L, lua_gettop(L));
  lua_pop(L, 1);
  return classes;
}

/* The words in the list on top of the stack are of a class. */
static void mark_words(lua_State *L, const llmprof_strings *pool, uint8_t class,
                       uint8_t *class_of) {
  luaL_checktype(L, -1, LUA_TTABLE);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
    size_t size;
    const char *word = lua_tolstring(L, -1, &size);
    uint32_t id = llmprof_strings_find(pool, word, size);
    if (id != LLMPROF_NO_STRING) class_of[id] = class;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* By string of the pool, its class in the list of lists at `arg`; left on the
 * stack. */
static uint8_t *read_words(lua_State *L, int arg, const llmprof_strings *pool,
                           size_t *count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *count = (size_t)lua_rawlen(L, arg);
  luaL_argcheck(L, *count > 0 && *count <= LLMPROF_CLASSES, arg,
                "from 1 to 8 classes");
  size_t strings = llmprof_strings_count(pool);
  uint8_t *class_of = llmprof_lua_scratch(L, strings, sizeof *class_of);
  memset(class_of, LLMPROF_NO_CLASS, strings);
  for (size_t k = 0; k < *count; k++) {
    lua_rawgeti(L, arg, (lua_Integer)k + 1);
    mark_words(L, pool, (uint8_t)k, class_of);
    lua_pop(L, 1);
  }
  return class_of;
}

/* classes.of(frame, word, lists) -> classes of the intervals start..end: those
 * of a class have one of the words of its list in the column `word` */
static int classes_of(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  lua_settop(L, 3);
  llmprof_class_columns columns = {
      .start = llmprof_lua_column_named(L, frame, "start"),
      .end = llmprof_lua_column_named(L, frame, "end"),
      .word = llmprof_lua_check_column(L, frame, 2),
  };
  const llmprof_column *word = llmprof_lua_load_column(L, frame, columns.word);
  luaL_argcheck(L, word->type == LLMPROF_STRING_ID, 2, "a column of strings");
  size_t count;
  const uint8_t *class_of =
      read_words(L, 3, llmprof_column_strings(frame, word), &count);
  void **box = llmprof_lua_box(L, CLASSES, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  llmprof_error err;
  *box = llmprof_classes_new(frame, &columns, class_of, count, &err);
  return *box ? 1 : llmprof_lua_raise(L, &err);
}

/* classes:within(from, to [, busy]) -> ns of each class in [from, to), without
 * those that the intervals `busy` cover */
static int c_within(lua_State *L) {
  const llmprof_classes *classes = check_classes(L, 1);
  int64_t from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
  const llmprof_intervals *busy =
      lua_isnoneornil(L, 4) ? NULL : llmprof_lua_check_intervals(L, 4);
  int64_t totals[LLMPROF_CLASSES];
  llmprof_classes_within(classes, busy, from, to, totals);
  int count = (int)llmprof_classes_count(classes);
  for (int k = 0; k < count; k++) lua_pushinteger(L, totals[k]);
  return count;
}

static const luaL_Reg methods[] = {
    {"within", c_within},
    {"close", close_classes},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"of", classes_of},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(classes) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, CLASSES, methods, close_classes);
  luaL_newlib(L, functions);
  return 1;
}
