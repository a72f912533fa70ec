/* Columns that say something about the groups of a frame's rows. Where rows
 * have an index that tells their group, as the number of a name does, the new
 * columns are reached through it, and no row is numbered. */
#include <math.h>

#include "frame/cells.h"
#include "llmprof/alloc.h"

/* By row. */
static bool number_rows(llmprof_frame *frame, const size_t *keys,
                        size_t key_count, llmprof_row_groups *groups,
                        llmprof_error *err) {
  llmprof_groups made;
  if (!llmprof_groups_make(&made, frame, keys, key_count, err)) return false;
  *groups = (llmprof_row_groups){.count = made.count, .of_row = made.of_row};
  made.of_row = NULL;
  llmprof_groups_free(&made);
  return true;
}

/* Is something said of rows that have no item? */
static bool speak_of_none(const llmprof_row_groups *groups,
                          const llmprof_column *columns, size_t count) {
  bool any = false;
  for (size_t c = 0; groups->of_none < groups->count && c < count; c++) {
    llmprof_column column = columns[c];
    column.index = NULL;
    any = any || llmprof_cell(&column, groups->of_none) != LLMPROF_ABSENT;
  }
  return any;
}

/* As they were numbered before, or anew. */
static bool find_groups(llmprof_frame *frame, const size_t *keys,
                        size_t key_count, const llmprof_column *columns,
                        size_t count, llmprof_row_groups *groups,
                        llmprof_error *err) {
  if (!llmprof_frame_take_groups(frame, keys, key_count, groups))
    return number_rows(frame, keys, key_count, groups, err);
  if (groups->of_row || !speak_of_none(groups, columns, count)) return true;
  llmprof_row_groups_free(groups);
  return number_rows(frame, keys, key_count, groups, err);
}

static void put_absent(llmprof_column_type type, void *cell) {
  int64_t absent = LLMPROF_ABSENT;
  double none = NAN;
  uint32_t small = UINT32_MAX;
  if (type == LLMPROF_I64)
    memcpy(cell, &absent, sizeof absent);
  else if (type == LLMPROF_F64)
    memcpy(cell, &none, sizeof none);
  else
    memcpy(cell, &small, sizeof small);
}

/* Data by group as data by item; NULL when out of memory. */
static void *spread(const llmprof_row_groups *groups,
                    const llmprof_column *column) {
  bool wide = column->type == LLMPROF_I64 || column->type == LLMPROF_F64;
  size_t width = wide ? sizeof(int64_t) : sizeof(uint32_t);
  const char *from = column->data;
  char *made = llmprof_alloc(groups->items, width);
  for (size_t i = 0; made && i < groups->items; i++) {
    uint32_t group = groups->of_item[i];
    if (group == UINT32_MAX)
      put_absent(column->type, made + i * width);
    else
      memcpy(made + i * width, from + group * width, width);
  }
  return made;
}

static bool add_by_item(llmprof_frame *frame, const llmprof_row_groups *groups,
                        const llmprof_column *about, llmprof_error *err) {
  llmprof_column column = *about;
  void *data = spread(groups, about);
  if (!data || !llmprof_frame_own(frame, data)) return llmprof_fail_nomem(err);
  column.data = data;
  column.index = groups->index;
  if (!llmprof_frame_add(frame, &column, NULL, NULL))
    return llmprof_fail_nomem(err);
  llmprof_frame_set_items(frame, llmprof_frame_columns(frame) - 1,
                          groups->items);
  return true;
}

static bool add_by_row(llmprof_frame *frame, const llmprof_row_groups *groups,
                       const llmprof_column *about, llmprof_error *err) {
  llmprof_column column = *about;
  column.index = groups->of_row;
  if (!llmprof_frame_add(frame, &column, NULL, NULL))
    return llmprof_fail_nomem(err);
  llmprof_frame_set_items(frame, llmprof_frame_columns(frame) - 1,
                          groups->count);
  return true;
}

/* Rows' numbers become the frame's. */
static bool add_all(llmprof_frame *frame, llmprof_row_groups *groups,
                    const llmprof_column *columns, size_t count,
                    llmprof_error *err) {
  uint32_t *of_row = groups->of_row;
  bool ok = true;
  if (of_row && !llmprof_frame_own(frame, of_row)) {
    groups->of_row = NULL;
    return llmprof_fail_nomem(err);
  }
  for (size_t c = 0; ok && c < count; c++)
    ok = of_row ? add_by_row(frame, groups, &columns[c], err)
                : add_by_item(frame, groups, &columns[c], err);
  groups->of_row = NULL;
  return ok;
}

bool llmprof_frame_extend(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t groups,
                          const llmprof_column *columns, size_t count,
                          llmprof_error *err) {
  llmprof_row_groups there;
  if (!find_groups(frame, keys, key_count, columns, count, &there, err))
    return false;
  bool ok = there.count == groups ||
            llmprof_fail(err, LLMPROF_RANGE, "%zu groups, not %zu", there.count,
                         groups);
  ok = ok && add_all(frame, &there, columns, count, err);
  llmprof_row_groups_free(&there);
  return ok;
}
