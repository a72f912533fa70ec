#include "torch/chrome_trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "support.h"

#define ABSENT LLMPROF_ABSENT

static llmprof_chrome *open_bytes(const void *bytes, size_t size,
                                  llmprof_error *err) {
  test_file("t.json", bytes, size);
  assert_int_equal(chdir(test_folder()), 0);
  return llmprof_chrome_open("t.json", err);
}

static llmprof_chrome *open_text(const char *text, llmprof_error *err) {
  return open_bytes(text, strlen(text), err);
}

/* The next event, where nothing is damaged before it. */
static int next_of(llmprof_chrome *reader, llmprof_chrome_event *event,
                   llmprof_error *err) {
  llmprof_chrome_damage damage = {0};
  int got = llmprof_chrome_next(reader, event, &damage, err);
  if (!*damage.first) return got;
  llmprof_fail(err, LLMPROF_SYNTAX, "t.json:%s", damage.first);
  return -1;
}

/* Read to the end: the number of events, or -1. */
static int count_events(const void *bytes, size_t size, llmprof_error *err) {
  llmprof_chrome *reader = open_bytes(bytes, size, err);
  llmprof_chrome_event event;
  int count = 0, got = -1;
  while (reader && (got = next_of(reader, &event, err)) == 1) count++;
  llmprof_chrome_close(reader);
  return got ? -1 : count;
}

static const char sample[] =
    "{\n"
    "  \"schemaVersion\": 1, \"x\": [[\"]}\\\"\"], {\"traceEvents\": null}],\n"
    "  \"traceEvents\": [\n"
    "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\\u0041\",\n"
    "   \"pid\": 10, \"tid\": 11, \"ts\": 1742000000000000.123, \"dur\": 2.5,\n"
    "   \"args\": {\"External id\": 5, \"ts\": 1, \"Input Dims\": [[1, 2], "
    "[]]}},\n"
    "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<float>\", \"pid\": "
    "0,\n"
    "   \"tid\": 7, \"ts\": 4, \"dur\": 0.001, \"args\": {\"correlation\": 9,\n"
    "   \"device\": 0, \"stream\": 7, \"occupancy\": nan, \"a\": -Infinity}},\n"
    "  {\"ph\": \"i\", \"pid\": \"Traces\", \"ts\": null},\n"
    "  ],\n"
    "  \"traceName\": \"a\"\n"
    "}\n";

TEST(events) {
  llmprof_error err;
  llmprof_chrome_event e;
  llmprof_chrome *reader = open_text(sample, &err);
  assert_non_null(reader);
  assert_int_equal(next_of(reader, &e, &err), 1);
  assert_string_equal(e.phase, "X");
  assert_string_equal(e.category, "cpu_op");
  assert_string_equal(e.name, "aten::mmA");
  assert_string_equal(e.shapes, "[[1,2],[]]");
  assert_true(e.start == INT64_C(1742000000000000123));
  assert_int_equal(e.duration, 2500);
  assert_int_equal(e.pid, 10);
  assert_int_equal(e.tid, 11);
  assert_int_equal(e.external_id, 5);
  assert_true(e.correlation == ABSENT && e.device == ABSENT);
  assert_int_equal(e.line, 4);
  assert_int_equal(e.column, 3);
  assert_int_equal(next_of(reader, &e, &err), 1);
  assert_string_equal(e.name, "k<float>");
  assert_int_equal(e.start, 4000);
  assert_int_equal(e.duration, 1);
  assert_int_equal(e.correlation, 9);
  assert_int_equal(e.stream, 7);
  assert_null(e.shapes);
  assert_int_equal(next_of(reader, &e, &err), 1);
  assert_null(e.category);
  assert_null(e.name);
  assert_true(e.start == ABSENT && e.duration == ABSENT && e.pid == ABSENT);
  assert_int_equal(next_of(reader, &e, &err), 0);
  assert_int_equal(next_of(reader, &e, &err), 0);
  llmprof_chrome_close(reader);
}

TEST(forms) {
  static const struct {
    const char *text;
    int events;
  } cases[] = {
      {"[]", 0},
      {"\xEF\xBB\xBF [ {} ,{}] ", 2},
      {"[{},]", 1},
      {"{\"traceEvents\":[]}", 0},
      {"{\"traceEvents\":[{}],\"n\":-1.5e3,\"o\":{}}", 1},
      {"{\"traceEvents\":[{}],\"traceEvents\":[{}]}", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    llmprof_error err;
    assert_int_equal(count_events(cases[i].text, strlen(cases[i].text), &err),
                     cases[i].events);
  }
}

TEST(times) {
  static const struct {
    const char *us;
    int64_t ns;
  } cases[] = {
      {"0", 0},
      {"12", 12000},
      {"12.5", 12500},
      {"0.0004", 0},
      {"0.0005", 1},
      {"-0.25", -250},
      {"-3.000", -3000},
      {"1e3", 1000000},
      {"1.5E-2", 15},
      {"9223372036854775.807", INT64_MAX},
      {"9223372036854775.808", ABSENT},
      {"99999999999999999999", ABSENT},
      {"1e300", ABSENT},
      {"NaN", ABSENT},
      {"-inf", ABSENT},
      {"\"7\"", 7000},
      {"\"-1700000000000000.0125\"", INT64_C(-1700000000000000013)},
      {"\"7 \"", ABSENT},
      {"\"-\"", ABSENT},
      {"\"7.\"", ABSENT},
      {"\".7\"", ABSENT},
      {"\"1e3\"", ABSENT},
      {"\"\"", ABSENT},
      {"1111111111111111111111111111111111111111111111111111111111111111111",
       ABSENT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "[{\"dur\":1,\"ts\":%s,\"args\":{\"ts\":8}}]",
             cases[i].us);
    llmprof_error err;
    llmprof_chrome_event event;
    llmprof_chrome *reader = open_text(text, &err);
    assert_int_equal(next_of(reader, &event, &err), 1);
    if (event.start != cases[i].ns)
      fail_msg("%s: %lld", cases[i].us, (long long)event.start);
    assert_int_equal(event.duration, 1000);
    llmprof_chrome_close(reader);
  }
}

static void assert_broken(const char *text, llmprof_code code,
                          const char *message) {
  llmprof_error err = {0};
  assert_int_equal(count_events(text, strlen(text), &err), -1);
  assert_string_equal(err.message, message);
  assert_int_equal(err.code, code);
}

TEST(broken) {
  assert_broken("", LLMPROF_SYNTAX,
                "t.json:1:1: expected a trace: '{' or '[', found the end (cut "
                "short?)");
  assert_broken("pid,name\n", LLMPROF_SYNTAX,
                "t.json:1:1: expected a trace: '{' or '[', found \"p\"");
  assert_broken("{\"operators\": []}\n", LLMPROF_UNSUPPORTED,
                "t.json:2:1: no \"traceEvents\": not a Chrome trace");
  assert_broken("{\"a\": 1", LLMPROF_SYNTAX,
                "t.json:1:7: never ends (cut short?)");
  assert_broken("{\"a\" 1}", LLMPROF_SYNTAX,
                "t.json:1:6: expected ':', found \"1\"");
  assert_broken("{\"traceEvents\": {}}", LLMPROF_SYNTAX,
                "t.json:1:17: expected the list of events, found \"{\"");
  assert_broken("[{}\n,", LLMPROF_SYNTAX,
                "t.json:2:2: expected an event, found the end (cut short?)");
  assert_broken("[{}\n, 7]", LLMPROF_SYNTAX,
                "t.json:2:3: expected an event, found \"7\"");
  assert_broken("[{\"a\": [1}]", LLMPROF_SYNTAX,
                "t.json:1:10: no JSON: \"}]\"");
  assert_broken("[{}] x", LLMPROF_SYNTAX,
                "t.json:1:6: expected nothing after the trace, found \"x\"");
  assert_broken("[{},\n {\"a\": 1,\n  \"b\": maybe}]", LLMPROF_SYNTAX,
                "t.json:3:8: no JSON: \"maybe}\"");
  assert_broken("[  {\"a\" 1}]", LLMPROF_SYNTAX, "t.json:1:9: no JSON: \"1}\"");
}

TEST(limits) {
  llmprof_buffer text = {0};
  llmprof_error err;
  llmprof_buffer_puts(&text, "[{\"a\":");
  llmprof_buffer_fill(&text, '[', 199);
  llmprof_buffer_fill(&text, ']', 199);
  llmprof_buffer_puts(&text, "}]");
  assert_int_equal(count_events(text.bytes, text.size, &err), 1);
  llmprof_buffer_clear(&text);
  llmprof_buffer_fill(&text, '[', 1000000);
  assert_int_equal(count_events(text.bytes, text.size, &err), -1);
  assert_string_equal(err.message,
                      "t.json:1:2: expected an event, found \"[\"");
  llmprof_buffer_clear(&text);
  llmprof_buffer_puts(&text, "{\"a\":");
  llmprof_buffer_fill(&text, '[', 1000000);
  assert_int_equal(count_events(text.bytes, text.size, &err), -1);
  assert_string_equal(err.message, "t.json:1:6: never ends (cut short?)");
  llmprof_buffer_clear(&text);
  llmprof_buffer_puts(&text, "[\n{\"name\":\"");
  llmprof_buffer_fill(&text, 'x', 17 << 20);
  llmprof_buffer_puts(&text, "\"}]");
  assert_int_equal(count_events(text.bytes, text.size, &err), -1);
  assert_string_equal(err.message, "t.json:2:1: longer than 16 MiB");
  llmprof_buffer_free(&text);
}

/* An event that is damaged or over a limit is passed over, wherever it is. */
TEST(passed_over) {
  llmprof_buffer text = {0};
  llmprof_buffer_puts(&text, "[{\"ts\":01},{\"name\":\"");
  llmprof_buffer_fill(&text, 'x', 17 << 20);
  llmprof_buffer_puts(&text, "\"},{\"name\":\"b\"},\n{\"name\":");
  llmprof_buffer_fill(&text, '[', 5000);
  llmprof_buffer_fill(&text, ']', 5000);
  llmprof_buffer_puts(&text, "},{\"name\":\"d\"}]");
  llmprof_error err = {0};
  llmprof_chrome_damage damage = {0};
  llmprof_chrome_event event;
  llmprof_chrome *reader = open_bytes(text.bytes, text.size, &err);
  for (const char *name = "b"; *name; name = *name == 'b' ? "d" : "") {
    assert_int_equal(llmprof_chrome_next(reader, &event, &damage, &err), 1);
    assert_string_equal(event.name, name);
  }
  assert_int_equal(llmprof_chrome_next(reader, &event, &damage, &err), 0);
  assert_int_equal(damage.broken, 3);
  assert_false(damage.cut);
  assert_string_equal(damage.first, "1:9: no JSON: \"1}\"");
  llmprof_chrome_close(reader);
  llmprof_buffer_free(&text);
}

/* Names longer than a piece of the file, at every place of its boundary. */
TEST(long_names) {
  llmprof_buffer text = {0};
  llmprof_buffer_puts(&text, "[");
  for (size_t i = 0; i < 40; i++) {
    llmprof_buffer_printf(&text, "%s\n{\"ts\":%zu.%03zu,\"name\":\"",
                          i ? "," : "", i, i);
    llmprof_buffer_fill(&text, 'n', 20000 + i);
    llmprof_buffer_puts(&text, "\"}");
  }
  llmprof_buffer_puts(&text, "]");
  const char *path = test_file("long.json", text.bytes, text.size);
  llmprof_error err;
  llmprof_chrome_event event;
  llmprof_chrome *reader = llmprof_chrome_open(path, &err);
  assert_non_null(reader);
  for (size_t i = 0; i < 40; i++) {
    assert_int_equal(next_of(reader, &event, &err), 1);
    assert_int_equal(strlen(event.name), 20000 + i);
    assert_int_equal(event.start, i * 1001);
    assert_int_equal(event.line, i + 2);
  }
  assert_int_equal(next_of(reader, &event, &err), 0);
  llmprof_chrome_close(reader);
  llmprof_buffer_free(&text);
}

TEST(not_utf8) {
  llmprof_error err;
  llmprof_chrome_event event;
  llmprof_chrome *reader = open_text("[{\"name\":\"a\xC3\"}]", &err);
  assert_int_equal(next_of(reader, &event, &err), 1);
  assert_string_equal(event.name, "a\xEF\xBF\xBD");
  llmprof_chrome_close(reader);
}

/* ---- gzip ---- */

static void add_packed(llmprof_buffer *out, const char *bytes, size_t size) {
  unsigned char room[4096];
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
  z.next_in = (unsigned char *)bytes;
  z.avail_in = (unsigned)size;
  z.next_out = room;
  z.avail_out = sizeof room;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  llmprof_buffer_add(out, room, sizeof room - z.avail_out);
  deflateEnd(&z);
}

/* The sample as two members. */
static llmprof_buffer packed_sample(void) {
  llmprof_buffer packed = {0};
  add_packed(&packed, sample, 100);
  add_packed(&packed, sample + 100, sizeof sample - 1 - 100);
  return packed;
}

TEST(gzip) {
  llmprof_buffer packed = packed_sample();
  llmprof_error err;
  assert_int_equal(count_events(packed.bytes, packed.size, &err), 3);
  assert_int_equal(count_events(packed.bytes, packed.size - 1, &err), -1);
  assert_non_null(strstr(err.message, "cut short: the end is missing"));
  llmprof_buffer_fill(&packed, '\0', 512); /* to the end of a block */
  assert_int_equal(count_events(packed.bytes, packed.size, &err), 3);
  packed.size -= 512;
  packed.bytes[packed.size - 6] ^= 1; /* the check sum */
  assert_int_equal(count_events(packed.bytes, packed.size, &err), -1);
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_non_null(strstr(err.message, "incorrect data check"));
  llmprof_buffer_free(&packed);
}

TEST(files) {
  llmprof_error err;
  assert_null(llmprof_chrome_open("/proc/none/t.json", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_string_equal(err.message,
                      "/proc/none/t.json: No such file or directory");
  assert_null(llmprof_chrome_open("/", &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
}

/* ---- whatever happens ---- */

static void read_prefix(const char *bytes, size_t size) {
  llmprof_error err = {0};
  int got = count_events(bytes, size, &err);
  assert_true(got >= 0 || err.code == LLMPROF_SYNTAX);
}

/* ---- what is not plain ---- */

TEST(unusual_values) {
  static const char text[] =
      "[{\"name\": \"a\\u0041\\n\xC3\xA9\tb\", \"pid\": 1, \"pid\": 2,\n"
      "\"tid\": 7.0, \"ts\": null, \"dur\": -Infinity, \"cat\": [\"}\"],\n"
      "\"args\": {\"correlation\": 1234567890123456, \"device\": 0.5,\n"
      "\"stream\": 12345678901234567890, \"context\": -12, \"bytes\": true,\n"
      "\"grid\": [1, {\"a\": [nan]}, -3], \"block\": [1, 2, 3, 4],\n"
      "\"Input Dims\": [1.5, [ ]]}},\n"
      "{\"args\": [], \"pid\": \"Traces\", \"name\": \"\\ud800\"}]";
  llmprof_error err;
  llmprof_chrome_event e;
  llmprof_chrome *reader = open_text(text, &err);
  assert_int_equal(next_of(reader, &e, &err), 1);
  assert_string_equal(e.name, "aA\n\xC3\xA9 b");
  assert_int_equal(e.pid, 1);
  assert_int_equal(e.tid, 7);
  assert_true(e.start == ABSENT && e.duration == ABSENT);
  assert_null(e.category);
  assert_true(e.correlation == INT64_C(1234567890123456));
  assert_true(e.device == ABSENT && e.stream == ABSENT && e.bytes == ABSENT);
  assert_int_equal(e.context, -12);
  assert_true(e.grid[0] == 1 && e.grid[1] == ABSENT && e.grid[2] == -3);
  assert_true(e.block[0] == ABSENT && e.block[2] == ABSENT);
  assert_string_equal(e.shapes, "[1.5,[]]");
  assert_int_equal(next_of(reader, &e, &err), -1);
  assert_string_equal(err.message, "t.json:7:39: no JSON: \"\"\\ud800\"}\"");
  llmprof_chrome_close(reader);
}

/* The first of a key that has two spellings counts. */
TEST(spellings) {
  llmprof_error err;
  llmprof_chrome_event e;
  llmprof_chrome *reader =
      open_text("[{\"args\": {\"External id\": 1, \"external id\": 2,\n"
                "\"Input dims\": [[1]], \"Input Dims\": [[2]]}},\n"
                "{\"args\": {\"external id\": 3, \"External id\": 4}}]",
                &err);
  assert_int_equal(next_of(reader, &e, &err), 1);
  assert_int_equal(e.external_id, 1);
  assert_string_equal(e.shapes, "[[1]]");
  assert_int_equal(next_of(reader, &e, &err), 1);
  assert_int_equal(e.external_id, 3);
  llmprof_chrome_close(reader);
}

TEST(prefixes) {
  llmprof_buffer packed = packed_sample();
  test_every_prefix(sample, sizeof sample - 1, read_prefix);
  test_every_prefix(packed.bytes, packed.size, read_prefix);
  llmprof_buffer_free(&packed);
}

static bool read_file(void *arg, llmprof_error *err) {
  llmprof_chrome *reader = llmprof_chrome_open(arg, err);
  llmprof_chrome_event event;
  int got = -1;
  while (reader && (got = next_of(reader, &event, err)) == 1) {}
  llmprof_chrome_close(reader);
  return got == 0;
}

TEST(allocations) {
  llmprof_buffer packed = packed_sample();
  char path[256];
  snprintf(path, sizeof path, "%s",
           test_file("sample.json.gz", packed.bytes, packed.size));
  llmprof_buffer_free(&packed);
  test_every_allocation(read_file, path);
}
