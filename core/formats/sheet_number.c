#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/sheet_internal.h"
#include "llmprof/format.h"

static void put_raw(llmprof_buffer *out, double value) {
  char text[32];
  snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
  char *point = strpbrk(text, ",");
  if (point) *point = '.'; /* of any locale */
  llmprof_buffer_puts(out, text);
}

void llmprof_sheet_put_number(const llmprof_sheet *s, llmprof_buffer *out,
                              size_t i, int64_t value, bool for_people) {
  const llmprof_sheet_column *column = &s->columns[i];
  bool integer = llmprof_sheet_cells(s, i)->type != LLMPROF_F64;
  llmprof_format format = {.digits = column->digits,
                           .separator = for_people ? "," : NULL};
  if (!integer && column->raw) {
    put_raw(out, llmprof_cell_real(value));
    return;
  }
  if (integer && (column->raw || column->whole ||
                  (column->scale == 1 && !column->exact))) {
    if (column->name) format.separator = NULL;
    llmprof_format_integer(out, LLMPROF_PLAIN, value, &format);
    return;
  }
  double real = integer ? (double)value : llmprof_cell_real(value);
  real *= column->scale;
  if (column->exact)
    llmprof_buffer_printf(out, "%.*f", column->digits, real);
  else
    llmprof_format_number(out, LLMPROF_PLAIN, real, &format);
}
