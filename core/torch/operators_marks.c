/* Ranges that the program named (record_function): which lies in which, and the
 * innermost one around each launch. One sweep over each thread, of ranges and
 * launches in order of time, with a stack of what is open. */
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "torch/operators_internal.h"

typedef struct sweep {
  uint32_t *marks, *launches; /* rows, in order */
  uint32_t *open;             /* rows of marks, a stack */
  size_t depth;
} sweep;

static void sweep_free(sweep *s) {
  llmprof_free(s->marks);
  llmprof_free(s->launches);
  llmprof_free(s->open);
}

/* By thread and start, outer before inner. */
static int64_t key_of_mark(const void *marks, size_t row, int which) {
  const mark_event *m = (const mark_event *)marks + row;
  return which == 0   ? -(m->start + m->duration)
         : which == 1 ? m->start
                      : m->thread;
}

static int64_t key_of_launch(const void *launches, size_t row, int which) {
  const gpu_event *launch = (const gpu_event *)launches + row;
  return which == 0 ? launch->launched : launch->thread;
}

static bool sweep_init(sweep *s, const llmprof_operators *o) {
  s->marks = llmprof_order_rows(o->mark_count, 3, key_of_mark, o->marks);
  s->launches = llmprof_order_rows(o->gpu_count, 2, key_of_launch, o->gpu);
  s->open = llmprof_alloc(o->mark_count, sizeof *s->open);
  return s->marks && s->launches && s->open;
}

/* Close what has ended by `time`, and all of another thread. */
static void close_marks(sweep *s, const llmprof_operators *o, uint32_t thread,
                        int64_t time) {
  while (s->depth) {
    const mark_event *top = &o->marks[s->open[s->depth - 1]];
    if (top->thread == thread && top->start + top->duration > time) return;
    s->depth--;
  }
}

static uint32_t innermost(const sweep *s) {
  return s->depth ? s->open[s->depth - 1] : NO_ROW;
}

static void open_mark(sweep *s, llmprof_operators *o, uint32_t row) {
  mark_event *mark = &o->marks[row];
  close_marks(s, o, mark->thread, mark->start);
  mark->parent = innermost(s);
  s->open[s->depth++] = row;
}

/* Does the mark open before the launch? */
static bool opens_before(const mark_event *mark, const gpu_event *launch) {
  if (mark->thread != launch->thread) return mark->thread < launch->thread;
  return mark->start <= launch->launched;
}

bool llmprof_operators_mark(llmprof_operators *o, llmprof_error *err) {
  sweep s = {0};
  bool ok = sweep_init(&s, o);
  size_t next = 0;
  for (size_t i = 0; ok && i < o->gpu_count; i++) {
    gpu_event *launch = &o->gpu[s.launches[i]];
    while (next < o->mark_count &&
           opens_before(&o->marks[s.marks[next]], launch))
      open_mark(&s, o, s.marks[next++]);
    close_marks(&s, o, launch->thread, launch->launched);
    launch->mark = innermost(&s);
  }
  while (ok && next < o->mark_count) open_mark(&s, o, s.marks[next++]);
  sweep_free(&s);
  return ok || llmprof_fail_nomem(err);
}
