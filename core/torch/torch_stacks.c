/* Stacks of launches, from the functions of Python that torch.profiler followed
 * (with_stack): each is an event of its thread, and those open when a call
 * launched something are its stack. Lines are those where functions begin: the
 * profiler tells no others. A built-in function has no line and is left out.
 *
 * Modules are events of their own, "nn.Module: Linear_3": class and a number
 * that counts those of the class. Their paths are made of what is called inside
 * of what, "Qwen2Model.Qwen2DecoderLayer.7.Qwen2Attention.Linear_1": one that
 * several call has several. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "frame/sort.h"
#include "text/lex.h"
#include "torch/torch_internal.h"

static const char module_mark[] = "nn.Module: ";

enum {
  NESTED = 64 /* modules in modules; those further in have the path of these */
};

/* A module inside of another. */
typedef struct instance {
  uint32_t parent; /* LLMPROF_NONE: of none */
  uint32_t name;   /* string, with its number */
  uint32_t depth;  /* modules around it */
  uint32_t group;  /* those of its class in its parent */
  uint32_t class;  /* string */
  uint32_t path;   /* string */
  int64_t number;  /* of its class */
} instance;

typedef struct stacks {
  torch_trace *t;
  size_t count;    /* functions */
  uint32_t *order; /* those on known threads, outer before inner */
  size_t ordered;
  uint32_t *thread; /* by function, as the next four */
  uint32_t *parent; /* function around it or LLMPROF_NONE */
  uint32_t *module; /* instance whose code it runs for, or LLMPROF_NONE */
  uint32_t *stack;  /* row in source stacks or LLMPROF_NONE */
  bool *wanted;     /* something was launched inside */
  uint32_t *inner;  /* by call: the function it was made in, or LLMPROF_NONE */
  llmprof_intern instances; /* by { parent, name } */
  llmprof_intern groups;    /* of { parent, class } */
} stacks;

static void stacks_free(stacks *s) {
  llmprof_free(s->order);
  llmprof_free(s->thread);
  llmprof_free(s->parent);
  llmprof_free(s->module);
  llmprof_free(s->stack);
  llmprof_free(s->wanted);
  llmprof_free(s->inner);
  llmprof_intern_free(&s->instances);
  llmprof_intern_free(&s->groups);
}

static bool stacks_new(stacks *s, torch_trace *t) {
  size_t count = t->function_count;
  *s = (stacks){.t = t, .count = count};
  llmprof_intern_init_keyed(&s->instances, sizeof(instance),
                            offsetof(instance, depth));
  llmprof_intern_init(&s->groups, 2 * sizeof(uint32_t));
  s->thread = llmprof_alloc(count, sizeof *s->thread);
  s->parent = llmprof_alloc(count, sizeof *s->parent);
  s->module = llmprof_alloc(count, sizeof *s->module);
  s->stack = llmprof_alloc(count, sizeof *s->stack);
  s->wanted = llmprof_zalloc(count, sizeof *s->wanted);
  s->inner = llmprof_alloc(t->call_count, sizeof *s->inner);
  return s->thread && s->parent && s->module && s->stack && s->wanted &&
         s->inner;
}

/* ---- in order ---- */

static uint32_t thread_of(const torch_trace *t, const torch_function *f) {
  uint32_t process = llmprof_intern_find(&t->processes, &f->process);
  const int64_t key[] = {process, f->tid};
  return process == LLMPROF_NONE ? LLMPROF_NONE
                                 : llmprof_intern_find(&t->threads, key);
}

/* By thread, then by start, outer before inner; those of none come last. */
static int64_t key_of_function(const void *of, size_t row, int which) {
  const stacks *s = of;
  const torch_function *f = &s->t->functions[row];
  return which == 0 ? -f->end : which == 1 ? f->start : s->thread[row];
}

static bool sort_functions(stacks *s) {
  for (size_t i = 0; i < s->count; i++) {
    s->thread[i] = thread_of(s->t, &s->t->functions[i]);
    s->ordered += s->thread[i] != LLMPROF_NONE;
  }
  s->order = llmprof_order_rows(s->count, 3, key_of_function, s);
  return s->order != NULL;
}

static int64_t key_of_call(const void *of, size_t row, int which) {
  const llmprof_call_row *call = &((const torch_trace *)of)->calls[row].row;
  return which == 0 ? call->start : call->thread;
}

/* Calls by thread and start, `count` of them on a known thread; NULL when out
 * of memory. */
static uint32_t *sort_calls(const torch_trace *t, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < t->call_count; i++)
    *count += t->calls[i].row.thread != LLMPROF_NONE;
  return llmprof_order_rows(t->call_count, 2, key_of_call, t);
}

/* ---- modules ---- */

static const char *text_of(const stacks *s, uint32_t string, size_t *size) {
  return llmprof_strings_get(llmprof_builder_strings(s->t->builder), string,
                             size);
}

static bool is_module(const stacks *s, uint32_t string) {
  size_t size = 0, mark = strlen(module_mark);
  const char *text = text_of(s, string, &size);
  return text && size > mark && memcmp(text, module_mark, mark) == 0;
}

/* "nn.Module: Linear_3" is class Linear and number 3. */
static bool split_name(const stacks *s, uint32_t string, instance *made) {
  size_t size;
  const char *text = text_of(s, string, &size) + strlen(module_mark);
  size -= strlen(module_mark);
  size_t end = size - llmprof_lex_digits_at_end(text, size);
  if (end < 2 || text[end - 1] != '_' ||
      !llmprof_lex_int(text + end, size - end, 10, &made->number)) {
    made->number = 0;
    end = size + 1;
  }
  return llmprof_builder_text(s->t->builder, text, end - 1, &made->class);
}

static instance *instance_at(const stacks *s, uint32_t row) {
  return (instance *)(void *)s->instances.records + row;
}

/* The module that a function is the call of. */
static bool add_instance(stacks *s, uint32_t function, uint32_t parent,
                         uint32_t *row) {
  instance made = {.parent = parent, .name = s->t->functions[function].name};
  *row = llmprof_intern_find(&s->instances, &made);
  if (*row != LLMPROF_NONE) return true;
  if (parent != LLMPROF_NONE) made.depth = instance_at(s, parent)->depth + 1;
  if (!split_name(s, made.name, &made)) return false;
  const uint32_t group[] = {parent, made.class};
  return llmprof_intern_add(&s->groups, group, &made.group) &&
         llmprof_intern_add(&s->instances, &made, row);
}

/* What a group of modules comes to. */
typedef struct group_facts {
  uint32_t count, named;
  bool holds; /* one of them has modules inside */
} group_facts;

static bool name_instance(stacks *s, instance *made, const group_facts *g,
                          uint32_t place, llmprof_buffer *path) {
  size_t size = 0;
  const char *text;
  llmprof_buffer_clear(path);
  if (made->parent != LLMPROF_NONE) {
    made->path = instance_at(s, made->parent)->path;
    if (made->depth >= NESTED) return true;
    text = text_of(s, made->path, &size);
    llmprof_buffer_add(path, text, size);
    llmprof_buffer_putc(path, '.');
  }
  text = text_of(s, made->class, &size);
  llmprof_buffer_add(path, text, size);
  if (g->count > 1)
    llmprof_buffer_printf(path, g->holds ? ".%u" : "_%u", (unsigned)place);
  return !path->failed && llmprof_builder_text(s->t->builder, path->bytes,
                                               path->size, &made->path);
}

static int64_t key_of_instance(const void *of, size_t row, int which) {
  (void)which;
  return instance_at(of, (uint32_t)row)->number;
}

/* Modules of one class in one parent are numbered in the order of their own
 * numbers: "DecoderLayer.7" where they hold others, else "Linear_1". */
static bool name_modules(stacks *s) {
  size_t count = s->instances.count;
  llmprof_buffer path = {0};
  group_facts *facts = llmprof_zalloc(s->groups.count, sizeof *facts);
  uint32_t *rows = llmprof_order_rows(count, 1, key_of_instance, s);
  uint32_t *places = llmprof_alloc(count, sizeof *places);
  bool ok = facts && rows && places;
  for (uint32_t i = 0; ok && i < count; i++) {
    const instance *one = instance_at(s, i);
    facts[one->group].count++;
    if (one->parent != LLMPROF_NONE)
      facts[instance_at(s, one->parent)->group].holds = true;
  }
  for (size_t i = 0; ok && i < count; i++)
    places[rows[i]] = facts[instance_at(s, rows[i])->group].named++;
  for (uint32_t i = 0; ok && i < count; i++) {
    instance *one = instance_at(s, i);
    ok = name_instance(s, one, &facts[one->group], places[i], &path);
  }
  llmprof_buffer_free(&path);
  llmprof_free(facts);
  llmprof_free(rows);
  llmprof_free(places);
  return ok;
}

/* ---- nesting ---- */

/* Functions that are open on the thread at hand. */
typedef struct open_functions {
  uint32_t *rows;
  size_t depth;
} open_functions;

static uint32_t innermost(const stacks *s, open_functions *open,
                          uint32_t thread, int64_t time) {
  if (open->depth && s->thread[open->rows[0]] != thread) open->depth = 0;
  while (open->depth &&
         s->t->functions[open->rows[open->depth - 1]].end <= time)
    open->depth--;
  return open->depth ? open->rows[open->depth - 1] : LLMPROF_NONE;
}

static bool is_behind(const stacks *s, uint32_t call, uint32_t function) {
  const llmprof_call_row *row = &s->t->calls[call].row;
  uint32_t thread = s->thread[function];
  return row->thread > thread ||
         (row->thread == thread &&
          row->start >= s->t->functions[function].start);
}

static bool open_function(stacks *s, open_functions *open, uint32_t row) {
  const torch_function *f = &s->t->functions[row];
  uint32_t parent = innermost(s, open, s->thread[row], f->start);
  s->parent[row] = parent;
  s->module[row] = parent == LLMPROF_NONE ? LLMPROF_NONE : s->module[parent];
  open->rows[open->depth++] = row;
  return !is_module(s, f->name) ||
         add_instance(s, row, s->module[row], &s->module[row]);
}

static void place_call(stacks *s, open_functions *open, uint32_t call) {
  const llmprof_call_row *row = &s->t->calls[call].row;
  s->inner[call] = innermost(s, open, row->thread, row->start);
}

static bool nest(stacks *s) {
  size_t count = 0, at = 0;
  uint32_t *calls = sort_calls(s->t, &count);
  open_functions open = {llmprof_alloc(s->count, sizeof *open.rows), 0};
  bool ok = calls && open.rows;
  for (size_t i = 0; ok && i < s->t->call_count; i++)
    s->inner[i] = LLMPROF_NONE;
  for (size_t i = 0; ok && i < s->ordered; i++) {
    while (at < count && !is_behind(s, calls[at], s->order[i]))
      place_call(s, &open, calls[at++]);
    ok = !llmprof_interrupted_at(i) && open_function(s, &open, s->order[i]);
  }
  while (ok && at < count) place_call(s, &open, calls[at++]);
  llmprof_free(open.rows);
  llmprof_free(calls);
  return ok;
}

/* ---- stacks ---- */

/* "file.py(12): forward" -> its parts; false: it is something else. */
static bool read_function(const stacks *s, uint32_t string,
                          llmprof_source_frame *frame) {
  size_t size = 0, end = 0;
  const char *text = text_of(s, string, &size);
  const char *close = text;
  int64_t line;
  while ((close = memmem(close, size - (size_t)(close - text), "): ", 3))) {
    end = (size_t)(close - text);
    size_t digits = end - llmprof_lex_digits_at_end(text, end);
    if (digits > 1 && digits < end && text[digits - 1] == '(' &&
        llmprof_lex_int(text + digits, end - digits, 10, &line)) {
      frame->line = llmprof_u32(line);
      return llmprof_builder_text(s->t->builder, text, digits - 1,
                                  &frame->file) &&
             llmprof_builder_text(s->t->builder, text + end + 3, size - end - 3,
                                  &frame->function);
    }
    close++;
  }
  frame->file = LLMPROF_NO_STRING;
  return true;
}

static bool make_stack(stacks *s, uint32_t row) {
  uint32_t parent = s->parent[row], module = s->module[row];
  llmprof_source_frame frame = {.module = module == LLMPROF_NONE
                                              ? LLMPROF_NO_STRING
                                              : instance_at(s, module)->path};
  llmprof_source_stack stack = {
      .parent = parent == LLMPROF_NONE ? LLMPROF_NONE : s->stack[parent]};
  s->stack[row] = stack.parent;
  if (!read_function(s, s->t->functions[row].name, &frame)) return false;
  return frame.file == LLMPROF_NO_STRING ||
         (llmprof_builder_add_source_frame(s->t->builder, &frame,
                                           &stack.frame) &&
          llmprof_builder_add_source_stack(s->t->builder, &stack,
                                           &s->stack[row]));
}

static uint32_t function_of(const stacks *s, const torch_op *op) {
  return op->call == LLMPROF_NONE ? LLMPROF_NONE : s->inner[op->call];
}

static bool make_stacks(stacks *s) {
  bool ok = true;
  for (size_t i = 0; i < s->t->op_count; i++) {
    uint32_t row = function_of(s, &s->t->ops[i]);
    for (; row != LLMPROF_NONE && !s->wanted[row]; row = s->parent[row])
      s->wanted[row] = true;
  }
  for (size_t i = 0; ok && i < s->ordered; i++)
    ok = !llmprof_interrupted_at(i) &&
         (!s->wanted[s->order[i]] || make_stack(s, s->order[i]));
  return ok;
}

/* In the order of the builder's operations. */
static bool give(const stacks *s, llmprof_error *err) {
  bool ok = true;
  for (int kind = LLMPROF_KERNEL; kind <= LLMPROF_SET; kind++) {
    for (size_t i = 0; ok && i < s->t->op_count; i++) {
      if (s->t->ops[i].kind != kind) continue;
      uint32_t row = function_of(s, &s->t->ops[i]);
      ok = llmprof_builder_add_op_stack(
          s->t->builder, row == LLMPROF_NONE ? LLMPROF_NONE : s->stack[row],
          err);
    }
  }
  return ok;
}

bool torch_load_stacks(torch_trace *t, llmprof_error *err) {
  stacks s;
  if (!t->function_count) return true;
  bool ok = stacks_new(&s, t) && sort_functions(&s) && nest(&s) &&
            name_modules(&s) && make_stacks(&s);
  ok = ok ? give(&s, err) : llmprof_fail_nomem(err);
  stacks_free(&s);
  return ok;
}
