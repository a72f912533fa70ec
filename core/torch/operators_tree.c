/* Nesting by one sweep over each thread in order of start, with stacks of what
 * is running and of marks that are open; attribution by two tables, External id
 * -> operator and correlation -> call, each of a process. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/sort.h"
#include "frame/times.h"
#include "torch/operators_internal.h"
#include "torch/torch_internal.h"

/* ---- marks ---- */

/* Ranges that the program named, in order, and a stack of what is open. */
typedef struct open_marks {
  uint32_t *rows, *open;
  size_t next, depth;
} open_marks;

static int64_t key_of_mark(const void *marks, size_t row, int which) {
  const mark_event *m = (const mark_event *)marks + row;
  return which == 0   ? -(m->start + m->duration)
         : which == 1 ? m->start
                      : m->thread;
}

/* Close what has ended by `time`, and all of another thread: the innermost of
 * what is left. */
static uint32_t innermost(open_marks *s, const llmprof_operators *o,
                          uint32_t thread, int64_t time) {
  for (; s->depth; s->depth--) {
    uint32_t row = s->open[s->depth - 1];
    const mark_event *top = &o->marks[row];
    if (top->thread == thread && top->start + top->duration > time) return row;
  }
  return NO_ROW;
}

/* The innermost mark of a thread at a time; calls come in this order. */
static uint32_t mark_at(open_marks *s, llmprof_operators *o, uint32_t thread,
                        int64_t time) {
  for (; s->next < o->mark_count; s->next++) {
    uint32_t row = s->rows[s->next];
    mark_event *mark = &o->marks[row];
    if (mark->thread > thread || (mark->thread == thread && mark->start > time))
      break;
    mark->parent = innermost(s, o, mark->thread, mark->start);
    s->open[s->depth++] = row;
  }
  return innermost(s, o, thread, time);
}

/* ---- nesting ---- */

/* Threads together, earlier before later, outer before inner. */
static int64_t key_of(const void *events, size_t row, int which) {
  const host_event *e = (const host_event *)events + row;
  return which == 0 ? -e->end : which == 1 ? e->start : e->thread;
}

/* What the child covers is no longer the parent's own. Children come in order
 * of start and may overlap. */
static void take_from_parent(host_event *parent, const host_event *child) {
  int64_t from =
      child->start > parent->covered ? child->start : parent->covered;
  int64_t to = child->end < parent->end ? child->end : parent->end;
  if (to <= from) return;
  parent->self -= to - from;
  parent->covered = to;
}

static bool inside_same_name(const llmprof_operators *o, const host_event *e) {
  for (uint32_t row = e->parent; row != NO_ROW; row = o->host[row].parent) {
    if (o->host[row].name == e->name) return true;
  }
  return false;
}

/* The innermost running event that the row lies inside. */
static uint32_t find_parent(const llmprof_operators *o, const uint32_t *running,
                            size_t depth, const host_event *e) {
  int64_t slack = o->fractions ? 0 : 1000;
  while (depth--) {
    if (e->end <= o->host[running[depth]].end + slack) return running[depth];
  }
  return NO_ROW;
}

static void sweep(llmprof_operators *o, const uint32_t *rows, uint32_t *running,
                  open_marks *marks) {
  size_t depth = 0;
  for (size_t i = 0; i < o->host_count; i++) {
    host_event *e = &o->host[rows[i]];
    if (depth && o->host[running[0]].thread != e->thread) depth = 0;
    while (depth && o->host[running[depth - 1]].end <= e->start) depth--;
    e->parent = find_parent(o, running, depth, e);
    e->mark = mark_at(marks, o, e->thread, e->start);
    e->self = e->duration;
    e->covered = e->start;
    if (e->parent != NO_ROW) take_from_parent(&o->host[e->parent], e);
    e->outer = inside_same_name(o, e) ? NO_VALUE : e->duration;
    running[depth++] = rows[i];
  }
  mark_at(marks, o, NO_ROW, INT64_MAX); /* those behind */
}

/* children: as many numbers as there are rows. */
static void count_calls(llmprof_operators *o, uint32_t *children) {
  for (size_t i = 0; i < o->host_count; i++) children[i] = 0;
  for (size_t i = 0; i < o->host_count; i++) {
    if (o->host[i].parent != NO_ROW) children[o->host[i].parent]++;
  }
  for (size_t i = 0; i < o->host_count; i++) {
    host_event *e = &o->host[i];
    bool again = e->parent != NO_ROW && children[e->parent] == 1 &&
                 o->host[e->parent].name == e->name;
    e->calls = again ? 0 : 1;
  }
}

bool llmprof_operators_nest(llmprof_operators *o, llmprof_error *err) {
  uint32_t *rows = llmprof_order_rows(o->host_count, 3, key_of, o->host);
  uint32_t *running = llmprof_alloc(o->host_count, sizeof *running);
  open_marks marks = {
      .rows = llmprof_order_rows(o->mark_count, 3, key_of_mark, o->marks),
      .open = llmprof_alloc(o->mark_count, sizeof *marks.open)};
  bool ok = rows && running && marks.rows && marks.open;
  if (ok) {
    sweep(o, rows, running, &marks);
    count_calls(o, rows);
  }
  llmprof_free(marks.rows);
  llmprof_free(marks.open);
  llmprof_free(rows);
  llmprof_free(running);
  return ok || llmprof_fail_nomem(err);
}

/* ---- attribution ---- */

typedef struct tables {
  torch_ids operators; /* rows by External id; 0 means none */
  torch_ids calls;     /* rows by correlation */
} tables;

static bool fill_tables(const llmprof_operators *o, tables *t) {
  for (size_t i = 0; i < o->host_count; i++) {
    const host_event *e = &o->host[i];
    int64_t id = e->is_call ? e->correlation : e->external_id;
    if (id == NO_VALUE || (!id && !e->is_call)) continue;
    if (!torch_ids_add(e->is_call ? &t->calls : &t->operators, id, e->process,
                       e->event, (uint32_t)i))
      return false;
  }
  return torch_ids_sort(&t->operators) && torch_ids_sort(&t->calls);
}

static uint32_t operator_around(const llmprof_operators *o, uint32_t row) {
  while (row != NO_ROW && o->host[row].is_call) row = o->host[row].parent;
  return row;
}

/* Of the call's process, or without a call of the nearest. */
static uint32_t find_operator(const llmprof_operators *o, const tables *t,
                              const gpu_event *e, uint32_t call) {
  if (call == NO_ROW)
    return torch_ids_nearest(&t->operators, e->external_id, e->event, NULL);
  const host_event *by = &o->host[call];
  uint32_t row = torch_ids_find(&t->operators, e->external_id, by->process);
  if (row != NO_ROW) return row;
  row = torch_ids_find(&t->operators, by->external_id, by->process);
  return row != NO_ROW ? row : operator_around(o, call);
}

/* By the call that did it, else by the operator. */
static void note_launch(const llmprof_operators *o, gpu_event *e, uint32_t call,
                        uint32_t row) {
  uint32_t by = call != NO_ROW ? call : row;
  if (by == NO_ROW) return;
  e->launched = o->host[by].start;
  e->mark = o->host[by].mark;
}

/* To the operator, and to every operator around it. */
static void credit(llmprof_operators *o, uint32_t row, int64_t time) {
  int64_t *own = &o->host[row].device_self;
  *own = llmprof_time_sum(*own, time);
  for (; row != NO_ROW; row = o->host[row].parent) {
    host_event *e = &o->host[row];
    if (!e->is_call) e->device_outer = llmprof_time_sum(e->device_outer, time);
  }
}

static bool attribute(llmprof_operators *o, const tables *t,
                      llmprof_error *err) {
  for (size_t i = 0; i < o->host_count; i++) {
    host_event *e = &o->host[i];
    if (!e->is_call) e->device_self = e->device_outer = 0;
  }
  for (size_t i = 0; i < o->gpu_count; i++) {
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    gpu_event *e = &o->gpu[i];
    uint32_t call =
        torch_ids_nearest(&t->calls, e->correlation, e->event, NULL);
    uint32_t row = find_operator(o, t, e, call);
    note_launch(o, e, call, row);
    if (row == NO_ROW) continue;
    e->op = o->host[row].name;
    credit(o, row, e->duration);
  }
  for (size_t i = 0; i < o->host_count; i++) {
    host_event *e = &o->host[i];
    if (e->outer == NO_VALUE) e->device_outer = NO_VALUE;
  }
  return true;
}

bool llmprof_operators_attribute(llmprof_operators *o, llmprof_error *err) {
  if (!o->gpu_count) return true;
  tables t = {0};
  torch_ids_init(&t.operators);
  torch_ids_init(&t.calls);
  bool ok =
      (fill_tables(o, &t) || llmprof_fail_nomem(err)) && attribute(o, &t, err);
  torch_ids_free(&t.operators);
  torch_ids_free(&t.calls);
  return ok;
}
