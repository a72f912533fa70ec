/* Intervals as userdata, for the modules that make them. */
#ifndef LLMPROF_LUA_INTERVALS_H
#define LLMPROF_LUA_INTERVALS_H

#include "frame/interval.h"
#include "llmprof_lua.h"

/* Push an empty set for the caller to fill; its memory is the userdata's. */
llmprof_intervals *llmprof_lua_new_intervals(lua_State *L);

/* The set at `arg`; raises when it is none. */
llmprof_intervals *llmprof_lua_check_intervals(lua_State *L, int arg);

/* Register the class; idempotent. */
void llmprof_lua_interval_classes(lua_State *L);

#endif
