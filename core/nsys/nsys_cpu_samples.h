/* What nsys's tables of sampled stacks hold beside functions. Private to the
 * module. */
#ifndef LLMPROF_NSYS_CPU_SAMPLES_H
#define LLMPROF_NSYS_CPU_SAMPLES_H

/* The symbol, and the module, that stand for outer frames that could not be
 * followed. */
#define NSYS_BROKEN_STACK "[Broken backtraces]"

#endif
