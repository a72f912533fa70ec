/* Tables of an export, row by row. */
#include "nsys/nsys_writer.h"

#include <inttypes.h>
#include <string.h>

#include "sqlite/sqlite_file.h"

/* ---- a table ---- */

static bool create_table(nsys_writer *writer, const char *table,
                         const char *const *columns, size_t count) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "CREATE TABLE ");
  llmprof_sqlite_put_name(&sql, table);
  for (size_t i = 0; i < count; i++)
    llmprof_buffer_printf(&sql, "%s%s%s", i ? ", " : " (", columns[i],
                          strchr(columns[i], ' ') ? "" : " INTEGER");
  llmprof_buffer_putc(&sql, ')');
  return llmprof_edit_run_built(writer->edit, &sql);
}

static bool prepare_insert(nsys_sheet *sheet, const char *table, size_t count) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "INSERT INTO ");
  llmprof_sqlite_put_name(&sql, table);
  for (size_t i = 0; i < count; i++)
    llmprof_buffer_puts(&sql, i ? ",?" : " VALUES (?");
  llmprof_buffer_putc(&sql, ')');
  llmprof_edit *edit = sheet->writer->edit;
  int rc = sql.failed ? SQLITE_NOMEM
                      : sqlite3_prepare_v2(edit->db, sql.bytes, -1,
                                           &sheet->insert, NULL);
  llmprof_buffer_free(&sql);
  return rc == SQLITE_OK || llmprof_edit_fail(edit, rc);
}

bool nsys_write_table(nsys_writer *writer, const char *table,
                      const char *const *columns, size_t count,
                      nsys_put_item put, const void *from, size_t items) {
  nsys_sheet sheet = {.writer = writer};
  bool ok = create_table(writer, table, columns, count) &&
            prepare_insert(&sheet, table, count);
  for (size_t i = 0; ok && i < items; i++) {
    put(&sheet, from, i);
    ok = sheet.rc == SQLITE_OK || llmprof_edit_fail(writer->edit, sheet.rc);
  }
  sqlite3_finalize(sheet.insert);
  return ok;
}

/* ---- values ---- */

static void note(nsys_sheet *sheet, int rc) {
  if (sheet->rc == SQLITE_OK) sheet->rc = rc;
}

void nsys_end_row(nsys_sheet *sheet) {
  if (sheet->rc == SQLITE_OK && sqlite3_step(sheet->insert) != SQLITE_DONE)
    note(sheet, sqlite3_errcode(sheet->writer->edit->db));
  sqlite3_reset(sheet->insert);
  sheet->at = 0;
}

void nsys_put_integer(nsys_sheet *sheet, int64_t value) {
  int at = ++sheet->at;
  note(sheet, value == LLMPROF_ABSENT
                  ? sqlite3_bind_null(sheet->insert, at)
                  : sqlite3_bind_int64(sheet->insert, at, value));
}

void nsys_put_null(nsys_sheet *sheet) {
  nsys_put_integer(sheet, LLMPROF_ABSENT);
}

void nsys_put_nulls(nsys_sheet *sheet, int count) {
  while (count--) nsys_put_null(sheet);
}

void nsys_put_u32(nsys_sheet *sheet, uint32_t value) {
  nsys_put_integer(sheet, llmprof_widen(value));
}

void nsys_put_real(nsys_sheet *sheet, double value) {
  /* to SQLite NaN is NULL */
  note(sheet, sqlite3_bind_double(sheet->insert, ++sheet->at, value));
}

void nsys_put_bytes(nsys_sheet *sheet, const void *bytes, size_t size) {
  note(sheet, sqlite3_bind_blob64(sheet->insert, ++sheet->at, bytes, size,
                                  SQLITE_TRANSIENT));
}

void nsys_put_part(nsys_sheet *sheet, const char *text, size_t size) {
  /* to SQLite no text is NULL */
  note(sheet, sqlite3_bind_text64(sheet->insert, ++sheet->at, text, size,
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
  sheet->writer->referred[string] = true;
  nsys_put_integer(sheet, (int64_t)string + 1);
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
