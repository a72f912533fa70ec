/* Times in which no row of a frame ran, from one sweep over its rows by start.
 */
#include "base/interrupt.h"
#include "frame/interval.h"
#include "frame/visit.h"

/* What is found. */
typedef struct idle_intervals {
  llmprof_values *start, *end;
  size_t count;
  int64_t last; /* the latest end so far; ABSENT: nothing ran yet */
} idle_intervals;

/* More than 64 bits, as only a broken file has them, are absent. */
static void lengths(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    if (__builtin_sub_overflow(in[1][i], in[0][i], &out[i]))
      out[i] = LLMPROF_ABSENT;
}

static bool sweep_block(idle_intervals *p, uint64_t shortest,
                        const llmprof_visit_block *b) {
  for (size_t i = 0; i < b->count; i++) {
    int64_t start = b->starts[i], end = b->ends[i];
    if (start == LLMPROF_ABSENT || end <= start) continue;
    if (p->last == LLMPROF_ABSENT) p->last = start;
    if (start > p->last && (uint64_t)start - (uint64_t)p->last >= shortest) {
      if (!llmprof_values_append(p->start, p->last) ||
          !llmprof_values_append(p->end, start))
        return false;
      p->count++;
    }
    p->last = end > p->last ? end : p->last;
  }
  return true;
}

static bool sweep(idle_intervals *p, const llmprof_visit *v, uint64_t shortest,
                  llmprof_error *err) {
  p->start = llmprof_values_new();
  p->end = llmprof_values_new();
  p->last = LLMPROF_ABSENT;
  if (!p->start || !p->end) return llmprof_fail_nomem(err);
  for (size_t place = 0; place < v->rows; place += LLMPROF_BLOCK) {
    llmprof_visit_block b;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    llmprof_visit_read(v, place, &b);
    if (!sweep_block(p, shortest, &b)) return llmprof_fail_nomem(err);
  }
  return (llmprof_values_end(p->start) && llmprof_values_end(p->end)) ||
         llmprof_fail_nomem(err);
}

static bool add(llmprof_frame *frame, const char *name,
                const llmprof_values *values) {
  const llmprof_column column = {
      .name = name, .unit = "ns", .type = LLMPROF_I64, .values = values};
  return values && llmprof_frame_add(frame, &column, NULL, NULL);
}

/* The values become the frame's. */
static bool add_all(llmprof_frame *frame, idle_intervals *p) {
  const llmprof_values *of[] = {llmprof_frame_keep(frame, p->start),
                                llmprof_frame_keep(frame, p->end)};
  p->start = p->end = NULL;
  return add(frame, "start", of[0]) && add(frame, "end", of[1]) &&
         add(frame, "duration",
             llmprof_frame_keep(frame,
                                llmprof_values_computed(lengths, of, 2)));
}

llmprof_frame *llmprof_frame_idle_intervals(llmprof_frame *frame,
                                            size_t start_column,
                                            size_t end_column, int64_t shortest,
                                            llmprof_error *err) {
  llmprof_visit v;
  idle_intervals p = {0};
  llmprof_frame *made = NULL;
  if (llmprof_visit_make(&v, frame, start_column, end_column, err) &&
      sweep(&p, &v, shortest > 0 ? (uint64_t)shortest : 1, err)) {
    made = llmprof_frame_new(p.count, llmprof_frame_strings(frame));
    if (!made || !add_all(made, &p)) {
      llmprof_frame_free(made);
      made = NULL;
      llmprof_fail_nomem(err);
    }
  }
  llmprof_values_free(p.start);
  llmprof_values_free(p.end);
  return made;
}
