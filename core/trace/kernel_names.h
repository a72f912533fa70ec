/* Names of kernels as readers find them: what the linker calls them is written
 * out, each once. Private to the core. */
#ifndef LLMPROF_KERNEL_NAMES_H
#define LLMPROF_KERNEL_NAMES_H

#include "llmprof/trace_builder.h"

typedef struct llmprof_kernel_name {
  uint32_t full, base; /* strings: written out, and without arguments */
} llmprof_kernel_name;

/* By string; begins as all zeros. */
typedef struct llmprof_kernel_names {
  llmprof_kernel_name *list;
  size_t count, room;
} llmprof_kernel_names;

void llmprof_kernel_names_free(llmprof_kernel_names *names);

/* No strings of LLMPROF_NO_STRING; false when out of memory. */
bool llmprof_kernel_names_get(llmprof_kernel_names *names,
                              llmprof_builder *builder, uint32_t string,
                              llmprof_kernel_name *name);

#endif
