/* What all parts of an export are read with: ids, strings, tables. */
#include "nsys/nsys_internal.h"

/* Process id and thread id inside nsys's 64-bit global ids. */
#define GLOBAL_PID_MASK INT64_C(-16777216) /* all but the low 24 bits */

enum {
  ID_BITS = 24,
  ID_MASK = (1 << ID_BITS) - 1,
};

bool llmprof_nsys_process(llmprof_builder *builder, int64_t global_pid,
                          uint32_t *row) {
  *row = LLMPROF_NONE;
  if (global_pid == LLMPROF_ABSENT) return true;
  return llmprof_builder_add_process(
      builder, global_pid & GLOBAL_PID_MASK,
      (uint32_t)(global_pid >> ID_BITS & ID_MASK), row);
}

bool llmprof_nsys_other_thread(nsys_export *export, llmprof_builder *builder,
                               int64_t global_tid, uint32_t *row) {
  uint32_t process;
  *row = LLMPROF_NONE;
  if (global_tid == LLMPROF_ABSENT) return true;
  if (!llmprof_nsys_process(builder, global_tid, &process) ||
      !llmprof_builder_add_thread(
          builder, global_tid, (uint32_t)(global_tid & ID_MASK), process, row))
    return false;
  export->last_thread = global_tid;
  export->last_thread_row = *row;
  return true;
}

/* ---- strings ---- */

uint32_t llmprof_nsys_far_string(const nsys_export *export, int64_t id) {
  const nsys_far_string *found = llmprof_intern_seek(&export->far_strings, &id);
  return found ? found->string : LLMPROF_NO_STRING;
}

bool llmprof_nsys_text(llmprof_builder *builder, const llmprof_scan *scan,
                       int i, uint32_t *string) {
  size_t size;
  const char *bytes = llmprof_scan_text(scan, i, &size);
  return llmprof_builder_text(builder, bytes, size, string);
}

/* ---- tables of events ---- */

bool llmprof_nsys_open_table(const nsys_export *export,
                             llmprof_builder *builder, const nsys_table *table,
                             llmprof_scan **scan, llmprof_error *err) {
  if (!llmprof_scan_open(export->db, &table->spec, scan, err)) return false;
  if (!*scan) return true;
  if (table->recorded_as != LLMPROF_TABLES)
    llmprof_builder_recorded(builder, table->recorded_as);
  if (table->fact != LLMPROF_FACTS && llmprof_scan_has(*scan, table->known_by))
    llmprof_builder_knows(builder, table->fact);
  return true;
}
