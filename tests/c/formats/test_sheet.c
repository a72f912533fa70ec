/* Frames as text. */
#include "formats/sheet.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "os/fs.h"
#include "support.h"
#include "text/format.h"

enum {
  ROWS = 4,
  COLUMNS = 4
};

static const int64_t ids[ROWS] = {1234567, -5, LLMPROF_ABSENT, 0};
static const int64_t counts[ROWS] = {1234567, -5, LLMPROF_ABSENT, 0};
static const double shares[ROWS] = {12345.25, -0.04, NAN, 3};
static const char *const names[ROWS] = {"f<a, \"b\">", "=1+1", NULL,
                                        "tab\there \xFF"};

typedef struct made {
  llmprof_strings *pool;
  llmprof_frame *frame;
  uint32_t names[ROWS];
} made;

static bool make(made *m, llmprof_error *err) {
  *m = (made){.pool = llmprof_strings_new()};
  if (m->pool) m->frame = llmprof_frame_new(ROWS, m->pool);
  if (!m->frame) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < ROWS; i++) {
    m->names[i] = LLMPROF_NO_STRING;
    if (names[i] &&
        !llmprof_strings_add(m->pool, names[i], strlen(names[i]), &m->names[i]))
      return llmprof_fail_nomem(err);
  }
  const test_column columns[COLUMNS] = {
      {.name = "id", .type = LLMPROF_I64, .data = ids},
      {.name = "count", .type = LLMPROF_I64, .data = counts},
      {.name = "share", .type = LLMPROF_F64, .data = shares},
      {.name = "name", .type = LLMPROF_STRING_ID, .data = m->names},
  };
  for (size_t i = 0; i < COLUMNS; i++) {
    if (!test_add(m->frame, &columns[i])) return llmprof_fail_nomem(err);
  }
  return true;
}

static void made_free(made *m) {
  llmprof_frame_free(m->frame);
  llmprof_strings_free(m->pool);
}

static const llmprof_sheet_column shown[COLUMNS] = {
    {.column = 0, .title = {"ID", 2}, .whole = true, .name = true, .scale = 1},
    {.column = 1, .title = {"Count", 5}, .whole = true, .scale = 1},
    {.column = 2, .title = {"Share, %", 8}, .digits = 1, .scale = 1},
    {.column = 3, .title = {"Name", 4}, .scale = 1},
};

static bool write(llmprof_frame *frame, const llmprof_sheet_column *columns,
                  size_t count, const llmprof_sheet_options *options,
                  llmprof_buffer *out, llmprof_error *err) {
  llmprof_sheet *sheet = llmprof_sheet_new(frame, columns, count, options, err);
  bool ok = sheet != NULL;
  for (size_t before = SIZE_MAX; ok && out->size != before;) {
    before = out->size;
    ok = llmprof_sheet_next(sheet, out, err);
  }
  llmprof_sheet_free(sheet);
  return ok;
}

static void assert_written(const llmprof_sheet_options *options,
                           const char *expected) {
  made m;
  llmprof_buffer out = {0};
  assert_true(make(&m, NULL));
  assert_true(write(m.frame, shown, COLUMNS, options, &out, NULL));
  assert_string_equal(out.bytes, expected);
  llmprof_buffer_free(&out);
  made_free(&m);
}

TEST(csv) {
  assert_written(&(llmprof_sheet_options){.format = LLMPROF_SHEET_CSV},
                 "ID,Count,\"Share, %\",Name\n"
                 "1234567,1234567,12345.3,\"f<a, \"\"b\"\">\"\n"
                 "-5,-5,0.0,=1+1\n"
                 ",,,\n"
                 "0,0,3.0,tab\there \xEF\xBF\xBD\n");
}

TEST(guarded_csv) {
  assert_written(
      &(llmprof_sheet_options){.format = LLMPROF_SHEET_CSV, .guard = true},
      "ID,Count,\"Share, %\",Name\n"
      "1234567,1234567,12345.3,\"f<a, \"\"b\"\">\"\n"
      "-5,-5,0.0,'=1+1\n"
      ",,,\n"
      "0,0,3.0,tab\there \xEF\xBF\xBD\n");
}

TEST(json) {
  assert_written(
      &(llmprof_sheet_options){.format = LLMPROF_SHEET_JSON},
      "[\n"
      "  {\n    \"ID\": 1234567,\n    \"Count\": 1234567,\n"
      "    \"Share, %\": 12345.3,\n    \"Name\": \"f<a, \\\"b\\\">\"\n  },\n"
      "  {\n    \"ID\": -5,\n    \"Count\": -5,\n"
      "    \"Share, %\": 0.0,\n    \"Name\": \"=1+1\"\n  },\n"
      "  {\n    \"ID\": null,\n    \"Count\": null,\n"
      "    \"Share, %\": null,\n    \"Name\": null\n  },\n"
      "  {\n    \"ID\": 0,\n    \"Count\": 0,\n"
      "    \"Share, %\": 3.0,\n    \"Name\": \"tab here \xEF\xBF\xBD\"\n  }\n"
      "]\n");
}

TEST(lines) {
  assert_written(&(llmprof_sheet_options){.format = LLMPROF_SHEET_LINES},
                 "     ID      Count  Share, %  Name\n"
                 "1234567  1,234,567  12,345.3  f<a, \"b\">\n"
                 "     -5         -5       0.0  =1+1\n"
                 "\n"
                 "      0          0       3.0  tab here \xEF\xBF\xBD\n");
}

/* The last column keeps 20 columns at least. */
TEST(lines_of_a_terminal) {
  static const char text[] = "abcdefghijklmnopqrstuvwxyz";
  uint32_t id;
  llmprof_strings *pool = llmprof_strings_new();
  assert_true(llmprof_strings_add(pool, text, sizeof text - 1, &id));
  llmprof_frame *frame = llmprof_frame_new(1, pool);
  test_column name = {.name = "name", .type = LLMPROF_STRING_ID, .data = &id};
  assert_true(test_add(frame, &name));
  const llmprof_sheet_column column = {.title = {"Name", 4}, .scale = 1};
  static const char *const expected[] = {"Name\nabcdefghijklm\u2026uvwxyz\n",
                                         "Name\nabcdefghijklmn\u2026tuvwxyz\n"};
  for (size_t i = 0; i < 2; i++) {
    llmprof_buffer out = {0};
    llmprof_sheet_options options = {.format = LLMPROF_SHEET_LINES,
                                     .width = i ? 22 : 7};
    assert_true(write(frame, &column, 1, &options, &out, NULL));
    assert_string_equal(out.bytes, expected[i]);
    llmprof_buffer_free(&out);
  }
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

/* One of 100,000 bytes is as long as it is, and its neighbour short. */
TEST(lines_of_a_long_name) {
  enum {
    LONG = 100000
  };
  static char text[LONG];
  memset(text, 'x', sizeof text);
  uint32_t ids_of[2];
  llmprof_strings *pool = llmprof_strings_new();
  assert_true(llmprof_strings_add(pool, text, sizeof text, &ids_of[0]));
  assert_true(llmprof_strings_add(pool, "y", 1, &ids_of[1]));
  llmprof_frame *frame = llmprof_frame_new(2, pool);
  test_column name = {
      .name = "name", .type = LLMPROF_STRING_ID, .data = ids_of};
  assert_true(test_add(frame, &name));
  const llmprof_sheet_column twice[] = {{.title = {"a", 1}, .scale = 1},
                                        {.title = {"b", 1}, .scale = 1}};
  llmprof_buffer out = {0};
  llmprof_sheet_options options = {.format = LLMPROF_SHEET_LINES};
  assert_true(write(frame, twice, 2, &options, &out, NULL));
  assert_in_range(out.size, 2 * LONG, 2 * LONG + 20000);
  llmprof_buffer_free(&out);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

TEST(scales) {
  made m;
  llmprof_buffer out = {0};
  const llmprof_sheet_column columns[] = {
      {.column = 1, .title = {"M", 1}, .digits = 3, .scale = 1e-6},
      {.column = 1,
       .title = {"E", 1},
       .digits = 1,
       .scale = .25,
       .exact = true},
  };
  llmprof_sheet_options options = {.format = LLMPROF_SHEET_LINES};
  assert_true(make(&m, NULL));
  assert_true(write(m.frame, columns, 2, &options, &out, NULL));
  assert_string_equal(out.bytes,
                      "    M         E\n1.235  308641.8\n0.000      -1.2\n\n"
                      "0.000       0.0\n");
  llmprof_buffer_free(&out);
  made_free(&m);
}

TEST(no_rows) {
  static const char *const expected[] = {"ID\n", "[]\n", "ID\n"};
  llmprof_strings *pool = llmprof_strings_new();
  llmprof_frame *frame = llmprof_frame_new(0, pool);
  test_column id = {.name = "id", .type = LLMPROF_I64, .data = ids};
  assert_true(test_add(frame, &id));
  for (size_t i = 0; i < 3; i++) {
    llmprof_buffer out = {0};
    llmprof_sheet_options options = {.format = (llmprof_sheet_format)i};
    assert_true(write(frame, shown, 1, &options, &out, NULL));
    assert_string_equal(out.bytes, expected[i]);
    llmprof_buffer_free(&out);
  }
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

/* More than one piece, each of whole lines. */
TEST(pieces) {
  enum {
    MANY = 100000
  };
  static int64_t values[MANY];
  for (int i = 0; i < MANY; i++) values[i] = i;
  llmprof_strings *pool = llmprof_strings_new();
  llmprof_frame *frame = llmprof_frame_new(MANY, pool);
  test_column id = {.name = "id", .type = LLMPROF_I64, .data = values};
  llmprof_sheet_options options = {.format = LLMPROF_SHEET_CSV};
  assert_true(test_add(frame, &id));
  llmprof_sheet *sheet = llmprof_sheet_new(frame, shown, 1, &options, NULL);
  size_t pieces = 0, lines = 0;
  for (;;) {
    llmprof_buffer out = {0};
    assert_true(llmprof_sheet_next(sheet, &out, NULL));
    if (!out.size) break;
    assert_int_equal(out.bytes[out.size - 1], '\n');
    for (size_t i = 0; i < out.size; i++) lines += out.bytes[i] == '\n';
    llmprof_buffer_free(&out);
    pieces++;
  }
  assert_true(pieces > 1);
  assert_int_equal(lines, MANY + 1);
  llmprof_sheet_free(sheet);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

static bool write_all(void *arg, llmprof_error *err) {
  made m;
  llmprof_buffer out = {0};
  bool ok = make(&m, err) && write(m.frame, shown, COLUMNS, arg, &out, err);
  llmprof_buffer_free(&out);
  made_free(&m);
  return ok;
}

TEST(allocations) {
  for (int i = 0; i < 3; i++) {
    llmprof_sheet_options options = {
        .format = (llmprof_sheet_format)i, .guard = true, .width = 10};
    test_every_allocation(write_all, &options);
  }
}

static bool save(llmprof_frame *frame, const llmprof_sheet_options *options,
                 const char *path, llmprof_error *err) {
  llmprof_sheet *sheet = llmprof_sheet_new(frame, shown, COLUMNS, options, err);
  bool ok = sheet && llmprof_sheet_save(sheet, path, true, err);
  llmprof_sheet_free(sheet);
  return ok;
}

static bool save_all(void *path, llmprof_error *err) {
  static const llmprof_sheet_options options = {.format = LLMPROF_SHEET_CSV};
  made m;
  bool ok = make(&m, err) && save(m.frame, &options, path, err);
  made_free(&m);
  return ok;
}

TEST(saving_fails) {
  char path[] = "/dev/null/kernels.csv", written[PATH_MAX];
  llmprof_error err;
  snprintf(written, sizeof written, "%s/few.csv", test_folder());
  test_every_allocation(save_all, written);
  assert_false(save_all(path, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  llmprof_interrupt(true);
  assert_false(save_all(written, &err));
  llmprof_interrupt(false);
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
}

/* The file holds the text. */
static void assert_saved(llmprof_frame *frame,
                         const llmprof_sheet_options *options,
                         const llmprof_buffer *text) {
  char path[PATH_MAX];
  llmprof_buffer saved = {0};
  snprintf(path, sizeof path, "%s/lots", test_folder());
  assert_true(save(frame, options, path, NULL));
  assert_true(llmprof_fs_read(path, 0, &saved, NULL));
  assert_int_equal(saved.size, text->size);
  assert_memory_equal(saved.bytes, text->bytes, text->size);
  llmprof_buffer_free(&saved);
}

static bool send(llmprof_frame *frame, const llmprof_sheet_options *options,
                 FILE *stream, llmprof_error *err) {
  llmprof_sheet *sheet = llmprof_sheet_new(frame, shown, COLUMNS, options, err);
  bool ok = sheet && llmprof_sheet_send(sheet, stream, "the stream", err);
  llmprof_sheet_free(sheet);
  return ok;
}

/* So does a stream. */
static void assert_sent(llmprof_frame *frame,
                        const llmprof_sheet_options *options,
                        const llmprof_buffer *text) {
  char *sent;
  size_t size;
  FILE *stream = open_memstream(&sent, &size);
  assert_non_null(stream);
  assert_true(send(frame, options, stream, NULL));
  assert_int_equal(fclose(stream), 0);
  assert_int_equal(size, text->size);
  assert_memory_equal(sent, text->bytes, size);
  free(sent);
  llmprof_error err;
  FILE *full = fopen("/dev/full", "w");
  assert_non_null(full);
  assert_int_equal(setvbuf(full, NULL, _IONBF, 0), 0);
  assert_false(send(frame, options, full, &err));
  assert_string_equal(err.message, "the stream: No space left on device");
  fclose(full);
}

TEST(files_and_streams) {
  made m;
  assert_true(make(&m, NULL));
  for (int format = LLMPROF_SHEET_CSV; format <= LLMPROF_SHEET_LINES;
       format++) {
    llmprof_sheet_options options = {
        .format = (llmprof_sheet_format)format, .guard = true, .width = 60};
    llmprof_buffer text = {0};
    assert_true(write(m.frame, shown, COLUMNS, &options, &text, NULL));
    assert_saved(m.frame, &options, &text);
    assert_sent(m.frame, &options, &text);
    llmprof_buffer_free(&text);
  }
  made_free(&m);
}
