/* llmprof_compile LIST: compile Lua files ahead of time. Each line of LIST is a
 * source, a tab, the name for messages, a tab, where the bytecode goes. Debug
 * information stays, so that errors still name file and line. Built and run
 * while building; installed nowhere. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  LONGEST_LINE = 3 * 4096
};

static int write_part(lua_State *L, const void *bytes, size_t size, void *to) {
  (void)L;
  return fwrite(bytes, 1, size, to) != size;
}

/* Of the function on top of the stack. */
static int dump(lua_State *L, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return luaL_error(L, "%s: cannot be written", path);
  int failed = lua_dump(L, write_part, file, 0);
  failed |= fclose(file) != 0;
  return failed ? luaL_error(L, "%s: cannot be written", path) : 0;
}

static char *read_all(lua_State *L, const char *path, size_t *size) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  FILE *file = fopen(path, "rb");
  if (!file) luaL_error(L, "%s: cannot be read", path);
  size_t count;
  do {
    char *room = luaL_prepbuffer(&text);
    count = fread(room, 1, LUAL_BUFFERSIZE, file);
    luaL_addsize(&text, count);
  } while (count);
  int failed = ferror(file);
  fclose(file);
  if (failed) luaL_error(L, "%s: cannot be read", path);
  luaL_pushresult(&text);
  return (char *)lua_tolstring(L, -1, size);
}

static void compile(lua_State *L, const char *source, const char *name,
                    const char *to) {
  size_t size;
  char *text = read_all(L, source, &size);
  lua_pushfstring(L, "@%s", name);
  if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK)
    lua_error(L);
  dump(L, to);
  lua_settop(L, 1);
}

/* Stack: the list's path. */
static int compile_list(lua_State *L) {
  FILE *list = fopen(lua_tostring(L, 1), "r");
  if (!list) return luaL_error(L, "%s: cannot be read", lua_tostring(L, 1));
  char line[LONGEST_LINE];
  while (fgets(line, sizeof line, list)) {
    char *rest = NULL;
    char *source = strtok_r(line, "\t\n", &rest);
    char *name = strtok_r(NULL, "\t\n", &rest);
    char *to = strtok_r(NULL, "\t\n", &rest);
    if (!to) return luaL_error(L, "a line of the list is not complete");
    compile(L, source, name, to);
  }
  fclose(list);
  return 0;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (!L || argc != 2) return EXIT_FAILURE;
  lua_pushcfunction(L, compile_list);
  lua_pushstring(L, argv[1]);
  int status = lua_pcall(L, 1, 0, 0);
  if (status != LUA_OK) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
