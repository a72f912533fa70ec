#include "lua_buffer.h"

#define BUFFER "llmprof.buffer"

static int buffer_close(lua_State *L) {
  llmprof_buffer_free(luaL_checkudata(L, 1, BUFFER));
  return 0;
}

llmprof_buffer *llmprof_lua_buffer(lua_State *L) {
  llmprof_lua_class(L, BUFFER, NULL, buffer_close);
  llmprof_buffer *buf = lua_newuserdatauv(L, sizeof *buf, 0);
  *buf = (llmprof_buffer){0};
  luaL_setmetatable(L, BUFFER);
  return buf;
}

int llmprof_lua_text(lua_State *L, bool ok, llmprof_buffer *buf,
                     const llmprof_error *err) {
  if (ok) lua_pushlstring(L, buf->bytes ? buf->bytes : "", buf->size);
  llmprof_buffer_free(buf);
  return ok ? 1 : llmprof_lua_fail(L, err);
}
