/* A snapshot of a trace: arrays with names, which a cache store holds, so that
 * the trace can be opened without reading its file again. Private to the core.
 *
 * Arrays are used in place and never written to: the store owns them. Before
 * an array is first used the store checks that its bytes are as they were
 * written, and the trace that its values are possible (row numbers of rows that
 * there are); if not, nothing more is taken from the store, and the trace is
 * read from its file. */
#ifndef LLMPROF_TRACE_SNAPSHOT_H
#define LLMPROF_TRACE_SNAPSHOT_H

#include "llmprof/trace_builder.h"

typedef struct llmprof_array {
  const char *name;
  const void *data;
  size_t size; /* bytes */
} llmprof_array;

typedef struct llmprof_cache_store {
  void *user;
  /* The array as it lies there, aligned for any number; NULL: there is none. */
  const void *(*find)(void *user, const char *name, size_t *size);
  bool (*is_sound)(void *user, const char *name);
  void (*close)(void *user);
} llmprof_cache_store;

/* The trace of a file, from what lies on a cache store; the reader opens the
 * file when something else is needed. NULL, with the store as it was, when
 * there is no trace on it, or one of another reader. On success the store is
 * the trace's. */
llmprof_trace *llmprof_trace_from_cache(
    const char *path, llmprof_cache_store store,
    const llmprof_reader *(*reader_named)(const char *name));

/* Give a trace that was read a cache store, which is closed with it; NULL: take
 * it away, unclosed. */
void llmprof_trace_set_cache_store(llmprof_trace *trace,
                                   const llmprof_cache_store *store);

/* The store, or NULL. */
const llmprof_cache_store *
llmprof_trace_cache_store(const llmprof_trace *trace);

/* Bytes that are in memory now and did not come from the store. */
size_t llmprof_trace_unshelved(const llmprof_trace *trace);

/* Gives every array of the snapshot to `put`, one after the other; false as
 * soon as `put` is, or when out of memory. */
typedef bool (*llmprof_array_put)(void *user, const llmprof_array *array);
bool llmprof_trace_serialise(llmprof_trace *trace, llmprof_array_put put,
                             void *user);

#endif
