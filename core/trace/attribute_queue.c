#include "trace/attribute_queue.h"

#include "base/crew.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"

enum {
  SOME = 1 << 17 /* calls that are worth a thread */
};

/* False when there are too many. */
static bool begin_stretch(llmprof_queue *q, size_t at, int64_t start) {
  if (q->count == LLMPROF_STRETCHES) return false;
  q->at[q->count] = at;
  q->start[q->count++] = start;
  return true;
}

/* Of rows [first, end) of a queue: those of `found`, and the last start. */
static bool find_some(const llmprof_trace *trace, llmprof_queue *found,
                      size_t first, size_t end, int64_t *last) {
  for (size_t i = first; i < end; i++) {
    int64_t start = llmprof_call_start(trace, llmprof_queue_row(found, i));
    if (start == LLMPROF_ABSENT) continue;
    if ((start < *last || !found->count) && !begin_stretch(found, i, start))
      return false;
    found->end[found->count - 1] = i + 1;
    *last = start;
  }
  return true;
}

/* The same on several threads. */
typedef struct finding {
  const llmprof_trace *trace;
  size_t rows, parts;
  llmprof_queue *found; /* by part */
  int64_t *last;        /* start of each part */
} finding;

static bool find_in_part(void *user, size_t worker, size_t number,
                         llmprof_error *err) {
  const finding *f = user;
  (void)worker, (void)err;
  return find_some(f->trace, &f->found[number], f->rows * number / f->parts,
                   f->rows * (number + 1) / f->parts, &f->last[number]);
}

/* The first stretch of a part may go on with the last one of those before. */
static bool join_stretches(llmprof_queue *q, const llmprof_queue *found,
                           int64_t before) {
  for (size_t i = 0; i < found->count; i++) {
    bool goes_on = i == 0 && q->count && found->start[0] >= before;
    if (!goes_on && !begin_stretch(q, found->at[i], found->start[i]))
      return false;
    q->end[q->count - 1] = found->end[i];
  }
  return true;
}

static bool find_in_parts(finding *f, llmprof_queue *q) {
  for (size_t i = 0; i < f->parts; i++)
    f->found[i] = (llmprof_queue){.rows = q->rows};
  const llmprof_crew crew = {f->parts, find_in_part, NULL, f, 0};
  if (!llmprof_crew_run(&crew, f->parts, NULL)) return false;
  int64_t before = 0;
  for (size_t i = 0; i < f->parts; i++) {
    if (!join_stretches(q, &f->found[i], before)) return false;
    if (f->found[i].count) before = f->last[i];
  }
  return true;
}

bool llmprof_queue_find(const llmprof_trace *trace, llmprof_queue *q,
                        size_t count) {
  finding f = {
      .trace = trace, .rows = count, .parts = llmprof_crew_size(count / SOME)};
  int64_t last = 0;
  q->count = 0;
  if (f.parts < 2) return find_some(trace, q, 0, count, &last);
  f.found = llmprof_alloc(f.parts, sizeof *f.found);
  f.last = llmprof_zalloc(f.parts, sizeof *f.last);
  bool ok = f.found && f.last && find_in_parts(&f, q);
  llmprof_free(f.found);
  llmprof_free(f.last);
  return ok;
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
  return llmprof_queue_find(trace, q, count) ||
         (sort_calls(trace, rows, count) &&
          llmprof_queue_find(trace, q, count));
}

size_t llmprof_queue_size(const llmprof_queue *q) {
  size_t size = 0;
  for (size_t i = 0; i < q->count; i++) size += q->end[i] - q->at[i];
  return size;
}

/* The first row of a stretch from `at` on that has a start, or `end`. */
static size_t next_there(const llmprof_trace *trace, const llmprof_queue *q,
                         size_t at, size_t end) {
  while (at < end &&
         llmprof_call_start(trace, llmprof_queue_row(q, at)) == LLMPROF_ABSENT)
    at++;
  return at;
}

/* The first of a stretch that is not before `time`. */
static size_t first_from(const llmprof_trace *trace, const llmprof_queue *q,
                         size_t stretch, int64_t time) {
  size_t low = q->at[stretch], high = q->end[stretch];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    size_t at = next_there(trace, q, middle, high);
    if (at < high && llmprof_call_start(trace, llmprof_queue_row(q, at)) < time)
      low = at + 1;
    else
      high = middle;
  }
  return low;
}

/* Rows [at, end) of a stretch, up to the last that has a start. */
static void add_stretch(const llmprof_trace *trace, llmprof_queue *q, size_t at,
                        size_t end) {
  at = next_there(trace, q, at, end);
  if (at == end) return;
  while (llmprof_call_start(trace, llmprof_queue_row(q, end - 1)) ==
         LLMPROF_ABSENT)
    end--;
  q->at[q->count] = at;
  q->end[q->count] = end;
  q->start[q->count++] = llmprof_call_start(trace, llmprof_queue_row(q, at));
}

/* Those before `time`; the others stay in the queue. */
llmprof_queue llmprof_queue_cut(const llmprof_trace *trace, llmprof_queue *q,
                                int64_t time) {
  llmprof_queue before = {.rows = q->rows}, after = {.rows = q->rows};
  for (size_t i = 0; i < q->count; i++) {
    size_t middle = first_from(trace, q, i, time);
    add_stretch(trace, &before, q->at[i], middle);
    add_stretch(trace, &after, middle, q->end[i]);
  }
  *q = after;
  return before;
}

/* A start that so many of the longest stretch are before. */
int64_t llmprof_queue_cut_time(const llmprof_trace *trace,
                               const llmprof_queue *q, size_t k, size_t count) {
  size_t longest = 0;
  for (size_t i = 1; i < q->count; i++)
    if (q->end[i] - q->at[i] > q->end[longest] - q->at[longest]) longest = i;
  size_t at = q->at[longest] + (q->end[longest] - q->at[longest]) / count * k;
  return llmprof_call_start(
      trace, llmprof_queue_row(q, next_there(trace, q, at, q->end[longest])));
}
