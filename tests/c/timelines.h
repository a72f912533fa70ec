/* Traces of a few lines, read by tests/timeline. */
#ifndef TEST_TIMELINES_H
#define TEST_TIMELINES_H

#include "llmprof/readers.h"
#include "support.h"

/* A trace of the lines of a timeline; the caller closes it. Fails the test on
 * error. */
llmprof_trace *test_timeline(const char *lines);

/* Processes 100 and 200 and their threads, as settings. */
#define P1  "100"
#define T11 "101 pid=" P1
#define P2  "200"
#define T21 "201 pid=" P2

#define TIMELINE "timeline\n"

/* A line each. */
#define KERNEL(start, end, pid, correlation) \
  "kernel " #start " " #end " pid=" pid " call=" #correlation "\n"
#define CALL(start, end, thread, correlation) \
  "call " #start " " #end " thread=" thread " id=" #correlation "\n"
#define RANGE(start, end, thread, text) \
  "range " #start " " #end " thread=" thread " " text "\n"

#endif
