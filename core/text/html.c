#include "text/text.h"

static const char *entity_of(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return NULL;
  }
}

/* Bytes at the start of `text` that mean nothing. */
static size_t run_of(const char *text, size_t size) {
  size_t at = 0;
  while (at < size && !entity_of(text[at])) at++;
  return at;
}

bool llmprof_text_is_html(const char *text, size_t size) {
  return run_of(text, size) == size && llmprof_text_is_plain(text, size, false);
}

static void escape(llmprof_buffer *out, const char *text, size_t size) {
  for (size_t at = 0; at < size; at++) {
    size_t run = run_of(text + at, size - at);
    llmprof_buffer_add(out, text + at, run);
    at += run;
    if (at < size) llmprof_buffer_puts(out, entity_of(text[at]));
  }
}

void llmprof_text_html(llmprof_buffer *out, const char *text, size_t size) {
  llmprof_buffer clean = {0};
  if (llmprof_text_is_plain(text, size, false)) {
    escape(out, text, size);
    return;
  }
  llmprof_text_clean(&clean, text, size);
  if (clean.failed)
    out->failed = true;
  else
    escape(out, clean.bytes, clean.size);
  llmprof_buffer_free(&clean);
}
