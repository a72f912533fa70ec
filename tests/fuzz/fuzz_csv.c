/* The first byte chooses the options. Rows fit the header, their lines go up.
 */
#include "formats/csv.h"
#include "fuzz.h"

static llmprof_csv *open_input(const uint8_t *bytes, size_t size,
                               llmprof_error *err) {
  uint8_t flags = size ? bytes[0] : 0;
  llmprof_csv_options options = {
      .header_has = flags & 1 ? "ID" : NULL,
      .units_row = flags & 2,
  };
  size_t skip = size > 0;
  return llmprof_csv_open_bytes("fuzz", bytes + skip, size - skip, &options,
                                err);
}

static void check_row(const llmprof_csv *csv, const llmprof_csv_row *row) {
  size_t wanted = llmprof_csv_header(csv)->count;
  FUZZ_CHECK(row->count == wanted && row->line);
  for (size_t i = 0; i < row->count; i++) {
    double number;
    const llmprof_csv_field *field = &row->fields[i];
    FUZZ_CHECK(field->bytes[field->size] == '\0');
    llmprof_csv_number(field->bytes, field->size, &number);
  }
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
  return 0;
}
