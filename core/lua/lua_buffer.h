/* A byte buffer that Lua's collector owns: what a binding lets the core fill,
 * so that nothing leaks when a push raises. */
#ifndef LLMPROF_LUA_BUFFER_H
#define LLMPROF_LUA_BUFFER_H

#include "base/buffer.h"
#include "llmprof_lua.h"

/* Push an empty buffer. */
llmprof_buffer *llmprof_lua_buffer(lua_State *L);

/* Push the buffer's bytes as a string and free them, or fail. Returns the
 * number of results. */
int llmprof_lua_text(lua_State *L, bool ok, llmprof_buffer *buf,
                     const llmprof_error *err);

#endif
