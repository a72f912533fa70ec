/* A recorded capture as llmprof carries it in the program: a folder's files as
 * one gzip, the tables of its databases by columns, as differences. A quarter
 * of the files as gzip packs them. core/lua/pack_capture.c packs while
 * building. */
#ifndef LLMPROF_PACKED_H
#define LLMPROF_PACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

/* Write the files below a folder that is there; `name` stands for the bytes in
 * messages. Databases have the same tables, rows, indexes and views in the same
 * order, not the same bytes. False on failure: SYNTAX where the bytes are none
 * of these; what was written until then stays. */
bool llmprof_unpack_capture(const char *name, const void *bytes, size_t size,
                            const char *folder, llmprof_error *err);

#endif
