#include "torch/chrome_trace.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/buffer.h"
#include "support.h"
#include "torch/chrome_internal.h"

#define ABSENT LLMPROF_ABSENT

static llmprof_chrome *open_text(const char *text, llmprof_error *err) {
  return llmprof_chrome_open_bytes("t.json", text, strlen(text), err);
}

/* Read to the end: the number of events, or -1. */
static int count_events(const void *bytes, size_t size, llmprof_error *err) {
  llmprof_chrome *reader =
      llmprof_chrome_open_bytes("t.json", bytes, size, err);
  llmprof_chrome_event event;
  int count = 0, got = -1;
  while (reader && (got = llmprof_chrome_next(reader, &event, err)) == 1)
    count++;
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
  assert_int_equal(llmprof_chrome_next(reader, &e, &err), 1);
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
  assert_int_equal(llmprof_chrome_next(reader, &e, &err), 1);
  assert_string_equal(e.name, "k<float>");
  assert_int_equal(e.start, 4000);
  assert_int_equal(e.duration, 1);
  assert_int_equal(e.correlation, 9);
  assert_int_equal(e.stream, 7);
  assert_null(e.shapes);
  assert_int_equal(llmprof_chrome_next(reader, &e, &err), 1);
  assert_null(e.category);
  assert_null(e.name);
  assert_true(e.start == ABSENT && e.duration == ABSENT && e.pid == ABSENT);
  assert_int_equal(llmprof_chrome_next(reader, &e, &err), 0);
  assert_int_equal(llmprof_chrome_next(reader, &e, &err), 0);
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
    assert_int_equal(llmprof_chrome_next(reader, &event, &err), 1);
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
                "t.json:1:10: bracket closes another kind");
  assert_broken("[{}] x", LLMPROF_SYNTAX,
                "t.json:1:6: expected nothing after the trace, found \"x\"");
  assert_broken("[{},\n {\"a\": 1,\n  \"b\": maybe}]", LLMPROF_SYNTAX,
                "t.json:3:8: expected a value, found \"m\"");
  assert_broken("[  {\"a\" 1}]", LLMPROF_SYNTAX,
                "t.json:1:9: expected ':', found \"1\"");
}

TEST(after_a_failure) {
  llmprof_error err;
  llmprof_chrome_event event;
  llmprof_chrome *reader = open_text("[x]", &err);
  assert_int_equal(llmprof_chrome_next(reader, &event, &err), -1);
  assert_int_equal(llmprof_chrome_next(reader, &event, &err), -1);
  assert_string_equal(err.message, "t.json: read on after a failure");
  llmprof_chrome_close(reader);
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
  assert_string_equal(err.message,
                      "t.json:1:206: nested deeper than 200 levels");
  llmprof_buffer_clear(&text);
  llmprof_buffer_puts(&text, "[\n{\"name\":\"");
  llmprof_buffer_fill(&text, 'x', 17 << 20);
  llmprof_buffer_puts(&text, "\"}]");
  assert_int_equal(count_events(text.bytes, text.size, &err), -1);
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_string_equal(err.message, "t.json:2:1: longer than 16 MiB");
  llmprof_buffer_free(&text);
}

/* An event over a limit is passed over, wherever it is. */
TEST(over_limits) {
  llmprof_buffer text = {0};
  llmprof_buffer_puts(&text, "[{\"name\":\"");
  llmprof_buffer_fill(&text, 'x', 17 << 20);
  llmprof_buffer_puts(&text, "\"},{\"name\":\"b\"},\n{\"name\":");
  llmprof_buffer_fill(&text, '[', 5000);
  llmprof_buffer_fill(&text, ']', 5000);
  llmprof_buffer_puts(&text, "},{\"name\":\"d\"}]");
  llmprof_error err = {0};
  llmprof_chrome_damage damage = {0};
  llmprof_chrome_event event;
  llmprof_chrome *reader =
      llmprof_chrome_open_bytes("t.json", text.bytes, text.size, &err);
  for (const char *name = "b"; *name; name = *name == 'b' ? "d" : "") {
    assert_int_equal(llmprof_chrome_next_sound(reader, &event, &damage, &err),
                     1);
    assert_string_equal(event.name, name);
  }
  assert_int_equal(llmprof_chrome_next_sound(reader, &event, &damage, &err), 0);
  assert_int_equal(damage.broken, 2);
  assert_false(damage.cut);
  assert_string_equal(damage.first, "1:2: longer than 16 MiB");
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
    assert_int_equal(llmprof_chrome_next(reader, &event, &err), 1);
    assert_int_equal(strlen(event.name), 20000 + i);
    assert_int_equal(event.start, i * 1001);
    assert_int_equal(event.line, i + 2);
  }
  assert_int_equal(llmprof_chrome_next(reader, &event, &err), 0);
  llmprof_chrome_close(reader);
  llmprof_buffer_free(&text);
}

TEST(not_utf8) {
  llmprof_error err;
  llmprof_chrome_event event;
  llmprof_chrome *reader = open_text("[{\"name\":\"a\xC3\"}]", &err);
  assert_int_equal(llmprof_chrome_next(reader, &event, &err), 1);
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

/* ---- plain events and others ---- */

static const char plain[] =
    "{ \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<4, 2>(int)\",\n"
    " \"pid\": 0, \"tid\": -7, \"ts\": 12.3456, \"dur\": 0.5,\t\"id\": 1e-3,\n"
    " \"args\": {\"External id\": 3, \"correlation\": 41, \"device\": 0,\n"
    " \"stream\": 7, \"context\": 1, \"bytes\": 64, \"name\": \"p\",\n"
    " \"registers per thread\": 32, \"graph node id\": 9,\n"
    " \"Process Group Name\": \"3\", \"Process Group Ranks\": \"[0, 1]\",\n"
    " \"dtype\": \"Half\", \"In msg nelems\": 8, \"Out msg nelems\": 9,\n"
    " \"Input Dims\": [[1, 20 ], [], 3], \"Input type\": "
    "[\"\",\n"
    " true, {\"a\": null, \"b\": [-0.25, 0]}], \"grid\": [512, 1, -1],\n"
    " \"block\": 7 } }";

static bool same_text(const char *a, const char *b) {
  return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static bool same_event(const llmprof_chrome_event *a,
                       const llmprof_chrome_event *b) {
  return same_text(a->phase, b->phase) && same_text(a->category, b->category) &&
         same_text(a->name, b->name) && same_text(a->shapes, b->shapes) &&
         a->start == b->start && a->duration == b->duration &&
         a->pid == b->pid && a->tid == b->tid &&
         a->external_id == b->external_id && a->correlation == b->correlation &&
         a->device == b->device && a->stream == b->stream &&
         a->context == b->context && a->bytes == b->bytes &&
         a->registers == b->registers && a->graph_node == b->graph_node &&
         same_text(a->label, b->label) && same_text(a->process, b->process) &&
         same_text(a->group, b->group) && same_text(a->dtype, b->dtype) &&
         same_text(a->group_ranks, b->group_ranks) &&
         a->elements_in == b->elements_in &&
         a->elements_out == b->elements_out &&
         memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
         memcmp(a->block, b->block, sizeof a->block) == 0;
}

/* Read an event in one pass, and through a tree, which an escape in a key asks
 * for: 1 when the first read it, 0 when it left it to the other. */
static int read_both(const char *text) {
  llmprof_buffer list = {0};
  llmprof_buffer_printf(&list, "[{\"\\u0041\": 0,%s]", text + 1);
  chrome_text room = {0};
  llmprof_chrome_event one, tree;
  size_t size = llmprof_chrome_scan(text, text + strlen(text), &room, &one);
  llmprof_error err;
  llmprof_chrome *reader =
      llmprof_chrome_open_bytes("t.json", list.bytes, list.size, &err);
  assert_non_null(reader);
  if (size && text[size] == '\0') {
    assert_int_equal(llmprof_chrome_next(reader, &tree, &err), 1);
    if (!same_event(&one, &tree)) fail_msg("read in two ways: %s", text);
  }
  llmprof_chrome_close(reader);
  llmprof_buffer_free(&room.bytes);
  llmprof_buffer_free(&list);
  return size != 0;
}

TEST(plain) {
  assert_int_equal(read_both(plain), 1);
  assert_int_equal(read_both("{\"pid\": \"Traces\", \"args\": {}}"), 1);
  assert_int_equal(read_both("{\"name\": \"ts\", \"dur\": \"2.5\"}"), 1);
}

TEST(left_to_the_tree) {
  static const char *const odd[] = {
      "{\"name\": \"a\\u0041\"}",
      "{\"name\": \"\xC3\xA9\"}",
      "{\"pid\": 1, \"pid\": 2}",
      "{\"pid\": 1.0}",
      "{\"pid\": 1234567890123456}",
      "{\"ts\": null}",
      "{\"dur\": NaN}",
      "{\"args\": []}",
      "{\"args\": {\"Input Dims\": [1.5]}}",
      "{\"args\": {\"Input Dims\": [1234567890]}}",
      "{\"args\": {\"Input Dims\": [1}}",
      "{\"id\": 007}",
      "{\"id\": 1",
  };
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    assert_int_equal(read_both(odd[i]), 0);
}

/* Whatever byte stands where: what one pass reads, the tree reads alike. */
TEST(mutated) {
  static const char bytes[] = "\"\\{}[],:-.0e1 xn\n\x01\x80";
  int read = 0;
  for (size_t at = 1; at < sizeof plain - 1; at++) {
    char text[sizeof plain];
    for (const char *byte = bytes; *byte; byte++) {
      memcpy(text, plain, sizeof plain);
      text[at] = *byte;
      read += read_both(text);
    }
  }
  assert_true(read > 1000);
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
  while (reader && (got = llmprof_chrome_next(reader, &event, err)) == 1) {}
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
