#include "formats/csv.h"

#include <string.h>

#include "support.h"

static llmprof_csv *parse(const char *text, const llmprof_csv_options *options,
                          llmprof_error *err) {
  return llmprof_csv_open_bytes("t.csv", text, strlen(text), options, err);
}

static void assert_row(const llmprof_csv_row *row, size_t line, size_t count,
                       ...) {
  assert_int_equal(row->line, line);
  assert_int_equal(row->count, count);
  va_list args;
  va_start(args, count);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(row->fields[i].bytes, va_arg(args, const char *));
    assert_int_equal(row->fields[i].size, strlen(row->fields[i].bytes));
  }
  va_end(args);
}

TEST(rows) {
  llmprof_error err;
  llmprof_csv *csv =
      parse("a,b\n1,\"x, \"\"y\"\"\"\r\n\n2,\"two\nlines\"\n3,", NULL, &err);
  assert_non_null(csv);
  assert_row(llmprof_csv_header(csv), 1, 2, "a", "b");
  llmprof_csv_row row;
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 1);
  assert_row(&row, 2, 2, "1", "x, \"y\"");
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 1);
  assert_row(&row, 4, 2, "2", "two\nlines");
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 1);
  assert_row(&row, 6, 2, "3", "");
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 0);
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 0);
  llmprof_csv_close(csv);
}

TEST(preamble_units_and_repeated_header) {
  llmprof_error err;
  llmprof_csv_options options = {.header_has = "ID", .units_row = true};
  llmprof_csv *csv = parse("==PROF== Connected to process 5\n"
                           "the app said \"hello\n"
                           "\"unclosed preamble, ID\n"
                           "\"ID\",\"t\"\n"
                           "\"\",\"us\"\n"
                           "\"0\",\"1.5\"\n"
                           "==WARNING== lost a pass\n"
                           "\"ID\",\"t\"\n"
                           "\"1\",\"==2==\"\n",
                           &options, &err);
  assert_non_null(csv);
  assert_row(llmprof_csv_header(csv), 4, 2, "ID", "t");
  llmprof_csv_row row;
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 1);
  assert_row(&row, 6, 2, "0", "1.5");
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 1);
  assert_row(&row, 9, 2, "1", "==2==");
  assert_int_equal(llmprof_csv_next(csv, &row, &err), 0);
  llmprof_csv_close(csv);
}

static void assert_broken(const char *text, const llmprof_csv_options *options,
                          const char *message) {
  llmprof_error err = {0};
  llmprof_csv *csv = parse(text, options, &err);
  if (csv) {
    llmprof_csv_row row;
    int got;
    while ((got = llmprof_csv_next(csv, &row, &err)) > 0) {}
    assert_int_equal(got, -1);
    llmprof_csv_close(csv);
  }
  assert_string_equal(err.message, message);
}

TEST(broken_lines) {
  assert_broken("", NULL, "t.csv: empty, no CSV header");
  assert_broken("\n==PROF== x\n", NULL, "t.csv: empty, no CSV header");
  assert_broken("a,b\n1,2\n", &(llmprof_csv_options){.header_has = "Name"},
                "t.csv: no CSV header with \"Name\"");
  assert_broken("a,b\n1,2,3\n", NULL,
                "t.csv:2: 3 fields where the header has 2: 1,2,3");
  assert_broken("a,b\n1\n", NULL,
                "t.csv:2: 1 fields where the header has 2: 1");
  assert_broken("a,b\n1,\"2\"3\n", NULL, "t.csv:2: broken quoting: 1,\"2\"3");
  assert_broken("a,b\n1,\"2\n3\n", NULL,
                "t.csv:2: quoted field is never closed: 1,\"2");
  assert_broken("\"a,b\n", NULL,
                "t.csv:1: quoted field is never closed: \"a,b");
  assert_broken("a,b\nus\n", &(llmprof_csv_options){.units_row = true},
                "t.csv:2: 1 fields where the header has 2: us");
}

TEST(missing_file) {
  llmprof_error err;
  assert_null(llmprof_csv_open("/proc/none/x.csv", NULL, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_string_equal(err.message,
                      "/proc/none/x.csv: No such file or directory");
  assert_null(llmprof_csv_open("/", NULL, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
}

TEST(numbers) {
  static const struct {
    const char *text;
    llmprof_number kind;
    double value;
  } cases[] = {
      {"0", LLMPROF_NUMBER_OK, 0},
      {" 12.50 ", LLMPROF_NUMBER_OK, 12.5},
      {"127,771,591,377,694.47", LLMPROF_NUMBER_OK, 127771591377694.47},
      {"-1,000", LLMPROF_NUMBER_OK, -1000},
      {"1e-3", LLMPROF_NUMBER_OK, 1e-3},
      {"", LLMPROF_NUMBER_ABSENT, 0},
      {"n/a", LLMPROF_NUMBER_ABSENT, 0},
      {"(!) n/a", LLMPROF_NUMBER_ABSENT, 0},
      {"no data", LLMPROF_NUMBER_ABSENT, 0},
      {"nan", LLMPROF_NUMBER_ABSENT, 0},
      {"-nan", LLMPROF_NUMBER_ABSENT, 0},
      {"nan(ind)", LLMPROF_NUMBER_ABSENT, 0},
      {"-nan(ind)", LLMPROF_NUMBER_ABSENT, 0},
      {"inf", LLMPROF_NUMBER_TEXT, 0},
      {"1e999", LLMPROF_NUMBER_TEXT, 0},
      {"0x10", LLMPROF_NUMBER_TEXT, 0},
      {"1,00", LLMPROF_NUMBER_TEXT, 0},
      {"1234,567", LLMPROF_NUMBER_TEXT, 0},
      {",123", LLMPROF_NUMBER_TEXT, 0},
      {"1,234,", LLMPROF_NUMBER_TEXT, 0},
      {"(128, 1, 1)", LLMPROF_NUMBER_TEXT, 0},
      {"-", LLMPROF_NUMBER_TEXT, 0},
      {"1.5x", LLMPROF_NUMBER_TEXT, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double value = 0;
    print_message("number \"%s\"\n", cases[i].text);
    assert_int_equal(
        llmprof_csv_number(cases[i].text, strlen(cases[i].text), &value),
        cases[i].kind);
    if (cases[i].kind == LLMPROF_NUMBER_OK)
      assert_true(value == cases[i].value);
  }
}

static const char sample[] = "==PROF== go\n\"ID\",\"n, a\"\n\"\",\"us\"\n"
                             "\"0\",\"a \"\"q\"\"\"\n1,\"x\ny\"\n";

static bool read_all(void *arg, llmprof_error *err) {
  llmprof_csv_options options = {.header_has = "ID", .units_row = true};
  llmprof_csv *csv = parse(sample, &options, err);
  if (!csv) return false;
  llmprof_csv_row row;
  int got;
  while ((got = llmprof_csv_next(csv, &row, err)) > 0) {}
  llmprof_csv_close(csv);
  return got == 0;
}

TEST(allocations) {
  test_every_allocation(read_all, NULL);
}

static void read_prefix(const char *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_csv *csv = llmprof_csv_open_bytes("p", bytes, size, NULL, &err);
  if (!csv) {
    assert_true(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_EMPTY);
    return;
  }
  llmprof_csv_row row;
  int got;
  while ((got = llmprof_csv_next(csv, &row, &err)) > 0)
    assert_int_equal(row.count, llmprof_csv_header(csv)->count);
  if (got < 0) assert_int_equal(err.code, LLMPROF_SYNTAX);
  llmprof_csv_close(csv);
}

TEST(prefixes) {
  test_every_prefix(sample, sizeof sample - 1, read_prefix);
}
