/* The process of a GPU operation is that of the call that launched it, as the
 * operation's own pid is a GPU. Correlation ids are unique within a process; in
 * a file that was merged from several, the nearest call counts. */
#include "torch/torch_internal.h"

typedef struct id_row {
  int64_t id, process;
  size_t event; /* its place in the file */
  uint32_t row;
} id_row;

void torch_ids_init(llmprof_intern *ids) {
  llmprof_intern_init_keyed(ids, sizeof(id_row), 2 * sizeof(int64_t));
}

bool torch_ids_add(llmprof_intern *ids, int64_t id, uint32_t process,
                   size_t event, uint32_t row) {
  const id_row one = {id, process, event, row};
  return llmprof_intern_put(ids, &one);
}

static const id_row *seek(const llmprof_intern *ids, int64_t id,
                          uint32_t process) {
  const int64_t key[] = {id, process};
  return llmprof_intern_seek(ids, key);
}

uint32_t torch_ids_find(const llmprof_intern *ids, int64_t id,
                        uint32_t process) {
  const id_row *found = seek(ids, id, process);
  return found ? found->row : LLMPROF_NONE;
}

static size_t distance(size_t a, size_t b) {
  return a < b ? b - a : a - b;
}

uint32_t torch_ids_nearest(const llmprof_intern *ids, int64_t id,
                           size_t processes, size_t event, uint32_t *row) {
  const id_row *best = NULL;
  uint32_t count = 0;
  for (uint32_t process = 0; process < processes; process++) {
    const id_row *one = seek(ids, id, process);
    count += one != NULL;
    if (!best ||
        (one && distance(one->event, event) < distance(best->event, event)))
      best = one;
  }
  *row = best ? best->row : LLMPROF_NONE;
  return count;
}

static void match(torch_trace *t, const llmprof_intern *ids, torch_op *op) {
  t->ambiguous += torch_ids_nearest(ids, op->correlation, t->processes.count,
                                    op->event, &op->call) > 1;
  op->place.process = op->call != LLMPROF_NONE  ? t->calls[op->call].process
                      : t->processes.count == 1 ? 0
                                                : LLMPROF_NONE;
}

bool torch_match_calls(torch_trace *t, llmprof_error *err) {
  llmprof_intern ids;
  bool ok = true;
  torch_ids_init(&ids);
  for (uint32_t i = 0; ok && i < t->call_count; i++) {
    const torch_call *call = &t->calls[i];
    ok = call->row.correlation == LLMPROF_NONE ||
         torch_ids_add(&ids, call->row.correlation, call->process, call->event,
                       i);
  }
  for (size_t i = 0; ok && i < t->op_count; i++) match(t, &ids, &t->ops[i]);
  llmprof_intern_free(&ids);
  return ok || llmprof_fail_nomem(err);
}
