/* Interning fixed-size records: those whose keys, their first bytes, are equal
 * get the same small id; ids count up from 0. Keys must have no padding.
 * Private to the core. */
#ifndef LLMPROF_INTERN_H
#define LLMPROF_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct llmprof_intern {
  size_t record_size, key_size;
  size_t count, cap;
  unsigned char *records; /* record i at records + i * record_size */
  uint32_t *slots;        /* id + 1, or 0; a power of two of them */
  size_t slot_count;
} llmprof_intern;

/* The key is the whole record. */
void llmprof_intern_init(llmprof_intern *table, size_t record_size);
/* The key is the record's first bytes, and what follows may change. */
void llmprof_intern_init_keyed(llmprof_intern *table, size_t record_size,
                               size_t key_size);
void llmprof_intern_free(llmprof_intern *table);

/* The id of the record, or of the one with its key that was added before, in
 * *id; false when out of memory (or of ids). */
bool llmprof_intern_add(llmprof_intern *table, const void *record,
                        uint32_t *id);

/* The same, the record itself, borrowed until the next one is added; NULL when
 * out of memory. */
void *llmprof_intern_put(llmprof_intern *table, const void *record);

/* The record with this key; NULL: none was added. */
void *llmprof_intern_seek(const llmprof_intern *table, const void *key);

/* UINT32_MAX when the record was never added. */
uint32_t llmprof_intern_find(const llmprof_intern *table, const void *record);

/* Record `id`, borrowed until the next add. */
const void *llmprof_intern_get(const llmprof_intern *table, uint32_t id);

/* A hash of bytes, for tables like this one. */
uint64_t llmprof_hash(const void *bytes, size_t size);

#endif
