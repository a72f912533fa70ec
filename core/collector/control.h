/* The socket to llmprof: lines both ways. Without one everything here does
 * nothing. */
#ifndef LLMPROF_COLLECTOR_CONTROL_H
#define LLMPROF_COLLECTOR_CONTROL_H

#include <stdbool.h>

/* Connect to LLMPROF_COLLECTOR_SOCKET's path. False: errno says why. */
bool control_open(const char *path);
void control_close(void);

/* A line, its newline left out. Any thread. */
__attribute__((format(printf, 1, 2))) void control_say(const char *format, ...);

/* Is somebody there? */
bool control_connected(void);

/* What was asked for of units last, once: whether one is to `begin` or to
 * `end`. */
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
} control_word;

/* Take what has come: lines of the plan, `go`, `begin`, `end`, `stop`. */
control_word control_poll(void);

void control_forget(void);

#endif
