#include "parsing.h"

#include <string.h>

#include "support.h"

void assert_broken(const char *text, size_t size, llmprof_code code,
                   const char *message) {
  llmprof_error err = {0};
  if (tested.parse(text, size, tested.name, &err))
    fail_msg("accepted: %s", text);
  assert_string_equal(err.message, message);
  assert_int_equal(err.code, code);
}

void assert_over(const char *text, const char *message) {
  assert_broken(text, strlen(text), LLMPROF_LIMIT, message);
}

void assert_within(const char *text) {
  llmprof_error err = {0};
  llmprof_value *value = tested.parse(text, strlen(text), tested.name, &err);
  if (!value) fail_msg("%s", err.message);
  llmprof_value_free(value);
}

const char *nested(size_t depth) {
  static char text[2 * LLMPROF_MAX_DEPTH + 8];
  assert_true(2 * depth < sizeof text);
  memset(text, '[', depth);
  memset(text + depth, ']', depth);
  text[2 * depth] = '\0';
  return text;
}
