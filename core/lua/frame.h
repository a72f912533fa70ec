/* Frames and intervals as userdata, for the modules that make them. */
#ifndef LLMPROF_LUA_FRAME_H
#define LLMPROF_LUA_FRAME_H

#include "llmprof/frame.h"
#include "llmprof_lua.h"

/* Push an empty frame box that keeps the value at `owner` alive; the caller
 * stores the frame into it. */
llmprof_frame **llmprof_lua_new_frame(lua_State *L, int owner);

/* Register the classes; idempotent. */
void llmprof_lua_frame_classes(lua_State *L);

/* The frame; raises when it, or what it was made from, is closed. */
llmprof_frame *llmprof_lua_check_frame(lua_State *L, int arg);

/* The number of the column that the string at `index` names; raises. */
size_t llmprof_lua_check_column(lua_State *L, llmprof_frame *frame, int index);

/* Push groups by these columns, freed by the collector; raises when out of
 * memory. */
llmprof_groups *llmprof_lua_new_groups(lua_State *L, llmprof_frame *frame,
                                       const size_t *keys, size_t count);

/* Push a box for one block of llmprof_alloc, freed by the collector. */
void **llmprof_lua_scratch(lua_State *L);

#endif
