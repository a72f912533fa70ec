/* Any bytes as text for a terminal. The first byte is a width, the second says
 * where an ellipsis goes and how the text is aligned. */
#include <string.h>

#include "fuzz.h"
#include "take.h"
#include "text/text.h"

static void check_shown(const llmprof_buffer *text, bool lines) {
  for (size_t at = 0; at < text->size;) {
    uint32_t code;
    at += llmprof_utf8_decode(text->bytes + at, text->size - at, &code);
    bool kept = lines && (code == '\n' || code == '\t');
    FUZZ_CHECK(kept || !llmprof_text_is_control(code));
  }
}

static void check_clean(const char *text, size_t size) {
  llmprof_buffer once = {0}, twice = {0};
  llmprof_text_clean(&once, text, size);
  check_shown(&once, false);
  llmprof_text_clean(&twice, once.bytes, once.size);
  FUZZ_CHECK(once.size == twice.size &&
             (!once.size || memcmp(once.bytes, twice.bytes, once.size) == 0));
  llmprof_buffer_clear(&once);
  llmprof_text_clean_lines(&once, text, size);
  check_shown(&once, true);
  llmprof_buffer_clear(&once);
  llmprof_text_repair(&once, text, size);
  if (llmprof_text_is_sound(text, size)) FUZZ_CHECK(once.size == size);
  llmprof_buffer_free(&once);
  llmprof_buffer_free(&twice);
}

static void check_widths(const char *text, size_t size) {
  size_t total = 0;
  for (size_t at = 0; at < size;) {
    size_t width, took = llmprof_text_cluster(text + at, size - at, &width);
    FUZZ_CHECK(took);
    at += took;
    FUZZ_CHECK(at <= size);
    total += width;
  }
  FUZZ_CHECK(llmprof_text_width(text, size) == total);
}

static void check_fitting(const char *text, size_t size, size_t columns,
                          uint8_t how) {
  llmprof_buffer out = {0};
  llmprof_text_truncate(&out, text, size, columns,
                        how & 1 ? LLMPROF_END : LLMPROF_MIDDLE);
  FUZZ_CHECK(llmprof_text_width(out.bytes, out.size) <= columns);
  llmprof_buffer_clear(&out);
  llmprof_text_pad(&out, text, size, columns, (llmprof_align)(how % 2));
  FUZZ_CHECK(out.size >= size);
  llmprof_buffer_free(&out);
}

static void check_wrap(const char *text, size_t size, size_t columns) {
  size_t at = 0, before = 0;
  llmprof_slice line;
  while (llmprof_text_wrap(text, size, columns, &at, &line)) {
    FUZZ_CHECK(at > before && at <= size);
    FUZZ_CHECK(line.bytes >= text && line.bytes + line.size <= text + size);
    before = at;
  }
}

static void check_program(const char *text, size_t size) {
  llmprof_buffer name = {0}, out = {0};
  llmprof_buffer_add(&name, text, size);
  llmprof_buffer_putc(&name, '\0');
  llmprof_text_program(&out, name.bytes);
  FUZZ_CHECK(!out.size || !memchr(out.bytes, '/', out.size));
  FUZZ_CHECK(!out.size || !memchr(out.bytes, '=', out.size));
  llmprof_buffer_free(&name);
  llmprof_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  taken input = {bytes, size};
  size_t columns = take_byte(&input), left;
  uint8_t how = take_byte(&input);
  char *text = take_rest(&input, &left);
  check_clean(text, left);
  check_widths(text, left);
  check_fitting(text, left, columns, how);
  check_wrap(text, left, columns);
  check_program(text, left);
  free(text);
  return 0;
}
