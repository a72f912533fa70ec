/* Numbers for people and for files: eight bytes are a double, what follows
 * says how it is shown; the rest is a text for messages. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "take.h"
#include "text/format.h"
#include "text/lex.h"

static void check_people(double value, taken *input) {
  llmprof_quantity quantity =
      (llmprof_quantity)take_below(input, LLMPROF_PERCENT + 1);
  int count;
  const llmprof_unit *units = llmprof_units(quantity, &count);
  uint32_t which = take_below(input, (uint32_t)count + 1);
  llmprof_format format = {
      .unit = which < (uint32_t)count ? &units[which] : NULL,
      .digits = (int)take_below(input, LLMPROF_MAX_DIGITS + 3) - 1,
      .separator = take_byte(input) & 1 ? "," : NULL,
      .suffix = take_byte(input) & 1 ? "/s" : NULL,
      .bare = take_byte(input) & 1};
  llmprof_buffer out = {0};
  bool told = llmprof_format_number(&out, quantity, value, &format);
  FUZZ_CHECK(told == (isfinite(value) && format.digits <= LLMPROF_MAX_DIGITS));
  FUZZ_CHECK(told == (out.size > 0));
  llmprof_format_integer(&out, quantity, take_number(input), &format);
  llmprof_buffer_free(&out);
}

/* What is written reads back as the same number. */
static void check_files(double value) {
  llmprof_buffer out = {0};
  double back;
  if (!isfinite(value)) return;
  llmprof_lex_put_double(&out, value);
  FUZZ_CHECK(llmprof_lex_double(out.bytes, out.size, &back) == LLMPROF_OK);
  FUZZ_CHECK(memcmp(&back, &value, sizeof value) == 0);
  llmprof_buffer_free(&out);
}

static void check_excerpt(taken *input) {
  char out[LLMPROF_LEX_QUOTED];
  size_t size, line, column;
  char *text = take_rest(input, &size);
  llmprof_lex_quote(out, text, size);
  FUZZ_CHECK(strlen(out) < sizeof out);
  for (const char *c = out; *c; c++) FUZZ_CHECK((unsigned char)*c >= ' ');
  llmprof_lex_place(text, size, &line, &column);
  FUZZ_CHECK(line && column);
  for (size_t at = 0; at < size;) {
    size_t length = llmprof_lex_utf8(text + at, size - at);
    FUZZ_CHECK(length <= size - at);
    at += length ? length : 1;
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  taken input = {bytes, size};
  double value = take_double(&input);
  check_people(value, &input);
  check_files(value);
  check_excerpt(&input);
  return 0;
}
