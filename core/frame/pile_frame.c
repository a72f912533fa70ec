/* A frame over piles, whose columns are made when something looks at rows. */
#include "frame/cells.h"
#include "frame/piles.h"
#include "llmprof/alloc.h"

static bool load(llmprof_frame *frame, llmprof_column *column, void *user,
                 llmprof_error *err) {
  const llmprof_piles *p = user;
  uint32_t *data = llmprof_alloc(p->rows, sizeof *data);
  if (!data || !llmprof_frame_own(frame, data)) return llmprof_fail_nomem(err);
  if (column->type == LLMPROF_STRING_ID)
    llmprof_piles_keys(p, data);
  else
    llmprof_piles_numbers(p, data);
  column->data = data;
  return true;
}

llmprof_frame *llmprof_piles_frame(llmprof_piles *p,
                                   const llmprof_strings *strings,
                                   const char *key, const char *number,
                                   const char *unit, llmprof_error *err) {
  const llmprof_column columns[] = {
      {.name = key, .type = LLMPROF_STRING_ID},
      {.name = number, .unit = unit, .type = LLMPROF_U32}};
  llmprof_piles_count(p);
  llmprof_frame *frame = llmprof_frame_new(p->rows, strings);
  if (!frame) {
    llmprof_piles_free(p);
    return llmprof_fail_nomem(err), NULL;
  }
  llmprof_frame_set_piles(frame, p);
  if (llmprof_frame_add(frame, &columns[0], load, p) &&
      llmprof_frame_add(frame, &columns[1], load, p))
    return frame;
  llmprof_frame_free(frame);
  return llmprof_fail_nomem(err), NULL;
}
