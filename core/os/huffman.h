/* Huffman codes as RFC 1951 wants them: of limited length, and told by their
 * lengths alone. Private to the core. */
#ifndef LLMPROF_HUFFMAN_H
#define LLMPROF_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

enum {
  LLMPROF_HUFFMAN_SYMBOLS = 288,
  LLMPROF_HUFFMAN_LONGEST = 15,
};

/* Codes with their first bit lowest, as they are written; length 0: none. */
typedef struct llmprof_huffman {
  uint16_t code[LLMPROF_HUFFMAN_SYMBOLS];
  uint8_t length[LLMPROF_HUFFMAN_SYMBOLS];
} llmprof_huffman;

/* Codes of at most `longest` bits for `count` symbols that come so often each.
 * At least two symbols get a code, so that the code is complete. */
void llmprof_huffman_make(llmprof_huffman *huffman, const uint32_t *often,
                          size_t count, int longest);

#endif
