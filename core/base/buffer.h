/* A growing byte buffer. Zero-initialise it ({0}); free with
 * llmprof_buffer_free. Appends after a failed one are ignored and `failed`
 * stays set, so a writer checks once, at the end. */
#ifndef LLMPROF_BUFFER_H
#define LLMPROF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct llmprof_buffer {
  char *bytes; /* NUL-terminated once anything was appended; else NULL */
  size_t size; /* without the NUL */
  size_t cap;
  bool failed; /* an allocation failed */
} llmprof_buffer;

/* Append `size` bytes, a string, a character, a character `count` times, or
 * what printf would print. */
void llmprof_buffer_add(llmprof_buffer *buf, const void *bytes, size_t size);
void llmprof_buffer_puts(llmprof_buffer *buf, const char *text);
void llmprof_buffer_putc(llmprof_buffer *buf, char c);
void llmprof_buffer_fill(llmprof_buffer *buf, char c, size_t count);
void llmprof_buffer_printf(llmprof_buffer *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Empty it and forget a failure; free gives the memory back too. Either leaves
 * a buffer that can be used again. */
void llmprof_buffer_clear(llmprof_buffer *buf);
void llmprof_buffer_free(llmprof_buffer *buf);

#endif
