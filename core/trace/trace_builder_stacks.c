/* The builder's samples of the CPU: stacks as frames that share what they have
 * in common; rows are put in order when all are there. And stacks of launches.
 */

#include "base/alloc.h"
#include "frame/sort.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

bool llmprof_builder_add_stack_frame(llmprof_builder *builder,
                                     const llmprof_stack_frame *frame,
                                     uint32_t *row) {
  return llmprof_intern_add(&builder->trace->rows[LLMPROF_STACK_FRAMES], frame,
                            row);
}

bool llmprof_builder_add_cpu_sample(llmprof_builder *b,
                                    const llmprof_cpu_sample_row *sample,
                                    llmprof_error *err) {
  llmprof_cpu_samples *s = &b->trace->cpu_samples;
  if (!llmprof_builder_may_add(b, s->count, "CPU samples", err)) return false;
  if (!llmprof_grow(&b->cpu_samples, &b->cpu_sample_cap, s->count + 1,
                    sizeof *b->cpu_samples))
    return llmprof_fail_nomem(err);
  b->cpu_samples[s->count++] = *sample;
  return true;
}

/* Those without a time come last. NULL when out of memory. */
static uint32_t *order(const llmprof_cpu_sample_row *samples, size_t count) {
  uint32_t *rows = llmprof_alloc(count, sizeof *rows);
  int64_t *times = llmprof_alloc(count, sizeof *times);
  bool ok = rows && times;
  for (size_t i = 0; ok && i < count; i++) {
    rows[i] = (uint32_t)i;
    times[i] = samples[i].time == LLMPROF_ABSENT ? INT64_MAX : samples[i].time;
  }
  ok = ok && llmprof_sort_rows_i64(rows, count, times);
  llmprof_free(times);
  if (ok) return rows;
  llmprof_free(rows);
  return NULL;
}

static bool put(llmprof_cpu_samples *s, const llmprof_cpu_sample_row *sample) {
  return llmprof_values_append(s->time, sample->time) &&
         llmprof_values_append(s->thread, llmprof_widen(sample->thread)) &&
         llmprof_values_append(s->stack, llmprof_widen(sample->stack)) &&
         llmprof_values_append(s->weight, sample->weight) &&
         llmprof_values_append(s->cut, sample->cut);
}

bool llmprof_builder_end_cpu_samples(llmprof_builder *b, llmprof_error *err) {
  llmprof_cpu_samples *s = &b->trace->cpu_samples;
  uint32_t *rows = order(b->cpu_samples, s->count);
  bool ok = rows != NULL;
  for (size_t i = 0; ok && i < s->count; i++)
    ok = put(s, &b->cpu_samples[rows[i]]);
  llmprof_free(rows);
  llmprof_builder_forget_cpu_samples(b);
  return ok || llmprof_fail_nomem(err);
}

/* ---- stacks of launches ---- */

bool llmprof_builder_add_source_frame(llmprof_builder *builder,
                                      const llmprof_source_frame *frame,
                                      uint32_t *row) {
  return llmprof_intern_add(&builder->trace->rows[LLMPROF_SOURCE_FRAMES], frame,
                            row);
}

bool llmprof_builder_add_source_stack(llmprof_builder *builder,
                                      const llmprof_source_stack *stack,
                                      uint32_t *row) {
  return llmprof_intern_add(&builder->trace->rows[LLMPROF_SOURCE_STACKS], stack,
                            row);
}

bool llmprof_builder_add_op_stack(llmprof_builder *b, uint32_t stack,
                                  llmprof_error *err) {
  llmprof_op_stacks *s = &b->trace->op_stacks;
  if (!llmprof_builder_may_add(b, s->count, "stacks", err)) return false;
  s->count++;
  return llmprof_values_append(s->stack, llmprof_widen(stack)) ||
         llmprof_fail_nomem(err);
}

/* Without any, none is known. */
bool llmprof_builder_end_stacks(llmprof_builder *b, llmprof_error *err) {
  llmprof_op_stacks *s = &b->trace->op_stacks;
  size_t count = s->count;
  s->count = b->trace->ops.count;
  if (count && count != s->count)
    return llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                        b->trace->path);
  return ((count ||
           llmprof_values_repeat(s->stack, LLMPROF_ABSENT, s->count)) &&
          llmprof_builder_place_stacks(b)) ||
         llmprof_fail_nomem(err);
}
