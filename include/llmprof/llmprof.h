/* All of llmprof's C interface. docs/c_api.md begins with an example. */
#ifndef LLMPROF_LLMPROF_H
#define LLMPROF_LLMPROF_H

#include "llmprof/alloc.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "llmprof/readers.h"
#include "llmprof/strings.h"
#include "llmprof/trace.h"
#include "llmprof/trace_builder.h"
#include "llmprof/version.h"

#endif
