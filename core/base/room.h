/* For who writes into a buffer himself. Private to the core. */
#ifndef LLMPROF_ROOM_H
#define LLMPROF_ROOM_H

#include "llmprof/buffer.h"

/* Make room for `extra` bytes behind those that are there, and for the NUL.
 * False where the buffer failed before or does now. */
bool llmprof_buffer_reserve(llmprof_buffer *buf, size_t extra);

#endif
