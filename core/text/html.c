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

void llmprof_text_html(llmprof_buffer *out, const char *text, size_t size) {
  llmprof_buffer clean = {0};
  llmprof_text_clean(&clean, text, size);
  out->failed |= clean.failed;
  for (size_t i = 0; i < clean.size; i++) {
    const char *entity = entity_of(clean.bytes[i]);
    if (entity)
      llmprof_buffer_puts(out, entity);
    else
      llmprof_buffer_putc(out, clean.bytes[i]);
  }
  llmprof_buffer_free(&clean);
}
