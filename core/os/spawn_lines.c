/* From a child's pipe to its log file and, split into lines, to the callback.
 * A line that is whole within a chunk is delivered from there; only what
 * spans chunks is copied. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "llmprof/alloc.h"
#include "os/fs.h"
#include "os/spawn_internal.h"

void llmprof_spawn_fail(spawn_sink *sink, const llmprof_error *err) {
  if (!sink->failed) sink->failure = *err;
  sink->failed = sink->stop = true;
}

/* ---- lines ---- */

static void deliver(const spawn_stream *stream, spawn_sink *sink,
                    const char *bytes, size_t size) {
  llmprof_line line = {stream->which, bytes, size};
  if (sink->on_line(sink->user, &line)) return;
  sink->on_line = NULL;
  sink->stop = true;
}

static void deliver_held(spawn_stream *stream, spawn_sink *sink) {
  llmprof_buffer *held = &stream->held;
  deliver(stream, sink, held->bytes ? held->bytes : "", held->size);
  llmprof_buffer_clear(held);
}

/* Keep the start of a line; deliver a piece when it gets too long. */
static void hold(spawn_stream *stream, spawn_sink *sink, const char *bytes,
                 size_t size) {
  llmprof_buffer *held = &stream->held;
  size_t room = LLMPROF_LINE_MAX - held->size;
  if (size > room) {
    llmprof_buffer_add(held, bytes, room);
    if (!held->failed) deliver_held(stream, sink);
    bytes += room;
    size -= room;
  }
  llmprof_buffer_add(held, bytes, size);
  if (!held->failed) return;
  llmprof_error err;
  llmprof_fail_nomem(&err);
  llmprof_spawn_fail(sink, &err);
  sink->on_line = NULL;
}

static size_t find_end(const char *bytes, size_t size) {
  size_t i = 0;
  while (i < size && bytes[i] != '\n' && bytes[i] != '\r') i++;
  return i;
}

/* Take the next line, or the start of one; the number of bytes used. */
static size_t split_one(spawn_stream *stream, spawn_sink *sink,
                        const char *bytes, size_t size) {
  bool ended = stream->carriage && *bytes == '\n';
  stream->carriage = false;
  if (ended) return 1;
  size_t end = find_end(bytes, size);
  if (end < size && !stream->held.size) {
    deliver(stream, sink, bytes, end);
  } else {
    hold(stream, sink, bytes, end);
    if (end == size || !sink->on_line) return end;
    deliver_held(stream, sink);
  }
  stream->carriage = bytes[end] == '\r';
  return end + 1;
}

/* ---- reading ---- */

static void close_pipe(spawn_stream *stream) {
  close(stream->pipe);
  stream->pipe = -1;
  stream->owed = 0;
}

static void write_log(spawn_stream *stream, spawn_sink *sink, size_t size) {
  llmprof_error err;
  if (stream->file < 0 ||
      llmprof_fs_write_fd(stream->file, stream->path, sink->chunk, size, &err))
    return;
  llmprof_spawn_fail(sink, &err);
  close(stream->file); /* one failure is enough */
  stream->file = -1;
}

bool llmprof_spawn_stream_read(spawn_stream *stream, spawn_sink *sink) {
  ssize_t got;
  do {
    got = read(stream->pipe, sink->chunk, SPAWN_CHUNK);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  if (got < 0) {
    llmprof_error err;
    llmprof_fail_errno(&err, errno, "reading a child's output");
    llmprof_spawn_fail(sink, &err);
  }
  if (got <= 0) {
    close_pipe(stream);
    llmprof_spawn_stream_flush(stream, sink);
    return true;
  }
  size_t size = (size_t)got;
  stream->owed -= size < stream->owed ? size : stream->owed;
  write_log(stream, sink, size);
  for (size_t used = 0; used < size && sink->on_line;)
    used += split_one(stream, sink, sink->chunk + used, size - used);
  return true;
}

void llmprof_spawn_stream_flush(spawn_stream *stream, spawn_sink *sink) {
  if (sink->on_line && stream->held.size) deliver_held(stream, sink);
  llmprof_buffer_free(&stream->held);
}

void llmprof_spawn_stream_close(spawn_stream *stream) {
  if (stream->pipe >= 0) close(stream->pipe);
  if (stream->file >= 0) close(stream->file);
  stream->pipe = stream->file = -1;
  llmprof_buffer_free(&stream->held);
  llmprof_free(stream->path);
  stream->path = NULL;
}
