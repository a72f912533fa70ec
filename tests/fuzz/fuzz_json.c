/* What parses is written, on one line and on many, and parses to the same
 * value again. */
#include "formats/json.h"
#include "fuzz.h"
#include "trees.h"

static void check_round_trip(const llmprof_value *value, unsigned indent) {
  llmprof_buffer out = {0};
  llmprof_error err = {0};
  FUZZ_CHECK(llmprof_json_write(value, indent, &out, &err));
  llmprof_value *again = llmprof_json_parse(out.bytes, out.size, "again", &err);
  FUZZ_CHECK(again);
  FUZZ_CHECK(trees_equal(value, again));
  llmprof_value_free(again);
  llmprof_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_value *value =
      llmprof_json_parse((const char *)bytes, size, "fuzz", &err);
  if (value) {
    check_round_trip(value, 0);
    check_round_trip(value, 2);
    llmprof_value_free(value);
  } else {
    FUZZ_CHECK(err.code != LLMPROF_OK && err.code != LLMPROF_NOMEM);
    FUZZ_CHECK(err.line && err.column);
  }
  return 0;
}
