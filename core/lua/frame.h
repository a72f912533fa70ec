/* Frames as userdata, for the modules that make them. */
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

#endif
