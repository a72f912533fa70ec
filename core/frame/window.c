/* What comes next: cells of the row that follows, as columns. */
#include <stdio.h>

#include "frame/group_by.h"
#include "frame/relate.h"
#include "frame/window.h"
#include "llmprof/frame.h"

enum {
  NAME_SIZE = 256
};

static bool follow(llmprof_frame *frame, size_t number,
                   const llmprof_groups *all, llmprof_error *err) {
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
  return llmprof_frame_lag(frame, number, -1, all, name, err);
}

bool llmprof_frame_lead(llmprof_frame *frame, const size_t *columns,
                        size_t count, llmprof_error *err) {
  llmprof_groups all;
  if (!llmprof_groups_make(&all, frame, NULL, 0, err)) return false;
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++)
    ok = follow(frame, columns[i], &all, err);
  llmprof_groups_free(&all);
  return ok;
}
