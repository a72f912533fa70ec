/* What launches are of: the texts that XLA's NVTX has. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/buffer.h"
#include "xplane/xplane_internal.h"

/* ---- calls and what they launched ---- */

typedef struct launched {
  uint32_t correlation;
  const xplane_op *op;
} launched;

/* Older profiles say of the operation alone what a launch is of. */
static bool describe_calls(xplane_trace *t) {
  llmprof_intern ops;
  bool ok = true;
  llmprof_intern_init_keyed(&ops, sizeof(launched), sizeof(uint32_t));
  for (size_t i = 0; ok && i < t->op_count; i++) {
    const launched one = {t->ops[i].row.correlation, &t->ops[i]};
    ok = one.correlation == LLMPROF_NONE || llmprof_intern_put(&ops, &one);
  }
  for (size_t i = 0; ok && i < t->call_count; i++) {
    xplane_call *call = &t->calls[i];
    const launched *by = llmprof_intern_seek(&ops, &call->row.correlation);
    if (!by) continue;
    if (call->program == LLMPROF_ABSENT) call->program = by->op->program;
    if (call->hlo_op == LLMPROF_NO_STRING) call->hlo_op = by->op->hlo_op;
  }
  llmprof_intern_free(&ops);
  return ok;
}

static int compare_calls(const llmprof_call_row *one,
                         const llmprof_call_row *other) {
  if (one->thread != other->thread) return one->thread < other->thread ? -1 : 1;
  return (one->start > other->start) - (one->start < other->start);
}

static int by_thread_and_start(const void *a, const void *b) {
  return compare_calls(&((const xplane_call *)a)->row,
                       &((const xplane_call *)b)->row);
}

static void sort_calls(xplane_trace *t) {
  if (t->call_count)
    qsort(t->calls, t->call_count, sizeof *t->calls, by_thread_and_start);
}

/* ---- executions of modules ---- */

/* The module that a range "jit_step:XLA GPU module" is an execution of; NULL:
 * none. */
static const char *module_of(const xplane_trace *t,
                             const llmprof_range_row *range, size_t *size) {
  static const char module[] = ":XLA GPU module";
  const size_t ending = sizeof module - 1;
  const char *bytes = llmprof_strings_get(llmprof_builder_strings(t->builder),
                                          range->text, size);
  if (!bytes || *size <= ending ||
      memcmp(bytes + *size - ending, module, ending) != 0)
    return NULL;
  *size -= ending;
  return bytes;
}

/* ---- threads that are there twice ---- */

/* Newer profiles of ROCm have calls on threads of their own, with the system's
 * numbers ("Host Threads/583"). Such a thread is the one whose executions of
 * modules hold what it launched. */

enum {
  LOOKED_AT = 64 /* launches of a thread that tell whose they are */
};

static int range_by_thread(const void *a, const void *b) {
  const llmprof_range_row *one = *(llmprof_range_row *const *)a;
  const llmprof_range_row *other = *(llmprof_range_row *const *)b;
  if (one->thread != other->thread) return one->thread < other->thread ? -1 : 1;
  return (one->start > other->start) - (one->start < other->start);
}

/* Executions of modules, sorted; the caller frees. NULL: out of memory. */
static llmprof_range_row **sorted_modules(const xplane_trace *t,
                                          size_t *count) {
  llmprof_range_row **list = llmprof_alloc(t->range_count, sizeof *list);
  size_t size;
  *count = 0;
  for (size_t i = 0; list && i < t->range_count; i++)
    if (module_of(t, &t->ranges[i], &size)) list[(*count)++] = &t->ranges[i];
  if (list) qsort(list, *count, sizeof *list, range_by_thread);
  return list;
}

/* Does one of the executions, all of one thread, hold the call? */
static bool is_within(llmprof_range_row *const *list, size_t count,
                      const llmprof_call_row *call) {
  size_t low = 0, high = count;
  LLMPROF_BISECT(low, high, at, list[at]->start <= call->start);
  return low && call->end <= list[low - 1]->end;
}

/* Do they hold all launches of programs that are looked at? */
static bool holds_all(llmprof_range_row *const *list, size_t count,
                      const xplane_call *calls, size_t call_count) {
  size_t seen = 0;
  for (size_t i = 0; i < call_count && seen < LOOKED_AT; i++) {
    if (calls[i].program == LLMPROF_ABSENT) continue;
    if (!is_within(list, count, &calls[i].row)) return false;
    seen++;
  }
  return seen > 0;
}

/* The one thread whose executions hold these calls; LLMPROF_NONE: none does, or
 * several do. */
static uint32_t owner_of(llmprof_range_row *const *list, size_t count,
                         const xplane_call *calls, size_t call_count) {
  uint32_t owner = LLMPROF_NONE;
  for (size_t begin = 0, end; begin < count; begin = end) {
    uint32_t thread = list[begin]->thread;
    for (end = begin; end < count && list[end]->thread == thread;) end++;
    if (!holds_all(list + begin, end - begin, calls, call_count)) continue;
    if (owner != LLMPROF_NONE) return LLMPROF_NONE;
    owner = thread;
  }
  return owner;
}

/* By thread, does it have ranges? NULL: out of memory. */
static bool *threads_with_ranges(const xplane_trace *t) {
  bool *has = llmprof_zalloc(t->threads + (size_t)1, sizeof *has);
  for (size_t i = 0; has && i < t->range_count; i++)
    has[t->ranges[i].thread] = true;
  return has;
}

/* Give calls of threads without ranges the thread that they are of. Calls are
 * sorted before, and no more behind. */
static bool move_calls(xplane_trace *t) {
  size_t count;
  llmprof_range_row **list = sorted_modules(t, &count);
  bool *has_ranges = threads_with_ranges(t);
  bool ok = list && has_ranges;
  for (size_t begin = 0, end; ok && begin < t->call_count; begin = end) {
    uint32_t thread = t->calls[begin].row.thread;
    for (end = begin;
         end < t->call_count && t->calls[end].row.thread == thread;)
      end++;
    uint32_t owner = has_ranges[thread]
                         ? LLMPROF_NONE
                         : owner_of(list, count, t->calls + begin, end - begin);
    for (size_t i = begin; owner != LLMPROF_NONE && i < end; i++)
      t->calls[i].row.thread = owner;
  }
  llmprof_free(list);
  llmprof_free(has_ranges);
  return ok;
}

/* ---- programs ---- */

/* By call, the next one of a program that is known, itself or behind it; NULL
 * when out of memory. */
static size_t *next_known(const xplane_trace *t) {
  size_t *next = llmprof_alloc(t->call_count, sizeof *next);
  size_t known = t->call_count;
  for (size_t i = t->call_count; next && i--;) {
    if (t->calls[i].program != LLMPROF_ABSENT) known = i;
    next[i] = known;
  }
  return next;
}

/* The program of the first launch in a range; absent without one. */
static int64_t program_in(const xplane_trace *t, const size_t *next,
                          const llmprof_range_row *range) {
  size_t low = 0, high = t->call_count;
  const llmprof_call_row begin = {.thread = range->thread,
                                  .start = range->start};
  LLMPROF_BISECT(low, high, at, compare_calls(&t->calls[at].row, &begin) < 0);
  if (low == t->call_count || next[low] == t->call_count) return LLMPROF_ABSENT;
  const xplane_call *call = &t->calls[next[low]];
  return call->row.thread == range->thread && call->row.end <= range->end
             ? call->program
             : LLMPROF_ABSENT;
}

static bool set_text(const xplane_trace *t, llmprof_range_row *range,
                     llmprof_buffer *text) {
  bool ok = !text->failed && llmprof_builder_text(t->builder, text->bytes,
                                                  text->size, &range->text);
  llmprof_buffer_free(text);
  return ok;
}

/* With its program, as XLA's NVTX has it. */
static bool name_module(const xplane_trace *t, const size_t *next,
                        llmprof_range_row *range) {
  llmprof_buffer text = {0};
  size_t size;
  const char *module = module_of(t, range, &size);
  int64_t program = module ? program_in(t, next, range) : LLMPROF_ABSENT;
  if (program == LLMPROF_ABSENT) return true;
  llmprof_buffer_puts(&text, "XlaModule:#hlo_module=");
  llmprof_buffer_add(&text, module, size);
  llmprof_buffer_printf(&text, ",program_id=%" PRId64 "#", program);
  return set_text(t, range, &text);
}

static bool name_modules(xplane_trace *t) {
  size_t *next = next_known(t);
  bool ok = next != NULL;
  for (size_t i = 0; ok && i < t->range_count; i++)
    ok = name_module(t, next, &t->ranges[i]);
  llmprof_free(next);
  return ok;
}

llmprof_range_row *xplane_add_range(xplane_trace *t, int64_t start, int64_t end,
                                    uint32_t thread) {
  if (!llmprof_grow(&t->ranges, &t->range_cap, t->range_count + 1,
                    sizeof *t->ranges))
    return NULL;
  llmprof_range_row *range = &t->ranges[t->range_count++];
  *range = (llmprof_range_row){.start = start,
                               .end = end,
                               .thread = thread,
                               .end_thread = LLMPROF_NONE,
                               .text = LLMPROF_NO_STRING,
                               .domain = t->domain,
                               .category = LLMPROF_NO_STRING,
                               .payload = LLMPROF_ABSENT,
                               .payload_float = NAN,
                               .communicator = LLMPROF_ABSENT,
                               .message = LLMPROF_ABSENT,
                               .style = LLMPROF_PUSH_POP};
  return range;
}

/* Around the launch of an operation of a program what it is, as XLA's NVTX has
 * it. */
static bool add_thunk(xplane_trace *t, const xplane_call *call) {
  llmprof_buffer text = {0};
  size_t size;
  const char *bytes = llmprof_strings_get(llmprof_builder_strings(t->builder),
                                          call->hlo_op, &size);
  if (call->hlo_op == LLMPROF_NO_STRING || !bytes || !size) return true;
  llmprof_range_row *range =
      xplane_add_range(t, call->row.start, call->row.end, call->row.thread);
  if (!range) return false;
  llmprof_buffer_puts(&text, "Thunk:#hlo_op=");
  llmprof_buffer_add(&text, bytes, size);
  llmprof_buffer_putc(&text, '#');
  return set_text(t, range, &text);
}

static bool add_thunks(xplane_trace *t) {
  for (size_t i = 0; i < t->call_count; i++)
    if (!add_thunk(t, &t->calls[i])) return false;
  return true;
}

/* ---- together ---- */

bool xplane_name_launches(xplane_trace *t) {
  if (!describe_calls(t)) return false;
  sort_calls(t);
  if (!move_calls(t)) return false;
  sort_calls(t);
  return name_modules(t) && add_thunks(t);
}
