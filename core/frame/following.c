/* What comes next: cells of the row that follows, as columns. */
#include <stdio.h>

#include "llmprof/alloc.h"
#include "llmprof/frame.h"

enum {
  NAME_SIZE = 256
};

/* Row r of `from` for row r - 1; absent for the last. Owned by the frame. */
static uint32_t *shifted_index(llmprof_frame *frame,
                               const llmprof_column *from) {
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *index = llmprof_alloc(rows, sizeof *index);
  if (!index || !llmprof_frame_own(frame, index)) return NULL;
  for (size_t row = 1; row < rows; row++)
    index[row - 1] = from->index ? from->index[row] : (uint32_t)row;
  if (rows) index[rows - 1] = UINT32_MAX;
  return index;
}

static bool follow(llmprof_frame *frame, size_t number, llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  if (!from) return false;
  char name[NAME_SIZE];
  int size = snprintf(name, sizeof name, "next_%s", from->name);
  if (size < 0 || (size_t)size >= sizeof name)
    return llmprof_fail(err, LLMPROF_LIMIT, "column '%s': too long a name",
                        from->name);
  if (llmprof_frame_find(frame, name) != SIZE_MAX)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "there is a column '%s' already", name);
  llmprof_column column = *from;
  column.name = name;
  column.index = shifted_index(frame, from);
  return (column.index && llmprof_frame_add(frame, &column, NULL, NULL)) ||
         llmprof_fail_nomem(err);
}

bool llmprof_frame_follow(llmprof_frame *frame, const size_t *columns,
                          size_t count, llmprof_error *err) {
  for (size_t i = 0; i < count; i++) {
    if (!follow(frame, columns[i], err)) return false;
  }
  return true;
}
