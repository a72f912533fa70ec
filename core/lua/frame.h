/* Frames and intervals as userdata, for the modules that make them. */
#ifndef LLMPROF_LUA_FRAME_H
#define LLMPROF_LUA_FRAME_H

#include "llmprof/frame.h"
#include "llmprof_lua.h"

/* Push an empty frame box that keeps the value at `owner` alive (its user
 * value 1; user value 2 is for what is added to the frame later); the caller
 * stores the frame into it. */
llmprof_frame **llmprof_lua_new_frame(lua_State *L, int owner);

/* Register the classes; idempotent. */
void llmprof_lua_frame_classes(lua_State *L);

/* The frame; raises when it, or what it was made from, is closed. */
llmprof_frame *llmprof_lua_check_frame(lua_State *L, int arg);

/* The number of the column named at `index`; raises when there is none. */
size_t llmprof_lua_check_column(lua_State *L, llmprof_frame *frame, int index);

/* Push zeroed memory for the length of one call, in a box that frees it also
 * when the call raises. */
void *llmprof_lua_scratch(lua_State *L, size_t count, size_t size);

/* Column numbers of the list at `list`, in a box left on the stack. */
size_t *llmprof_lua_check_columns(lua_State *L, llmprof_frame *frame, int list,
                                  size_t *count);

/* The methods of core/lua/query.c and core/lua/frame_make.c. */
extern const luaL_Reg llmprof_lua_query_methods[];
extern const luaL_Reg llmprof_lua_make_methods[];

#endif
