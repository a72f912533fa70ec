/* API calls of which only a part is kept, where no more will be asked for: what
 * each took, and those that may have launched an operation. All calls are the
 * most of a trace, and half of them launch nothing. */
#include "llmprof/alloc.h"
#include "trace/trace_internal.h"

bool llmprof_trace_narrow_calls(llmprof_trace *trace, unsigned kept) {
  bool ok = trace->reader && trace->reader->load && !trace->attributed &&
            !trace->loaded[LLMPROF_PART_CALLS] && !trace->narrow.loaded &&
            !trace->image.pieces[LLMPROF_PART_CALLS];
  if (ok) trace->narrow.kept = kept;
  return ok;
}

bool llmprof_narrow_is_used(const llmprof_trace *trace, unsigned part) {
  return trace->narrow.kept & part && !trace->loaded[LLMPROF_PART_CALLS];
}

/* ---- which calls may have launched something ---- */

enum {
  BITS_FOR_EACH = 16 /* at least, so that few others are taken for them */
};

static bool make_ids(llmprof_narrow *n, size_t ops) {
  uint64_t bits = 64;
  while (bits < (uint64_t)ops * BITS_FOR_EACH) bits *= 2;
  n->id_mask = bits - 1;
  n->ids = llmprof_zalloc((size_t)(bits / 64), sizeof *n->ids);
  return n->ids != NULL;
}

bool llmprof_narrow_note_ids(llmprof_trace *trace, llmprof_error *err) {
  llmprof_narrow *n = &trace->narrow;
  const llmprof_ops *ops = &trace->ops;
  if (!make_ids(n, ops->count)) return llmprof_fail_nomem(err);
  for (size_t op = 0; op < ops->count; op++) {
    uint64_t bit = ops->correlation[op] & n->id_mask;
    n->ids[bit / 64] |= (uint64_t)1 << bit % 64;
  }
  return true;
}

void llmprof_narrow_forget_ids(llmprof_narrow *n) {
  llmprof_free(n->ids);
  n->ids = NULL;
}

void llmprof_narrow_attributed(llmprof_narrow *n) {
  llmprof_free(n->launches.correlation);
  n->launches.correlation = NULL;
}
