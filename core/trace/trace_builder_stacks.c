/* The builder's samples of the CPU: stacks as frames that share what they have
 * in common; rows as they come, put in order when all are there. */
#include <string.h>

#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

bool llmprof_builder_add_stack_frame(llmprof_builder *builder,
                                     const llmprof_stack_frame *frame,
                                     uint32_t *row) {
  return llmprof_intern_add(&builder->trace->stack_frames, frame, row);
}

static bool grow(llmprof_builder *b, llmprof_error *err) {
  llmprof_cpu_samples *samples = &b->trace->cpu_samples;
  size_t cap;
  if (!llmprof_builder_grow(b, samples->count, b->cpu_sample_cap, "CPU samples",
                            &cap, err))
    return false;
  if (!llmprof_cpu_samples_resize(samples, cap)) return llmprof_fail_nomem(err);
  b->cpu_sample_cap = cap;
  return true;
}

bool llmprof_builder_add_cpu_sample(llmprof_builder *b,
                                    const llmprof_cpu_sample_row *sample,
                                    llmprof_error *err) {
  llmprof_cpu_samples *s = &b->trace->cpu_samples;
  size_t row = s->count;
  if (row == b->cpu_sample_cap && !grow(b, err)) return false;
  s->time[row] = sample->time;
  s->thread[row] = sample->thread;
  s->stack[row] = sample->stack;
  s->weight[row] = sample->weight;
  s->cut[row] = sample->cut;
  s->count = row + 1;
  return true;
}

/* ---- order ---- */

/* Those without a time come last. */
static int64_t place_of(int64_t time) {
  return time == LLMPROF_ABSENT ? INT64_MAX : time;
}

static bool is_sorted(const llmprof_cpu_samples *s) {
  for (size_t i = 1; i < s->count; i++) {
    if (place_of(s->time[i]) < place_of(s->time[i - 1])) return false;
  }
  return true;
}

/* The items of an array in the order of `rows`; `room` is for as many. */
static void reorder(void *array, size_t size, const uint32_t *rows,
                    size_t count, void *room) {
  unsigned char *from = array, *to = room;
  for (size_t i = 0; i < count; i++)
    memcpy(to + i * size, from + rows[i] * size, size);
  memcpy(from, to, count * size);
}

#define REORDER(array) reorder(s->array, sizeof *s->array, rows, s->count, room)

static bool sort(llmprof_cpu_samples *s, uint32_t *rows, int64_t *room) {
  for (size_t i = 0; i < s->count; i++) {
    rows[i] = (uint32_t)i;
    room[i] = place_of(s->time[i]);
  }
  if (!llmprof_sort_rows_i64(rows, s->count, room)) return false;
  REORDER(time);
  REORDER(thread);
  REORDER(stack);
  REORDER(weight);
  REORDER(cut);
  return true;
}

bool llmprof_builder_end_cpu_samples(llmprof_builder *b, llmprof_error *err) {
  llmprof_cpu_samples *s = &b->trace->cpu_samples;
  if (is_sorted(s)) return true;
  uint32_t *rows = llmprof_alloc(s->count, sizeof *rows);
  int64_t *room = llmprof_alloc(s->count, sizeof *room);
  bool ok = rows && room && sort(s, rows, room);
  llmprof_free(rows);
  llmprof_free(room);
  return ok || llmprof_fail_nomem(err);
}
