/* Which file a cache is of, and what it held: two keys that are equal are of
 * the same contents. Private to the cache module. */
#ifndef LLMPROF_CACHE_KEY_H
#define LLMPROF_CACHE_KEY_H

#include <stdbool.h>
#include <stdint.h>

/* No padding. A write that keeps size and mtime still sets ctime, which no
 * program can choose. The exception is a write through a mapping, which may set
 * no time until it is flushed. */
typedef struct llmprof_cache_key {
  uint64_t device, inode, size;
  int64_t changed, status_changed; /* ns since 1970 */
} llmprof_cache_key;

enum {
  LLMPROF_CACHE_NAME = 32 /* characters */
};

/* False when the file cannot be read, is no regular file, or may still be
 * changing without a trace of it in its times. */
bool llmprof_cache_key_of(const char *path, llmprof_cache_key *key);

/* Is the file still the one of the key, by what the system says of it? */
bool llmprof_cache_key_holds(const char *path, const llmprof_cache_key *key);

/* What files are called that are of this path: hexadecimal, with a NUL. False
 * when it does not exist or memory is out. */
bool llmprof_cache_name(const char *path, char name[LLMPROF_CACHE_NAME + 1]);

#endif
