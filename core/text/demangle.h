/* Names of C++ functions as the linker knows them (Itanium C++ ABI), written
 * out as NVIDIA's tools do: "_ZN1a1kILi4EEvPT_" is "void a::k<(int)4>(T1 *)".
 */
#ifndef LLMPROF_DEMANGLE_H
#define LLMPROF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Append the whole name to `full`, and to `base` that of the function alone,
 * without namespaces and arguments. A name that is none of these, or has parts
 * that are not known here, is appended as it is. False: out of memory. */
bool llmprof_demangle(const char *name, size_t size, llmprof_buffer *full,
                      llmprof_buffer *base);

/* The function of a name that is written out already, without what it returns,
 * namespaces and arguments. */
void llmprof_demangled_base(const char *name, size_t size, const char **begin,
                            size_t *base_size);

#endif
