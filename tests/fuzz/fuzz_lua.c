/* What is written in Lua, as the program has it: $LLMPROF_FUZZ_LUA names a
 * script (see tests/fuzz/lua), which leaves a function `fuzz`; it is given the
 * bytes. What it raises is a finding, and so is a loop without end.
 *
 * Lua's interpreter is the same code for every line: which lines follow which
 * is counted here, and libFuzzer is told. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "llmprof/alloc.h"
#include "llmprof_lua.h"
#include "resources.h"

#define BOOT "lua/llmprof/boot.lua"

enum {
  PLACES = 1 << 16,     /* counters, a power of two */
  SOURCES = 1 << 10,    /* names of files that are known */
  MOST_LINES = 1 << 26, /* in one call: some 10 s */
};

/* Only one of each name: libFuzzer finds them by their section. */
__attribute__((
    used,
    section("__libfuzzer_extra_counters"))) static uint8_t counters[PLACES];

static lua_State *state;
static uint8_t ever[PLACES]; /* was it counted at any time? */
static uint32_t before;      /* the last line */
static uint32_t lines;       /* of this call */

/* ---- counting ---- */

/* The name of a source, at a place that stays, as a number that is the same in
 * every process. */
static uint32_t number_of(const char *source) {
  static struct {
    const char *source;
    uint32_t number;
  } known[SOURCES];
  size_t at = ((uintptr_t)source >> 4) % SOURCES;
  if (known[at].source != source) {
    uint32_t number = 2166136261u;
    for (const char *c = source; *c; c++)
      number = (number ^ (unsigned char)*c) * 16777619u;
    known[at].source = source;
    known[at].number = number;
  }
  return known[at].number;
}

static void count_line(lua_State *L, lua_Debug *line) {
  lua_getinfo(L, "S", line);
  uint32_t place = number_of(line->source) ^
                   (uint32_t)line->currentline * UINT32_C(2654435761);
  uint32_t pair = ((place ^ before) >> 8) % PLACES;
  before = place >> 1;
  if (counters[pair] < UINT8_MAX) counters[pair]++;
  ever[pair] = 1;
  if (++lines > MOST_LINES) luaL_error(L, "more than %d lines", MOST_LINES);
}

/* ---- the state ---- */

static void *allocate(void *unused, void *block, size_t old, size_t size) {
  (void)unused;
  (void)old;
  if (size) return llmprof_resize(block, size, 1);
  llmprof_free(block);
  return NULL;
}

static int trace_of(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

/* Call what is below `count` arguments on the stack; what it raises ends all.
 */
static void call(int count, int results) {
  int base = lua_gettop(state) - count;
  lua_pushcfunction(state, trace_of);
  lua_insert(state, base);
  int status = lua_pcall(state, count, results, base);
  if (status != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(state, -1));
    abort();
  }
  lua_remove(state, base);
}

/* As the program starts, with `llmprof exec SCRIPT`. */
static void boot(const char *script) {
  const llmprof_resource *found = llmprof_resource_find(BOOT);
  FUZZ_CHECK(found);
  size_t size = (size_t)(found->end - found->begin);
  FUZZ_CHECK(luaL_loadbuffer(state, found->begin, size, "@" BOOT) == LUA_OK);
  lua_pushliteral(state, "llmprof");
  lua_pushliteral(state, "exec");
  lua_pushstring(state, script);
  call(3, 1);
  FUZZ_CHECK(lua_tointeger(state, -1) == 0);
  lua_settop(state, 0);
}

/* libFuzzer's own count of edges is of C. What the script made is removed. */
static void finish(void) {
  size_t count = 0;
  lua_close(state);
  for (size_t i = 0; i < PLACES; i++) count += ever[i];
  fprintf(stderr, "stat::pairs_of_lua_lines:       %zu\n", count);
}

static void start(void) {
  const char *script = getenv("LLMPROF_FUZZ_LUA");
  state = lua_newstate(allocate, NULL);
  FUZZ_CHECK(script && state && atexit(finish) == 0);
  luaL_openlibs(state);
  llmprof_lua_preload(state);
  boot(script);
  FUZZ_CHECK(lua_getglobal(state, "fuzz") == LUA_TFUNCTION);
}

/* The function stays at the bottom of the stack. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (!state) start();
  lua_sethook(state, count_line, LUA_MASKLINE, 0);
  before = lines = 0;
  lua_pushvalue(state, 1);
  lua_pushlstring(state, (const char *)bytes, size);
  call(1, 0);
  lua_sethook(state, NULL, 0, 0);
  return 0;
}
