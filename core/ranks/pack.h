/* Frames that outlive what they came from: joined into one with memory of its
 * own, packed into bytes, and unpacked again. Columns become integers
 * (LLMPROF_I64) or strings; one of reals is UNSUPPORTED.
 *
 * Packed bytes are the same for equal frames on every machine. Integers stand
 * as differences from the row before, so that sorted columns are small. */
#ifndef LLMPROF_PACK_H
#define LLMPROF_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "llmprof/strings.h"

/* What a time of one clock is on another: t - offset - drift * (t - at), to the
 * nearest ns. */
typedef struct llmprof_clock {
  int64_t offset, at; /* ns */
  double drift;       /* ns per ns */
} llmprof_clock;

/* The rows of all frames, one after the other. Columns are those of the first;
 * where another frame lacks one its cells are absent. Strings go into `pool`,
 * which outlives the result. UNSUPPORTED: a column of one name holds strings in
 * one frame and numbers in another. RANGE: more than 2^32 - 2 rows.
 *
 * clocks, one for each frame, or NULL: columns that `times` names, up to a
 * NULL, are put on one clock. */
llmprof_frame *llmprof_frames_join(llmprof_frame *const *frames, size_t count,
                                   const llmprof_clock *clocks,
                                   const char *const *times,
                                   llmprof_strings *pool, llmprof_error *err);

/* Append a frame's columns, with names and units, to a buffer. */
bool llmprof_frame_pack(llmprof_frame *frame, llmprof_buffer *out,
                        llmprof_error *err);

/* A frame from such bytes, which may be anything: SYNTAX when they are not what
 * pack wrote, LIMIT when they claim more rows than they can hold. */
llmprof_frame *llmprof_frame_unpack(const void *bytes, size_t size,
                                    llmprof_strings *pool, llmprof_error *err);

#endif
