/* llmprof.digest: SHA-256 and Base64.
 *
 *   local sum = digest.sha256 "abc"
 *   print(#sum, digest.base64(sum):sub(1, 8))     --> 32  ungWv48B
 */
#include "text/digest.h"

#include "lua_buffer.h"

/* digest.sha256(bytes) -> the 32 bytes of the digest */
static int digest_sha256(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  unsigned char digest[LLMPROF_SHA256_SIZE];
  llmprof_sha256(bytes, size, digest);
  lua_pushlstring(L, (const char *)digest, sizeof digest);
  return 1;
}

/* digest.base64(bytes) -> text */
static int digest_base64(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  llmprof_base64(buf, bytes, size);
  if (buf->failed) return llmprof_lua_raise_nomem(L);
  return llmprof_lua_text(L, true, buf, NULL);
}

static const luaL_Reg functions[] = {
    {"base64", digest_base64},
    {"sha256", digest_sha256},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(digest, functions)
