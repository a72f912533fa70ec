/* "No value", in every int64_t that may lack one. */
#ifndef LLMPROF_ABSENT_H
#define LLMPROF_ABSENT_H

#include <stdint.h>

#define LLMPROF_ABSENT INT64_MIN

#endif
