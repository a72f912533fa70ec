/* The blocks and records of a file of spools. The file may be hostile or still
 * be written to: what is not whole is counted and left. Private to the module.
 */
#ifndef LLMPROF_SPOOL_FILE_H
#define LLMPROF_SPOOL_FILE_H

#include "base/bounds.h"
#include "base/buffer.h"
#include "collector/spool.h"
#include "frame/intern.h"
#include "llmprof/error.h"

/* What keys stand for: records of a key and its number. */
typedef llmprof_intern spool_numbers;

enum {
  SPOOL_MOST_KEY = 16 /* bytes */
};

void spool_numbers_init(spool_numbers *numbers, size_t key_size);
/* The last one of a key stands; false when out of memory. */
bool spool_numbers_set(spool_numbers *numbers, const void *key, uint32_t value);
/* UINT32_MAX, which is no string and no row: it stands for nothing. */
uint32_t spool_numbers_get(const spool_numbers *numbers, const void *key);

/* A block that is whole. */
typedef struct spool_chunk {
  int64_t offset; /* of its records */
  uint32_t length;
  uint32_t section; /* of a block for all processes: its own, from UINT32_MAX
                     * down */
  uint64_t kinds;   /* bit k: it has records of kind k that are read */
} spool_chunk;

/* Keeps a string; its number in *string. False when out of memory. */
typedef bool (*spool_keep_text)(void *user, const char *bytes, size_t size,
                                uint32_t *string);

typedef struct spool_file {
  const char *path; /* borrowed */
  int fd;
  spool_chunk *chunks;
  size_t chunk_count, chunk_cap;
  uint32_t sections;     /* spools: each begins with block 0 */
  uint32_t of_all;       /* blocks of no process */
  uint32_t repeated;     /* times that one was there already: it counts once */
  llmprof_intern firsts; /* checksums of first blocks -> section */
  uint32_t *blocks;      /* by section: how many of it were found */
  size_t blocks_cap;
  uint64_t left;        /* bytes that belong to no whole block */
  unsigned char *bytes; /* records of the block at hand */
  size_t bytes_cap;
  spool_numbers strings; /* by {section, id}: a kept string */
  llmprof_watch watch;
} spool_file;

/* A record, valid until the next. */
typedef struct spool_item {
  uint32_t section;
  uint16_t kind;
  uint16_t fixed;
  uint32_t size;
  const unsigned char *bytes;
} spool_item;

/* Reads all of the file once: which blocks are whole, and strings. UNSUPPORTED:
 * a version that is not known. Close it after a failure, too. */
bool spool_file_open(spool_file *file, const char *path, spool_keep_text keep,
                     void *user, llmprof_error *err);
void spool_file_close(spool_file *file);

/* Each record of these kinds (a bit each), in the order of the file. take fills
 * err in. */
typedef bool (*spool_take)(void *user, const spool_item *item,
                           llmprof_error *err);
bool spool_file_each(spool_file *file, uint64_t kinds, spool_take take,
                     void *user, llmprof_error *err);

/* The string of a number in a section; LLMPROF_NO_STRING: none. */
uint32_t spool_file_string(const spool_file *file, uint32_t section,
                           uint32_t id);

/* The struct of a record, whose size is `size`; zeros where it is shorter. */
void spool_item_get(const spool_item *item, void *into, size_t size);

/* What follows the struct. */
static inline const unsigned char *spool_item_rest(const spool_item *item,
                                                   size_t *size) {
  *size = item->size - item->fixed;
  return item->bytes + item->fixed;
}

#define SPOOL_BIT(kind) (UINT64_C(1) << (kind))

#endif
