#include "text/path.h"

#include <stdio.h>

#include "text/lex.h"

typedef struct cut_text {
  char *at;
  size_t left; /* with room for the NUL */
} cut_text;

static void put(cut_text *out, const char *text) {
  while (*text && out->left > 1) *out->at++ = *text++, out->left--;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_identifier(const char *key, size_t size) {
  if (!size || size > LLMPROF_LEX_QUOTED / 2 || !is_letter(*key)) return false;
  for (size_t i = 1; i < size; i++) {
    if (!is_letter(key[i]) && (key[i] < '0' || key[i] > '9')) return false;
  }
  return true;
}

static void put_index(cut_text *out, size_t index) {
  char text[24];
  snprintf(text, sizeof text, "[%zu]", index);
  put(out, text);
}

static void put_key(cut_text *out, const llmprof_path *path) {
  char quoted[LLMPROF_LEX_QUOTED];
  llmprof_lex_quote(quoted, path->key, path->size);
  if (is_identifier(path->key, path->size)) {
    quoted[path->size + 1] = '\0'; /* without the quotes */
    if (path->up) put(out, ".");
    put(out, quoted + 1);
    return;
  }
  put(out, "[");
  put(out, quoted);
  put(out, "]");
}

static void put_path(cut_text *out, const llmprof_path *path) {
  if (path->up) put_path(out, path->up);
  if (path->key)
    put_key(out, path);
  else
    put_index(out, path->index);
}

const char *llmprof_path_text(const llmprof_path *path, char *out,
                              size_t room) {
  cut_text text = {out, room};
  if (path)
    put_path(&text, path);
  else
    put(&text, "top level");
  *text.at = '\0';
  return out;
}

bool llmprof_path_fail(llmprof_error *err, llmprof_code code, const char *what,
                       const llmprof_path *path) {
  char where[512];
  return llmprof_fail(err, code, "%s at %s", what,
                      llmprof_path_text(path, where, sizeof where));
}
