/* A full collection that a signal ends. One call of Lua's own runs to its end,
 * seconds where a comparison holds gigabytes, and no instruction of a script is
 * run meanwhile that could notice. */
#include "base/interrupt.h"
#include "llmprof_lua.h"

/* To the end of the cycle that is under way; false when it was interrupted, or
 * when nothing can be collected here: in a finalizer. */
static bool finish_cycle(lua_State *L) {
  int ended = 0;
  while (ended == 0 && !llmprof_interrupted()) ended = lua_gc(L, LUA_GCSTEP, 0);
  return ended > 0;
}

/* Generational steps have no end of a cycle to wait for. Of a cycle that is
 * under way the first call makes the end: what was found to be in use by it may
 * not be any more. */
void llmprof_lua_collect(lua_State *L) {
  int mode = lua_gc(L, LUA_GCINC, 0, 0, 0);
  bool done = finish_cycle(L) && finish_cycle(L);
  if (done && mode == LUA_GCGEN) lua_gc(L, LUA_GCGEN, 0, 0);
}
