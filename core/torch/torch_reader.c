/* A trace of torch.profiler as any other: GPU operations, CUDA calls, and as
 * ranges what the program named (user_annotation) and, in a domain of their
 * own, CPU operators. Which annotation launched what on the GPU is found by
 * calls, as for NVTX; that Kineto wrote the same down as gpu_user_annotation
 * is passed over, as are instants. */
#include "trace/built_in_readers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "text/lex.h"
#include "torch/torch_internal.h"
#include "trace/trace_events.h"

/* ---- processes and threads ---- */

/* LLMPROF_NONE: there is none that fits. */
static uint32_t number_at_end(const char *text) {
  size_t size = strlen(text), digits = llmprof_lex_digits_at_end(text, size);
  int64_t number;
  return digits && llmprof_lex_int(text + size - digits, digits, 10, &number)
             ? llmprof_u32(number)
             : LLMPROF_NONE;
}

/* A process that is text, as merging tools write it, is numbered by its
 * string. */
static bool process_id(const torch_trace *t, const llmprof_chrome_event *event,
                       int64_t *id, uint32_t *name) {
  const char *text = event->process;
  *name = LLMPROF_NO_STRING;
  *id = event->pid;
  if (!text) return true;
  if (!llmprof_builder_text(t->builder, text, strlen(text), name)) return false;
  *id = INT64_MAX - *name;
  return true;
}

/* More than any kernel gives. */
enum {
  MOST_PIDS = 1 << 22
};

/* Ranks of several hosts or containers may have the same pid: processes are
 * told apart by it, so the later one gets another. */
static bool free_pid(torch_trace *t, uint32_t *pid) {
  uint32_t row;
  while (*pid < LLMPROF_NONE - MOST_PIDS &&
         llmprof_intern_find(&t->pids, pid) != LLMPROF_NONE)
    *pid += MOST_PIDS;
  return llmprof_intern_add(&t->pids, pid, &row);
}

/* LLMPROF_NONE: the event names none. */
static bool process_row(torch_trace *t, const llmprof_chrome_event *event,
                        uint32_t *row) {
  int64_t id;
  uint32_t name, same;
  *row = LLMPROF_NONE;
  if (!process_id(t, event, &id, &name)) return false;
  if (id == LLMPROF_ABSENT) return true;
  size_t before = t->processes.count;
  if (!llmprof_intern_add(&t->processes, &id, row)) return false;
  if (t->processes.count == before) return true;
  uint32_t pid =
      event->process ? number_at_end(event->process) : llmprof_u32(event->pid);
  if (!free_pid(t, &pid)) return false;
  if (!llmprof_builder_add_process(t->builder, id, pid, &same)) return false;
  llmprof_builder_name_process(t->builder, same, name);
  return true;
}

/* The same. */
static bool thread_row(torch_trace *t, const llmprof_chrome_event *event,
                       uint32_t *process, uint32_t *row) {
  uint32_t same;
  *row = LLMPROF_NONE;
  if (!process_row(t, event, process)) return false;
  if (*process == LLMPROF_NONE || event->tid == LLMPROF_ABSENT) return true;
  const int64_t key[] = {*process, event->tid};
  size_t before = t->threads.count;
  if (!llmprof_intern_add(&t->threads, key, row)) return false;
  return t->threads.count == before ||
         llmprof_builder_add_thread(t->builder, *row, llmprof_u32(event->tid),
                                    *process, &same);
}

/* Names come behind the events; what has none of these is a GPU or a stream. */
static bool take_name(torch_trace *t, const llmprof_chrome_event *event) {
  int64_t id;
  uint32_t name, process;
  bool of_thread = event->name && strcmp(event->name, "thread_name") == 0;
  if (!event->label || !*event->label || !event->name ||
      (!of_thread && strcmp(event->name, "process_name") != 0))
    return true;
  t->is_ascend |= strcmp(event->label, "Ascend Hardware") == 0;
  if (!process_id(t, event, &id, &name)) return false;
  process = llmprof_intern_find(&t->processes, &id);
  if (process == LLMPROF_NONE) return true;
  if (!llmprof_builder_text(t->builder, event->label, strlen(event->label),
                            &name))
    return false;
  if (!of_thread) {
    if (process == 0) t->main_name = name;
    llmprof_builder_name_process(t->builder, process, name);
    return true;
  }
  const int64_t key[] = {process, event->tid};
  uint32_t thread = llmprof_intern_find(&t->threads, key);
  if (thread != LLMPROF_NONE)
    llmprof_builder_name_thread(t->builder, thread, name);
  return true;
}

/* ---- events ---- */

static bool text_of(const torch_trace *t, const char *text, uint32_t *string) {
  return llmprof_builder_text(t->builder, text, text ? strlen(text) : 0,
                              string);
}

/* Times of the trace are counted from the earliest. */
static void note_start(torch_trace *t, int64_t start) {
  if (start < t->first) t->first = start;
}

static bool keep_op(torch_trace *t, const llmprof_chrome_event *event,
                    chrome_kind kind) {
  if (!llmprof_grow(&t->ops, &t->op_cap, t->op_count + 1, sizeof *t->ops))
    return false;
  note_start(t, event->start);
  torch_op *op = &t->ops[t->op_count++];
  *op = (torch_op){
      .start = event->start,
      .end = event->start + event->duration,
      .correlation = event->correlation,
      .bytes = event->bytes,
      .graph_node = event->graph_node,
      .event = t->events,
      .kind = (uint8_t)(LLMPROF_KERNEL + (kind - CHROME_KERNEL)),
  };
  op->place.device =
      llmprof_u32(event->device == LLMPROF_ABSENT ? event->pid : event->device);
  op->place.stream =
      llmprof_u32(event->stream == LLMPROF_ABSENT ? event->tid : event->stream);
  op->place.context = llmprof_u32(event->context);
  op->shape.registers = llmprof_u32(event->registers);
  op->shape.static_shared = op->shape.dynamic_shared = LLMPROF_NONE;
  for (int i = 0; i < 3; i++) {
    op->shape.grid[i] = llmprof_u32(event->grid[i]);
    op->shape.block[i] = llmprof_u32(event->block[i]);
  }
  if (kind == CHROME_KERNEL) return text_of(t, event->name, &op->name);
  if (kind == CHROME_COPY && event->name) torch_read_copy(event->name, op);
  return llmprof_builder_op_name(t->builder, (llmprof_op_kind)op->kind,
                                 (llmprof_copy_kind)op->copy_kind, NULL,
                                 &op->name);
}

static bool keep_call(torch_trace *t, const llmprof_chrome_event *event) {
  if (!llmprof_grow(&t->calls, &t->call_cap, t->call_count + 1,
                    sizeof *t->calls))
    return false;
  note_start(t, event->start);
  torch_call *call = &t->calls[t->call_count++];
  *call = (torch_call){
      .row = {.start = event->start,
              .end = event->start + event->duration,
              .correlation = llmprof_u32(event->correlation)},
      .event = t->events,
  };
  return text_of(t, event->name, &call->row.name) &&
         thread_row(t, event, &call->process, &call->row.thread);
}

/* Steps of the profiler's schedule, "ProfilerStep#3", are ranges of one text
 * that have their number as payload. */
static bool range_text(const torch_trace *t, const char *name,
                       llmprof_range_row *range) {
  static const char step[] = "ProfilerStep#";
  bool is_step = name && strncmp(name, step, strlen(step)) == 0;
  const char *digits = is_step ? name + strlen(step) : "";
  size_t size = strspn(digits, "0123456789");
  if (size && !digits[size] &&
      llmprof_lex_int(digits, size, 10, &range->payload))
    return text_of(t, "ProfilerStep", &range->text);
  return text_of(t, name, &range->text);
}

static bool keep_range(torch_trace *t, const llmprof_chrome_event *event,
                       chrome_kind kind) {
  llmprof_range_row range = {
      .start = event->start,
      .end = event->start + event->duration,
      .end_thread = LLMPROF_NONE,
      .domain = LLMPROF_NO_STRING,
      .payload = LLMPROF_ABSENT,
      .payload_float = NAN,
      .communicator = LLMPROF_ABSENT,
      .message = LLMPROF_ABSENT,
      .style = LLMPROF_PUSH_POP,
  };
  uint32_t process;
  torch_read_group(event, &range);
  if (!thread_row(t, event, &process, &range.thread)) return false;
  if (range.thread == LLMPROF_NONE) {
    t->left_out++;
    return true;
  }
  if (!llmprof_grow(&t->ranges, &t->range_cap, t->range_count + 1,
                    sizeof *t->ranges) ||
      !range_text(t, event->name, &range) ||
      !text_of(t, event->category, &range.category) ||
      (kind == CHROME_OPERATOR && !text_of(t, "PyTorch", &range.domain)))
    return false;
  note_start(t, event->start);
  t->ranges[t->range_count++] = range;
  return true;
}

/* Built-in functions have no line, and are most of them. */
static bool keep_function(torch_trace *t, const llmprof_chrome_event *event) {
  static const char built_in[] = "<built-in ";
  uint32_t name;
  if (!event->name || strncmp(event->name, built_in, strlen(built_in)) == 0)
    return true;
  if (!llmprof_grow(&t->functions, &t->function_cap, t->function_count + 1,
                    sizeof *t->functions))
    return false;
  torch_function *f = &t->functions[t->function_count];
  *f = (torch_function){.start = event->start,
                        .end = event->start + event->duration,
                        .tid = event->tid};
  if (!process_id(t, event, &f->process, &name) ||
      !text_of(t, event->name, &f->name))
    return false;
  t->function_count++;
  return true;
}

static bool keep(torch_trace *t, const llmprof_chrome_event *event) {
  chrome_kind kind = llmprof_chrome_kind(event);
  t->events++;
  if (event->phase && strcmp(event->phase, "M") == 0)
    return take_name(t, event);
  if (kind == CHROME_OTHER) {
    t->begun += event->phase && strcmp(event->phase, "B") == 0;
    return true;
  }
  if (kind == CHROME_FUNCTION)
    return !llmprof_chrome_is_usable(event) || keep_function(t, event);
  if (!llmprof_chrome_is_usable(event)) {
    t->left_out++;
    return true;
  }
  if (!event->start && !event->duration) {
    t->timeless++;
    return true;
  }
  if (kind >= CHROME_KERNEL && kind <= CHROME_SET)
    return keep_op(t, event, kind);
  if (kind != CHROME_CALL) return keep_range(t, event, kind);
  t->foreign += llmprof_chrome_is_foreign(event);
  return keep_call(t, event);
}

/* ---- the whole file ---- */

/* Times are counted from a base that the file names; before it did, from 1970,
 * which times after 2001 tell. */
static void set_epoch(const torch_trace *t, const llmprof_chrome *reader) {
  const int64_t in_2001 = INT64_C(1000000000000000000);
  const char *text = llmprof_chrome_header(reader, CHROME_BASE);
  size_t digits = text ? strspn(text, "0123456789") : 0;
  int64_t base = 0, epoch;
  bool known =
      text ? digits && !text[digits] && llmprof_lex_int(text, digits, 10, &base)
           : t->first > in_2001;
  if (known && !__builtin_add_overflow(base, t->first, &epoch))
    llmprof_builder_epoch(t->builder, epoch);
}

static void announce(const torch_trace *t) {
  llmprof_builder *b = t->builder;
  if (t->op_count) {
    llmprof_builder_recorded(b, LLMPROF_TABLE_KERNELS);
    llmprof_builder_recorded(b, LLMPROF_TABLE_COPIES);
    llmprof_builder_recorded(b, LLMPROF_TABLE_SETS);
  }
  if (t->call_count) {
    llmprof_builder_recorded(b, LLMPROF_TABLE_CALLS);
    llmprof_builder_knows(b, LLMPROF_KNOWS_CALLS);
    llmprof_builder_knows(b, LLMPROF_KNOWS_ALLOCATIONS);
  }
  if (t->range_count) llmprof_builder_recorded(b, LLMPROF_TABLE_RANGES);
  for (size_t i = 0; i < t->op_count; i++) {
    if (t->ops[i].graph_node != LLMPROF_ABSENT)
      llmprof_builder_knows(b, LLMPROF_KNOWS_GRAPH_NODES);
    if (t->ops[i].host_memory != LLMPROF_MEMORY_UNKNOWN)
      llmprof_builder_knows(b, LLMPROF_KNOWS_HOST_MEMORY);
  }
}

/* ---- threads that work for another ---- */

/* Of a thread: does autograd run there, and how long are the ranges that the
 * program marks. */
typedef struct torch_worker {
  bool is_autograds;
  int64_t marked;
} torch_worker;

static bool is_autograds(const torch_trace *t, uint32_t text) {
  static const char mark[] = "autograd::engine::evaluate_function";
  size_t size = 0;
  const char *name =
      llmprof_strings_get(llmprof_builder_strings(t->builder), text, &size);
  return name && size >= sizeof mark - 1 &&
         memcmp(name, mark, sizeof mark - 1) == 0;
}

static int64_t thread_key(const torch_trace *t, size_t thread, int which) {
  return ((const int64_t *)llmprof_intern_get(&t->threads,
                                              (uint32_t)thread))[which];
}

/* The thread of the same process that marks most. */
static uint32_t caller_of(const torch_trace *t, const torch_worker *workers,
                          size_t thread) {
  uint32_t best = LLMPROF_NONE;
  for (size_t i = 0; i < t->threads.count; i++)
    if (thread_key(t, i, 0) == thread_key(t, thread, 0) && workers[i].marked &&
        (best == LLMPROF_NONE || workers[i].marked > workers[best].marked))
      best = (uint32_t)i;
  return best == thread ? LLMPROF_NONE : best;
}

/* The backward pass is launched by a thread of autograd's, while the one that
 * called it waits. */
static bool set_callers(torch_trace *t) {
  torch_worker *workers = llmprof_zalloc(t->threads.count, sizeof *workers);
  if (!workers) return false;
  for (size_t i = 0; i < t->range_count; i++) {
    const llmprof_range_row *range = &t->ranges[i];
    torch_worker *worker = &workers[range->thread];
    if (range->domain == LLMPROF_NO_STRING)
      worker->marked += range->end - range->start;
    else if (!worker->is_autograds)
      worker->is_autograds = is_autograds(t, range->text);
  }
  for (size_t i = 0; i < t->threads.count; i++)
    if (workers[i].is_autograds)
      llmprof_builder_set_caller(t->builder, (uint32_t)i,
                                 caller_of(t, workers, i));
  llmprof_free(workers);
  return true;
}

/* The rank of a file of one process stands in the process's name, as llmprof's
 * own collector has it, with how many there are. */
static bool name_rank(torch_trace *t, const char *info) {
  int64_t rank = LLMPROF_ABSENT, world = LLMPROF_ABSENT;
  if (info && !torch_rank(info, &rank, &world)) return false;
  size_t size = 0;
  char text[256], of[32] = "";
  uint32_t name;
  if (rank == LLMPROF_ABSENT || t->processes.count != 1) return true;
  const char *label = llmprof_strings_get(llmprof_builder_strings(t->builder),
                                          t->main_name, &size);
  if (world > rank) snprintf(of, sizeof of, " of %" PRId64, world);
  int length = snprintf(text, sizeof text, "%.*s rank %" PRId64 "%s",
                        label ? (int)(size < 200 ? size : 200) : 6,
                        label ? label : "python", rank, of);
  if (!llmprof_builder_text(t->builder, text, (size_t)length, &name))
    return false;
  llmprof_builder_name_process(t->builder, 0, name);
  return true;
}

static bool describe(torch_trace *t, const llmprof_chrome *reader,
                     llmprof_error *err) {
  const char *devices = llmprof_chrome_header(reader, CHROME_DEVICES);
  const char *schema = llmprof_chrome_header(reader, CHROME_SCHEMA);
  if (t->op_count + t->call_count + t->range_count == 0)
    return llmprof_fail(
        err, LLMPROF_EMPTY, "%s: %s", t->path,
        t->is_ascend       ? "a trace of an Ascend NPU, which is not known"
        : *t->damage.first ? t->damage.first
                           : "no kernel, CUDA call, operator or annotation "
                             "of torch.profiler with a time in it");
  if ((devices && !torch_add_devices(t->builder, devices)) ||
      !name_rank(t, llmprof_chrome_header(reader, CHROME_RANKS)) ||
      !set_callers(t) || !llmprof_builder_versions(t->builder, schema, NULL))
    return llmprof_fail_nomem(err);
  set_epoch(t, reader);
  announce(t);
  return torch_match_calls(t, err) && torch_spread_groups(t, err);
}

static bool read_all(torch_trace *t, llmprof_chrome *reader,
                     llmprof_error *err) {
  llmprof_chrome_event event;
  int got = -1;
  while (reader &&
         (got = llmprof_chrome_next(reader, &event, &t->damage, err)) == 1)
    if (!keep(t, &event)) break;
  bool ok =
      got == 1 ? llmprof_fail_nomem(err) : got == 0 && describe(t, reader, err);
  llmprof_chrome_close(reader);
  return ok;
}

/* ---- parts ---- */

/* HIP names kernels as the linker does. */
static bool name_of(torch_trace *t, const torch_op *op,
                    llmprof_kernel_name *name) {
  return llmprof_kernel_names_get(&t->names, t->builder, op->name, name);
}

static bool add_detail(torch_trace *t, const torch_op *op, llmprof_error *err) {
  llmprof_kernel_name name;
  if (!name_of(t, op, &name)) return llmprof_fail_nomem(err);
  llmprof_detail_row row = {
      .shape = op->shape,
      .short_name = name.base,
      .mangled_name = name.full == op->name ? LLMPROF_NO_STRING : op->name,
      .graph_node = op->graph_node};
  return llmprof_builder_add_detail(t->builder, &row, err);
}

static bool load_details(torch_trace *t, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < t->op_count; i++)
    if (t->ops[i].kind == LLMPROF_KERNEL) ok = add_detail(t, &t->ops[i], err);
  return ok;
}

static bool add_op(torch_trace *t, const torch_op *op, llmprof_error *err) {
  llmprof_kernel_name name = {op->name, LLMPROF_NO_STRING};
  if (op->kind == LLMPROF_KERNEL && !name_of(t, op, &name))
    return llmprof_fail_nomem(err);
  llmprof_op_row row = {
      .kind = (llmprof_op_kind)op->kind,
      .start = op->start - t->first,
      .end = op->end - t->first,
      .correlation = llmprof_u32(op->correlation),
      .name = name.full,
      .bytes = op->bytes,
      .copy_kind = (llmprof_copy_kind)op->copy_kind,
      .host_memory = (llmprof_host_memory)op->host_memory,
  };
  if (!llmprof_builder_add_place(t->builder, &op->place, &row.place))
    return llmprof_fail_nomem(err);
  return llmprof_builder_add_op(t->builder, &row, err);
}

static bool load_ops(torch_trace *t, llmprof_error *err) {
  bool ok = true;
  for (int kind = LLMPROF_KERNEL; kind <= LLMPROF_SET; kind++)
    for (size_t i = 0; ok && i < t->op_count; i++)
      if (t->ops[i].kind == kind) ok = add_op(t, &t->ops[i], err);
  return ok;
}

static bool load_calls(torch_trace *t, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < t->call_count; i++) {
    llmprof_call_row row = t->calls[i].row;
    row.start -= t->first;
    row.end -= t->first;
    ok = llmprof_builder_add_call(t->builder, &row, err);
  }
  return ok;
}

static bool load_ranges(torch_trace *t, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < t->range_count; i++) {
    llmprof_range_row row = t->ranges[i];
    row.start -= t->first;
    row.end -= t->first;
    ok = llmprof_builder_add_range(t->builder, &row, err);
  }
  return ok;
}

static int by_place_and_start(const void *a, const void *b) {
  const torch_op *one = *(const torch_op *const *)a;
  const torch_op *other = *(const torch_op *const *)b;
  int places = memcmp(&one->place, &other->place, sizeof one->place);
  if (places) return places;
  return (one->start > other->start) - (one->start < other->start);
}

/* On a stream one follows another; only the next may begin before the end. */
static bool count_doubtful(const torch_trace *t, uint64_t *doubtful) {
  const torch_op **ops = llmprof_alloc(t->op_count, sizeof(void *));
  if (!ops) return false;
  for (size_t i = 0; i < t->op_count; i++) ops[i] = &t->ops[i];
  qsort(ops, t->op_count, sizeof(void *), by_place_and_start);
  for (size_t i = 0; i + 2 < t->op_count; i++) {
    const torch_op *later = ops[i + 2];
    *doubtful +=
        memcmp(&ops[i]->place, &later->place, sizeof later->place) == 0 &&
        ops[i]->end > later->end;
  }
  llmprof_free(ops);
  return true;
}

static bool say(llmprof_builder *builder, uint64_t count, const char *what) {
  return !count || llmprof_builder_say(builder, LLMPROF_WARNING,
                                       "%" PRIu64 " %s", count, what);
}

/* What of the file is damaged, and that the rest was read. */
static bool say_damage(const torch_trace *t) {
  const llmprof_chrome_damage *damage = &t->damage;
  if (!*damage->first) return true;
  if (damage->cut)
    return llmprof_builder_say(t->builder, LLMPROF_WARNING,
                               "the file is cut or damaged, what comes before "
                               "was read: %s",
                               damage->first);
  return llmprof_builder_say(t->builder, LLMPROF_WARNING,
                             "%" PRIu64 " events are damaged and were left "
                             "out, the first at %s",
                             damage->broken, damage->first);
}

static bool load_diagnostics(torch_trace *t, llmprof_error *err) {
  uint64_t doubtful = 0;
  bool ok =
      say_damage(t) && count_doubtful(t, &doubtful) &&
      say(t->builder, doubtful,
          "GPU operations end after the next two on their stream: their "
          "durations are to be doubted") &&
      say(t->builder, t->timeless,
          "events have no time (ts and dur are 0) and were left out") &&
      say(t->builder, t->begun,
          "events are written as a begin and an end (ph B and E), which is not "
          "read") &&
      say(t->builder, t->is_ascend,
          "process is an Ascend NPU: what it ran is not known") &&
      say(t->builder, t->foreign,
          "calls are of a runtime that is neither CUDA's nor HIP's: what they "
          "do "
          "is not known") &&
      say(t->builder, t->left_out,
          "events have no usable time or thread and were left out") &&
      say(t->builder, t->ambiguous,
          "GPU operations share their correlation id with calls of several "
          "processes; each went to the nearest in the file");
  return ok || llmprof_fail_nomem(err);
}

static bool load(void *state, llmprof_builder *builder, llmprof_part part,
                 llmprof_error *err) {
  static bool (*const parts[LLMPROF_PARTS])(torch_trace *, llmprof_error *) = {
      [LLMPROF_PART_OPS] = load_ops,
      [LLMPROF_PART_DETAILS] = load_details,
      [LLMPROF_PART_CALLS] = load_calls,
      [LLMPROF_PART_RANGES] = load_ranges,
      [LLMPROF_PART_DIAGNOSTICS] = load_diagnostics,
      [LLMPROF_PART_STACKS] = torch_load_stacks,
  };
  (void)builder;
  return !parts[part] || parts[part](state, err);
}

/* ---- the reader ---- */

/* What Kineto writes at the top of its object, or in its first event. */
static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  static const char *const keys[] = {"\"traceEvents\"", "\"deviceProperties\"",
                                     "\"torch_profiler_kwargs\"", "\"ph\""};
  static const char mark[] = "\xEF\xBB\xBF";
  size_t at = file->size >= 3 && memcmp(file->bytes, mark, 3) == 0 ? 3 : 0;
  while (at < file->size && memchr(" \t\r\n", file->bytes[at], 4)) at++;
  bool is_json =
      at < file->size && (file->bytes[at] == '{' || file->bytes[at] == '[');
  for (size_t i = 0; is_json && i < sizeof keys / sizeof *keys; i++) {
    if (memmem(file->bytes, file->size, keys[i], strlen(keys[i])))
      return LLMPROF_CLAIM_YES;
  }
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: not a trace of torch.profiler",
               file->path);
  return LLMPROF_CLAIM_NO;
}

static torch_trace *trace_new(const char *name, llmprof_builder *builder) {
  torch_trace *t = llmprof_zalloc(1, sizeof *t);
  if (!t) return NULL;
  t->path = name;
  t->builder = builder;
  t->first = INT64_MAX;
  t->main_name = LLMPROF_NO_STRING;
  llmprof_intern_init(&t->processes, sizeof(int64_t));
  llmprof_intern_init(&t->pids, sizeof(uint32_t));
  llmprof_intern_init(&t->threads, 2 * sizeof(int64_t));
  return t;
}

static void close_trace(void *state) {
  torch_trace *t = state;
  if (!t) return;
  llmprof_intern_free(&t->processes);
  llmprof_intern_free(&t->pids);
  llmprof_intern_free(&t->threads);
  llmprof_free(t->ops);
  llmprof_free(t->calls);
  llmprof_free(t->ranges);
  llmprof_free(t->functions);
  llmprof_kernel_names_free(&t->names);
  llmprof_free(t);
}

static bool open_trace(const char *path, llmprof_builder *builder, void **state,
                       llmprof_error *err) {
  torch_trace *t = trace_new(path, builder);
  *state = t;
  if (!t) return llmprof_fail_nomem(err);
  return read_all(t, llmprof_chrome_open(path, err), err);
}

const llmprof_reader llmprof_torch_reader = {
    .name = "torch",
    .what = "trace of torch.profiler (JSON, plain or gzip)",
    .probe = probe,
    .open = open_trace,
    .load = load,
    .close = close_trace,
};
