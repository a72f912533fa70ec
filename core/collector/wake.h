/* Between the writer and everybody else: it sleeps, is woken, and says when
 * all that was asked for is in the file. */
#ifndef LLMPROF_COLLECTOR_WAKE_H
#define LLMPROF_COLLECTOR_WAKE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum wake_task {
  WAKE_NONE,
  WAKE_FLUSH,  /* write what there is */
  WAKE_FINISH, /* write everything and end the file */
} wake_task;

void wake_init(void);

/* From any thread, and from a signal's handler. */
void wake_writer(void);

/* Ask the writer, and wait up to this number of seconds until it has done it.
 * The reason stands at the file's end. From a signal's handler, too. */
bool wake_ask(wake_task task, const char *reason, double seconds);

/* Wait without asking: false once the time is over or `stop` is true. */
bool wake_pause(double seconds, bool (*stop)(void));

/* ---- for the writer ---- */

/* Sleep until woken or for so long; the greatest task asked for. */
wake_task wake_sleep(double seconds);
const char *wake_reason(void);

/* The task that wake_sleep gave is done. */
void wake_done(void);

/* The file has its end: nobody waits any more. */
void wake_finished(void);
bool wake_is_over(void);

#endif
