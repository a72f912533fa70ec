/* What cannot be seen, shown. Private to the core. */
#ifndef LLMPROF_CORE_SHOWN_H
#define LLMPROF_CORE_SHOWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Append what stands for a character of llmprof_text_is_control. */
void llmprof_text_put_control(llmprof_buffer *out, uint32_t code);

/* As llmprof_text_clean_lines, for programs that compare bytes: characters
 * without a shape stay, but for turns of the direction of writing. */
void llmprof_text_clean_exact(llmprof_buffer *out, const char *text,
                              size_t size);

#endif
