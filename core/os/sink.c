#include "os/sink.h"

#include "llmprof/fs.h"
#include "os/fs_draft.h"
#include "os/packing.h"

enum {
  PIECE_SIZE = 128 * 1024,
  LEVEL = 4, /* event files shrink little more beyond, and take longer */
  MEMORY_LEVEL = 8,
};

struct llmprof_sink {
  fs_draft draft;
  bool packed;
  bool packer_ready;
  z_stream packer;
  unsigned char *out; /* packed: PIECE_SIZE bytes */
};

static void sink_free(llmprof_sink *sink) {
  if (sink->packer_ready) deflateEnd(&sink->packer);
  llmprof_free(sink->out);
  llmprof_free(sink);
}

static bool prepare_packing(llmprof_sink *sink) {
  if (!sink->packed) return true;
  sink->out = llmprof_alloc(PIECE_SIZE, 1);
  llmprof_packing_hooks(&sink->packer);
  sink->packer_ready =
      sink->out &&
      deflateInit2(&sink->packer, LEVEL, Z_DEFLATED, LLMPROF_GZIP_WINDOW,
                   MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
  return sink->packer_ready;
}

llmprof_sink *llmprof_sink_open(const char *path, bool packed,
                                llmprof_error *err) {
  llmprof_sink *sink = llmprof_zalloc(1, sizeof *sink);
  if (sink) sink->packed = packed;
  bool ok = sink && prepare_packing(sink);
  if (!ok) llmprof_fail_nomem(err);
  if (ok && llmprof_fs_draft_open(&sink->draft, path, NULL, err)) return sink;
  if (sink) sink_free(sink);
  return NULL;
}

/* Pack what the packer was given, and with Z_FINISH all that it holds back. */
static bool pack(llmprof_sink *sink, int flush, llmprof_error *err) {
  z_stream *z = &sink->packer;
  int got;
  do {
    z->next_out = sink->out;
    z->avail_out = PIECE_SIZE;
    got = deflate(z, flush);
    if (!llmprof_fs_write_fd(sink->draft.fd, sink->draft.path, sink->out,
                             PIECE_SIZE - z->avail_out, err))
      return false;
  } while (flush == Z_FINISH ? got != Z_STREAM_END : z->avail_in > 0);
  return true;
}

bool llmprof_sink_write(llmprof_sink *sink, const void *bytes, size_t size,
                        llmprof_error *err) {
  if (!sink->packed)
    return llmprof_fs_write_fd(sink->draft.fd, sink->draft.path, bytes, size,
                               err);
  const unsigned char *from = bytes;
  while (size) {
    size_t take =
        size < PIECE_SIZE ? size : PIECE_SIZE; /* zlib counts in int */
    sink->packer.next_in = (unsigned char *)from;
    sink->packer.avail_in = (unsigned)take;
    if (!pack(sink, Z_NO_FLUSH, err)) return false;
    from += take;
    size -= take;
  }
  return true;
}

bool llmprof_sink_commit(llmprof_sink *sink, llmprof_error *err) {
  sink->packer.avail_in = 0;
  bool ok = !sink->packed || pack(sink, Z_FINISH, err);
  if (!ok) llmprof_fs_draft_discard(&sink->draft);
  ok = ok && llmprof_fs_draft_commit(&sink->draft, err);
  sink_free(sink);
  return ok;
}

void llmprof_sink_discard(llmprof_sink *sink) {
  if (!sink) return;
  llmprof_fs_draft_discard(&sink->draft);
  sink_free(sink);
}
