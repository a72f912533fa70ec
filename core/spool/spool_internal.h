/* What the files of the reader share. */
#ifndef LLMPROF_SPOOL_INTERNAL_H
#define LLMPROF_SPOOL_INTERNAL_H

#include "spool/spool_sections.h"
#include "trace/kernel_names.h"

/* An open file, as the reader of a trace has it. */
typedef struct spool_trace {
  llmprof_builder *builder;
  spool_sections sections;
  llmprof_kernel_names names;
  llmprof_intern wrong_ends; /* copies and sets */
  bool has_wrong_ends;       /* they were looked for */
} spool_trace;

/* Lines that a generated one may be made of: as many as Python's stack holds by
 * itself. What has more is left out and told as a diagnostic. */
enum {
  SPOOL_MADE_OF_MOST = 1000
};

/* What records of kernels, copies, sets and graphs have in common. */
typedef struct spool_op {
  int64_t start, end;
  uint32_t device, context, stream, correlation, stack;
  uint64_t graph_node; /* 0: not of a graph, or all of one */
  bool replayed;       /* launched again for counters: its time is no use */
} spool_op;

spool_op spool_op_of(const spool_item *item);

/* Of an operation or call that is to be shown: when it was, as the trace has
 * it. False: it has no time, or is of units that are not wanted. */
bool spool_shows(const spool_section *section, int64_t *start, int64_t *end);

/* Looks once for copies and sets that end only behind later operations of their
 * stream: they count as those without a time. */
bool spool_find_wrong_ends(spool_trace *trace, llmprof_error *err);
bool spool_has_wrong_end(const spool_trace *trace, const spool_item *item);

/* Parts, as llmprof_reader.load. */
bool spool_load_ops(spool_trace *trace, llmprof_error *err);
bool spool_load_details(spool_trace *trace, llmprof_error *err);
bool spool_load_calls(spool_trace *trace, llmprof_error *err);
bool spool_load_stacks(spool_trace *trace, llmprof_error *err);
bool spool_load_ranges(spool_trace *trace, llmprof_error *err);
bool spool_load_samples(spool_trace *trace, llmprof_error *err);

#endif
