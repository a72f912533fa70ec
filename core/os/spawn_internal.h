/* Shared by the spawn*.c files. */
#ifndef LLMPROF_SPAWN_INTERNAL_H
#define LLMPROF_SPAWN_INTERNAL_H

#include <poll.h>
#include <signal.h>

#include "os/spawn.h"

/* ---- spawn_signals.c: the signals we forward ---- */

enum {
  SPAWN_SIGNALS = 3
};

/* One child's part in it. */
typedef struct spawn_watch {
  int slot;                     /* -1: not registered */
  unsigned seen[SPAWN_SIGNALS]; /* how many of each it knows of */
} spawn_watch;

/* Block the signals so that none falls between the child's start and its
 * registration: then llmprof_spawn_watch_group, or _end if there is no child,
 * and llmprof_spawn_watch_unblock. False: too many children. */
bool llmprof_spawn_watch_begin(spawn_watch *watch, sigset_t *mask);
void llmprof_spawn_watch_unblock(const sigset_t *mask);

/* Forward to this group from now on. */
void llmprof_spawn_watch_group(spawn_watch *watch, pid_t group);

/* The child was reaped: its number means nothing any more; go on counting. */
void llmprof_spawn_watch_reaped(spawn_watch *watch);

/* Stop. Returns as _check, so that no signal is lost. May be repeated. */
int llmprof_spawn_watch_end(spawn_watch *watch);

/* As end, when nobody will hear of a signal: it is raised again. */
void llmprof_spawn_watch_abandon(spawn_watch *watch);

/* A signal that came since the last call; 0: none. */
int llmprof_spawn_watch_check(spawn_watch *watch);

/* As poll, in nanoseconds (negative: for ever); returns at once, or with
 * EINTR, when a signal has come that check has not reported. */
int llmprof_spawn_watch_poll(const spawn_watch *watch, struct pollfd *fds,
                             nfds_t count, int64_t timeout_ns);

/* ---- spawn_lines.c: one stream's way from the pipe ---- */

typedef struct spawn_stream {
  llmprof_stream which;
  int pipe;   /* our end; -1 when it does not come through us, or has ended */
  int file;   /* -1: none */
  char *path; /* of the file, for messages */
  llmprof_buffer held; /* the start of a line */
  bool carriage;       /* a "\r" came last: a "\n" that follows is its own */
  size_t owed;         /* bytes that must be read although time is up */
} spawn_stream;

/* What both streams of a child feed. */
typedef struct spawn_sink {
  llmprof_line_function on_line; /* NULL: no (more) lines */
  void *user;
  char *chunk; /* SPAWN_CHUNK bytes to read into; NULL without pipes */
  bool stop;   /* the callback or a failure wants the child stopped */
  bool failed; /* and why, the first time: */
  llmprof_error failure;
} spawn_sink;

enum {
  SPAWN_CHUNK = 64 * 1024
};

/* Note a failure on our side; the first counts. */
void llmprof_spawn_fail(spawn_sink *sink, const llmprof_error *err);

/* Read once, at most a chunk: to the file, then as lines. Closes the pipe at
 * its end. False when there was nothing to read yet. */
bool llmprof_spawn_stream_read(spawn_stream *stream, spawn_sink *sink);

/* Deliver what is held: nothing more will come. */
void llmprof_spawn_stream_flush(spawn_stream *stream, spawn_sink *sink);

/* Close and free everything. */
void llmprof_spawn_stream_close(spawn_stream *stream);

/* ---- spawn_orphans.c: processes that left the child's group ---- */

typedef struct process_stat {
  pid_t pid, parent, group;
  char state;
  char name[LLMPROF_ORPHAN_NAME];
  unsigned long long started; /* clock ticks since boot */
} process_stat;

/* For each process, with its number in /proc. False: /proc is not there. */
typedef void process_visitor(void *user, const char *number,
                             const process_stat *stat);
bool llmprof_spawn_each_process(process_visitor *visit, void *user);

/* A zombie, or less. */
bool llmprof_spawn_is_dead(const process_stat *stat);

typedef struct spawn_orphan {
  llmprof_orphan told;
  unsigned long long started; /* its number may be given again */
  int sent;                   /* the last signal that it got from us */
} spawn_orphan;

/* One child's part in it; zeroed at first. */
typedef struct spawn_orphans {
  struct spawn_orphans *next;
  pid_t child; /* until it is reaped */
  pid_t group;
  /* NAME=VALUE; "": not looked for */
  char mark[sizeof LLMPROF_RUN_MARK + LLMPROF_MARK_SIZE];
  int was_reaper;
  spawn_orphan list[LLMPROF_ORPHANS_MAX];
  size_t count;
} spawn_orphans;

/* They are to be looked for: make a mark for the child's environment. */
bool llmprof_spawn_orphans_prepare(spawn_orphans *orphans, const char *mark,
                                   llmprof_error *err);

/* From before the child's start until its handle is done with; every child,
 * also where they are not looked for, since it is none itself. */
void llmprof_spawn_orphans_begin(spawn_orphans *orphans);
void llmprof_spawn_orphans_end(spawn_orphans *orphans);

/* Send a signal, 0 for none, to those that have not had it. Does one live? */
bool llmprof_spawn_orphans_signal(spawn_orphans *orphans, int number);

/* Let go of those that have ended by themselves. */
void llmprof_spawn_orphans_reap(const spawn_orphans *orphans);

/* ---- spawn_child.c: getting the program to run ---- */

/* Open the outputs, find the program, start it, with the mark of the orphans in
 * its environment. On success the child's group is registered in *watch. On
 * failure nothing runs, and the caller closes the streams and ends the watch.
 */
bool llmprof_spawn_launch(const char *const *argv,
                          const llmprof_spawn_options *options,
                          const spawn_orphans *orphans,
                          spawn_stream streams[LLMPROF_STREAMS],
                          spawn_watch *watch, pid_t *pid, llmprof_error *err);

#endif
