/* JSON written without a tree. Private to the core. */
#ifndef LLMPROF_JSON_TEXT_H
#define LLMPROF_JSON_TEXT_H

#include "base/buffer.h"

/* Append a string with its quotes. Any bytes: a malformed sequence becomes
 * U+FFFD. */
void llmprof_json_put_any(llmprof_buffer *out, const char *bytes, size_t size);

#endif
