#include "frame/joint.h"

#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/alloc.h"

enum {
  MOST = 1 << 16, /* items that are few, */
  EACH = 4        /* if there are so many rows for each */
};

void llmprof_joint_free(llmprof_joint *joint) {
  llmprof_free(joint->numbers);
  *joint = (llmprof_joint){0};
}

/* Items of the index, where they are few; else 0. */
static size_t few_items(const llmprof_frame *frame, size_t key) {
  size_t items = llmprof_frame_items(frame, key);
  return items <= MOST && items <= llmprof_frame_rows(frame) / EACH ? items : 0;
}

/* Cells of the keys by item, side by side, absent where a key is not joined;
 * false where all are, as they are of rows without an item. */
static bool read_item(const llmprof_frame *frame, const size_t *keys,
                      size_t key_count, const bool *joined, size_t item,
                      int64_t *cells) {
  bool any = false;
  for (size_t k = 0; k < key_count; k++) {
    llmprof_column items = *llmprof_frame_peek(frame, keys[k]);
    items.index = NULL;
    cells[k] = joined[k] ? llmprof_cell(&items, item) : LLMPROF_ABSENT;
    any = any || cells[k] != LLMPROF_ABSENT;
  }
  return any;
}

/* A number for each item, the same for those whose cells are. */
static bool number_items(llmprof_joint *joint, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         const bool *joined, size_t items) {
  llmprof_intern numbers;
  llmprof_intern_init(&numbers, key_count * sizeof(int64_t));
  int64_t *cells = llmprof_alloc(key_count, sizeof *cells);
  joint->numbers = llmprof_alloc(items, sizeof *joint->numbers);
  bool ok = cells && joint->numbers;
  for (size_t i = 0; ok && i < items; i++) {
    joint->numbers[i] = UINT32_MAX;
    ok = !read_item(frame, keys, key_count, joined, i, cells) ||
         llmprof_intern_add(&numbers, cells, &joint->numbers[i]);
  }
  joint->count = ok ? numbers.count : 0;
  joint->items = items;
  llmprof_intern_free(&numbers);
  llmprof_free(cells);
  return ok;
}

bool llmprof_joint_make(llmprof_joint *joint, llmprof_frame *frame,
                        const size_t *keys, size_t key_count, bool *joined,
                        llmprof_error *err) {
  *joint = (llmprof_joint){0};
  for (size_t k = 0; k < key_count; k++) {
    joined[k] = false;
    if (!llmprof_frame_column(frame, keys[k], err)) return false;
  }
  const uint32_t *index = llmprof_frame_peek(frame, keys[0])->index;
  size_t items = index ? few_items(frame, keys[0]) : 0;
  if (!items) return true;
  for (size_t k = 0; k < key_count; k++)
    joined[k] = llmprof_frame_peek(frame, keys[k])->index == index;
  if (!number_items(joint, frame, keys, key_count, joined, items)) {
    llmprof_joint_free(joint);
    return llmprof_fail_nomem(err);
  }
  joint->column = (llmprof_column){
      .type = LLMPROF_U32, .data = joint->numbers, .index = index};
  return true;
}
