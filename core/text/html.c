#include "text/text.h"

#include <limits.h>

void llmprof_text_html(llmprof_buffer *out, const char *text, size_t size) {
  static const char *const entities[UCHAR_MAX + 1] = {['&'] = "&amp;",
                                                      ['<'] = "&lt;",
                                                      ['>'] = "&gt;",
                                                      ['"'] = "&quot;",
                                                      ['\''] = "&#39;"};
  llmprof_buffer clean = {0};
  llmprof_text_clean(&clean, text, size);
  out->failed |= clean.failed;
  for (size_t i = 0; i < clean.size; i++) {
    const char *entity = entities[(unsigned char)clean.bytes[i]];
    if (entity)
      llmprof_buffer_puts(out, entity);
    else
      llmprof_buffer_putc(out, clean.bytes[i]);
  }
  llmprof_buffer_free(&clean);
}
