/* A full collection takes away what a script dropped; a signal in the middle of
 * it ends it within a step. Blocks are counted, not time. */
#include <lauxlib.h>
#include <stdlib.h>

#include "base/interrupt.h"
#include "llmprof_lua.h"
#include "support.h"

enum {
  TABLES = 200000,
  DROPPED = TABLES / 10 * 9,
  SIGNAL_AT = 1000, /* blocks that were freed when the signal comes */
  A_STEP = 1 << 16  /* blocks that one step frees at most */
};

typedef struct heap {
  size_t freed;
  bool signals; /* does one come? */
} heap;

static void *allocate(void *user, void *block, size_t old, size_t size) {
  heap *h = user;
  if (size) return realloc(block, size);
  if (block && ++h->freed == SIGNAL_AT && h->signals) llmprof_interrupt(true);
  free(block);
  return NULL;
}

/* A state that has dropped many tables, none of which was collected. Some are
 * in use still: up to the first of these Lua frees in one go. */
static lua_State *with_garbage(heap *h) {
  lua_State *L = lua_newstate(allocate, h);
  assert_non_null(L);
  lua_gc(L, LUA_GCSTOP);
  lua_newtable(L);
  for (int i = 0; i < TABLES; i++) {
    lua_newtable(L);
    if (i % 10 == 0) lua_rawseti(L, 1, i / 10 + 1);
    lua_settop(L, 1);
  }
  h->freed = 0;
  return L;
}

TEST(takes_all) {
  heap h = {0};
  lua_State *L = with_garbage(&h);
  llmprof_lua_collect(L);
  assert_true(h.freed >= DROPPED);
  lua_close(L);
}

/* What became garbage while a cycle was under way goes, too. */
TEST(takes_what_a_cycle_has_seen) {
  heap h = {0};
  lua_State *L = lua_newstate(allocate, &h);
  assert_non_null(L);
  lua_createtable(L, TABLES, 0);
  for (int i = 1; i <= TABLES; i++) {
    lua_newtable(L);
    lua_rawseti(L, -2, i);
  }
  lua_gc(L, LUA_GCSTOP);
  for (int i = 0; i < 8; i++) assert_int_equal(lua_gc(L, LUA_GCSTEP, 0), 0);
  lua_pop(L, 1);
  h.freed = 0;
  llmprof_lua_collect(L);
  assert_true(h.freed >= TABLES);
  lua_close(L);
}

TEST(a_signal_ends_it) {
  heap h = {.signals = true};
  lua_State *L = with_garbage(&h);
  llmprof_lua_collect(L);
  assert_true(llmprof_interrupted());
  assert_true(h.freed >= SIGNAL_AT && h.freed < SIGNAL_AT + A_STEP);
  h.freed = 0;
  llmprof_lua_collect(L);
  assert_int_equal(h.freed, 0);
  h.signals = false;
  llmprof_interrupt(false);
  lua_close(L);
}

TEST(generations_stay) {
  heap h = {0};
  lua_State *L = with_garbage(&h);
  lua_gc(L, LUA_GCGEN, 0, 0);
  lua_newtable(L);
  lua_pop(L, 1);
  llmprof_lua_collect(L);
  assert_true(h.freed >= DROPPED);
  assert_int_equal(lua_gc(L, LUA_GCGEN, 0, 0), LUA_GCGEN);
  lua_close(L);
}

static int collect(lua_State *L) {
  llmprof_lua_collect(L);
  lua_pushboolean(L, true);
  lua_setglobal(L, "came_back");
  return 0;
}

/* Where nothing can be collected it ends as well. */
TEST(a_finalizer_may_ask) {
  heap h = {0};
  lua_State *L = with_garbage(&h);
  lua_gc(L, LUA_GCRESTART);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
  llmprof_lua_collect(L);
  assert_int_equal(lua_getglobal(L, "came_back"), LUA_TBOOLEAN);
  lua_close(L);
}
