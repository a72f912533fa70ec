/* A file of named arrays: a header, the arrays, each aligned and with a
 * checksum, and a directory of them. It is of one build on one machine, so
 * numbers lie in it as in memory. Private to the cache module. */
#ifndef LLMPROF_CACHE_FILE_H
#define LLMPROF_CACHE_FILE_H

#include "cache/cache_key.h"
#include "llmprof/error.h"
#include "os/fs_temp_file.h"

enum {
  LLMPROF_CACHE_ENTRY_NAME = 64, /* bytes, its NUL included */
  LLMPROF_CACHE_ENTRIES = 4096,  /* at most */
};

typedef struct llmprof_cache_entry {
  char name[LLMPROF_CACHE_ENTRY_NAME];
  uint64_t offset, size, sum;
} llmprof_cache_entry;

/* ---- reading ---- */

/* All zero: nothing is open. */
typedef struct llmprof_cache_file {
  const unsigned char *bytes; /* mapped */
  size_t size;
  const llmprof_cache_entry *entries;
  size_t count;
} llmprof_cache_file;

/* The file, if it can be trusted: this user's own, of nobody else to read or
 * write, no link, of this build and of this key, with a directory that is
 * whole. Else false, with nothing open. It counts as used now. */
bool llmprof_cache_file_open(llmprof_cache_file *file, const char *path,
                             const llmprof_cache_key *key);
void llmprof_cache_file_close(llmprof_cache_file *file);

/* The array, aligned for any number, unchecked; NULL: there is none. */
const void *llmprof_cache_file_find(const llmprof_cache_file *file,
                                    const char *name, size_t *size);

/* Is it there, and as it was written? */
bool llmprof_cache_file_is_sound(const llmprof_cache_file *file,
                                 const char *name);

/* ---- writing ---- */

typedef struct llmprof_cache_writer {
  fs_temp_file temp_file;
  uint64_t at, most; /* bytes that were, and may be, written */
  llmprof_cache_entry *entries;
  size_t count, cap;
  llmprof_error *err; /* filled by the first failure */
} llmprof_cache_writer;

/* LIMIT: it would have more than `most` bytes. What was opened is finished or
 * discarded; false: nothing is open. */
bool llmprof_cache_writer_open(llmprof_cache_writer *writer, const char *path,
                               uint64_t most, llmprof_error *err);
bool llmprof_cache_writer_put(llmprof_cache_writer *writer, const char *name,
                              const void *data, size_t size);
bool llmprof_cache_writer_finish(llmprof_cache_writer *writer,
                                 const llmprof_cache_key *key);
void llmprof_cache_writer_discard(llmprof_cache_writer *writer);

#endif
