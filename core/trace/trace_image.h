/* A trace as arrays with names, so that they can be put away and be had back
 * without the file that they were read from. Private to the core.
 *
 * What lies on a shelf is used where it lies and never written to: the trace
 * does not own it. Before an array is first used the shelf is asked whether it
 * is as it was put away, and then whether its values are of a trace (row
 * numbers of rows that are there); if not, nothing more is taken from the
 * shelf, and the trace is read from its file. */
#ifndef LLMPROF_TRACE_IMAGE_H
#define LLMPROF_TRACE_IMAGE_H

#include "llmprof/trace_builder.h"

typedef struct llmprof_array {
  const char *name;
  const void *data;
  size_t size; /* bytes */
} llmprof_array;

typedef struct llmprof_shelf {
  void *user;
  /* The array as it lies there, aligned for any number; NULL: there is none. */
  const void *(*find)(void *user, const char *name, size_t *size);
  bool (*is_sound)(void *user, const char *name);
  void (*close)(void *user);
} llmprof_shelf;

/* The trace of a file, from what lies on a shelf; the reader opens the file
 * when something else is needed. NULL, with the shelf as it was, when there is
 * no trace on it, or one of another reader. On success the shelf is the
 * trace's. */
llmprof_trace *llmprof_trace_from_shelf(
    const char *path, llmprof_shelf shelf,
    const llmprof_reader *(*reader_named)(const char *name));

/* Give a trace that was read a shelf, which is closed with it; NULL: take it
 * away, unclosed. */
void llmprof_trace_set_shelf(llmprof_trace *trace, const llmprof_shelf *shelf);

/* The shelf, or NULL. */
const llmprof_shelf *llmprof_trace_shelf(const llmprof_trace *trace);

/* Bytes that are in memory now and did not come from the shelf. */
size_t llmprof_trace_unshelved(const llmprof_trace *trace);

/* Everything to put away, one array after the other; false as soon as `put` is,
 * or when out of memory. */
typedef bool (*llmprof_array_put)(void *user, const llmprof_array *array);
bool llmprof_trace_put_away(llmprof_trace *trace, llmprof_array_put put,
                            void *user);

#endif
