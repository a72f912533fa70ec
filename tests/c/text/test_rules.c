#include "llmprof/rules.h"

#include <string.h>

#include "llmprof/frame.h"
#include "support.h"

/* What patterns find is told by Lua: tests/lua/bindings/rules_spec.lua. */

static bool add(llmprof_rules *rules, const char *pattern, uint32_t number,
                llmprof_error *err) {
  return llmprof_rules_add(rules, pattern, strlen(pattern),
                           LLMPROF_RULE_FUNCTION, number, err);
}

static uint32_t find(const void *rules, const char *text, size_t size) {
  return llmprof_rules_find(rules, text, size);
}

static bool number_names(llmprof_rules *rules, llmprof_strings *strings,
                         const uint32_t *names, llmprof_error *err) {
  llmprof_frame *frame = llmprof_frame_new(3, strings);
  const llmprof_column column = {
      .name = "name", .type = LLMPROF_STRING_ID, .data = names};
  const llmprof_text_telling telling = {.number = find, .user = rules};
  bool made = frame && llmprof_frame_add(frame, &column, NULL, NULL);
  bool ok = (made || llmprof_fail_nomem(err)) &&
            llmprof_frame_number(frame, 0, &telling, "kind", err);
  const llmprof_column *kind = ok ? llmprof_frame_column(frame, 1, err) : NULL;
  if (kind) {
    assert_int_equal(llmprof_cell(kind, 0), 4);
    assert_true(llmprof_cell(kind, 1) == LLMPROF_ABSENT);
    assert_int_equal(llmprof_cell(kind, 2), 9);
  }
  llmprof_frame_free(frame);
  return kind != NULL;
}

static bool make(void *arg, llmprof_error *err) {
  (void)arg;
  llmprof_strings *strings = llmprof_strings_new();
  llmprof_rules *rules = llmprof_rules_new();
  uint32_t names[3] = {0, LLMPROF_NO_STRING, 0};
  bool made = strings && rules &&
              llmprof_strings_add(strings, "void Gemm_tn<4>(int)", 20, names) &&
              llmprof_strings_add(strings, "rms_norm", 8, names + 2);
  bool ok = (made || llmprof_fail_nomem(err)) &&
            add(rules, "^gemm[%w_]*$", 4, err) && add(rules, "norm", 9, err) &&
            number_names(rules, strings, names, err);
  llmprof_rules_free(rules);
  llmprof_strings_free(strings);
  return ok;
}

static void test_rules(void **state) {
  (void)state;
  test_every_allocation(make, NULL);
}

static void test_wrong(void **state) {
  (void)state;
  llmprof_rules *rules = llmprof_rules_new();
  llmprof_error err;
  assert_false(add(rules, "[a", 1, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_string_equal(err.message, "malformed pattern (missing ']')");
  assert_int_equal(llmprof_rules_find(rules, "[a", 2), UINT32_MAX);
  assert_true(add(rules, "", 1, &err));
  assert_int_equal(llmprof_rules_find(rules, "", 0), 1);
  llmprof_rules_free(rules);
  llmprof_rules_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
