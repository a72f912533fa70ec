/* llmprof.rules: what a text is of, by the first of a list of patterns that is
 * found in it.
 *
 *   local known = assert(rules.new { { "gemm", 1, "whole" },
 *                                    { "^copy", 2, "function" } })
 *   local number = known:find "void gemm_kernel<float>(int)"
 *   rules.number(kernels, "name", known, "kind")
 */
#include "llmprof/rules.h"

#include "frame.h"

#define RULES "llmprof.rules"

/* What lies in a userdata; rules: NULL when closed. */
typedef struct known {
  llmprof_rules *rules;
  llmprof_text_memo memo;
} known;

static int close_rules(lua_State *L) {
  known *k = luaL_checkudata(L, 1, RULES);
  llmprof_rules_free(k->rules);
  llmprof_text_memo_free(&k->memo);
  k->rules = NULL;
  return 0;
}

static known *check_rules(lua_State *L, int arg) {
  known *k = luaL_checkudata(L, arg, RULES);
  luaL_argcheck(L, k->rules, arg, RULES " is closed");
  return k;
}

/* Raises unless the list on top of the stack is { pattern, number, view }. */
static bool add_rule(lua_State *L, llmprof_rules *rules, llmprof_error *err) {
  static const char *const views[] = {"text", "whole", "function", NULL};
  luaL_argcheck(L, lua_istable(L, -1), 1, "a list of lists");
  int rule = lua_gettop(L);
  lua_geti(L, rule, 1);
  lua_geti(L, rule, 2);
  lua_geti(L, rule, 3);
  size_t size;
  const char *pattern = luaL_checklstring(L, rule + 1, &size);
  lua_Integer number = luaL_checkinteger(L, rule + 2);
  luaL_argcheck(L, number >= 0 && number < UINT32_MAX - 1, 1,
                "numbers from 0 on");
  int view = luaL_checkoption(L, rule + 3, "text", views);
  lua_settop(L, rule - 1);
  return llmprof_rules_add(rules, pattern, size, (llmprof_rule_view)view,
                           (uint32_t)number, err);
}

/* rules.new(list) -> rules | nil, message, code
 * list: of { pattern (Lua's, without references to captures), number, view
 * ("text": all of a text, the default; of a kernel's name in lower case
 * "whole", the name without parameters, or "function", the function's own) } */
static int rules_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  known *k = lua_newuserdatauv(L, sizeof *k, 0);
  *k = (known){0};
  luaL_setmetatable(L, RULES);
  llmprof_error err;
  k->rules = llmprof_rules_new();
  if (!k->rules) return llmprof_fail_nomem(&err), llmprof_lua_fail(L, &err);
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, 1, i);
    if (!add_rule(L, k->rules, &err)) return llmprof_lua_fail(L, &err);
  }
  return 1;
}

/* rules:find(text) -> the number of the first rule that is found in it, or nil
 */
static int f_find(lua_State *L) {
  const known *k = check_rules(L, 1);
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  uint32_t number = llmprof_rules_find(k->rules, text, size);
  if (number == UINT32_MAX)
    lua_pushnil(L);
  else
    lua_pushinteger(L, number);
  return 1;
}

static uint32_t number_text(const void *rules, const char *text, size_t size) {
  return llmprof_rules_find(rules, text, size);
}

/* rules.number(frame, column, rules, name [, mark]) -> the frame, with one
 * column more: of each text in that column what rules:find() says; with a
 * number to mark, 1 where it is that one and 0 where it is another. Texts of a
 * trace are told once, however often they are asked about. */
static int rules_number(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  size_t column = llmprof_lua_check_column(L, frame, 2);
  known *k = check_rules(L, 3);
  const char *name = luaL_checkstring(L, 4);
  lua_Integer mark = luaL_optinteger(L, 5, 0);
  luaL_argcheck(L, mark >= 0 && mark < UINT32_MAX - 1, 5, "a number from 0 on");
  llmprof_lua_check_new(L, frame, name);
  const llmprof_text_telling telling = {number_text, k->rules, &k->memo,
                                        !lua_isnoneornil(L, 5), (uint32_t)mark};
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_number(frame, column, &telling, name, &err), &err);
}

static const luaL_Reg methods[] = {
    {"find", f_find},
    {"close", close_rules},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"new", rules_new},
    {"number", rules_number},
    {NULL, NULL},
};

int luaopen_llmprof_rules(lua_State *L);
int luaopen_llmprof_rules(lua_State *L) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, RULES, methods, close_rules);
  luaL_newlib(L, functions);
  return 1;
}
