/* The one function of a fuzz target, by the name libFuzzer gives it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feed the bytes to a parser; crash on a broken promise. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
