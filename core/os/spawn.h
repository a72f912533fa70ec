/* Child processes: start a program from an argv array and see it through.
 *
 * A child runs in a process group of its own, with stdin from /dev/null, no
 * descriptor of ours beyond stdout and stderr, every signal at its default
 * and none blocked. No shell is ever involved.
 *
 * Start one, pump it until it is done (or wait, which pumps), free it:
 *
 *   llmprof_spawn *child = llmprof_spawn_start(argv, &options, &err);
 *   if (child && llmprof_spawn_wait(child, &result, &err)) ...
 *   llmprof_spawn_free(child);
 *
 * Several may run at once. Time limits and line delivery happen while pumping
 * only; signals are forwarded always.
 *
 * Signals. The program's handler of SIGINT, SIGTERM and SIGHUP asks
 * llmprof_spawn_signalled() first, which sends the signal on to the group of
 * every child at once; the children then have their grace period to end before
 * they are killed, and their results say which signal it was. What it knows is
 * the only state shared between children: start, pump and free them from one
 * thread, and block the three signals in others. */
#ifndef LLMPROF_SPAWN_H
#define LLMPROF_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "llmprof/error.h"

typedef struct llmprof_spawn llmprof_spawn;

typedef enum llmprof_stream {
  LLMPROF_STDOUT,
  LLMPROF_STDERR,
} llmprof_stream;

enum {
  LLMPROF_STREAMS = 2,
  LLMPROF_LINE_MAX = 1024 * 1024, /* longer lines come in pieces */
};

/* A line of output, without its end: "\n", "\r\n", "\r" (a progress bar's
 * step) or that of the output; or a piece of a line that is longer. Bytes are
 * valid during the call only, and not NUL-terminated. */
typedef struct llmprof_line {
  llmprof_stream stream;
  const char *bytes;
  size_t size;
} llmprof_line;

/* Return false to stop the child as llmprof_spawn_stop does; no more lines
 * are delivered then. The callback must not pump, wait for, stop or free the
 * child whose line it got. */
typedef bool (*llmprof_line_function)(void *user, const llmprof_line *line);

/* Where a stream goes. Neither: to the line callback if there is one, else to
 * /dev/null. */
typedef struct llmprof_output {
  /* Created or emptied (mode 0644 less the umask); gets the exact
   * bytes, also when there is a line callback. Relative to our working
   * directory, not to the child's. */
  const char *path;
  /* The child writes to our own stdout or stderr; path and the callback get
   * nothing of it. */
  bool inherit;
} llmprof_output;

/* An environment variable to set, or with value NULL to remove. */
typedef struct llmprof_variable {
  const char *name; /* not empty, no '=' */
  const char *value;
} llmprof_variable;

typedef struct llmprof_spawn_options {
  llmprof_output output[LLMPROF_STREAMS];
  llmprof_line_function on_line; /* may be NULL */
  void *user;                    /* for on_line */

  /* Changes to our environment for the child, no name twice. */
  const llmprof_variable *variables;
  size_t variable_count;
  const char *cwd; /* NULL: ours */

  /* From the start until SIGTERM is sent to the group; 0: no limit. */
  int64_t timeout_ns;
  /* From SIGTERM (or a forwarded signal) until SIGKILL is sent to the group;
   * 0: LLMPROF_GRACE_NS, negative: none. */
  int64_t grace_ns;
  /* When the child has exited, end what is left of its group the same way, in
   * LLMPROF_GRACE_NS at most.
   * Also done by itself after a time-out, a forwarded signal or a stop. */
  bool kill_group;
  /* The same for what has left the group: processes of the child with a
   * session of their own, daemons. Until the child's end orphans below us
   * become our children, and the child has the variable LLMPROF_RUN_MARK with
   * a value that cannot be guessed; by that they are known. An orphan of
   * another child that runs meanwhile counts as this one's. */
  bool kill_orphans;
  /* That value: of llmprof_spawn_mark, NULL for a new one. */
  const char *mark;
  /* A signal that we get is not sent on: the grace period begins, and the
   * owner ends the child in its own way until it is over. */
  bool hold_signals;
  /* A program of ours that works for us alone and must not outlive us: it gets
   * SIGTERM when the thread that started it ends, however that happens. */
  bool helper;
} llmprof_spawn_options;

#define LLMPROF_GRACE_NS INT64_C(5000000000)

/* The variable that marks a child's processes. */
#define LLMPROF_RUN_MARK "LLMPROF_RUN_MARK"

enum {
  LLMPROF_MARK_SIZE = 33, /* of a mark, with its NUL */
  LLMPROF_ORPHANS_MAX = 32,
  LLMPROF_ORPHAN_NAME = 32,
};

/* A process that had left the child's group and outlived the child. */
typedef struct llmprof_orphan {
  pid_t pid;
  char name[LLMPROF_ORPHAN_NAME]; /* any bytes, as the system has it, cut */
  bool lives;                     /* it could not be ended */
} llmprof_orphan;

typedef struct llmprof_spawn_result {
  pid_t pid;
  int code;        /* exit code; -1 when a signal ended it */
  int signal;      /* 0 when it exited */
  bool timed_out;  /* the time-out ended it */
  int interrupted; /* the signal that we got while it ran, 0: none */
  /* From the start until the end was noticed, which is when it happened if
   * the child was being pumped. */
  int64_t wall_ns;
  /* With kill_orphans: the first of those that there were. */
  llmprof_orphan orphans[LLMPROF_ORPHANS_MAX];
  size_t orphan_count;
} llmprof_spawn_result;

/* Start argv[0], which is looked up in the child's PATH unless it contains a
 * '/'; relative paths count from the child's working directory. argv ends in
 * NULL; neither it nor the options are used after the call. NULL on failure:
 *   NOTFOUND     no such program, or no such working directory
 *   DENIED       it is a folder, not executable, or not accessible
 *   UNSUPPORTED  not a format the system can run
 *   SYNTAX       empty argv or program name, broken variable name
 *   LIMIT        arguments too long, or more than 256 children at once
 *   IO, NOMEM    */
llmprof_spawn *llmprof_spawn_start(const char *const *argv,
                                   const llmprof_spawn_options *options,
                                   llmprof_error *err);

/* Deliver what is there and see to time limits; if there is nothing, wait for
 * something up to timeout_ns (negative: for ever). 1 while it runs, 0 when it
 * has ended and everything is delivered.
 *
 * -1 when it has ended and something failed on our side meanwhile (a log
 * could not be written, memory ran out): that stops the child, and what came
 * until then is delivered.
 *
 * A child that exits while a process it started keeps its output open is done
 * when all it wrote is delivered and a quarter of a second has passed. */
int llmprof_spawn_pump(llmprof_spawn *child, int64_t timeout_ns,
                       llmprof_error *err);

/* Pump to the end. False as pump's -1; *result is filled in either case, as
 * often as asked. */
bool llmprof_spawn_wait(llmprof_spawn *child, llmprof_spawn_result *result,
                        llmprof_error *err);

/* SIGTERM to the group, SIGKILL after the grace period; wait. On a child that
 * has ended the same as wait. */
bool llmprof_spawn_stop(llmprof_spawn *child, llmprof_spawn_result *result,
                        llmprof_error *err);

/* In a signal handler: send the signal on. Does a child's result tell of it?
 * False where there is none, and when a signal comes again before any child has
 * been pumped since, so that a program that hangs elsewhere can be ended. */
bool llmprof_spawn_signalled(int number);

/* Has it not exited yet? Delivers nothing, waits for nothing. */
bool llmprof_spawn_running(const llmprof_spawn *child);
pid_t llmprof_spawn_pid(const llmprof_spawn *child);

/* The signal that we got while it ran, as far as pumped; 0: none. */
int llmprof_spawn_interrupted(const llmprof_spawn *child);

/* Send a signal to its group; NOTFOUND when it has ended. */
bool llmprof_spawn_signal(llmprof_spawn *child, int number, llmprof_error *err);

/* Kill its group if it still runs, reap it, drop what is not delivered. NULL
 * is fine. */
void llmprof_spawn_free(llmprof_spawn *child);

/* A new mark, which nobody can guess. */
bool llmprof_spawn_mark(char mark[LLMPROF_MARK_SIZE], llmprof_error *err);

/* Kill what an owner that is gone has left of a child with this mark. Returns
 * how many of them are in `orphans`. What we are below is not ours to end: with
 * the mark in our own environment nothing is done. */
size_t llmprof_spawn_end_left(const char *mark,
                              llmprof_orphan orphans[LLMPROF_ORPHANS_MAX]);

/* Replace what `path` holds by the absolute path of the program that `name`
 * would start here; errors as llmprof_spawn_start. */
bool llmprof_spawn_which(const char *name, llmprof_buffer *path,
                         llmprof_error *err);

#endif
