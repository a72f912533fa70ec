#include "os/sink.h"

#include <stdint.h>

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
  bool packed;
  unsigned long crc;
  uint64_t size; /* of what was packed */
};

/* ---- pieces ---- */

void llmprof_sink_piece_free(llmprof_sink_piece *piece) {
  llmprof_buffer_free(&piece->bytes);
  llmprof_buffer_free(&piece->packed);
  if (piece->packer) deflateEnd(piece->packer);
  llmprof_free(piece->packer);
  *piece = (llmprof_sink_piece){0};
}

/* For deflate without a header: pieces go one after the other, each flushed up
 * to a full byte. */
static bool prepare_packer(llmprof_sink_piece *piece) {
  if (piece->packer) return deflateReset(piece->packer) == Z_OK;
  z_stream *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return false;
  llmprof_packing_hooks(made);
  if (deflateInit2(made, LEVEL, Z_DEFLATED, -MAX_WBITS, MEMORY_LEVEL,
                   Z_DEFAULT_STRATEGY) == Z_OK)
    piece->packer = made;
  else
    llmprof_free(made);
  return piece->packer != NULL;
}

bool llmprof_sink_pack(const llmprof_sink *sink, llmprof_sink_piece *piece,
                       llmprof_error *err) {
  const llmprof_buffer *bytes = &piece->bytes;
  if (piece->bytes.failed) return llmprof_fail_nomem(err);
  if (!sink->packed) return true;
  if (!prepare_packer(piece)) return llmprof_fail_nomem(err);
  llmprof_buffer_clear(&piece->packed);
  piece->size = bytes->size;
  piece->crc = crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)bytes->bytes,
                       bytes->size);
  llmprof_pack(piece->packer, &piece->packed, bytes->bytes, bytes->size,
               Z_SYNC_FLUSH);
  return !piece->packed.failed || llmprof_fail_nomem(err);
}

/* ---- the file ---- */

static bool put(llmprof_sink *sink, const void *bytes, size_t size,
                llmprof_error *err) {
  return llmprof_fs_write_fd(sink->temp_file.fd, sink->temp_file.path, bytes,
                             size, err);
}

/* RFC 1952: no name and no time, so that equal input gives equal bytes. */
static bool begin(llmprof_sink *sink, llmprof_error *err) {
  static const unsigned char header[10] = {0x1f, 0x8b, 8, [9] = 3};
  sink->crc = crc32_z(0, NULL, 0);
  return put(sink, header, sizeof header, err);
}

static void put_u32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* An empty block that says that it is the last, and what was packed. */
static bool end(llmprof_sink *sink, llmprof_error *err) {
  unsigned char trailer[10] = {3};
  put_u32(trailer + 2, (uint32_t)sink->crc);
  put_u32(trailer + 6, (uint32_t)sink->size);
  return put(sink, trailer, sizeof trailer, err);
}

llmprof_sink *llmprof_sink_open(const char *path, bool packed,
                                llmprof_error *err) {
  llmprof_sink *sink = llmprof_zalloc(1, sizeof *sink);
  if (!sink) return llmprof_fail_nomem(err), NULL;
  sink->packed = packed;
  if (!llmprof_fs_temp_file_open(&sink->temp_file, path, NULL, err)) {
    llmprof_free(sink);
    return NULL;
  }
  if (!packed || begin(sink, err)) return sink;
  llmprof_sink_discard(sink);
  return NULL;
}

bool llmprof_sink_write(llmprof_sink *sink, llmprof_sink_piece *piece,
                        llmprof_error *err) {
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  bool ok = sink->packed
                ? put(sink, piece->packed.bytes, piece->packed.size, err)
                : put(sink, piece->bytes.bytes, piece->bytes.size, err);
  if (sink->packed) {
    sink->crc = crc32_combine(sink->crc, piece->crc, (z_off_t)piece->size);
    sink->size += piece->size;
  }
  llmprof_buffer_clear(&piece->bytes);
  return ok;
}

bool llmprof_sink_commit(llmprof_sink *sink, llmprof_error *err) {
  bool ok = !sink->packed || end(sink, err);
  if (!ok) llmprof_fs_temp_file_discard(&sink->temp_file);
  ok = ok && llmprof_fs_temp_file_commit(&sink->temp_file, err);
  llmprof_free(sink);
  return ok;
}

void llmprof_sink_discard(llmprof_sink *sink) {
  if (!sink) return;
  llmprof_fs_temp_file_discard(&sink->temp_file);
  llmprof_free(sink);
}
