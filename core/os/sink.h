/* A file written piece by piece, plain or gzip, that takes its place when it
 * is complete. Private to the core. */
#ifndef LLMPROF_SINK_H
#define LLMPROF_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "llmprof/error.h"

typedef struct llmprof_sink llmprof_sink;

/* Bytes of the file: filled and packed on any thread, each piece on its own, so
 * that where pieces end decides what the file is, and not who packed them. It
 * can be used again once it was written. Zero-initialise it. */
typedef struct llmprof_sink_piece {
  llmprof_buffer bytes;
  size_t size; /* of what was packed */
  unsigned long crc;
  llmprof_buffer packed;
  struct z_stream_s *packer;
} llmprof_sink_piece;
void llmprof_sink_piece_free(llmprof_sink_piece *piece);

/* NULL on failure. The path is borrowed until commit or discard, one of which
 * must follow and frees the sink. */
llmprof_sink *llmprof_sink_open(const char *path, bool packed,
                                llmprof_error *err);

/* Makes a piece ready to be written; may go on beside other calls. */
bool llmprof_sink_pack(const llmprof_sink *sink, llmprof_sink_piece *piece,
                       llmprof_error *err);

/* Pieces come in the order in which they are written, and are empty then. */
bool llmprof_sink_write(llmprof_sink *sink, llmprof_sink_piece *piece,
                        llmprof_error *err);

bool llmprof_sink_commit(llmprof_sink *sink, llmprof_error *err);
void llmprof_sink_discard(llmprof_sink *sink); /* NULL is fine */

#endif
