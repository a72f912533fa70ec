#include "os/sink.h"

#include "base/interrupt.h"
#include "llmprof/alloc.h"
#include "os/fs.h"
#include "os/fs_temp_file.h"
#include "os/packing.h"

enum {
  LEVEL = 3, /* level 1 saves no time on timelines, and its files are larger */
  MEMORY_LEVEL = 8
};

struct llmprof_sink {
  fs_temp_file temp_file;
  bool is_packed;
  z_stream packer; /* where it is */
  llmprof_buffer packed;
};

static void sink_free(llmprof_sink *sink) {
  if (sink->is_packed) deflateEnd(&sink->packer);
  llmprof_buffer_free(&sink->packed);
  llmprof_free(sink);
}

llmprof_sink *llmprof_sink_open(const char *path, bool packed,
                                llmprof_error *err) {
  llmprof_sink *sink = llmprof_zalloc(1, sizeof *sink);
  if (!sink) return llmprof_fail_nomem(err), NULL;
  if (packed) {
    llmprof_packing_hooks(&sink->packer);
    sink->is_packed =
        deflateInit2(&sink->packer, LEVEL, Z_DEFLATED, LLMPROF_GZIP_WINDOW,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  bool ok = sink->is_packed == packed || llmprof_fail_nomem(err);
  if (ok && llmprof_fs_temp_file_open(&sink->temp_file, path, NULL, err))
    return sink;
  sink_free(sink);
  return NULL;
}

static bool put(llmprof_sink *sink, const llmprof_buffer *bytes,
                llmprof_error *err) {
  return llmprof_fs_write_fd(sink->temp_file.fd, sink->temp_file.path,
                             bytes->bytes, bytes->size, err);
}

static bool put_packed(llmprof_sink *sink, const llmprof_buffer *bytes,
                       int flush, llmprof_error *err) {
  llmprof_buffer_clear(&sink->packed);
  llmprof_pack(&sink->packer, &sink->packed, bytes->bytes, bytes->size, flush);
  if (sink->packed.failed) return llmprof_fail_nomem(err);
  return put(sink, &sink->packed, err);
}

bool llmprof_sink_write(llmprof_sink *sink, llmprof_buffer *bytes,
                        llmprof_error *err) {
  if (bytes->failed) return llmprof_fail_nomem(err);
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  bool ok = sink->is_packed ? put_packed(sink, bytes, Z_NO_FLUSH, err)
                            : put(sink, bytes, err);
  llmprof_buffer_clear(bytes);
  return ok;
}

bool llmprof_sink_commit(llmprof_sink *sink, llmprof_error *err) {
  const llmprof_buffer none = {0};
  bool ok = !sink->is_packed || put_packed(sink, &none, Z_FINISH, err);
  if (!ok) llmprof_fs_temp_file_discard(&sink->temp_file);
  ok = ok && llmprof_fs_temp_file_commit(&sink->temp_file, err);
  sink_free(sink);
  return ok;
}

void llmprof_sink_discard(llmprof_sink *sink) {
  if (!sink) return;
  llmprof_fs_temp_file_discard(&sink->temp_file);
  sink_free(sink);
}
