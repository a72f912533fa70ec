/* The first byte chooses the options. Rows fit the header, their lines go up,
 * and some of their fields are what all are. */
#include <string.h>

#include "formats/csv.h"
#include "fuzz.h"

static llmprof_csv *open_input(const uint8_t *bytes, size_t size,
                               llmprof_error *err) {
  uint8_t flags = size ? bytes[0] : 0;
  llmprof_csv_options options = {
      .header_has = flags & 1 ? "ID" : NULL,
      .units_row = flags & 2,
      .allow_short = flags & 4,
  };
  size_t skip = size > 0;
  return llmprof_csv_open_bytes("fuzz", bytes + skip, size - skip, &options,
                                err);
}

static void check_row(const llmprof_csv *csv, const llmprof_csv_row *row) {
  size_t wanted = llmprof_csv_header(csv)->count;
  FUZZ_CHECK(row->count && row->count <= wanted && row->line);
  for (size_t i = 0; i < row->count; i++) {
    double number;
    const llmprof_csv_field *field = &row->fields[i];
    FUZZ_CHECK(field->bytes[field->size] == '\0');
    llmprof_csv_number(field->bytes, field->size, &number);
  }
}

/* Every field but each fourth, by its number. */
static size_t choose(const llmprof_csv *csv, uint32_t *wanted, size_t room) {
  size_t count = 0, fields = llmprof_csv_header(csv)->count;
  for (size_t i = 0; i < fields && count < room; i++) {
    if (i % 4 != 3) wanted[count++] = (uint32_t)i;
  }
  return count;
}

static void same_field(const llmprof_csv_row *row, size_t number,
                       const llmprof_csv_field *picked) {
  size_t size = number < row->count ? row->fields[number].size : 0;
  FUZZ_CHECK(picked->size == size && picked->bytes[size] == '\0');
  FUZZ_CHECK(!size ||
             memcmp(picked->bytes, row->fields[number].bytes, size) == 0);
}

/* Some fields of each row are what they are among all of them. */
static void check_some(llmprof_csv *csv, llmprof_csv *other) {
  enum {
    ROOM = 64
  };
  uint32_t wanted[ROOM];
  size_t count = choose(csv, wanted, ROOM);
  llmprof_csv_row row, some;
  for (;;) {
    llmprof_error err = {0}, why = {0};
    int got = llmprof_csv_next(csv, &row, &err);
    FUZZ_CHECK(got == llmprof_csv_next_of(other, wanted, count, &some, &why));
    FUZZ_CHECK(err.code == why.code && err.line == why.line);
    if (got <= 0) return;
    FUZZ_CHECK(some.count == count && some.line == row.line);
    for (size_t i = 0; i < count; i++)
      same_field(&row, wanted[i], &some.fields[i]);
  }
}

static void check_twice(const uint8_t *bytes, size_t size) {
  llmprof_csv *csv = open_input(bytes, size, NULL);
  llmprof_csv *other = open_input(bytes, size, NULL);
  FUZZ_CHECK(csv && other);
  check_some(csv, other);
  llmprof_csv_close(csv);
  llmprof_csv_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_csv *csv = open_input(bytes, size, &err);
  if (!csv) {
    FUZZ_CHECK(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_EMPTY);
    return 0;
  }
  llmprof_csv_row row;
  int got;
  size_t line = llmprof_csv_header(csv)->line;
  FUZZ_CHECK(llmprof_csv_header(csv)->count);
  while ((got = llmprof_csv_next(csv, &row, &err)) > 0) {
    check_row(csv, &row);
    FUZZ_CHECK(row.line > line);
    line = row.line;
  }
  if (got < 0) FUZZ_CHECK(err.code == LLMPROF_SYNTAX && err.line);
  llmprof_csv_close(csv);
  check_twice(bytes, size);
  return 0;
}
