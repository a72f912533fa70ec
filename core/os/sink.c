#include "os/sink.h"

#include <unistd.h>

#include "llmprof/alloc.h"
#include "llmprof/fs.h"
#include "llmprof/interrupt.h"
#include "os/fs_draft.h"
#include "os/packer.h"

enum {
  LEVEL = 3, /* event files shrink little more beyond, and take longer */
};

struct llmprof_sink {
  fs_draft draft;
  llmprof_packer *packer; /* NULL: plain */
};

static bool write_packed(void *user, const void *bytes, size_t size,
                         llmprof_error *err) {
  llmprof_sink *sink = user;
  return llmprof_fs_write_fd(sink->draft.fd, sink->draft.path, bytes, size,
                             err);
}

static void sink_free(llmprof_sink *sink) {
  llmprof_packer_free(sink->packer);
  llmprof_free(sink);
}

/* The caller makes what the others pack. */
static size_t packing_threads(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors > 1 ? (size_t)processors - 1 : 0;
}

llmprof_sink *llmprof_sink_open(const char *path, bool packed,
                                llmprof_error *err) {
  llmprof_sink *sink = llmprof_zalloc(1, sizeof *sink);
  if (sink && packed)
    sink->packer =
        llmprof_packer_new(LEVEL, packing_threads(), write_packed, sink);
  bool ok = (sink && (!packed || sink->packer)) || llmprof_fail_nomem(err);
  if (ok && llmprof_fs_draft_open(&sink->draft, path, NULL, err)) return sink;
  if (sink) sink_free(sink);
  return NULL;
}

bool llmprof_sink_write(llmprof_sink *sink, const void *bytes, size_t size,
                        llmprof_error *err) {
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  return sink->packer ? llmprof_packer_write(sink->packer, bytes, size, err)
                      : write_packed(sink, bytes, size, err);
}

bool llmprof_sink_commit(llmprof_sink *sink, llmprof_error *err) {
  bool ok = !sink->packer || llmprof_packer_finish(sink->packer, err);
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
