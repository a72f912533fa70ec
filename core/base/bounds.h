/* How much what is read may cost, so that a file from elsewhere can neither
 * fill the memory nor keep a machine busy for ever. One set of bounds for the
 * whole process; 0 means none. What goes beyond one fails with LIMIT, and the
 * message names the key that raises it. */
#ifndef LLMPROF_BOUNDS_H
#define LLMPROF_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

typedef enum llmprof_bound {
  LLMPROF_BOUND_ROWS,    /* of one table */
  LLMPROF_BOUND_BYTES,   /* of memory, all allocations together */
  LLMPROF_BOUND_RATIO,   /* of what comes out to what was read: of a packed
                            file, and of ranges around calls */
  LLMPROF_BOUND_SECONDS, /* for one table, query or file */
  LLMPROF_BOUND_THREADS, /* that work at once; as many as processors where there
                            is none, and never an error */
  LLMPROF_BOUNDS,
} llmprof_bound;

/* "limits.rows", ...; NULL for LLMPROF_BOUNDS. */
const char *llmprof_bound_key(llmprof_bound bound);

uint64_t llmprof_bound_get(llmprof_bound bound);
void llmprof_bound_set(llmprof_bound bound, uint64_t value);

/* LIMIT: what is called `name` goes beyond the bound. */
bool llmprof_fail_bound(llmprof_error *err, const char *name,
                        llmprof_bound bound);

/* LIMIT: the text or file called `name` has more than `limit` bytes. */
bool llmprof_fail_size(llmprof_error *err, const char *name, size_t limit);

/* For the allocator: an allocation failed, because of the bound or not. */
void llmprof_bound_note_refused(bool by_us);

/* ---- while something loops ---- */

/* Zero-initialise it; time counts from the first call. */
typedef struct llmprof_watch {
  int64_t started; /* ns of the monotonic clock */
  size_t work;     /* units since the clock was last looked at */
} llmprof_watch;

/* Units of work that were done (a unit takes some ns to us). False when that is
 * to end: INTERRUPTED, or LIMIT for LLMPROF_BOUND_SECONDS. */
bool llmprof_watch_go_on(llmprof_watch *watch, size_t units, const char *name,
                         llmprof_error *err);

/* The same without looking at a count of units. */
bool llmprof_watch_look(llmprof_watch *watch, const char *name,
                        llmprof_error *err);

#endif
