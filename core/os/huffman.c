#include "os/huffman.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A symbol that comes, or a node above two others. */
typedef struct node {
  uint64_t often;
  uint16_t symbol;
  uint16_t parent;
} node;

static int by_frequency(const void *a, const void *b) {
  const node *x = a, *y = b;
  if (x->often != y->often) return x->often < y->often ? -1 : 1;
  return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* Those that come, the rarest first, and further ones until there are two. */
static size_t list_symbols(node *nodes, const uint32_t *often, size_t count) {
  size_t used = 0;
  for (size_t s = 0; s < count; s++) {
    if (often[s]) nodes[used++] = (node){often[s], (uint16_t)s, 0};
  }
  for (size_t s = 0; used < 2; s++) {
    if (!often[s]) nodes[used++] = (node){0, (uint16_t)s, 0};
  }
  qsort(nodes, used, sizeof *nodes, by_frequency);
  return used;
}

/* Joins the two rarest until one is left: leaves are sorted, and so are the
 * nodes that are made behind them. Returns the root. */
static size_t join(node *nodes, size_t leaves) {
  size_t leaf = 0, made = leaves, end = leaves;
  while (end < 2 * leaves - 1) {
    node *joined = &nodes[end];
    joined->often = 0;
    for (int i = 0; i < 2; i++) {
      bool is_leaf = leaf < leaves &&
                     (made == end || nodes[leaf].often <= nodes[made].often);
      node *rarest = &nodes[is_leaf ? leaf++ : made++];
      rarest->parent = (uint16_t)end;
      joined->often += rarest->often;
    }
    end++;
  }
  return end - 1;
}

/* How many leaves lie at each depth; what is deeper than `longest` counts
 * there. */
static void count_depths(const node *nodes, size_t leaves, size_t root,
                         int longest, uint32_t *at) {
  uint16_t depth[2 * LLMPROF_HUFFMAN_SYMBOLS];
  depth[root] = 0;
  for (size_t i = root; i--;) {
    depth[i] = (uint16_t)(depth[nodes[i].parent] + 1);
    if (i < leaves) at[depth[i] < longest ? depth[i] : longest]++;
  }
}

/* Leaves that were raised took room that a code does not have: as long as it
 * is too full, one of the longest goes below a leaf that is not. */
static void fit(uint32_t *at, int longest) {
  uint64_t room = UINT64_C(1) << longest, taken = 0;
  for (int l = 1; l <= longest; l++) taken += (uint64_t)at[l] << (longest - l);
  for (; taken > room; taken--) {
    int l = longest - 1;
    while (!at[l]) l--;
    at[l]--;
    at[l + 1] += 2;
    at[longest]--;
  }
}

static uint16_t reversed(uint32_t code, int length) {
  uint32_t result = 0;
  for (; length; length--, code >>= 1) result = result << 1 | (code & 1);
  return (uint16_t)result;
}

/* The code is told by its lengths: shorter ones first, then by symbol. */
static void number_codes(llmprof_huffman *h, size_t count, const uint32_t *at) {
  uint32_t next[LLMPROF_HUFFMAN_LONGEST + 2] = {0};
  for (int l = 1; l <= LLMPROF_HUFFMAN_LONGEST; l++)
    next[l + 1] = (next[l] + at[l]) << 1;
  for (size_t s = 0; s < count; s++) {
    int length = h->length[s];
    if (length) h->code[s] = reversed(next[length]++, length);
  }
}

void llmprof_huffman_make(llmprof_huffman *h, const uint32_t *often,
                          size_t count, int longest) {
  node nodes[2 * LLMPROF_HUFFMAN_SYMBOLS];
  uint32_t at[LLMPROF_HUFFMAN_LONGEST + 1] = {0};
  memset(h, 0, sizeof *h);
  size_t leaves = list_symbols(nodes, often, count);
  count_depths(nodes, leaves, join(nodes, leaves), longest, at);
  fit(at, longest);
  size_t leaf = 0;
  for (int l = longest; l; l--) { /* the rarest are the longest */
    for (uint32_t i = 0; i < at[l]; i++)
      h->length[nodes[leaf++].symbol] = (uint8_t)l;
  }
  number_codes(h, count, at);
}
