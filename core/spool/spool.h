/* What a spool of the collector holds besides a timeline (which readers.h
 * opens): units, counters of launches, diagnostics. */
#ifndef LLMPROF_SPOOL_H
#define LLMPROF_SPOOL_H

#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "llmprof/trace.h"

typedef struct llmprof_spool llmprof_spool;

/* NULL on failure, as for a trace. */
llmprof_spool *llmprof_spool_open(const char *path, llmprof_error *err);
void llmprof_spool_close(llmprof_spool *spool); /* NULL is fine */

/* A frame by name, in the order of the file; NULL on failure (NOTFOUND: no such
 * frame). The spool must outlive it. Times are ns, as in the trace of the same
 * file; what was not recorded is absent.
 *
 * units     pid, unit (number), type ("plain", "timeline", "counters",
 *           "other", "operators"), name, tid, start, end
 * counters  a row for each launch whose counters were wanted: pid, launch,
 *           device, context, stream, correlation, tid, grid_x, ..., block_z,
 *           ranges (outermost first, one a line; the last may be "CUDA graph
 *           N"), passes, error (0: measured), source ("collector"), name (of
 *           the kernel in full; "range" of a graph), whole (1: of a graph); and
 *           a real column for each metric, in base units: byte, s, Hz
 * metrics   name: of those columns
 * diagnostics
 *           code (a word for programs), text: what the collector said */
llmprof_frame *llmprof_spool_frame(llmprof_spool *spool, const char *name,
                                   llmprof_error *err);

/* A line of source, 0: not known; a generated one needs no function. module:
 * the torch module that it ran for, NULL: the one around. */
typedef struct llmprof_spool_line {
  const char *file, *function, *module;
  uint32_t line;
} llmprof_spool_line;

/* What lines of files that torch.compile generated were made of, to be put
 * behind a recording, as a block for all processes in it. */
typedef struct llmprof_spool_generated llmprof_spool_generated;

llmprof_spool_generated *llmprof_spool_generated_new(void); /* or NULL */
void llmprof_spool_generated_free(llmprof_spool_generated *made);

/* lines[0] was made of the others, outermost first. False when out of
 * memory. */
bool llmprof_spool_generated_add(llmprof_spool_generated *made,
                                 const llmprof_spool_line *lines, size_t count);

/* The block, which lives as long as `made`, and its size; NULL on failure
 * (LIMIT: a block holds less). Once, at the end. */
const void *llmprof_spool_generated_block(llmprof_spool_generated *made,
                                          size_t *size, llmprof_error *err);

/* The units of operators alone as a trace, which a spool that is opened as one
 * leaves out: a range around each operator of the framework, and what these
 * launched. NULL on failure, as for a trace. */
llmprof_trace *llmprof_spool_operators(const char *path, llmprof_error *err);

#endif
