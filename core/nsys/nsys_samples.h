/* What nsys calls the hardware counters of GPU_METRICS that a trace has.
 * Private to the module. */
#ifndef LLMPROF_NSYS_SAMPLES_H
#define LLMPROF_NSYS_SAMPLES_H

#include "llmprof/trace.h"
#include "llmprof/trace_builder.h"
#include "nsys/export_edit.h"

/* By llmprof_sampled; nsys puts " [Throughput %]" behind them. */
extern const char *const nsys_sampled_names[LLMPROF_SAMPLED];

#define NSYS_SAMPLED_UNIT " [Throughput %]"

/* typeId: the GPU is in its low byte. */
enum {
  NSYS_METRICS_GPU_MASK = 0xff
};

/* nsys has a row for each value of a sample. Ours has one for all of them, in
 * fractions of a percent; GPU_METRICS is a view of it, for others who read
 * the file. */
#define NSYS_SAMPLES_TABLE "LLMPROF_GPU_SAMPLES"

/* Our table of lines of source that launched operations. */
#define NSYS_STACKS_TABLE "LLMPROF_SOURCE_STACKS"

enum {
  NSYS_SAMPLES_PARTS = 10000
};

extern const char *const nsys_sampled_columns[LLMPROF_SAMPLED];

/* The view, where the file has the table and none of nsys's; and none, before
 * rows are added to nsys's. */
bool llmprof_nsys_make_view(llmprof_edit *edit);
bool llmprof_nsys_drop_view(llmprof_edit *edit);

#endif
