/* The process of a GPU operation is that of the call that launched it, as the
 * operation's own pid is a GPU. Correlation ids are unique within a process; in
 * a file that was merged from several, the nearest call counts. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/sort.h"
#include "torch/torch_internal.h"

typedef struct id_row {
  int64_t id, process;
  size_t event; /* its place in the file */
  uint32_t row;
} id_row;

void torch_ids_init(torch_ids *ids) {
  llmprof_intern_init_keyed(&ids->rows, sizeof(id_row), 2 * sizeof(int64_t));
  ids->order = NULL;
}

void torch_ids_free(torch_ids *ids) {
  llmprof_intern_free(&ids->rows);
  llmprof_free(ids->order);
}

bool torch_ids_add(torch_ids *ids, int64_t id, uint32_t process, size_t event,
                   uint32_t row) {
  const id_row one = {id, process, event, row};
  return llmprof_intern_put(&ids->rows, &one);
}

static int64_t key_of(const void *rows, size_t at, int which) {
  const id_row *row = (const id_row *)rows + at;
  return which == 0 ? (int64_t)row->event : row->id;
}

bool torch_ids_sort(torch_ids *ids) {
  ids->order =
      llmprof_order_rows(ids->rows.count, 2, key_of, ids->rows.records);
  return ids->order != NULL;
}

uint32_t torch_ids_find(const torch_ids *ids, int64_t id, uint32_t process) {
  const int64_t key[] = {id, process};
  const id_row *found = llmprof_intern_seek(&ids->rows, key);
  return found ? found->row : LLMPROF_NONE;
}

static bool is_before(const torch_ids *ids, size_t place, int64_t id,
                      size_t event) {
  const id_row *row = llmprof_intern_get(&ids->rows, ids->order[place]);
  return row->id != id ? row->id < id : row->event < event;
}

/* The row at a place, or NULL where it has another id or there is none. */
static const id_row *of_id(const torch_ids *ids, size_t place, int64_t id) {
  if (place >= ids->rows.count) return NULL;
  const id_row *row = llmprof_intern_get(&ids->rows, ids->order[place]);
  return row->id == id ? row : NULL;
}

/* Of two that are equally near, that of the process that came first. */
static bool is_nearer(const id_row *before, const id_row *after, size_t event) {
  size_t back = event - before->event, on = after->event - event;
  return back != on ? back < on : before->process < after->process;
}

uint32_t torch_ids_nearest(const torch_ids *ids, int64_t id, size_t event,
                           bool *several) {
  size_t low = 0, high = ids->rows.count;
  LLMPROF_BISECT(low, high, at, is_before(ids, at, id, event));
  const id_row *before = of_id(ids, low - 1, id);
  const id_row *after = of_id(ids, low, id);
  const id_row *best =
      !after || (before && is_nearer(before, after, event)) ? before : after;
  if (several) /* a place before the first is beyond the last */
    *several =
        (before && after) || of_id(ids, low + 1, id) || of_id(ids, low - 2, id);
  return best ? best->row : LLMPROF_NONE;
}

static void match(torch_trace *t, const torch_ids *ids, torch_op *op) {
  bool several;
  op->call = torch_ids_nearest(ids, op->correlation, op->event, &several);
  t->ambiguous += several;
  op->place.process = op->call != LLMPROF_NONE  ? t->calls[op->call].process
                      : t->processes.count == 1 ? 0
                                                : LLMPROF_NONE;
}

static bool match_all(torch_trace *t, torch_ids *ids, llmprof_error *err) {
  for (uint32_t i = 0; i < t->call_count; i++) {
    const torch_call *call = &t->calls[i];
    if (call->row.correlation != LLMPROF_NONE &&
        !torch_ids_add(ids, call->row.correlation, call->process, call->event,
                       i))
      return llmprof_fail_nomem(err);
  }
  if (!torch_ids_sort(ids)) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < t->op_count; i++) {
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    match(t, ids, &t->ops[i]);
  }
  return true;
}

bool torch_match_calls(torch_trace *t, llmprof_error *err) {
  torch_ids ids;
  torch_ids_init(&ids);
  bool ok = match_all(t, &ids, err);
  torch_ids_free(&ids);
  return ok;
}
