#include "trees.h"

#include <math.h>
#include <string.h>

static bool same_double(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static bool same_bytes(const char *a, size_t a_size, const char *b,
                       size_t b_size) {
  return a_size == b_size && memcmp(a, b, a_size) == 0;
}

static bool same_items(const llmprof_value *a, const llmprof_value *b) {
  size_t count = llmprof_value_count(a);
  if (count != llmprof_value_count(b)) return false;
  for (size_t i = 0; i < count; i++) {
    size_t a_size = 0, b_size = 0;
    const char *a_key = "", *b_key = "";
    if (llmprof_value_type(a) == LLMPROF_MAP) {
      a_key = llmprof_value_key(a, i, &a_size);
      b_key = llmprof_value_key(b, i, &b_size);
    }
    if (!same_bytes(a_key, a_size, b_key, b_size) ||
        !trees_equal(llmprof_value_at(a, i), llmprof_value_at(b, i)))
      return false;
  }
  return true;
}

bool trees_equal(const llmprof_value *a, const llmprof_value *b) {
  size_t a_size, b_size;
  const char *a_text, *b_text;
  if (llmprof_value_type(a) != llmprof_value_type(b)) return false;
  switch (llmprof_value_type(a)) {
  case LLMPROF_NULL:
    return true;
  case LLMPROF_BOOL:
    return llmprof_value_bool(a) == llmprof_value_bool(b);
  case LLMPROF_INT:
    return llmprof_value_int(a) == llmprof_value_int(b);
  case LLMPROF_DOUBLE:
    return same_double(llmprof_value_double(a), llmprof_value_double(b));
  case LLMPROF_STRING:
    a_text = llmprof_value_string(a, &a_size);
    b_text = llmprof_value_string(b, &b_size);
    return same_bytes(a_text, a_size, b_text, b_size);
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  return same_items(a, b);
}
