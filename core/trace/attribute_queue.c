#include "trace/attribute_queue.h"

#include "frame/sort.h"
#include "llmprof/alloc.h"

static int64_t start_at(const llmprof_trace *trace, const llmprof_queue *q,
                        size_t at) {
  return llmprof_values_get(trace->calls.start, q->rows[at]);
}

/* A stretch begins where a start is less than the one before. False when there
 * are too many. */
static bool find_stretches(const llmprof_trace *trace, llmprof_queue *q,
                           size_t count) {
  int64_t start[LLMPROF_BLOCK], last = INT64_MAX;
  q->count = 0;
  for (size_t first = 0; first < count; first += LLMPROF_BLOCK) {
    size_t some = llmprof_block(first, count);
    llmprof_values_gather(trace->calls.start, q->rows + first, some, start);
    for (size_t i = 0; i < some; i++) {
      if (start[i] < last || !q->count) {
        if (q->count == LLMPROF_STRETCHES) return false;
        q->at[q->count++] = first + i;
      }
      last = start[i];
      q->end[q->count - 1] = first + i + 1;
    }
  }
  return true;
}

static bool sort_calls(const llmprof_trace *trace, uint32_t *rows,
                       size_t count) {
  int64_t *starts = llmprof_values_all(trace->calls.start);
  bool ok = starts && llmprof_sort_rows_i64(rows, count, starts);
  llmprof_free(starts);
  return ok;
}

bool llmprof_queue_up(const llmprof_trace *trace, llmprof_queue *q,
                      uint32_t *rows, size_t count) {
  q->rows = rows;
  return find_stretches(trace, q, count) ||
         (sort_calls(trace, rows, count) && find_stretches(trace, q, count));
}

size_t llmprof_queue_size(const llmprof_queue *q) {
  size_t size = 0;
  for (size_t i = 0; i < q->count; i++) size += q->end[i] - q->at[i];
  return size;
}

/* The first of a stretch that is not before `time`. */
static size_t first_from(const llmprof_trace *trace, const llmprof_queue *q,
                         size_t stretch, int64_t time) {
  size_t low = q->at[stretch], high = q->end[stretch];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (start_at(trace, q, middle) < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void add_stretch(llmprof_queue *q, size_t at, size_t end) {
  if (at == end) return;
  q->at[q->count] = at;
  q->end[q->count++] = end;
}

/* Those before `time`; the others stay in the queue. */
llmprof_queue llmprof_queue_cut(const llmprof_trace *trace, llmprof_queue *q,
                                int64_t time) {
  llmprof_queue before = {.rows = q->rows}, after = {.rows = q->rows};
  for (size_t i = 0; i < q->count; i++) {
    size_t middle = first_from(trace, q, i, time);
    add_stretch(&before, q->at[i], middle);
    add_stretch(&after, middle, q->end[i]);
  }
  *q = after;
  return before;
}

/* A start that this number of the longest stretch lies before. */
int64_t llmprof_queue_cut_time(const llmprof_trace *trace,
                               const llmprof_queue *q, size_t k, size_t count) {
  size_t longest = 0;
  for (size_t i = 1; i < q->count; i++)
    if (q->end[i] - q->at[i] > q->end[longest] - q->at[longest]) longest = i;
  return start_at(trace, q,
                  q->at[longest] +
                      (q->end[longest] - q->at[longest]) / count * k);
}
