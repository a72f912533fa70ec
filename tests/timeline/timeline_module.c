/* test_timeline: the reader of timelines as text, for specs. Requiring it is
 * all: from then on trace.open takes such files. */
#include <lauxlib.h>
#include <lua.h>

#include "llmprof/readers.h"
#include "timeline_reader.h"

int luaopen_test_timeline(lua_State *L);
int luaopen_test_timeline(lua_State *L) {
  llmprof_error err;
  if (!llmprof_reader_add(&timeline_reader, &err))
    return luaL_error(L, "%s", err.message);
  lua_pushstring(L, timeline_reader.name);
  return 1;
}
