#include "formats/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsing.h"
#include "support.h"

const test_parser tested = {llmprof_json_parse, "t.json"};

static llmprof_value *parse(const char *text, llmprof_error *err) {
  return llmprof_json_parse(text, strlen(text), "t.json", err);
}

static llmprof_value *parsed(const char *text, size_t size) {
  llmprof_error err = {0};
  llmprof_value *value = llmprof_json_parse(text, size, "t.json", &err);
  if (!value) fail_msg("%s: %s", text, err.message);
  return value;
}

/* Reads as, and is written as: equal when `written` is NULL. */
static void assert_reads(const char *text, const char *written) {
  llmprof_buffer out = {0};
  llmprof_error err = {0};
  llmprof_value *value = parsed(text, strlen(text));
  assert_true(llmprof_json_write(value, 0, &out, &err));
  assert_string_equal(out.bytes, written ? written : text);
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
}

TEST(values) {
  assert_reads("null", NULL);
  assert_reads("true", NULL);
  assert_reads("false", NULL);
  assert_reads(" \t\r\n1 \t\r\n", "1");
  assert_reads("\"\"", NULL);
  assert_reads("[]", NULL);
  assert_reads("{}", NULL);
  assert_reads("[ [ ] , { } , [ 1 , 2 ] ]", "[[],{},[1,2]]");
  assert_reads("{\"b\" : 1 , \"a\" : { \"\" : [ null ] } }",
               "{\"b\":1,\"a\":{\"\":[null]}}");
  assert_reads("\xEF\xBB\xBF[1]", "[1]");
  assert_reads("\xEF\xBB\xBF"
               "1",
               "1");
}

TEST(integers) {
  assert_reads("[0,-1,9007199254740993,9223372036854775807]", NULL);
  assert_reads("-9223372036854775808", NULL);
  assert_reads("-0", "0");
  llmprof_value *value = parsed("[1,1.0,1e0]", 11);
  assert_int_equal(llmprof_value_type(llmprof_value_at(value, 0)), LLMPROF_INT);
  assert_int_equal(llmprof_value_type(llmprof_value_at(value, 1)),
                   LLMPROF_DOUBLE);
  assert_int_equal(llmprof_value_type(llmprof_value_at(value, 2)),
                   LLMPROF_DOUBLE);
  llmprof_value_free(value);
}

/* Of any length, which cJSON does not read. */
TEST(long_numbers) {
  static const char text[] =
      "[\"1.0000000000000000000000000000000000000000000000000000000000000000\","
      "1.00000000000000000000000000000000000000000000000000000000000000000,"
      "{\"a\":-0.12500000000000000000000000000000000000000000000000000000000000"
      "000e1,\"b\":[7]}]";
  assert_reads(text, "[\"1.0000000000000000000000000000000000000000000000000000"
                     "000000000000\",1.0,{\"a\":-1.25,\"b\":[7]}]");
}

TEST(doubles) {
  assert_reads("[1.0,-0.0,0.1,1.5,1e5,123456789.125]",
               "[1.0,-0.0,0.1,1.5,100000.0,123456789.125]");
  assert_reads("1E+30", "1.0e+30");
  assert_reads("2.5e-7", "2.5e-07");
  assert_reads("0.1000000000000000055511151231257827021181583404541015625",
               "0.1");
  assert_reads("1.7976931348623157e308", "1.7976931348623157e+308");
  assert_reads("5e-324", "4.94065645841247e-324");
  assert_reads("1e-999", "0.0");
}

static void assert_string(const char *text, const char *bytes, size_t size) {
  size_t got;
  llmprof_value *value = parsed(text, strlen(text));
  const char *at = llmprof_value_string(value, &got);
  assert_int_equal(got, size);
  assert_memory_equal(at, bytes, size);
  llmprof_value_free(value);
}

TEST(strings) {
  assert_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
  assert_string("\"a\\u0000b\\u0000\"", "a\0b\0", 4);
  assert_string("\"\\u007f\\u0080\\u07FF\\u0800\\uffff\"",
                "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF", 11);
  assert_string("\"\\ud83d\\uDE00\\u00e9\"", "\xF0\x9F\x98\x80\xC3\xA9", 6);
  assert_string("\"\xF0\x9F\x98\x80 \x7F\"", "\xF0\x9F\x98\x80 \x7F", 6);
  assert_reads("{\"a\\u0000b\":1,\"a\":2,\"a\\u0000\":3}", NULL);
  assert_reads("\"\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\"", NULL);
  /* DEL, CSI, a line separator, a turn of direction and what cannot be seen
   * stay escaped, a letter and a private character do not. */
  assert_reads("\"\\u007f\\u009b\\u2028\\u202e\\u200b\\udb40\\udc41\"", NULL);
  assert_reads("\"\\u00e9\\ue000\"", "\"\xC3\xA9\xEE\x80\x80\"");
}

TEST(broken) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "t.json:1:1: expected a value, found the end"},
      {"  ", "t.json:1:3: expected a value, found the end"},
      {"\xEF\xBB\xBF", "t.json:1:4: expected a value, found the end"},
      {"nul", "t.json:1:1: expected a value, found \"n\""},
      {"True", "t.json:1:1: expected a value, found \"T\""},
      {"NaN", "t.json:1:1: expected a value, found \"N\""},
      {"[-Infinity]", "t.json:1:3: expected a digit, found \"I\""},
      {"'a'", "t.json:1:1: expected a value, found \"'\""},
      {"[1] [2]", "t.json:1:5: expected nothing after the value, found \"[\""},
      {"1 x", "t.json:1:3: expected nothing after the value, found \"x\""},
      {"[1,]", "t.json:1:4: expected a value, found \"]\""},
      {"[,1]", "t.json:1:2: expected a value, found \",\""},
      {"[1 2]", "t.json:1:4: expected ',' or ']', found \"2\""},
      {"[1", "t.json:1:3: expected ',' or ']', found the end"},
      {"[1}", "t.json:1:3: expected ',' or ']', found \"}\""},
      {"{\"a\":1,}",
       "t.json:1:8: expected a key in double quotes, found \"}\""},
      {"{a:1}", "t.json:1:2: expected a key in double quotes, found \"a\""},
      {"{1:1}", "t.json:1:2: expected a key in double quotes, found \"1\""},
      {"{\"a\" 1}", "t.json:1:6: expected ':', found \"1\""},
      {"{\"a\":}", "t.json:1:6: expected a value, found \"}\""},
      {"{\"a\":1 \"b\":2}", "t.json:1:8: expected ',' or '}', found \"\"\""},
      {"{\n  \"a\": 1,\n  // no\n}",
       "t.json:3:3: expected a key in double quotes, found \"/\""},
      {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "t.json:3:2: duplicate key \"a\""},
      {"{\"a\\n\":1,\"\\u0061\\n\":2}",
       "t.json:1:10: duplicate key \"a\\x0a\""},
      {"01", "t.json:1:1: number with a leading zero"},
      {"[-012]", "t.json:1:2: number with a leading zero"},
      {"+1", "t.json:1:1: expected a value, found \"+\""},
      {".5", "t.json:1:1: expected a value, found \".\""},
      {"1.", "t.json:1:3: expected a digit, found the end"},
      {"[1.e5]", "t.json:1:4: expected a digit, found \"e\""},
      {"1e", "t.json:1:3: expected a digit, found the end"},
      {"1e+", "t.json:1:4: expected a digit, found the end"},
      {"-", "t.json:1:2: expected a digit, found the end"},
      {"0x10", "t.json:1:2: expected nothing after the value, found \"x\""},
      {"\"a", "t.json:1:1: string is never closed"},
      {"[1,\n\"a\\", "t.json:2:1: string is never closed"},
      {"\"a\\\"", "t.json:1:1: string is never closed"},
      {"\"a\nb\"", "t.json:1:3: control character in string: write \\u000a"},
      {"\"\x1f\"", "t.json:1:2: control character in string: write \\u001f"},
      {"\"\\x41\"", "t.json:1:2: unknown escape in string"},
      {"\"\\'\"", "t.json:1:2: unknown escape in string"},
      {"\"\\u12\"", "t.json:1:2: \\u without four hex digits"},
      {"\"\\u12g4\"", "t.json:1:2: \\u without four hex digits"},
      {"\"\\u+123\"", "t.json:1:2: \\u without four hex digits"},
      {"\"\\ud800\"", "t.json:1:2: half of a surrogate pair"},
      {"\"\\udc00\\ud800\"", "t.json:1:2: half of a surrogate pair"},
      {"\"\\ud800\\u0041\"", "t.json:1:2: half of a surrogate pair"},
      {"\"\\ud800x\\udc00\"", "t.json:1:2: half of a surrogate pair"},
      {"\"\x80\"", "t.json:1:2: string is not UTF-8"},
      {"\"\xC0\x80\"", "t.json:1:2: string is not UTF-8"},
      {"\"\xED\xA0\x80\"", "t.json:1:2: string is not UTF-8"},
      {"\"a\xF4\x90\x80\x80\"", "t.json:1:3: string is not UTF-8"},
      {"\"\xE2\x82\"", "t.json:1:2: string is not UTF-8"},
      {"{\"\xFF\":1}", "t.json:1:3: string is not UTF-8"},
      {"\xFF\xFE[", "t.json:1:1: expected a value, found \"\\xff\""},
      {"[1\x0B]", "t.json:1:3: expected ',' or ']', found \"\\x0b\""},
      {"[\xC2\xA0]", "t.json:1:2: expected a value, found \"\xC2\xA0\""},
      {"\"\xC3\xA9\" x", /* columns are bytes */
       "t.json:1:6: expected nothing after the value, found \"x\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_broken(cases[i].text, strlen(cases[i].text), LLMPROF_SYNTAX,
                  cases[i].message);
  }
  assert_broken(
      "1\0", 2, LLMPROF_SYNTAX,
      "t.json:1:2: expected nothing after the value, found \"\\x00\"");
  assert_broken("\"a\0b\"", 5, LLMPROF_SYNTAX,
                "t.json:1:3: control character in string: write \\u0000");
  assert_broken("\"\\\0\"", 4, LLMPROF_SYNTAX,
                "t.json:1:2: unknown escape in string");
  assert_broken("\"\\u00\0\"", 7, LLMPROF_SYNTAX,
                "t.json:1:2: \\u without four hex digits");
}

TEST(range) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"9223372036854775808", "t.json:1:1: integer does not fit into 64 bits"},
      {"[1,\n -9223372036854775809]",
       "t.json:2:2: integer does not fit into 64 bits"},
      {"{\"a\":1e309}", "t.json:1:6: number is too large for a double"},
      {"-1.0e99999999999999999999",
       "t.json:1:1: number is too large for a double"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_broken(cases[i].text, strlen(cases[i].text), LLMPROF_RANGE,
                  cases[i].message);
  }
}

TEST(limits) {
  assert_within(nested(200));
  assert_over(nested(201), "t.json:1:201: nested deeper than 200 levels");
}

TEST(load) {
  llmprof_error err = {0};
  const char *path = test_file("a.json", "{\"a\": 1}\n", 9);
  llmprof_value *value = llmprof_json_load(path, &err);
  assert_non_null(value);
  assert_int_equal(llmprof_value_int(llmprof_value_get(value, "a", 1)), 1);
  llmprof_value_free(value);
  char message[512];
  path = test_file("b.json", "", 0);
  assert_null(llmprof_json_load(path, &err));
  snprintf(message, sizeof message, "%s:1:1: expected a value, found the end",
           path);
  assert_string_equal(err.message, message);
  assert_null(llmprof_json_load("/proc/none/x.json", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_string_equal(err.message,
                      "/proc/none/x.json: No such file or directory");
  assert_null(llmprof_json_load("/", &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
}

TEST(pretty) {
  llmprof_error err = {0};
  llmprof_buffer out = {0};
  llmprof_value *value = parse("{\"a\":[1,{\"b\":[]},[[2]]],\"c\":{}}", &err);
  assert_true(llmprof_json_write(value, 2, &out, &err));
  assert_string_equal(out.bytes, "{\n"
                                 "  \"a\": [\n"
                                 "    1,\n"
                                 "    {\n"
                                 "      \"b\": []\n"
                                 "    },\n"
                                 "    [\n"
                                 "      [\n"
                                 "        2\n"
                                 "      ]\n"
                                 "    ]\n"
                                 "  ],\n"
                                 "  \"c\": {}\n"
                                 "}");
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
}

/* Takes the value. */
static void assert_unwritable(llmprof_value *value, llmprof_code code,
                              const char *message) {
  llmprof_error err = {0};
  llmprof_buffer out = {0};
  assert_false(llmprof_json_write(value, 0, &out, &err));
  assert_string_equal(err.message, message);
  assert_int_equal(err.code, code);
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
}

/* {"a b": [0, value]} */
static llmprof_value *below(llmprof_value *value) {
  llmprof_value *list = llmprof_value_new_list();
  llmprof_value *map = llmprof_value_new_map();
  assert_true(llmprof_value_append(list, llmprof_value_new_int(0)));
  assert_true(llmprof_value_append(list, value));
  assert_true(llmprof_value_set(map, "a b", 3, list));
  return map;
}

TEST(unwritable) {
  assert_unwritable(llmprof_value_new_double((double)NAN), LLMPROF_RANGE,
                    "JSON has no NaN: number at top level");
  assert_unwritable(below(llmprof_value_new_double((double)NAN)), LLMPROF_RANGE,
                    "JSON has no NaN: number at [\"a b\"][2]");
  assert_unwritable(below(llmprof_value_new_double(-(double)INFINITY)),
                    LLMPROF_RANGE,
                    "JSON has no infinity: number at [\"a b\"][2]");
  assert_unwritable(below(llmprof_value_new_string("\xFF", 1)), LLMPROF_RANGE,
                    "JSON takes only UTF-8: string at [\"a b\"][2]");
  llmprof_value *map = llmprof_value_new_map();
  assert_true(
      llmprof_value_set(map, "k\xED\xA0\x80", 4, llmprof_value_new_null()));
  assert_unwritable(map, LLMPROF_RANGE,
                    "JSON takes only UTF-8: key at [\"k\\xed\\xa0\\x80\"]");
  llmprof_value *deep = llmprof_value_new_list();
  for (int i = 0; i < LLMPROF_MAX_DEPTH - 1; i++) {
    llmprof_value *above = llmprof_value_new_list();
    assert_true(llmprof_value_append(above, deep));
    deep = above;
  }
  llmprof_buffer out = {0};
  assert_true(llmprof_json_write(deep, 0, &out, NULL));
  assert_string_equal(out.bytes, nested(LLMPROF_MAX_DEPTH));
  llmprof_buffer_free(&out);
  llmprof_value *above = llmprof_value_new_list();
  assert_true(llmprof_value_append(above, deep));
  llmprof_error err = {0};
  assert_false(llmprof_json_write(above, 0, &out, &err));
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_memory_equal(err.message, "nested too deep at [1][1][1]", 28);
  llmprof_buffer_free(&out);
  llmprof_value_free(above);
}

/* Whatever the locale calls its decimal point. */
TEST(locale) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",
                                      "fr_FR.UTF-8"};
  bool found = false;
  for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
    found = setlocale(LC_NUMERIC, names[i]);
  if (!found) skip();
  assert_reads("[1.5,1e+30]", "[1.5,1.0e+30]");
  setlocale(LC_NUMERIC, "C");
}

static const char sample[] =
    "\xEF\xBB\xBF{\"a\": [1, -2.5e3, \"\\u0000\\ud83d\\ude00\", true], "
    "\"long\": 0.0000001,\n"
    "\"b\": {\"c\": null, \"\xC3\xA9\": \"x\"}, \"d\": false} ";

static bool read_and_write(void *arg, llmprof_error *err) {
  llmprof_buffer out = {0};
  llmprof_value *value = parse(sample, err);
  bool ok = value && llmprof_json_write(value, 2, &out, err);
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
  return ok;
}

static bool load_file(void *path, llmprof_error *err) {
  llmprof_value *value = llmprof_json_load(path, err);
  llmprof_value_free(value);
  return value;
}

TEST(allocations) {
  test_every_allocation(read_and_write, NULL);
  char *path = (char *)test_file("c.json", sample, sizeof sample - 1);
  test_every_allocation(load_file, path);
}

static void read_prefix(const char *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_value *value = llmprof_json_parse(bytes, size, "p", &err);
  bool whole = size >= sizeof sample - 2; /* the last character is a blank */
  assert_int_equal(value != NULL, whole);
  if (!whole) assert_int_equal(err.code, LLMPROF_SYNTAX);
  llmprof_value_free(value);
}

TEST(prefixes) {
  test_every_prefix(sample, sizeof sample - 1, read_prefix);
}
