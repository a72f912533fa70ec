#include "frame/visit.h"

bool llmprof_visit_make(llmprof_visit *v, llmprof_frame *frame,
                        size_t start_column, size_t end_column,
                        llmprof_error *err) {
  v->rows = llmprof_frame_rows(frame);
  v->start = llmprof_frame_column(frame, start_column, err);
  if (!v->start) return false;
  v->end = llmprof_frame_column(frame, end_column, err);
  return v->end && llmprof_frame_order(frame, start_column, &v->order, err);
}

void llmprof_visit_cells(const llmprof_visit *v, const llmprof_column *column,
                         size_t place, int64_t *cells) {
  size_t count = llmprof_block(place, v->rows);
  if (v->order)
    llmprof_values_gather(column->values, v->order + place, count, cells);
  else
    llmprof_cells(column, place, count, cells);
}

void llmprof_visit_read(const llmprof_visit *v, size_t place,
                        llmprof_visit_block *block) {
  block->count = llmprof_block(place, v->rows);
  llmprof_visit_cells(v, v->start, place, block->starts);
  llmprof_visit_cells(v, v->end, place, block->ends);
}
