/* Tables of an export, row by row. */
#include "nsys/nsys_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* ---- a table ---- */

enum {
  FEWEST = 100, /* rows for which common columns are worth it */
};

static nsys_facts *facts_of(const nsys_sheet *sheet) {
  return &sheet->writer->facts[sheet->fact];
}

/* Columns of which no row holds a value; one column each row must hold. */
static uint32_t common_columns(const nsys_facts *facts) {
  uint32_t all = (uint32_t)((UINT64_C(1) << facts->count) - 1);
  uint32_t common = all & ~facts->differs;
  if (facts->rows < FEWEST) return 0;
  return common == all ? common & ~UINT32_C(1) : common;
}

static bool create_table(const nsys_sheet *sheet) {
  const nsys_facts *facts = facts_of(sheet);
  const char *before = " (";
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "CREATE TABLE ");
  llmprof_edit_quote(&sql, facts->table);
  for (size_t i = 0; i < facts->count; i++) {
    if (sheet->common >> i & 1) continue;
    llmprof_buffer_printf(&sql, "%s%s", before, facts->columns[i]);
    before = ", ";
  }
  llmprof_buffer_putc(&sql, ')');
  return llmprof_edit_run_built(sheet->writer->edit, &sql);
}

static bool prepare_insert(nsys_sheet *sheet) {
  const nsys_facts *facts = facts_of(sheet);
  const char *value = " VALUES (?";
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "INSERT INTO ");
  llmprof_edit_quote(&sql, facts->table);
  for (size_t i = 0; i < facts->count; i++) {
    if (sheet->common >> i & 1) continue;
    llmprof_buffer_puts(&sql, value);
    value = ",?";
  }
  llmprof_buffer_putc(&sql, ')');
  llmprof_edit *edit = sheet->writer->edit;
  int rc = sql.failed ? SQLITE_NOMEM
                      : sqlite3_prepare_v2(edit->db, sql.bytes, -1,
                                           &sheet->insert, NULL);
  llmprof_buffer_free(&sql);
  return rc == SQLITE_OK || llmprof_edit_fail(edit, rc);
}

/* The first time. */
static bool add_facts(nsys_writer *w, const char *table,
                      const char *const *columns, size_t count) {
  if (!llmprof_grow(&w->facts, &w->fact_cap, w->fact_count + 1,
                    sizeof *w->facts))
    return llmprof_fail_nomem(w->edit->err);
  w->facts[w->fact_count++] =
      (nsys_facts){.table = table, .columns = columns, .count = count};
  return true;
}

bool nsys_sheet_open(nsys_sheet *sheet, nsys_writer *writer, const char *table,
                     const char *const *columns, size_t count) {
  *sheet = (nsys_sheet){.writer = writer, .fact = writer->table++};
  if (writer->looking) return add_facts(writer, table, columns, count);
  sheet->common = common_columns(facts_of(sheet));
  return create_table(sheet) && prepare_insert(sheet);
}

void nsys_sheet_close(nsys_sheet *sheet) {
  sqlite3_finalize(sheet->insert);
  sheet->insert = NULL;
}

bool nsys_sheet_end_row(nsys_sheet *sheet) {
  int rc = sheet->rc;
  if (!sheet->insert)
    facts_of(sheet)->rows++;
  else if (rc == SQLITE_OK && sqlite3_step(sheet->insert) != SQLITE_DONE)
    rc = sqlite3_errcode(sheet->writer->edit->db);
  sqlite3_reset(sheet->insert);
  sheet->at = sheet->bound = 0;
  sheet->rc = SQLITE_OK;
  return rc == SQLITE_OK || llmprof_edit_fail(sheet->writer->edit, rc);
}

/* ---- what rows have in common ---- */

static int64_t common_value(const nsys_writer *w, const nsys_facts *facts,
                            size_t column) {
  int64_t value = facts->first[column];
  bool is_string = facts->strings >> column & 1;
  return is_string && value != LLMPROF_ABSENT ? w->ids[value] : value;
}

static bool add_column(const nsys_writer *w, const nsys_facts *facts,
                       size_t column) {
  int64_t value = common_value(w, facts, column);
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "ALTER TABLE ");
  llmprof_edit_quote(&sql, facts->table);
  llmprof_buffer_printf(&sql, " ADD COLUMN %s", facts->columns[column]);
  if (value != LLMPROF_ABSENT)
    llmprof_buffer_printf(&sql, " DEFAULT %" PRId64, value);
  return llmprof_edit_run_built(w->edit, &sql);
}

bool nsys_add_common(nsys_writer *w) {
  bool ok = true;
  for (size_t t = 0; t < w->fact_count; t++) {
    uint32_t common = common_columns(&w->facts[t]);
    for (size_t i = 0; ok && i < w->facts[t].count; i++)
      if (common >> i & 1) ok = add_column(w, &w->facts[t], i);
  }
  return ok;
}

/* A value of the first time, as it is compared with those of other rows. */
static void look(nsys_sheet *sheet, int64_t value) {
  nsys_facts *facts = facts_of(sheet);
  int at = sheet->at++;
  if (facts->rows == 0)
    facts->first[at] = value;
  else if (facts->first[at] != value)
    facts->differs |= UINT32_C(1) << at;
}

/* ---- values ---- */

static void note(nsys_sheet *sheet, int rc) {
  if (rc != SQLITE_OK) sheet->rc = rc;
}

/* Which value of the INSERT the next column is; 0: none. */
static int place(nsys_sheet *sheet) {
  bool held = !(sheet->common >> sheet->at++ & 1);
  return held ? ++sheet->bound : 0;
}

/* Where a value goes that is never taken for common; 0: nowhere. */
static int place_of_own(nsys_sheet *sheet) {
  if (sheet->insert) return place(sheet);
  facts_of(sheet)->differs |= UINT32_C(1) << sheet->at++;
  return 0;
}

void nsys_put_integer(nsys_sheet *sheet, int64_t value) {
  if (!sheet->insert) {
    look(sheet, value);
    return;
  }
  int at = place(sheet);
  if (at && value == LLMPROF_ABSENT)
    note(sheet, sqlite3_bind_null(sheet->insert, at));
  else if (at)
    note(sheet, sqlite3_bind_int64(sheet->insert, at, value));
}

void nsys_put_null(nsys_sheet *sheet) {
  nsys_put_integer(sheet, LLMPROF_ABSENT);
}

void nsys_put_u32(nsys_sheet *sheet, uint32_t value) {
  nsys_put_integer(sheet, value == LLMPROF_NONE ? LLMPROF_ABSENT : value);
}

void nsys_put_real(nsys_sheet *sheet, double value) {
  if (isnan(value)) {
    nsys_put_null(sheet);
    return;
  }
  int at = place_of_own(sheet);
  if (at) note(sheet, sqlite3_bind_double(sheet->insert, at, value));
}

void nsys_put_bytes(nsys_sheet *sheet, const void *bytes, size_t size) {
  int at = place_of_own(sheet);
  if (at)
    note(sheet,
         sqlite3_bind_blob64(sheet->insert, at, bytes, size, SQLITE_TRANSIENT));
}

void nsys_put_part(nsys_sheet *sheet, const char *text, size_t size) {
  if (!text) {
    nsys_put_null(sheet);
    return;
  }
  int at = place_of_own(sheet);
  if (at)
    note(sheet, sqlite3_bind_text64(sheet->insert, at, text, size,
                                    SQLITE_STATIC, SQLITE_UTF8));
}

void nsys_put_chars(nsys_sheet *sheet, const char *text) {
  nsys_put_part(sheet, text, text ? strlen(text) : 0);
}

void nsys_put_text(nsys_sheet *sheet, uint32_t string) {
  size_t size = 0;
  const char *text = llmprof_strings_get(sheet->writer->strings, string, &size);
  nsys_put_part(sheet, text, size);
}

void nsys_put_string_id(nsys_sheet *sheet, uint32_t string) {
  if (string == LLMPROF_NO_STRING) {
    nsys_put_null(sheet);
    return;
  }
  nsys_writer *w = sheet->writer;
  if (sheet->insert) {
    nsys_put_integer(sheet, w->ids[string]);
    return;
  }
  if (w->uses[string] < UINT32_MAX) w->uses[string]++;
  facts_of(sheet)->strings |= UINT32_C(1) << sheet->at;
  look(sheet, string);
}

/* ---- nsys's global ids ---- */

enum {
  ID_BITS = 24,
  ID_MASK = (1 << ID_BITS) - 1,
  MACHINE_BITS = 48,
};

/* The machine's number, the process's, and 24 bits for a thread. What has been
 * read from an export has such an id already; another reader's ids are its own
 * affair, and are told apart by the machine's number. */
static int64_t global_process(const llmprof_process *process, uint32_t row) {
  int64_t id = process->id;
  bool is_global = !(id & ID_MASK) && id >> MACHINE_BITS &&
                   (id >> ID_BITS & ID_MASK) == process->pid;
  if (is_global) return id;
  return (int64_t)(1 + row % 255) << MACHINE_BITS |
         (int64_t)(process->pid & ID_MASK) << ID_BITS;
}

void nsys_put_process(nsys_sheet *sheet, uint32_t row) {
  size_t count;
  const llmprof_process *all =
      llmprof_trace_processes(sheet->writer->trace, &count);
  nsys_put_integer(sheet, row == LLMPROF_NONE ? LLMPROF_ABSENT
                                              : global_process(&all[row], row));
}

void nsys_put_thread(nsys_sheet *sheet, uint32_t row) {
  size_t count;
  const llmprof_thread *all =
      llmprof_trace_threads(sheet->writer->trace, &count);
  if (row == LLMPROF_NONE) {
    nsys_put_null(sheet);
    return;
  }
  const llmprof_process *processes =
      llmprof_trace_processes(sheet->writer->trace, &count);
  uint32_t process = all[row].process;
  nsys_put_integer(sheet, global_process(&processes[process], process) |
                              (all[row].tid & ID_MASK));
}
