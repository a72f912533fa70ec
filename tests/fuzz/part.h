/* How much of a trace is read for one input: all of it, or, much faster, the
 * one part that a byte names. */
#ifndef FUZZ_PART_H
#define FUZZ_PART_H

#include <stdint.h>

#include "llmprof/readers.h"
#include "read_export.h"

enum {
  FUZZ_ALL = 0 /* else a part, counted from 1 */
};

static inline size_t fuzz_part(uint32_t byte) {
  return byte % (read_parts() + 1);
}

static inline bool fuzz_read(llmprof_trace *trace, size_t part,
                             llmprof_error *err) {
  return part == FUZZ_ALL ? read_trace(trace, err)
                          : read_part(trace, part - 1, err);
}

static inline bool fuzz_read_export(const char *path, size_t part,
                                    llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  bool ok = trace && fuzz_read(trace, part, err);
  llmprof_trace_close(trace);
  return ok;
}

#endif
