/* Bytes packed in memory, for what is put into another document. Files are
 * packed as they are written. */
#ifndef LLMPROF_GZIP_H
#define LLMPROF_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "llmprof/error.h"

/* Append `size` bytes as one gzip member, the same on every machine; `bytes`
 * may be NULL when size is 0. False with err filled when out of memory; what
 * was appended until then stays. */
bool llmprof_gzip(llmprof_buffer *out, const void *bytes, size_t size,
                  llmprof_error *err);

/* The same while the caller goes on, where there may be another thread: begun
 * with bytes that stay until it is freed, NULL when out of memory; taken once;
 * freed, taken or not. No process is forked in between. */
typedef struct llmprof_gzip_task llmprof_gzip_task;

llmprof_gzip_task *llmprof_gzip_begin(const void *bytes, size_t size);
bool llmprof_gzip_take(llmprof_gzip_task *task, llmprof_buffer *out,
                       llmprof_error *err);
void llmprof_gzip_free(llmprof_gzip_task *task);

#endif
