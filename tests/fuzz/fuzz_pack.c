/* Any bytes as a packed frame, which lies in bundles of several ranks: what is
 * unpacked packs into bytes that unpack to as much. */
#include "fuzz.h"
#include "llmprof/strings.h"
#include "ranks/pack.h"
#include "take.h"

static llmprof_frame *unpack(const char *bytes, size_t size,
                             llmprof_strings *pool) {
  llmprof_error err = {0};
  llmprof_frame *frame = llmprof_frame_unpack(bytes, size, pool, &err);
  FUZZ_CHECK(frame || err.message[0]);
  return frame;
}

static void check_again(llmprof_frame *frame, llmprof_strings *pool) {
  llmprof_buffer packed = {0};
  llmprof_error err = {0};
  FUZZ_CHECK(llmprof_frame_pack(frame, &packed, &err));
  llmprof_frame *again = unpack(packed.bytes, packed.size, pool);
  FUZZ_CHECK(again);
  FUZZ_CHECK(llmprof_frame_rows(again) == llmprof_frame_rows(frame));
  FUZZ_CHECK(llmprof_frame_columns(again) == llmprof_frame_columns(frame));
  llmprof_frame_free(again);
  llmprof_buffer_free(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  taken input = {data, size};
  size_t left;
  char *bytes = take_rest(&input, &left);
  llmprof_strings *pool = llmprof_strings_new();
  FUZZ_CHECK(pool);
  llmprof_frame *frame = unpack(bytes, left, pool);
  if (frame) check_again(frame, pool);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
  free(bytes);
  return 0;
}
