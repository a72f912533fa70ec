/* What the tests of parsers that make values share. A test program defines
 * `tested`; every text is called tested.name in messages. */
#ifndef TEST_PARSING_H
#define TEST_PARSING_H

#include "base/value.h"
#include "llmprof/error.h"

typedef struct test_parser {
  llmprof_value *(*parse)(const char *bytes, size_t size, const char *name,
                          llmprof_error *err);
  const char *name;
} test_parser;

extern const test_parser tested;

/* The text is refused, with this code and message. */
void assert_broken(const char *text, size_t size, llmprof_code code,
                   const char *message);

/* The text is refused for its size (LLMPROF_LIMIT), or accepted. */
void assert_over(const char *text, const char *message);
void assert_within(const char *text);

/* "[[[...]]]"; lives until the next call. */
const char *nested(size_t depth);

#endif
