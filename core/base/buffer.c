#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Make room for `extra` bytes and a NUL behind those that are there. False: the
 * buffer failed, now or before. */
static bool reserve(llmprof_buffer *buf, size_t extra) {
  if (buf->failed) return false;
  if (buf->cap - buf->size > extra) return true;
  if (extra > SIZE_MAX - buf->size - 1 ||
      !llmprof_grow(&buf->bytes, &buf->cap, buf->size + extra + 1, 1)) {
    buf->failed = true;
    return false;
  }
  return true;
}

void llmprof_buffer_add(llmprof_buffer *buf, const void *bytes, size_t size) {
  if (!reserve(buf, size)) return;
  if (size) memcpy(buf->bytes + buf->size, bytes, size);
  buf->size += size;
  buf->bytes[buf->size] = '\0';
}

void llmprof_buffer_puts(llmprof_buffer *buf, const char *text) {
  llmprof_buffer_add(buf, text, strlen(text));
}

void llmprof_buffer_putc(llmprof_buffer *buf, char c) {
  if (!reserve(buf, 1)) return;
  buf->bytes[buf->size++] = c;
  buf->bytes[buf->size] = '\0';
}

void llmprof_buffer_fill(llmprof_buffer *buf, char c, size_t count) {
  if (!reserve(buf, count)) return;
  memset(buf->bytes + buf->size, c, count);
  buf->size += count;
  buf->bytes[buf->size] = '\0';
}

void llmprof_buffer_printf(llmprof_buffer *buf, const char *fmt, ...) {
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int size = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (size < 0) {
    buf->failed = true;
  } else if (reserve(buf, (size_t)size)) {
    vsnprintf(buf->bytes + buf->size, (size_t)size + 1, fmt, again);
    buf->size += (size_t)size;
  }
  va_end(again);
}

void llmprof_buffer_clear(llmprof_buffer *buf) {
  buf->size = 0;
  buf->failed = false;
  if (buf->bytes) buf->bytes[0] = '\0';
}

void llmprof_buffer_free(llmprof_buffer *buf) {
  llmprof_free(buf->bytes);
  *buf = (llmprof_buffer){0};
}
