#include "formats/yaml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "parsing.h"
#include "support.h"
#include "trees.h"

const test_parser tested = {llmprof_yaml_parse, "t.yaml"};

static llmprof_value *parse(const char *text, size_t size, llmprof_error *err) {
  return llmprof_yaml_parse(text, size, "t.yaml", err);
}

static llmprof_value *parsed(const char *text) {
  llmprof_error err = {0};
  llmprof_value *value = parse(text, strlen(text), &err);
  if (!value) fail_msg("%s: %s", text, err.message);
  return value;
}

/* What the text holds, as JSON. */
static void assert_reads(const char *text, const char *json) {
  llmprof_buffer out = {0};
  llmprof_error err = {0};
  llmprof_value *value = parsed(text);
  if (!llmprof_json_write(value, 0, &out, &err)) fail_msg("%s", err.message);
  assert_string_equal(out.bytes, json);
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
}

TEST(structure) {
  assert_reads("", "null");
  assert_reads("# nothing\n", "null");
  assert_reads("---\n...\n", "null");
  assert_reads("--- 1\n...\n", "1");
  assert_reads("\xEF\xBB\xBF"
               "a: 1\n",
               "{\"a\":1}");
  assert_reads("%YAML 1.1\n---\na: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}");
  assert_reads(
      "b: [x, {y: z}]\na:\n- 1\n- - 2\n  - 3\n- k:\n    v: 4\n",
      "{\"b\":[\"x\",{\"y\":\"z\"}],\"a\":[1,[2,3],{\"k\":{\"v\":4}}]}");
  assert_reads("a: {}\nb: []\nc:\n", "{\"a\":{},\"b\":[],\"c\":null}");
  assert_reads("a: |\n  x\n   y\n\nb: >-\n  p\n  q\n",
               "{\"a\":\"x\\n y\\n\",\"b\":\"p q\"}");
}

TEST(scalars) {
  assert_reads("[~, null, Null, NULL, '~', \"null\", nULL]",
               "[null,null,null,null,\"~\",\"null\",\"nULL\"]");
  assert_reads("[true, True, TRUE, false, False, FALSE, tRUE]",
               "[true,true,true,false,false,false,\"tRUE\"]");
  assert_reads("[yes, no, on, off, y, n, Yes, ON]",
               "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"Yes\",\"ON\"]");
  assert_reads("[0, -0, +12, -7, 007, 0x1F, 0xdeadBEEF, 0o17, 1_000, 0b1]",
               "[0,0,12,-7,7,31,3735928559,15,\"1_000\",\"0b1\"]");
  assert_reads("[-0x1F, +0o7, 0x, 0o, 0o8, 0xG, 12:30, 2001-01-01]",
               "[\"-0x1F\",\"+0o7\",\"0x\",\"0o\",\"0o8\",\"0xG\",\"12:30\","
               "\"2001-01-01\"]");
  assert_reads("[9223372036854775807, -9223372036854775808, "
               "0x7fffffffffffffff, 0o777777777777777777777]",
               "[9223372036854775807,-9223372036854775808,"
               "9223372036854775807,9223372036854775807]");
  assert_reads("[1.0, 1., .5, -.5, +1.5, 1e3, 1E-2, 1.5e+3, -0.0]",
               "[1.0,1.0,0.5,-0.5,1.5,1000.0,0.01,1500.0,-0.0]");
  assert_reads(
      "[., +, -., .e5, 1e, 1e+, e5, 1.5.2, .5., inf, nan, +.nan, .iNF]",
      "[\".\",\"+\",\"-.\",\".e5\",\"1e\",\"1e+\",\"e5\",\"1.5.2\","
      "\".5.\",\"inf\",\"nan\",\"+.nan\",\".iNF\"]");
  assert_reads("['1', \"2.0\", 'true']", "[\"1\",\"2.0\",\"true\"]");
  assert_reads("|\n  12\n", "\"12\\n\"");
  assert_reads("\"\\0\\x41\\u00e9\\U0001F600\\e\\N\"",
               "\"\\u0000A\xC3\xA9\xF0\x9F\x98\x80\\u001b\\u0085\"");
}

static double double_of(const char *text) {
  llmprof_value *value = parsed(text);
  assert_int_equal(llmprof_value_type(value), LLMPROF_DOUBLE);
  double number = llmprof_value_double(value);
  llmprof_value_free(value);
  return number;
}

TEST(special_doubles) {
  static const char *const infinities[] = {".inf", ".Inf", ".INF", "+.inf",
                                           "+.Inf"};
  for (size_t i = 0; i < sizeof infinities / sizeof *infinities; i++)
    assert_true(double_of(infinities[i]) == (double)INFINITY);
  assert_true(double_of("-.inf") == -(double)INFINITY);
  assert_true(double_of("-.INF") == -(double)INFINITY);
  assert_true(isnan(double_of(".nan")));
  assert_true(isnan(double_of(".NaN")));
  assert_true(isnan(double_of(".NAN")));
}

TEST(keys) {
  assert_reads("{1: a, true: b, ~: c, 'x y': d, 1.50: e}",
               "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\",\"x y\":\"d\","
               "\"1.50\":\"e\"}");
  assert_reads("? a\n: 1\n? b\n", "{\"a\":1,\"b\":null}");
  assert_reads("\"\": 1\n", "{\"\":1}");
  assert_reads("\"a\\0b\": 1\na: 2\n", "{\"a\\u0000b\":1,\"a\":2}");
}

TEST(anchors) {
  assert_reads("a: &x [1, {b: c}]\nd: *x\ne: *x\n",
               "{\"a\":[1,{\"b\":\"c\"}],\"d\":[1,{\"b\":\"c\"}],"
               "\"e\":[1,{\"b\":\"c\"}]}");
  assert_reads("[&a 1, *a, &a 2, *a]", "[1,1,2,2]");
  assert_reads("[&a ~, *a, &b true, *b, &c 1.5, *c, &d x, *d]",
               "[null,null,true,true,1.5,1.5,\"x\",\"x\"]");
  assert_reads("- {&k key: 1, v: *k}\n- {*k : 2}\n",
               "[{\"key\":1,\"v\":\"key\"},{\"key\":2}]");
}

TEST(quoted_merge_key) {
  assert_reads("'<<': 1\n", "{\"<<\":1}");
}

TEST(broken) {
  static const struct {
    const char *text;
    llmprof_code code;
    const char *message;
  } cases[] = {
      {"a: 1\nb: 2\na: 3\n", LLMPROF_SYNTAX, "t.yaml:3:1: duplicate key \"a\""},
      {"{\"\\n\": 1, \"\\x0a\": 2}", LLMPROF_SYNTAX,
       "t.yaml:1:11: duplicate key \"\\x0a\""},
      {"{1: a, '1': b}", LLMPROF_SYNTAX, "t.yaml:1:8: duplicate key \"1\""},
      {"? [a]\n: 1\n", LLMPROF_UNSUPPORTED,
       "t.yaml:1:3: key is a list or a map"},
      {"{{a: b}: 1}", LLMPROF_UNSUPPORTED,
       "t.yaml:1:2: key is a list or a map"},
      {"- &a 1\n- {*a : 2}\n", LLMPROF_UNSUPPORTED,
       "t.yaml:2:4: key is not a string"},
      {"!!int 1: 2", LLMPROF_UNSUPPORTED,
       "t.yaml:1:1: tags are not known: \"tag:yaml.org,2002:int\""},
      {"--- 1\n--- 2\n", LLMPROF_UNSUPPORTED,
       "t.yaml:2:1: a second document starts here"},
      {"a: *b\n", LLMPROF_SYNTAX, "t.yaml:1:4: there is no anchor &b above"},
      {"{*b : 1}", LLMPROF_SYNTAX, "t.yaml:1:2: there is no anchor &b above"},
      {"a: &a\n  b: *a\n", LLMPROF_SYNTAX,
       "t.yaml:2:6: there is no anchor &a above"},
      {"&a {<<: *a}", LLMPROF_UNSUPPORTED,
       "t.yaml:1:5: << is not known: write the entries, or the key in quotes"},
      {"a: !x 1\n", LLMPROF_UNSUPPORTED,
       "t.yaml:1:4: tags are not known: \"!x\""},
      {"! 1\n", LLMPROF_UNSUPPORTED, "t.yaml:1:1: tags are not known: \"!\""},
      {"a: !!str 12\n", LLMPROF_UNSUPPORTED,
       "t.yaml:1:4: tags are not known: \"tag:yaml.org,2002:str\""},
      {"!!set {a}", LLMPROF_UNSUPPORTED,
       "t.yaml:1:1: tags are not known: \"tag:yaml.org,2002:set\""},
      {"!!seq [x]", LLMPROF_UNSUPPORTED,
       "t.yaml:1:1: tags are not known: \"tag:yaml.org,2002:seq\""},
      {"a: 9223372036854775808\n", LLMPROF_RANGE,
       "t.yaml:1:4: integer does not fit into 64 bits"},
      {"- 0xFFFFFFFFFFFFFFFF", LLMPROF_RANGE,
       "t.yaml:1:3: integer does not fit into 64 bits"},
      {"- 0o1000000000000000000000", LLMPROF_RANGE,
       "t.yaml:1:3: integer does not fit into 64 bits"},
      {"-9223372036854775809", LLMPROF_RANGE,
       "t.yaml:1:1: integer does not fit into 64 bits"},
      {"- 1e999", LLMPROF_RANGE,
       "t.yaml:1:3: number is too large for a double"},
      {"\xC3\xA9: \xC3\xA9: 1\n", LLMPROF_SYNTAX, /* columns are bytes */
       "t.yaml:1:7: ':' is not allowed here; quote the text or check the "
       "indentation"},
      {"\xEF\xBB\xBF"
       "a: *b",
       LLMPROF_SYNTAX, "t.yaml:1:7: there is no anchor &b above"},
      {"a: 1\n\tb: 2\n", LLMPROF_SYNTAX,
       "t.yaml:2:1: a tab cannot indent; use spaces (while scanning a plain "
       "scalar that starts in line 1)"},
      {"a:\n\tb: 2\n", LLMPROF_SYNTAX,
       "t.yaml:2:1: a tab cannot indent; use spaces"},
      {"a: @x\n", LLMPROF_SYNTAX,
       "t.yaml:1:4: no value starts with this character; quote the text"},
      {"a: [1, 2\nb: 3\n", LLMPROF_SYNTAX,
       "t.yaml:2:2: did not find expected ',' or ']' (while parsing a flow "
       "sequence that starts in line 1)"},
      {"a:\n  - 1\n  b: 2\n", LLMPROF_SYNTAX,
       "t.yaml:3:3: expected '-'; check the indentation (while parsing a block "
       "collection that starts in line 2)"},
      {"a:\n  b: 1\n c: 2\n", LLMPROF_SYNTAX,
       "t.yaml:3:2: expected a key; check the indentation (while parsing a "
       "block mapping that starts in line 1)"},
      {"a: \"x\n\n", LLMPROF_SYNTAX,
       "t.yaml:3:1: the text ends too early (while scanning a quoted scalar "
       "that starts in line 1)"},
      {"a: 1\nb\nc: 2\n", LLMPROF_SYNTAX,
       "t.yaml:3:1: expected ':' after the key (while scanning a simple key "
       "that starts in line 2)"},
      {"[1]]", LLMPROF_SYNTAX,
       "t.yaml:1:4: expected nothing after the value; check the indentation"},
      {"[1, , 2]", LLMPROF_SYNTAX,
       "t.yaml:1:5: expected a value (while parsing a flow node that starts in "
       "line 1)"},
      {"a: \xFF\n", LLMPROF_SYNTAX, "t.yaml:1:4: invalid leading UTF-8 octet"},
      {"a: 1\nb: \x01\n", LLMPROF_SYNTAX,
       "t.yaml:2:4: control characters are not allowed"},
      {"\xFF\xFE"
       "a",
       LLMPROF_SYNTAX, "t.yaml:1:1: invalid leading UTF-8 octet"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_broken(cases[i].text, strlen(cases[i].text), cases[i].code,
                  cases[i].message);
  }
  assert_broken("a: \0", 4, LLMPROF_SYNTAX,
                "t.yaml:1:4: control characters are not allowed");
}

TEST(limits) {
  assert_within(nested(200));
  assert_over(nested(201), "t.yaml:1:201: nested deeper than 200 levels");
}

/* Ten lines that stand for 10^9 values. */
TEST(expansion) {
  char text[4096];
  size_t used = (size_t)sprintf(text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
  for (int i = 1; i < 10; i++) {
    used += (size_t)sprintf(text + used, "a%d: &a%d [", i, i);
    for (int j = 0; j < 10; j++)
      used +=
          (size_t)sprintf(text + used, "*a%d%s", i - 1, j < 9 ? "," : "]\n");
  }
  assert_over(text, "t.yaml:6:38: more than 1048576 values");
}

TEST(directives) {
  static char text[1001 * 16 + 8];
  size_t used = 0;
  for (int i = 0; i < 1001; i++)
    used += (size_t)sprintf(text + used, "%%TAG !%d! x\n", i);
  sprintf(text + used, "--- a");
  assert_over(text, "t.yaml: more than 1000 %TAG directives");
  text[0] = '#'; /* one less */
  assert_reads(text, "\"a\"");
  for (used = 0; used < 1500 * 7; used += 7)
    memcpy(text + used, used ? ",x%TAG " : "['%TAG'", 7);
  strcpy(text + used, "]");
  assert_within(text); /* in the middle of a line */
}

TEST(load) {
  llmprof_error err = {0};
  const char *path = test_file("a.yaml", "a: 1\n", 5);
  llmprof_value *value = llmprof_yaml_load(path, &err);
  assert_non_null(value);
  assert_int_equal(llmprof_value_int(llmprof_value_get(value, "a", 1)), 1);
  llmprof_value_free(value);
  char message[512];
  path = test_file("b.yaml", "a: [\n", 5);
  assert_null(llmprof_yaml_load(path, &err));
  snprintf(message, sizeof message,
           "%s:2:1: expected a value (while parsing a flow node that starts in "
           "line 2)",
           path);
  assert_string_equal(err.message, message);
  path = test_file("c.yaml", "", 0);
  value = llmprof_yaml_load(path, &err);
  assert_int_equal(llmprof_value_type(value), LLMPROF_NULL);
  llmprof_value_free(value);
  assert_null(llmprof_yaml_load("/proc/none/x.yaml", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_string_equal(err.message,
                      "/proc/none/x.yaml: No such file or directory");
}

/* ---- writing ---- */

static void assert_writes(const char *json, const char *text) {
  llmprof_error err = {0};
  llmprof_buffer out = {0};
  llmprof_value *value = llmprof_json_parse(json, strlen(json), "t.json", &err);
  if (!value) fail_msg("%s", err.message);
  assert_true(llmprof_yaml_write(value, &out, &err));
  assert_string_equal(out.bytes, text);
  llmprof_value *again = parse(out.bytes, out.size, &err);
  if (!again) fail_msg("%s", err.message);
  assert_true(trees_equal(value, again));
  llmprof_value_free(again);
  llmprof_value_free(value);
  llmprof_buffer_free(&out);
}

TEST(block_style) {
  assert_writes("null", "null\n");
  assert_writes("[]", "[]\n");
  assert_writes("{}", "{}\n");
  assert_writes("\"two words\"", "two words\n");
  assert_writes(
      "{\"a\":[1,[2,[]],{\"b\":true,\"c\":{\"d\":null}}],\"e\":{},\"f\":-0.5}",
      "a:\n"
      "- 1\n"
      "- - 2\n"
      "  - []\n"
      "- b: true\n"
      "  c:\n"
      "    d: null\n"
      "e: {}\n"
      "f: -0.5\n");
}

/* What the emitter cannot know: plain, these would be no strings. */
TEST(words_and_numbers) {
  assert_writes(
      "[\"\",\"~\",\"null\",\"True\",\"12\",\"1e5\",\".inf\",\"0x1F\"]",
      "- ''\n- '~'\n- 'null'\n- 'True'\n- '12'\n- '1e5'\n- '.inf'\n"
      "- '0x1F'\n");
  assert_writes("[\"yes\",\"No\",\"ON\",\"off\",\"y\",\"N\",\"<<\",\"=\"]",
                "- 'yes'\n- 'No'\n- 'ON'\n- 'off'\n- 'y'\n- 'N'\n- '<<'\n"
                "- '='\n");
  assert_writes(
      "[\"1_000\",\"0b1\",\"12:30\",\"2001-01-01\",\"1.2.3\",\"-.5x\",\"3 a\"]",
      "- '1_000'\n- '0b1'\n- '12:30'\n- '2001-01-01'\n- '1.2.3'\n- '-.5x'\n"
      "- '3 a'\n");
  assert_writes("[\"yES\",\"yesterday\",\"-a\",\".a\",\"+\",\"v1\",\"none\"]",
                "- yES\n- yesterday\n- -a\n- .a\n- +\n- v1\n- none\n");
  assert_writes("{\"1\":1,\"<<\":2,\"no\":3,\"\":4}",
                "'1': 1\n'<<': 2\n'no': 3\n'': 4\n");
}

TEST(quoting) {
  assert_writes(
      "[\"?b\",\":c\",\"a:b\",\"a#b\",\"a, [b]\",\"a'b\\\"\",\"a\\\\\"]",
      "- ?b\n- :c\n- a:b\n- a#b\n- a, [b]\n- a'b\"\n- a\\\n");
  assert_writes(
      "[\"-\",\"- a\",\"a: b\",\"a:\",\"a #b\",\" a\",\"a \",\"[a\","
      "\"---\",\"... x\",\"%a\",\"@a\",\"'a\",\"a\\t\"]",
      "- '-'\n- '- a'\n- 'a: b'\n- 'a:'\n- 'a #b'\n- ' a'\n- 'a '\n- '[a'\n"
      "- '---'\n- '... x'\n- '%a'\n- '@a'\n- '''a'\n- \"a\\t\"\n");
  assert_writes("[\"\\u0000\\u0007\\u001b\\r\\\\ \\\"\","
                "\"\\u007f\\u0085\\u0080\",\"\\u2028\\ufeff\\ufffe\","
                "\"\xC3\xA9 \xE2\x82\xAC\",\"\xF0\x9F\x98\x80\"]",
                "- \"\\0\\a\\e\\r\\\\ \\\"\"\n- \"\\x7F\\N\\x80\"\n"
                "- \"\\L\\uFEFF\\uFFFE\"\n- \xC3\xA9 \xE2\x82\xAC\n"
                "- \"\\U0001F600\"\n");
}

TEST(literal_blocks) {
  assert_writes("{\"a\":\"x\\ny\\n\",\"b\":[\"x\\n\\ny\",\"x\\n\\n\"]}",
                "a: |\n  x\n  y\nb:\n- |-\n  x\n\n  y\n- \"x\\n\\n\"\n");
  assert_writes("\"# x\\n---\\n\"", "|\n  # x\n  ---\n");
  assert_writes("{\"a\":{\"b\":[\" x\\ny\",\"a\\n  b\\n\"]}}",
                "a:\n  b:\n  - |2-\n     x\n    y\n  - |\n    a\n      b\n");
  assert_writes(
      "[\"\\n\",\" \\n\",\"\\nx\",\"a\\r\\nb\",\"a\\n\\tb\",\"a \\nb\"]",
      "- \"\\n\"\n- \" \\n\"\n- \"\\nx\"\n- \"a\\r\\nb\"\n"
      "- \"a\\n\\tb\"\n- \"a \\nb\"\n");
}

TEST(long_keys) {
  char json[4200], text[4200];
  char key[2001] = {0};
  memset(key, 'k', 2000);
  sprintf(json, "{\"a\":{\"%s\":[1],\"%s\":2,\"b\\nc\":3}}", key, key + 1);
  sprintf(text, "a:\n  ? %s\n  : - 1\n  ? %s\n  : 2\n  ? \"b\\nc\"\n  : 3\n",
          key, key + 1);
  assert_writes(json, text);
}

static void assert_writes_line(const char *json, const char *text) {
  llmprof_error err = {0};
  llmprof_buffer out = {0};
  llmprof_value *value = llmprof_json_parse(json, strlen(json), "t.json", &err);
  if (!value) fail_msg("%s", err.message);
  llmprof_buffer_puts(&out, "key: ");
  assert_true(llmprof_yaml_write_line(value, &out, &err));
  assert_string_equal(out.bytes + 5, text);
  llmprof_value *map = parse(out.bytes, out.size, &err);
  if (!map) fail_msg("%s", err.message);
  assert_true(trees_equal(value, llmprof_value_get(map, "key", 3)));
  llmprof_value_free(map);
  llmprof_value_free(value);
  llmprof_buffer_free(&out);
}

TEST(lines) {
  assert_writes_line("null", "null");
  assert_writes_line("\"a, b\"", "a, b");
  assert_writes_line("\"a: b\\n\"", "\"a: b\\n\"");
  assert_writes_line("[]", "[]");
  assert_writes_line(
      "[1,\"a, b\",\"no\",[],{\"a\":\"x\\ny\",\"b\":{}},[[\"c]\"]],\"\"]",
      "[1, 'a, b', 'no', [], {a: \"x\\ny\", b: {}}, [['c]']], '']");
}

/* Takes the value. */
static void assert_unwritable(llmprof_value *value, llmprof_code code,
                              const char *message) {
  llmprof_error err = {0};
  llmprof_buffer out = {0};
  assert_false(llmprof_yaml_write(value, &out, &err));
  assert_memory_equal(err.message, message, strlen(message));
  assert_int_equal(err.code, code);
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
}

TEST(unwritable) {
  llmprof_value *map = llmprof_value_new_map();
  assert_true(
      llmprof_value_set(map, "a", 1, llmprof_value_new_string("\xFF", 1)));
  assert_unwritable(map, LLMPROF_RANGE, "YAML takes only UTF-8: string at a");
  map = llmprof_value_new_map();
  assert_true(llmprof_value_set(map, "\xFF", 1, llmprof_value_new_null()));
  assert_unwritable(map, LLMPROF_RANGE,
                    "YAML takes only UTF-8: key at [\"\\xff\"]");
  char *text = llmprof_alloc(LLMPROF_YAML_SIZE + 1, 1);
  assert_non_null(text);
  memset(text, 'x', LLMPROF_YAML_SIZE + 1);
  assert_unwritable(llmprof_value_new_string(text, LLMPROF_YAML_SIZE + 1),
                    LLMPROF_LIMIT, "more than 256 MiB of text");
  llmprof_free(text);
  llmprof_value *deep = llmprof_value_new_int(1);
  for (int i = 0; i < LLMPROF_MAX_DEPTH + 1; i++) {
    llmprof_value *above = llmprof_value_new_list();
    assert_true(llmprof_value_append(above, deep));
    deep = above;
  }
  assert_unwritable(deep, LLMPROF_LIMIT, "nested too deep at [1][1][1]");
}

static const char sample[] =
    "# sample\na: &x {p: 1, \"q\": [1.5, ~, true]}\nb:\n  '<<': *x\n  r: |\n"
    "    two\n    lines\n&k key: \"3\"\nc: *x\nd: *k\n";

/* libyaml takes its memory by functions of its own; these stand before them,
 * so that its allocations fail in turn too. */
void *yaml_malloc(size_t size);
void *yaml_realloc(void *ptr, size_t size);
void yaml_free(void *ptr);
yaml_char_t *yaml_strdup(const yaml_char_t *text);

static size_t libyaml_allocations;

void *yaml_malloc(size_t size) {
  libyaml_allocations++;
  return llmprof_alloc(size, 1);
}

void *yaml_realloc(void *ptr, size_t size) {
  libyaml_allocations++;
  return llmprof_resize(ptr, size, 1);
}

void yaml_free(void *ptr) {
  llmprof_free(ptr);
}

yaml_char_t *yaml_strdup(const yaml_char_t *text) {
  return text ? (yaml_char_t *)llmprof_strdup((const char *)text) : NULL;
}

static bool read_and_write(void *arg, llmprof_error *err) {
  llmprof_buffer out = {0};
  llmprof_value *value = parse(sample, sizeof sample - 1, err);
  bool ok = value && llmprof_yaml_write(value, &out, err) &&
            llmprof_yaml_write_line(value, &out, err);
  llmprof_buffer_free(&out);
  llmprof_value_free(value);
  return ok;
}

TEST(allocations) {
  test_every_allocation(read_and_write, NULL);
  assert_true(libyaml_allocations > 0);
}

static void read_prefix(const char *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_value *value = parse(bytes, size, &err);
  if (!value) /* half of a tag is no tag */
    assert_true(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_UNSUPPORTED);
  llmprof_value_free(value);
}

TEST(prefixes) {
  test_every_prefix(sample, sizeof sample - 1, read_prefix);
}
