/* Work in parts on several threads, with the same result for any number of
 * them: what each part makes is taken in order. Threads live as long as a call,
 * or until the caller asks what came of it; what they use belongs to the
 * caller. Private to the core. */
#ifndef LLMPROF_CREW_H
#define LLMPROF_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

/* Does part `part`, of those below `parts`; `worker` is below the size of the
 * crew and for one thread at a time, so that a worker may have room of its own.
 * False with err filled ends it all. */
typedef bool (*llmprof_crew_step)(void *user, size_t worker, size_t part,
                                  llmprof_error *err);

typedef struct llmprof_crew {
  size_t parts;
  llmprof_crew_step work; /* several at once, begun in order */
  llmprof_crew_step take; /* after it, one at a time, in order; or NULL */
  void *user;
  size_t ahead; /* 0: whoever did a part takes it, and waits for its turn; else
                   so many parts, LLMPROF_CREW_AHEAD at most, may be begun that
                   were not taken, and whoever comes takes them: what a part
                   made lies in one of so many rooms, part % ahead */
} llmprof_crew;

enum {
  LLMPROF_CREW_AHEAD = 128
};

/* Workers for so many parts: as LLMPROF_BOUND_THREADS says, or as the machine
 * has processors, less those of processes that were forked; 1 within a crew. */
size_t llmprof_crew_size(size_t parts);

/* The caller is worker 0; threads that cannot be started are done without. On
 * failure the error is that of the first part that failed, and nothing that
 * comes after it was taken. Signals are left to the caller's thread. */
bool llmprof_crew_run(const llmprof_crew *crew, size_t size,
                      llmprof_error *err);

/* Does the rows from `first` up to `end`; it cannot fail. */
typedef void (*llmprof_crew_rows_step)(void *user, size_t first, size_t end);

/* All rows, in stretches that begin at multiples of LLMPROF_CREW_ROWS: on
 * several threads where there are many. */
enum {
  LLMPROF_CREW_ROWS = 1 << 16
};
void llmprof_crew_rows(size_t rows, llmprof_crew_rows_step step, void *user);

/* One thing that is done while the caller goes on with others. */
typedef struct llmprof_aside {
  bool (*work)(void *user, llmprof_error *err);
  void *user;
  pthread_t thread; /* these are of the two below */
  bool is_begun, ok;
  llmprof_error error;
} llmprof_aside;

/* On a thread of its own, of those that there may be; without one nothing is
 * done yet. The struct stays where it is until the end, and no process is
 * forked before that. */
void llmprof_aside_begin(llmprof_aside *aside);

/* What it returned, once it is done. */
bool llmprof_aside_end(llmprof_aside *aside, llmprof_error *err);

#endif
