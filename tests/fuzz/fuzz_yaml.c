/* What parses is written, in blocks and on one line, and parses to the same
 * value again. */
#include "formats/yaml.h"
#include "fuzz.h"
#include "trees.h"

typedef bool (*writer)(const llmprof_value *value, llmprof_buffer *out,
                       llmprof_error *err);

static void check_round_trip(const llmprof_value *value, writer write) {
  llmprof_buffer out = {0};
  llmprof_error err = {0};
  FUZZ_CHECK(write(value, &out, &err));
  llmprof_value *again = llmprof_yaml_parse(out.bytes, out.size, "again", &err);
  if (!again) fprintf(stderr, "%s\n", err.message);
  FUZZ_CHECK(again);
  FUZZ_CHECK(trees_equal(value, again));
  llmprof_value_free(again);
  llmprof_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_value *value =
      llmprof_yaml_parse((const char *)bytes, size, "fuzz", &err);
  if (value) {
    check_round_trip(value, llmprof_yaml_write);
    check_round_trip(value, llmprof_yaml_write_line);
    llmprof_value_free(value);
  } else {
    FUZZ_CHECK(err.code != LLMPROF_OK && err.code != LLMPROF_NOMEM);
  }
  return 0;
}
