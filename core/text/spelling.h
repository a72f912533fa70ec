/* What a kernel's name comes to however it is spelt: NVIDIA's tools write
 * "void f<(int)4, (bool)1>(T1, const T2 *)" where c++filt writes
 * "void f<4, true>(float, int const*)", and PyTorch has its own words for
 * copies. */
#ifndef LLMPROF_SPELLING_H
#define LLMPROF_SPELLING_H

#include <stddef.h>

enum {
  LLMPROF_SPELLING_MOST = 8192 /* bytes of a name that are looked at */
};

/* Writes what is the same for all spellings of a name, and returns its bytes,
 * without a NUL behind them. A copy is "copy HtoD", a set "set". */
size_t llmprof_spelling(const char *name, size_t size,
                        char word[LLMPROF_SPELLING_MOST]);

#endif
