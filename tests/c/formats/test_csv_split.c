/* The splitter against libcsv, and the reader of numbers against strtod. */
#include "formats/csv_pick.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "support.h"

enum {
  LINES = 200000,
  LONGEST = 14,
  FIELDS = 64,
  ROOM = 128
};

static uint64_t seed = 88172645463325252U;

static unsigned dice(unsigned sides) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (unsigned)(seed >> 33) % sides;
}

static size_t throw_text(char *text, const char *letters) {
  size_t size = 1 + dice(LONGEST);
  for (size_t i = 0; i < size; i++)
    text[i] = letters[dice((unsigned)strlen(letters))];
  text[size] = '\0';
  return size;
}

/* Fields of one line as libcsv has them. */
typedef struct oracle {
  char bytes[FIELDS][ROOM];
  size_t sizes[FIELDS];
  size_t fields, rows;
} oracle;

static void on_field(void *bytes, size_t size, void *user) {
  oracle *o = user;
  assert_true(o->fields < FIELDS && size < ROOM);
  if (size) memcpy(o->bytes[o->fields], bytes, size);
  o->sizes[o->fields++] = size;
}

static void on_row(int terminator, void *user) {
  (void)terminator;
  ((oracle *)user)->rows++;
}

static int is_newline(unsigned char c) {
  return c == '\n';
}

/* Does libcsv take it for one row? */
static bool ask(oracle *o, const char *line, size_t size) {
  struct csv_parser parser;
  *o = (oracle){.fields = 0};
  assert_int_equal(csv_init(&parser, CSV_STRICT), 0);
  csv_set_term_func(&parser, is_newline);
  bool ok = csv_parse(&parser, line, size, on_field, on_row, o) == size &&
            csv_parse(&parser, "\n", 1, on_field, on_row, o) == 1;
  csv_free(&parser);
  return ok && o->rows == 1;
}

static void compare(const oracle *o, char *line,
                    const llmprof_csv_pieces *pieces) {
  assert_int_equal(pieces->count, o->fields);
  for (size_t i = 0; i < pieces->count; i++) {
    const llmprof_csv_piece *piece = &pieces->items[i];
    size_t size = llmprof_csv_finish(line, piece);
    assert_int_equal(size, o->sizes[i]);
    assert_memory_equal(line + piece->start, o->bytes[i], size);
    assert_int_equal(line[piece->start + size], '\0');
  }
}

static void test_as_libcsv(void **state) {
  (void)state;
  llmprof_csv_pieces pieces = {0};
  size_t plain = 0;
  for (int i = 0; i < LINES; i++) {
    char line[LONGEST + 2];
    oracle o;
    size_t size = throw_text(line, i % 2 ? "a,\"" : "ab,,\"\" \t\r");
    if (strspn(line, " \t\r") == size) continue; /* blank */
    if (llmprof_csv_split(line, size, &pieces) != LLMPROF_CSV_PLAIN) continue;
    assert_true(ask(&o, line, size));
    compare(&o, line, &pieces);
    plain++;
  }
  assert_true(plain > LINES / 20);
  llmprof_free(pieces.items);
}

/* Those that it leaves to libcsv are few where a profiler wrote the line. */
static void test_what_profilers_write(void **state) {
  (void)state;
  llmprof_csv_pieces pieces = {0};
  char quoted[] = "\"1\",\"a, \"\"b\"\"\",\"\",\"1,234.5\"";
  char bare[] = "1,,x y,3";
  oracle o;
  assert_int_equal(llmprof_csv_split(quoted, sizeof quoted - 1, &pieces),
                   LLMPROF_CSV_PLAIN);
  assert_true(ask(&o, quoted, sizeof quoted - 1));
  compare(&o, quoted, &pieces);
  assert_int_equal(llmprof_csv_split(bare, sizeof bare - 1, &pieces),
                   LLMPROF_CSV_PLAIN);
  assert_true(ask(&o, bare, sizeof bare - 1));
  compare(&o, bare, &pieces);
  llmprof_free(pieces.items);
}

/* A line of quoted fields, sound or with one byte changed, of any length. */
static size_t throw_quoted(char *line, size_t room) {
  static const char letters[] = "ab, 0.\"";
  size_t size = 0, fields = 6 + dice(8);
  for (size_t i = 0; i < fields; i++) {
    size_t letters_of_it = dice(20);
    if (i) line[size++] = ',';
    line[size++] = '"';
    for (size_t k = 0; k < letters_of_it && size + 4 < room; k++) {
      char c = letters[dice(sizeof letters - 1)];
      line[size++] = c;
      if (c == '"') line[size++] = c;
    }
    line[size++] = '"';
  }
  if (dice(3) == 0) line[dice((unsigned)size)] = letters[dice(7)];
  return size;
}

/* Some of the first fields, of which the last may be none. */
static size_t throw_wanted(uint32_t *wanted) {
  size_t count = 0;
  for (uint32_t i = 0; i < 8; i++) {
    if (dice(3) == 0) wanted[count++] = i;
  }
  return count;
}

static void test_picks_what_is_split(void **state) {
  (void)state;
  enum {
    SIZE = 14 * 48
  };
  llmprof_csv_pieces all = {0};
  size_t picked = 0, refused = 0;
  for (int i = 0; i < LINES / 4; i++) {
    char line[SIZE];
    llmprof_csv_piece pieces[16];
    uint32_t wanted[16];
    size_t size = throw_quoted(line, SIZE), count = throw_wanted(wanted),
           fields;
    llmprof_csv_plain plain = llmprof_csv_split(line, size, &all);
    if (!llmprof_csv_pick(line, size, wanted, count, pieces, &fields)) {
      refused += plain == LLMPROF_CSV_PLAIN &&
                 (!count || wanted[count - 1] < all.count);
      continue;
    }
    assert_int_equal(plain, LLMPROF_CSV_PLAIN);
    assert_int_equal(fields, all.count);
    for (size_t k = 0; k < count; k++) {
      const llmprof_csv_piece *same = &all.items[wanted[k]];
      assert_int_equal(pieces[k].start, same->start);
      assert_int_equal(pieces[k].size, same->size);
      assert_int_equal(pieces[k].doubled, same->doubled);
    }
    picked++;
  }
  assert_true(picked > LINES / 16);
  assert_true(refused < LINES / 40); /* a field that is not quoted */
  llmprof_free(all.items);
}

static void test_numbers_as_strtod(void **state) {
  (void)state;
  size_t plain = 0;
  for (int i = 0; i < LINES; i++) {
    char text[LONGEST + 2], *end;
    double value;
    size_t size = throw_text(text, "0123456789012345678901234.-");
    if (!llmprof_csv_plain_number(text, size, &value)) continue;
    double wanted = strtod(text, &end);
    assert_int_equal(*end, '\0');
    assert_memory_equal(&value, &wanted, sizeof value);
    plain++;
  }
  assert_true(plain > LINES / 20);
}

static void test_separators(void **state) {
  (void)state;
  static const char *const wrong[] = {"1,23",   ",123", "1234,567", "1,,234",
                                      "1,234,", "",     "-",        "1e3",
                                      " 1",     "1-",   "inf"};
  double value;
  assert_true(llmprof_csv_plain_number("-1,234,567.25", 13, &value));
  assert_true(value < -1234567.2 && value > -1234567.3);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_false(llmprof_csv_plain_number(wrong[i], strlen(wrong[i]), &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_as_libcsv),
      cmocka_unit_test(test_what_profilers_write),
      cmocka_unit_test(test_picks_what_is_split),
      cmocka_unit_test(test_numbers_as_strtod),
      cmocka_unit_test(test_separators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
