/* Scrubbing: a copy of an Nsight Systems export that can be handed on. The
 * events stay as they are; what describes the machine and its user goes:
 * environment variables, command lines, output of the processes, names of
 * processes and threads that did nothing in the trace, host and user names,
 * paths, call chains, what tells one GPU from another of its kind. */
#ifndef LLMPROF_SCRUB_H
#define LLMPROF_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

typedef struct llmprof_scrub_report {
  size_t rows;    /* deleted or blanked */
  size_t tables;  /* dropped whole */
  size_t strings; /* no longer referred to, deleted */
} llmprof_scrub_report;

/* Write the scrubbed copy of `from` to `to`, whole or not at all; `from` is
 * not changed and may not be `to` (DENIED). report may be NULL. */
bool llmprof_trace_scrub(const char *from, const char *to,
                         llmprof_scrub_report *report, llmprof_error *err);

#endif
