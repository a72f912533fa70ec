/* Text of other encodings. */
#ifndef LLMPROF_COLLECTOR_UTF8_H
#define LLMPROF_COLLECTOR_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* A character as UTF-8; returns its bytes, 0 where there is no room. */
static inline size_t put_utf8(char *out, size_t size, uint32_t c) {
  unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  if (more + 1 > size) return 0;
  out[0] = (char)(lead[more] | c >> 6 * more);
  for (unsigned i = 1; i <= more; i++)
    out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
  return more + 1;
}

#endif
