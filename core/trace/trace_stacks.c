/* Stacks summed up, of samples or of operations: as a tree, and by function. A
 * parent has a lower number than what it called, so totals are added up in one
 * pass backwards. */
#include <string.h>

#include "base/interrupt.h"
#include "frame/row_table.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"
#include "trace/trace_stacks.h"

/* ---- weighing ---- */

void llmprof_weighed_free(llmprof_weighed *made) {
  llmprof_free(made->self);
  llmprof_intern_free(&made->own);
}

/* Columns of a frame by their names; false: it has not all of them. */
static bool find_columns(llmprof_frame *frame, const char *const *names,
                         const llmprof_column **columns, llmprof_error *err) {
  for (size_t i = 0; names[i]; i++) {
    size_t at = llmprof_frame_find(frame, names[i]);
    if (at == SIZE_MAX)
      return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                          "only CPU samples and operations of this trace have "
                          "stacks");
    columns[i] = llmprof_frame_column(frame, at, err);
    if (!columns[i]) return false;
  }
  return true;
}

static bool add_weight(llmprof_weighed *w, int64_t at, int64_t weight,
                       llmprof_error *err) {
  int64_t *sum = at == LLMPROF_ABSENT ? &w->without_stack : &w->all;
  if (__builtin_add_overflow(*sum, weight, sum))
    return llmprof_fail(err, LLMPROF_RANGE, "too many samples to count");
  if (at != LLMPROF_ABSENT) w->self[at] += weight;
  return true;
}

static bool weigh_samples(llmprof_trace *trace, llmprof_frame *rows,
                          llmprof_weighed *w, llmprof_error *err) {
  static const char *const names[] = {"stack", "weight", NULL};
  const llmprof_column *columns[2];
  if (!llmprof_trace_cpu_samples(trace, err)) return false;
  w->frames = llmprof_trace_rows(trace, LLMPROF_STACK_FRAMES, &w->count);
  if (!find_columns(rows, names, columns, err)) return false;
  w->self = llmprof_zalloc(w->count, sizeof *w->self);
  if (!w->self) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < llmprof_frame_rows(rows); row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (!add_weight(w, llmprof_cell(columns[0], row),
                    llmprof_cell(columns[1], row), err))
      return false;
  }
  return true;
}

/* What an operation is called: kernels without parameters. */
static uint32_t name_of_op(const llmprof_trace *trace, size_t op) {
  uint32_t name = op < trace->details.count
                      ? llmprof_id_at(trace->details.short_name, op)
                      : LLMPROF_NO_STRING;
  return name == LLMPROF_NO_STRING ? llmprof_id_at(trace->ops.name, op) : name;
}

/* The frame of an operation below that of its line. */
static bool add_op(const llmprof_trace *trace, llmprof_weighed *w, size_t op,
                   int64_t stack, uint32_t *row) {
  const llmprof_stack_frame frame = {
      .parent = stack == LLMPROF_ABSENT ? LLMPROF_NONE
                                        : trace->source_places[stack].shown,
      .function = name_of_op(trace, op),
      .module = LLMPROF_NO_STRING};
  return llmprof_intern_add(&w->own, &frame, row);
}

static bool place_ops(llmprof_trace *trace, llmprof_frame *rows,
                      llmprof_weighed *w, uint32_t *places,
                      llmprof_error *err) {
  static const char *const names[] = {"op", "stack", NULL};
  const llmprof_column *columns[2];
  if (!find_columns(rows, names, columns, err)) return false;
  for (size_t row = 0; row < llmprof_frame_rows(rows); row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (!add_op(trace, w, (size_t)llmprof_cell(columns[0], row),
                llmprof_cell(columns[1], row), &places[row]))
      return llmprof_fail_nomem(err);
  }
  return true;
}

static bool weigh_places(llmprof_frame *rows, llmprof_weighed *w,
                         const uint32_t *places, llmprof_error *err) {
  static const char *const names[] = {"duration", NULL};
  const llmprof_column *duration = NULL;
  if (!find_columns(rows, names, &duration, err)) return false;
  for (size_t row = 0; row < llmprof_frame_rows(rows); row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    int64_t ns = llmprof_cell(duration, row);
    if (ns > 0 && !add_weight(w, places[row], ns, err)) return false;
  }
  return true;
}

/* Lines of the program by their rows; one of no function is called as it is. */
static bool add_lines(const llmprof_trace *trace, llmprof_weighed *w,
                      llmprof_error *err) {
  for (uint32_t i = 0; i < trace->rows[LLMPROF_SOURCE_LINES].count; i++) {
    llmprof_stack_frame line;
    uint32_t row;
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    memcpy(&line, llmprof_intern_get(&trace->rows[LLMPROF_SOURCE_LINES], i),
           sizeof line);
    if (line.function == LLMPROF_NO_STRING) line.function = line.module;
    if (!llmprof_intern_add(&w->own, &line, &row))
      return llmprof_fail_nomem(err);
  }
  return true;
}

static bool weigh_ops(llmprof_trace *trace, llmprof_frame *rows,
                      llmprof_weighed *w, llmprof_error *err) {
  if (!llmprof_trace_load(trace, LLMPROF_PART_DETAILS, err) ||
      !llmprof_trace_load(trace, LLMPROF_PART_STACKS, err))
    return false;
  uint32_t *places = llmprof_alloc(llmprof_frame_rows(rows), sizeof *places);
  bool ok = places ? add_lines(trace, w, err) : llmprof_fail_nomem(err);
  ok = ok && place_ops(trace, rows, w, places, err);
  if (ok) {
    w->count = w->own.count;
    w->frames = w->count ? llmprof_intern_get(&w->own, 0) : NULL;
    w->self = llmprof_zalloc(w->count, sizeof *w->self);
    ok = w->self ? weigh_places(rows, w, places, err) : llmprof_fail_nomem(err);
  }
  llmprof_free(places);
  return ok;
}

bool llmprof_weigh_stacks(llmprof_trace *trace, llmprof_frame *rows,
                          llmprof_weighed *made, llmprof_error *err) {
  *made = (llmprof_weighed){0};
  llmprof_intern_init(&made->own, sizeof(llmprof_stack_frame));
  bool own = llmprof_frame_strings(rows) == trace->strings;
  if (own && llmprof_frame_find(rows, "cpu_sample") != SIZE_MAX)
    return weigh_samples(trace, rows, made, err);
  if (own && llmprof_frame_find(rows, "op") != SIZE_MAX)
    return weigh_ops(trace, rows, made, err);
  return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                      "only CPU samples and operations of this trace have "
                      "stacks");
}

/* ---- the tree ---- */

/* The tree of all frames that weigh something, by frame's row. */
typedef struct tree {
  llmprof_weighed weighed;
  const llmprof_stack_frame *frames;
  size_t count;
  int64_t *self, *total;
  uint32_t *child, *next; /* the first of its children; the next of its
                             parent's: LLMPROF_NONE ends */
  uint32_t *order;        /* rows, each before those it called */
  uint32_t *depth;        /* by place in order */
  size_t listed;
} tree;

static void tree_free(tree *t) {
  llmprof_weighed_free(&t->weighed);
  llmprof_free(t->total);
  llmprof_free(t->child);
  llmprof_free(t->next);
  llmprof_free(t->order);
  llmprof_free(t->depth);
}

static bool tree_new(tree *t, llmprof_trace *trace, llmprof_frame *rows,
                     llmprof_error *err) {
  *t = (tree){0};
  if (!llmprof_weigh_stacks(trace, rows, &t->weighed, err)) return false;
  t->frames = t->weighed.frames;
  t->count = t->weighed.count;
  t->self = t->weighed.self;
  t->total = llmprof_zalloc(t->count, sizeof *t->total);
  t->child = llmprof_alloc(t->count, sizeof *t->child);
  t->next = llmprof_alloc(t->count, sizeof *t->next);
  t->order = llmprof_alloc(t->count, sizeof *t->order);
  t->depth = llmprof_alloc(t->count, sizeof *t->depth);
  if (!t->total || !t->child || !t->next || !t->order || !t->depth)
    return llmprof_fail_nomem(err);
  for (size_t i = t->count; i-- > 0;) {
    t->total[i] += t->self[i];
    uint32_t parent = t->frames[i].parent;
    if (parent != LLMPROF_NONE) t->total[parent] += t->total[i];
  }
  return true;
}

/* ---- order ---- */

/* The number of samples that at most `most` rows reach. */
static bool raise_bar(const tree *t, size_t most, int64_t *least) {
  size_t count = 0;
  for (size_t i = 0; i < t->count; i++) count += t->total[i] >= *least;
  if (count <= most) return true;
  int64_t *totals = llmprof_alloc(count, sizeof *totals);
  int64_t *scratch = llmprof_alloc(count, sizeof *scratch);
  bool ok = totals && scratch;
  if (ok) {
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++)
      if (t->total[i] >= *least) totals[at++] = t->total[i];
    llmprof_sort_i64(totals, count, scratch);
    *least = totals[count - most - 1] + 1;
  }
  llmprof_free(totals);
  llmprof_free(scratch);
  return ok;
}

/* Rows that reach it, the smallest first. */
static bool list_by_size(tree *t, int64_t least) {
  size_t count = 0;
  for (uint32_t i = (uint32_t)t->count; i-- > 0;)
    if (t->total[i] >= least) t->order[count++] = i;
  t->listed = count;
  return llmprof_sort_rows_i64(t->order, count, t->total);
}

/* Children of each, the largest first; the roots are those of nothing, whose
 * first is returned. */
static uint32_t link_children(tree *t) {
  uint32_t root = LLMPROF_NONE;
  for (size_t i = 0; i < t->count; i++) t->child[i] = LLMPROF_NONE;
  for (size_t i = 0; i < t->listed; i++) {
    uint32_t row = t->order[i], parent = t->frames[row].parent;
    uint32_t *first = parent == LLMPROF_NONE ? &root : &t->child[parent];
    t->next[row] = *first;
    *first = row;
  }
  return root;
}

static void walk(tree *t, uint32_t row) {
  size_t at = 0;
  uint32_t depth = 0;
  while (row != LLMPROF_NONE) {
    t->order[at] = row;
    t->depth[at++] = depth;
    uint32_t next = t->child[row];
    if (next != LLMPROF_NONE) {
      depth++;
    } else {
      while (row != LLMPROF_NONE && t->next[row] == LLMPROF_NONE) {
        row = t->frames[row].parent;
        depth--;
      }
      next = row == LLMPROF_NONE ? LLMPROF_NONE : t->next[row];
    }
    row = next;
  }
}

static bool grow_tree(tree *t, llmprof_trace *trace, llmprof_frame *samples,
                      int64_t least, size_t most, llmprof_error *err) {
  if (!tree_new(t, trace, samples, err)) return false;
  if (least < 1) least = 1;
  if (!raise_bar(t, most, &least) || !list_by_size(t, least))
    return llmprof_fail_nomem(err);
  walk(t, link_children(t));
  return true;
}

/* ---- as a tree ---- */

static const llmprof_row_column tree_columns[] = {
    {.name = "name", .is_text = true},
    {.name = "module", .is_text = true},
    {.name = "depth"},
    {.name = "self"},
    {.name = "total"}};

static bool list_tree(const tree *t, llmprof_row_table *table,
                      llmprof_error *err) {
  for (size_t i = 0; i < t->listed; i++) {
    uint32_t row = t->order[i];
    const int64_t cells[] = {llmprof_widen(t->frames[row].function),
                             llmprof_widen(t->frames[row].module), t->depth[i],
                             t->self[row], t->total[row]};
    if (!llmprof_row_table_add(table, cells)) return llmprof_fail_nomem(err);
  }
  return true;
}

llmprof_frame *llmprof_trace_stack_tree(llmprof_trace *trace,
                                        llmprof_frame *samples, int64_t least,
                                        size_t most, llmprof_error *err) {
  tree t;
  llmprof_row_table table = {.columns = tree_columns, .column_count = 5};
  llmprof_frame *frame = NULL;
  if (grow_tree(&t, trace, samples, least, most, err) &&
      list_tree(&t, &table, err))
    frame = llmprof_row_table_frame(&table, NULL, trace->strings, err);
  llmprof_row_table_free(&table);
  tree_free(&t);
  return frame;
}

/* ---- by function ---- */

/* Functions, and how often each is on the stack at hand. */
typedef struct functions {
  llmprof_intern names; /* of {function, module} */
  uint32_t *of;         /* by place in the tree's order */
  uint32_t *path;       /* by depth */
  uint32_t *on_path;    /* by function */
  int64_t *self, *total;
} functions;

static void functions_free(functions *f) {
  llmprof_intern_free(&f->names);
  llmprof_free(f->of);
  llmprof_free(f->path);
  llmprof_free(f->on_path);
  llmprof_free(f->self);
  llmprof_free(f->total);
}

static bool name_functions(functions *f, const tree *t) {
  *f = (functions){0};
  llmprof_intern_init(&f->names, 2 * sizeof(uint32_t));
  f->of = llmprof_alloc(t->listed, sizeof *f->of);
  f->path = llmprof_alloc(t->listed, sizeof *f->path);
  bool ok = f->of && f->path;
  for (size_t i = 0; ok && i < t->listed; i++) {
    const llmprof_stack_frame *frame = &t->frames[t->order[i]];
    const uint32_t name[2] = {frame->function, frame->module};
    ok = llmprof_intern_add(&f->names, name, &f->of[i]);
  }
  if (!ok) return false;
  f->on_path = llmprof_zalloc(f->names.count, sizeof *f->on_path);
  f->self = llmprof_zalloc(f->names.count, sizeof *f->self);
  f->total = llmprof_zalloc(f->names.count, sizeof *f->total);
  return f->on_path && f->self && f->total;
}

/* A function that calls itself counts where it is outermost. */
static void sum_up(functions *f, const tree *t) {
  size_t depth = 0;
  for (size_t i = 0; i < t->listed; i++) {
    uint32_t row = t->order[i], name = f->of[i];
    while (depth > t->depth[i]) f->on_path[f->path[--depth]]--;
    f->self[name] += t->self[row];
    if (!f->on_path[name]) f->total[name] += t->total[row];
    f->on_path[name]++;
    f->path[depth++] = name;
  }
}

static bool list_functions(const functions *f, llmprof_row_table *table,
                           llmprof_error *err) {
  for (uint32_t i = 0; i < f->names.count; i++) {
    uint32_t name[2];
    memcpy(name, llmprof_intern_get(&f->names, i), sizeof name);
    const int64_t cells[] = {llmprof_widen(name[0]), llmprof_widen(name[1]),
                             f->self[i], f->total[i]};
    if (!llmprof_row_table_add(table, cells)) return llmprof_fail_nomem(err);
  }
  return true;
}

static llmprof_frame *functions_of(const tree *t, llmprof_trace *trace,
                                   llmprof_error *err) {
  static const llmprof_row_column columns[] = {
      {.name = "name", .is_text = true},
      {.name = "module", .is_text = true},
      {.name = "self"},
      {.name = "total"}};
  functions f;
  llmprof_row_table table = {.columns = columns, .column_count = 4};
  llmprof_frame *frame = NULL;
  bool ok = name_functions(&f, t) || llmprof_fail_nomem(err);
  if (ok) sum_up(&f, t);
  if (ok && list_functions(&f, &table, err))
    frame = llmprof_row_table_frame(&table, NULL, trace->strings, err);
  llmprof_row_table_free(&table);
  functions_free(&f);
  return frame;
}

llmprof_frame *llmprof_trace_stack_functions(llmprof_trace *trace,
                                             llmprof_frame *samples,
                                             llmprof_error *err) {
  tree t;
  llmprof_frame *frame = NULL;
  if (grow_tree(&t, trace, samples, 1, SIZE_MAX, err))
    frame = functions_of(&t, trace, err);
  tree_free(&t);
  return frame;
}
