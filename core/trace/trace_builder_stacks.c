/* The builder's samples of the CPU: stacks as frames that share what they have
 * in common; rows are put in order when all are there. And stacks of launches.
 */

#include <string.h>

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

/* Those without a time come last. */
static int64_t time_of(const void *samples, size_t row, int which) {
  int64_t time = ((const llmprof_cpu_sample_row *)samples)[row].time;
  (void)which;
  return time == LLMPROF_ABSENT ? INT64_MAX : time;
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
  uint32_t *rows = llmprof_order_rows(s->count, 1, time_of, b->cpu_samples);
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

/* A line of a generated file. */
typedef struct generated {
  uint32_t file, line;   /* the key */
  uint32_t first, count; /* what it was made of, in made_of */
} generated;

bool llmprof_builder_add_generated(llmprof_builder *b,
                                   const llmprof_source_frame *line,
                                   const llmprof_source_frame *made_of,
                                   size_t count) {
  const generated it = {line->file, line->line, (uint32_t)b->made_of_count,
                        (uint32_t)count};
  uint32_t id;
  if (!b->generated.record_size) {
    llmprof_intern_init(&b->generated, sizeof it);
    b->generated.key_size = offsetof(generated, first);
  }
  if (!count || llmprof_intern_find(&b->generated, &it) != UINT32_MAX)
    return true;
  if (b->made_of_count + count >= UINT32_MAX ||
      !llmprof_grow(&b->made_of, &b->made_of_cap, b->made_of_count + count,
                    sizeof *b->made_of) ||
      !llmprof_intern_add(&b->generated, &it, &id))
    return false;
  memcpy(b->made_of + b->made_of_count, made_of, count * sizeof *made_of);
  b->made_of_count += count;
  return true;
}

void llmprof_builder_forget_generated(llmprof_builder *b) {
  llmprof_intern_free(&b->generated);
  llmprof_free(b->made_of);
  b->made_of = NULL;
  b->made_of_count = b->made_of_cap = 0;
}

/* "forward" of "MLP.forward". */
static const char *last_name(const llmprof_builder *b, uint32_t function) {
  const char *name = llmprof_strings_get(b->trace->strings, function, NULL);
  const char *dot = name ? strrchr(name, '.') : NULL;
  return dot ? dot + 1 : name ? name : "";
}

/* NULL: there is none of that number. */
static const llmprof_source_frame *frame_at(const llmprof_builder *b,
                                            uint32_t number) {
  const llmprof_intern *frames = &b->trace->rows[LLMPROF_SOURCE_FRAMES];
  return number < frames->count ? llmprof_intern_get(frames, number) : NULL;
}

/* Is its function on the stack? Parents have lower numbers. */
static bool is_on(const llmprof_builder *b, uint32_t stack,
                  const llmprof_source_frame *line) {
  const llmprof_intern *stacks = &b->trace->rows[LLMPROF_SOURCE_STACKS];
  for (size_t above = stacks->count; stack < above;) {
    const llmprof_source_stack *at = llmprof_intern_get(stacks, stack);
    const llmprof_source_frame *frame = frame_at(b, at->frame);
    if (frame && frame->file == line->file &&
        strcmp(last_name(b, frame->function), last_name(b, line->function)) ==
            0)
      return true;
    above = stack;
    stack = at->parent;
  }
  return false;
}

/* NULL: it is no line of a generated file. */
static const generated *generated_of(const llmprof_builder *b,
                                     const llmprof_source_frame *frame) {
  if (!frame || !b->generated.count) return NULL;
  const generated key = {.file = frame->file, .line = frame->line};
  uint32_t id = llmprof_intern_find(&b->generated, &key);
  return id == UINT32_MAX ? NULL : llmprof_intern_get(&b->generated, id);
}

bool llmprof_builder_add_source_stack(llmprof_builder *b,
                                      const llmprof_source_stack *stack,
                                      uint32_t *row) {
  llmprof_intern *rows = b->trace->rows;
  const llmprof_source_frame *frame = frame_at(b, stack->frame);
  const generated *it = generated_of(b, frame);
  if (!it) return llmprof_intern_add(&rows[LLMPROF_SOURCE_STACKS], stack, row);
  uint32_t module = frame->module, at = stack->parent;
  bool ok = true, skips = it->count > 1 && is_on(b, at, b->made_of + it->first);
  for (uint32_t i = skips; ok && i < it->count; i++) {
    llmprof_source_frame line = b->made_of[it->first + i];
    llmprof_source_stack next = {.parent = at};
    if (line.module == LLMPROF_NO_STRING) line.module = module;
    ok = llmprof_intern_add(&rows[LLMPROF_SOURCE_FRAMES], &line, &next.frame) &&
         llmprof_intern_add(&rows[LLMPROF_SOURCE_STACKS], &next, &at);
  }
  *row = at;
  return ok;
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
  llmprof_builder_forget_generated(b);
  s->count = b->trace->ops.count;
  if (count && count != s->count)
    return llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                        b->trace->path);
  return ((count ||
           llmprof_values_repeat(s->stack, LLMPROF_ABSENT, s->count)) &&
          llmprof_builder_place_stacks(b)) ||
         llmprof_fail_nomem(err);
}
