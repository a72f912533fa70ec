/* A spool of any bytes: as they are, or, after an odd first byte, as the
 * records of one block whose checksum agrees, and that byte says how much of it
 * is then read. */
#include "fuzz.h"
#include "part.h"
#include "spool/spool.h"
#include "spools.h"

static const char *path;

static void write_block(const uint8_t *data, size_t size) {
  spool_maker m = {0};
  spool_put_bytes(&m, data, size - size % SPOOL_ALIGN);
  spool_end_block(&m);
  path = fuzz_file(m.file, m.size);
  spool_free(&m);
}

static void read_frames(void) {
  static const char *const names[] = {"units", "counters", "metrics"};
  llmprof_error err = {0};
  llmprof_spool *spool = llmprof_spool_open(path, &err);
  for (size_t i = 0; spool && i < 3; i++) {
    llmprof_frame *frame = llmprof_spool_frame(spool, names[i], &err);
    FUZZ_CHECK(frame || err.code != LLMPROF_OK);
    llmprof_frame_free(frame);
  }
  llmprof_spool_close(spool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llmprof_error err = {0};
  bool as_block = size && data[0] % 2;
  if (as_block)
    write_block(data + 1, size - 1);
  else
    path = fuzz_file(data, size);
  size_t part = as_block ? fuzz_part(data[0] / 2) : FUZZ_ALL;
  if (!fuzz_read_export(path, part, &err)) FUZZ_CHECK(err.code != LLMPROF_OK);
  read_frames();
  return 0;
}
