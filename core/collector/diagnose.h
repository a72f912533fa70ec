/* What went wrong, as lines of the spool: the collector prints nothing. */
#ifndef LLMPROF_COLLECTOR_DIAGNOSE_H
#define LLMPROF_COLLECTOR_DIAGNOSE_H

#include <stdint.h>

#include "collector/spool.h"

/* Any thread. code: one word for programs. */
__attribute__((format(printf, 3, 4))) void
diagnose(spool_severity severity, const char *code, const char *format, ...);

/* Only for the writer. */
void diagnose_drops(spool_lost what, uint64_t count);

/* The entry of a diagnostic in a log, for the writer: severity is its value,
 * then code and text follow, each with its NUL. */

#endif
