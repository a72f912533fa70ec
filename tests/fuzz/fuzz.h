/* What libFuzzer calls, and a check that stops it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Holds in every build, unlike assert. */
#define FUZZ_CHECK(condition)                                             \
  ((condition)                                                            \
       ? (void)0                                                          \
       : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), \
          abort()))

#endif
