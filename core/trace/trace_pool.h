/* For a reader that adds many strings at once. Private to the core. */
#ifndef LLMPROF_TRACE_POOL_H
#define LLMPROF_TRACE_POOL_H

#include "llmprof/strings.h"
#include "llmprof/trace_builder.h"

/* The pool of the builder's strings. */
llmprof_strings *llmprof_builder_pool(llmprof_builder *builder);

#endif
