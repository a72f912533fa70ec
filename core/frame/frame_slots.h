/* What a frame is made of. Private to the sources that make up frames. */
#ifndef LLMPROF_FRAME_SLOTS_H
#define LLMPROF_FRAME_SLOTS_H

#include "frame/cells.h"

/* A column and how to get its data. */
typedef struct llmprof_slot {
  llmprof_column column;
  llmprof_column_loader load; /* NULL once the data is there */
  void *user;
  llmprof_frame *below; /* has the same column, where this is of a view, */
  size_t there;         /* by this number */
  const uint32_t *by; /* rows in the order of its cells, once they are asked */
  llmprof_cell_facts *facts; /* NULL: nothing was asked yet */
} llmprof_slot;

struct llmprof_frame {
  size_t rows;
  const llmprof_strings *strings;
  llmprof_slot *slots;
  size_t count, cap;
  void **owned;
  size_t owned_count, owned_cap;
  llmprof_values **kept;
  size_t kept_count, kept_cap;
  const llmprof_values *view_rows; /* of a view: its rows in the frame below; */
  size_t view_first;               /* NULL: those from here on */
};

/* A view of all columns of a frame, whose rows are yet to be said; NULL when
 * out of memory. */
llmprof_frame *llmprof_frame_view(llmprof_frame *frame, size_t rows);

#endif
