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

/* Sort by -end, start and thread: outer before inner. */
static bool sort_marks(const llmprof_operators *o, uint32_t *rows,
                       int64_t *keys) {
  size_t count = o->mark_count;
  for (size_t i = 0; i < count; i++) {
    rows[i] = (uint32_t)i;
    keys[i] = -(o->marks[i].start + o->marks[i].duration);
  }
  if (!llmprof_sort_rows_i64(rows, count, keys)) return false;
  for (size_t i = 0; i < count; i++) keys[i] = o->marks[i].start;
  if (!llmprof_sort_rows_i64(rows, count, keys)) return false;
  for (size_t i = 0; i < count; i++) keys[i] = o->marks[i].thread;
  return llmprof_sort_rows_i64(rows, count, keys);
}

static bool sort_launches(const llmprof_operators *o, uint32_t *rows,
                          int64_t *keys) {
  size_t count = o->gpu_count;
  for (size_t i = 0; i < count; i++) {
    rows[i] = (uint32_t)i;
    keys[i] = o->gpu[i].launched;
  }
  if (!llmprof_sort_rows_i64(rows, count, keys)) return false;
  for (size_t i = 0; i < count; i++) keys[i] = o->gpu[i].thread;
  return llmprof_sort_rows_i64(rows, count, keys);
}

static bool sweep_init(sweep *s, const llmprof_operators *o) {
  size_t most = o->mark_count > o->gpu_count ? o->mark_count : o->gpu_count;
  int64_t *keys = llmprof_alloc(most, sizeof *keys);
  s->marks = llmprof_alloc(o->mark_count, sizeof *s->marks);
  s->launches = llmprof_alloc(o->gpu_count, sizeof *s->launches);
  s->open = llmprof_alloc(o->mark_count, sizeof *s->open);
  bool ok = keys && s->marks && s->launches && s->open &&
            sort_marks(o, s->marks, keys) &&
            sort_launches(o, s->launches, keys);
  llmprof_free(keys);
  return ok;
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
