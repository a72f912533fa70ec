#include "text/path.h"

#include "support.h"

static void assert_path(const llmprof_path *path, const char *text) {
  char out[64];
  assert_string_equal(llmprof_path_text(path, out, sizeof out), text);
}

TEST(path) {
  llmprof_path a = {.key = "stages", .size = 6};
  llmprof_path b = {.up = &a, .index = 2};
  llmprof_path c = {.up = &b, .key = "ms_2", .size = 4};
  llmprof_path d = {.up = &c, .key = "a\nb", .size = 3};
  llmprof_path e = {.up = &d, .key = "", .size = 0};
  llmprof_path f = {.up = &b, .key = "2x", .size = 2};
  char small[8];
  assert_path(NULL, "top level");
  assert_path(&a, "stages");
  assert_path(&b, "stages[2]");
  assert_path(&c, "stages[2].ms_2");
  assert_path(&e, "stages[2].ms_2[\"a\\x0ab\"][\"\"]");
  assert_path(&f, "stages[2][\"2x\"]");
  assert_string_equal(llmprof_path_text(&c, small, sizeof small), "stages[");
  llmprof_path top = {.index = 18446744073709551615u};
  assert_path(&top, "[18446744073709551615]");
}

TEST(fail) {
  llmprof_path a = {.key = "stages", .size = 6};
  llmprof_path b = {.up = &a, .index = 2};
  llmprof_error err;
  assert_false(llmprof_path_fail(&err, LLMPROF_RANGE, "not a number", &b));
  assert_int_equal(err.code, LLMPROF_RANGE);
  assert_string_equal(err.message, "not a number at stages[2]");
}
