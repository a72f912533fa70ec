/* Chrome trace event files, as torch.profiler (Kineto) writes them: events one
 * by one, plain or gzip, in memory that does not grow with the file.
 *
 * Both forms are read: a list of events, and an object whose "traceEvents" is
 * that list; what else the object holds is passed over, only balanced, not
 * checked. What writers get wrong is let pass: NaN and Infinity (read as "no
 * value"), a comma after the last event, and what is not UTF-8 (malformed
 * sequences become U+FFFD). An event is at most 16 MiB long and 200 levels
 * deep. */
#ifndef LLMPROF_CHROME_TRACE_H
#define LLMPROF_CHROME_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

/* Strings are borrowed until the next call, NULL where the event has none. A
 * value that is of another type than it should be, or does not fit, is absent:
 * LLMPROF_ABSENT; times may be numbers in quotes. */
typedef struct llmprof_chrome_event {
  const char *phase;    /* "X": complete, "M": metadata, "s", "f": flow, ... */
  const char *category; /* "cpu_op", "kernel", "cuda_runtime", ... */
  const char *name;
  int64_t start, duration; /* ns; exact, however large: not through a double */
  int64_t pid, tid;        /* of a kernel: its device and its stream */
  const char *process;     /* "pid" where it is text, as merging tools write */
  int64_t external_id;     /* args: the operator, or the one that launched it */
  int64_t correlation;     /* args: a call and what it launched share it */
  int64_t device, context, stream;    /* args */
  int64_t bytes;                      /* args: of a copy or a set */
  int64_t registers;                  /* args: of a kernel, per thread */
  int64_t graph_node;                 /* args: "graph node id" */
  int64_t grid[3], block[3];          /* args */
  int64_t memory_device, device_type; /* args of "[memory]": "Device Id", ... */
  int64_t allocated, reserved;        /* args of it: "Total ...", bytes */
  const char *label;                  /* args: "name", of phase "M" */
  const char *group, *group_ranks; /* args: of a collective, its process group:
                                      "Process Group Name", "... Ranks" */
  const char *dtype;               /* args: of its elements, "BFloat16" */
  int64_t elements_in, elements_out; /* args: "In msg nelems", "Out ..." */
  const char *shapes;  /* args: "Input Dims" as JSON on one line */
  size_t line, column; /* where the event begins */
} llmprof_chrome_event;

typedef struct llmprof_chrome llmprof_chrome;

/* NULL on failure. */
llmprof_chrome *llmprof_chrome_open(const char *path, llmprof_error *err);
void llmprof_chrome_close(llmprof_chrome *reader); /* NULL is fine */

/* What of a file could not be read. */
typedef struct llmprof_chrome_damage {
  uint64_t broken; /* events whose text is damaged: they were passed over */
  bool cut;        /* nothing behind the last event could be read */
  char first[200]; /* the first of it: "12:5: what", empty without any */
} llmprof_chrome_damage;

/* 1: *event is filled in, 0: the end, -1: failure: SYNTAX, LIMIT, UNSUPPORTED
 * for an object without "traceEvents". Messages name line and column of the
 * (unpacked) text. What is damaged is passed over: broken events, and, once an
 * event came, all behind a place from which none can be found: then err says
 * what is wrong there. */
int llmprof_chrome_next(llmprof_chrome *reader, llmprof_chrome_event *event,
                        llmprof_chrome_damage *damage, llmprof_error *err);

#endif
