#include "fuzz.h"
#include "llmprof/csv.h"

static void read_all(const void *data, size_t size,
                     const llmprof_csv_options *options) {
  llmprof_csv *csv = llmprof_csv_open_bytes("fuzz", data, size, options, NULL);
  if (!csv) return;
  llmprof_csv_row row;
  while (llmprof_csv_next(csv, &row, NULL) > 0) {
    double number;
    for (size_t i = 0; i < row.count; i++)
      llmprof_csv_number(row.fields[i].bytes, row.fields[i].size, &number);
  }
  llmprof_csv_close(csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_all(data, size, NULL);
  read_all(data, size, &(llmprof_csv_options){.allow_short = true});
  read_all(data, size,
           &(llmprof_csv_options){.header_has = "ID", .units_row = true});
  return 0;
}
