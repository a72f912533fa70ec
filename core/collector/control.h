/* The socket to llmprof: lines both ways. Without one everything here does
 * nothing. */
#ifndef LLMPROF_COLLECTOR_CONTROL_H
#define LLMPROF_COLLECTOR_CONTROL_H

#include <stdbool.h>

#include "collector/log.h"

/* Connect to the socket of that path, or to the abstract one "@NAME" where our
 * user or root listens, and say `greeting` now and whenever the
 * connection is made again. False: errno says why. Before the writer runs. */
bool control_open(const char *path, const char *greeting);

/* A line, its newline left out, for the writer to send. Any thread. False:
 * nobody is there, or there was no memory. */
__attribute__((format(printf, 1, 2))) bool control_say(const char *format, ...);

/* Is somebody there? */
bool control_connected(void);

/* The last request about units, which is given once: to `begin` one or to `end`
 * the one that is open. */
typedef enum control_wish {
  WISH_NONE,
  WISH_BEGIN,
  WISH_END,
} control_wish;
control_wish control_wished(void);

/* Say `pause` and wait for `go`, for as long as the plan allows. */
void control_pause(void);

/* ---- for the writer ---- */

typedef enum control_word {
  CONTROL_NONE,
  CONTROL_STOP,
  CONTROL_RECORD, /* into the folder control_folder */
} control_word;

/* Take what has come: lines of the plan, `go`, `begin`, `end`, `stop`. again:
 * where windows are opened from outside, connect again after a while. */
control_word control_poll(bool again);

/* Of the last CONTROL_RECORD. */
const char *control_folder(void);

/* Send a line at once. */
void control_send(const char *line);

/* Send the line of an entry of control_say; false: the entry is another. */
bool control_write(const log_entry *entry);

void control_close(void);
void control_forget(void);

#endif
