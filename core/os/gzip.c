#include "llmprof/gzip.h"

#include "os/packer.h"

enum {
  LEVEL = 9, /* of what is packed once, in memory, and carried along */
};

static bool take(void *user, const void *bytes, size_t size,
                 llmprof_error *err) {
  llmprof_buffer *out = user;
  llmprof_buffer_add(out, bytes, size);
  return !out->failed || llmprof_fail_nomem(err);
}

bool llmprof_gzip(llmprof_buffer *out, const void *bytes, size_t size,
                  llmprof_error *err) {
  llmprof_packer *packer = llmprof_packer_new(LEVEL, 0, take, out);
  if (!packer) return llmprof_fail_nomem(err);
  bool ok = llmprof_packer_write(packer, bytes, size, err) &&
            llmprof_packer_finish(packer, err);
  llmprof_packer_free(packer);
  return ok;
}
