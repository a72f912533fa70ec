/* llmprof.spelling: names of kernels however they are spelt.
 *
 *   local words = spelling.words()
 *   local number = words:number "void f<4, true>(float)"
 *   spelling.number(kernels, "name", words, "word")
 */
#include "llmprof/spelling.h"

#include "frame.h"
#include "llmprof/strings.h"

#define WORDS "llmprof.words"

/* spelling.of(name) -> what is the same for all spellings of the name */
static int spelling_of(lua_State *L) {
  size_t size;
  const char *name = luaL_checklstring(L, 1, &size);
  char word[LLMPROF_SPELLING_MOST];
  lua_pushlstring(L, word, llmprof_spelling(name, size, word));
  return 1;
}

/* ---- words that are known ---- */

/* strings: NULL when closed. */
typedef struct known {
  llmprof_strings *strings;
  llmprof_spelling_begins begins;
} known;

static int close_words(lua_State *L) {
  known *words = luaL_checkudata(L, 1, WORDS);
  llmprof_strings_free(words->strings);
  words->strings = NULL;
  return 0;
}

static known *check_words(lua_State *L, int arg) {
  known *words = luaL_checkudata(L, arg, WORDS);
  luaL_argcheck(L, words->strings, arg, WORDS " is closed");
  return words;
}

/* spelling.words() -> words, none yet */
static int spelling_words(lua_State *L) {
  known *words = lua_newuserdatauv(L, sizeof *words, 0);
  *words = (known){0};
  luaL_setmetatable(L, WORDS);
  words->strings = llmprof_strings_new();
  return words->strings ? 1 : llmprof_lua_raise_nomem(L);
}

/* words:number(name) -> its word's number, from 1 on, which it gets when it has
 * none */
static int f_number(lua_State *L) {
  known *words = check_words(L, 1);
  size_t size;
  uint32_t id;
  const char *name = luaL_checklstring(L, 2, &size);
  char word[LLMPROF_SPELLING_MOST];
  size = llmprof_spelling(name, size, word);
  if (!llmprof_strings_add(words->strings, word, size, &id))
    return llmprof_lua_raise_nomem(L);
  llmprof_spelling_know(&words->begins, word, size);
  lua_pushinteger(L, (lua_Integer)id + 1);
  return 1;
}

static uint32_t number_text(const void *user, const char *text, size_t size) {
  const known *words = user;
  char word[LLMPROF_SPELLING_MOST];
  if (!llmprof_spelling_may_be(&words->begins, text, size)) return UINT32_MAX;
  size = llmprof_spelling(text, size, word);
  uint32_t id = llmprof_strings_find(words->strings, word, size);
  return id == LLMPROF_NO_STRING ? UINT32_MAX : id + 1;
}

/* spelling.number(frame, column, words, name) -> the frame, with one column
 * more: of each text in that column its word's number, absent where that is not
 * known */
static int spelling_number(lua_State *L) {
  llmprof_frame *frame = llmprof_lua_check_frame(L, 1);
  size_t column = llmprof_lua_check_column(L, frame, 2);
  const llmprof_text_telling telling = {.number = number_text,
                                        .user = check_words(L, 3)};
  const char *name = luaL_checkstring(L, 4);
  llmprof_lua_check_new(L, frame, name);
  llmprof_error err;
  return llmprof_lua_changed(
      L, llmprof_frame_number(frame, column, &telling, name, &err), &err);
}

static const luaL_Reg methods[] = {
    {"number", f_number},
    {"close", close_words},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"of", spelling_of},
    {"number", spelling_number},
    {"words", spelling_words},
    {NULL, NULL},
};

int luaopen_llmprof_spelling(lua_State *L);
int luaopen_llmprof_spelling(lua_State *L) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, WORDS, methods, close_words);
  luaL_newlib(L, functions);
  return 1;
}
