/* Steps: ranges as the GPU ran them, one after the other on each device.
 *
 * A range marks when the CPU asked for a step. The GPU may run it much later,
 * so a step begins where the GPU could begin it: where the step before it
 * ended, if it was asked for by then, else with its own first operation. */
#include <stdlib.h>

#include "llmprof/alloc.h"
#include "trace/trace_columns.h"

/* What makes a step one: a range, and the process and device that ran it. */
typedef struct step_key {
  uint32_t range, process, device;
} step_key;

typedef struct step {
  step_key key;
  uint32_t operations, kernels;
  int64_t launched, start, end;
  int64_t before, begin; /* before: LLMPROF_ABSENT for a device's first */
} step;

typedef struct steps {
  llmprof_intern keys; /* of step_key -> row in list */
  step *list;
  size_t cap;
} steps;

static bool open_step(steps *s, const step_key *key, uint32_t *row) {
  size_t known = s->keys.count;
  if (!llmprof_intern_add(&s->keys, key, row)) return false;
  if (s->keys.count == known) return true;
  if (!llmprof_grow(&s->list, &s->cap, s->keys.count, sizeof *s->list))
    return false;
  s->list[*row] = (step){.key = *key,
                         .launched = LLMPROF_ABSENT,
                         .start = INT64_MAX,
                         .end = INT64_MIN};
  return true;
}

static void extend(step *s, const llmprof_trace *trace, size_t op) {
  uint32_t call = trace->attribution.call[op];
  int64_t launched = trace->calls.start[call];
  if (s->launched == LLMPROF_ABSENT || launched < s->launched)
    s->launched = launched;
  if (trace->ops.start[op] < s->start) s->start = trace->ops.start[op];
  if (trace->ops.end[op] > s->end) s->end = trace->ops.end[op];
  s->operations++;
  s->kernels += op < trace->ops.first[LLMPROF_COPY];
}

/* of_link: by link, the wanted range around a call. */
static bool gather(llmprof_trace *trace, const uint32_t *of_link, steps *s) {
  const llmprof_attribution *a = &trace->attribution;
  for (size_t op = 0; op < trace->ops.count; op++) {
    uint32_t link = a->link[op], row;
    if (link == LLMPROF_NONE || of_link[link] == LLMPROF_NONE ||
        trace->ops.start[op] == LLMPROF_ABSENT ||
        trace->ops.end[op] == LLMPROF_ABSENT)
      continue;
    const llmprof_place *place =
        llmprof_intern_get(&trace->places, trace->ops.place[op]);
    step_key key = {of_link[link], place->process, place->device};
    if (!open_step(s, &key, &row)) return false;
    extend(&s->list[row], trace, op);
  }
  return true;
}

#define ORDER(a, b) \
  if ((a) != (b)) return (a) < (b) ? -1 : 1

static int in_order(const void *left, const void *right) {
  const step *a = left, *b = right;
  ORDER(a->key.process, b->key.process);
  ORDER(a->key.device, b->key.device);
  ORDER(a->start, b->start);
  ORDER(a->key.range, b->key.range);
  return 0;
}

/* A step that ended before the one before it had nothing to wait for. */
static int64_t begin_of(const step *s) {
  bool queued = s->before != LLMPROF_ABSENT && s->launched <= s->before;
  return queued && s->before < s->end ? s->before : s->start;
}

static void chain(step *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const step *last = i ? &list[i - 1] : NULL;
    list[i].before = LLMPROF_ABSENT;
    if (last && last->key.process == list[i].key.process &&
        last->key.device == list[i].key.device)
      list[i].before = last->before > last->end ? last->before : last->end;
    list[i].begin = begin_of(&list[i]);
  }
}

/* ---- as a frame ---- */

typedef int64_t (*step_getter)(const llmprof_trace *trace, const step *s);

static int64_t step_range(const llmprof_trace *t, const step *s) {
  (void)t;
  return s->key.range;
}

static int64_t step_tag(const llmprof_trace *t, const step *s) {
  return llmprof_widen(t->ranges.tag[s->key.range]);
}

static int64_t step_pid(const llmprof_trace *t, const step *s) {
  return llmprof_thread_pid(t, t->ranges.thread[s->key.range]);
}

static int64_t step_tid(const llmprof_trace *t, const step *s) {
  return llmprof_thread_tid(t, t->ranges.thread[s->key.range]);
}

static int64_t step_device(const llmprof_trace *t, const step *s) {
  (void)t;
  return llmprof_widen(s->key.device);
}

static int64_t step_host_start(const llmprof_trace *t, const step *s) {
  return t->ranges.start[s->key.range];
}

static int64_t step_host_end(const llmprof_trace *t, const step *s) {
  return t->ranges.end[s->key.range];
}

static int64_t step_host(const llmprof_trace *t, const step *s) {
  return llmprof_between(step_host_start(t, s), step_host_end(t, s));
}

static int64_t step_length(const llmprof_trace *t, const step *s) {
  (void)t;
  return llmprof_between(s->begin, s->end);
}

/* Those of the struct itself. */
#define FIELD(name)                                                   \
  static int64_t step_##name(const llmprof_trace *t, const step *s) { \
    (void)t;                                                          \
    return s->name;                                                   \
  }
FIELD(launched)
FIELD(start)
FIELD(end)
FIELD(before)
FIELD(begin)
FIELD(operations)
FIELD(kernels)

static const struct column {
  const char *name, *unit;
  llmprof_column_type type;
  step_getter get;
} columns[] = {
    {"range", NULL, LLMPROF_U32, step_range},
    {"tag", NULL, LLMPROF_STRING_ID, step_tag},
    {"pid", NULL, LLMPROF_U32, step_pid},
    {"tid", NULL, LLMPROF_U32, step_tid},
    {"device", NULL, LLMPROF_U32, step_device},
    {"host_start", "ns", LLMPROF_I64, step_host_start},
    {"host_end", "ns", LLMPROF_I64, step_host_end},
    {"host", "ns", LLMPROF_I64, step_host},
    {"launched", "ns", LLMPROF_I64, step_launched},
    {"start", "ns", LLMPROF_I64, step_start},
    {"end", "ns", LLMPROF_I64, step_end},
    {"before", "ns", LLMPROF_I64, step_before},
    {"begin", "ns", LLMPROF_I64, step_begin},
    {"length", "ns", LLMPROF_I64, step_length},
    {"operations", NULL, LLMPROF_U32, step_operations},
    {"kernels", NULL, LLMPROF_U32, step_kernels},
};

static bool add_column(llmprof_frame *frame, const llmprof_trace *trace,
                       const struct column *spec, const steps *s) {
  bool wide = spec->type == LLMPROF_I64;
  void *data =
      llmprof_alloc(s->keys.count, wide ? sizeof(int64_t) : sizeof(uint32_t));
  if (!data || !llmprof_frame_own(frame, data)) return false;
  int64_t *longs = data;
  uint32_t *shorts = data;
  for (size_t i = 0; i < s->keys.count; i++) {
    int64_t value = spec->get(trace, &s->list[i]);
    if (wide)
      longs[i] = value;
    else
      shorts[i] = value == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)value;
  }
  llmprof_column column = {
      .name = spec->name, .unit = spec->unit, .type = spec->type, .data = data};
  return llmprof_frame_add(frame, &column, NULL, NULL);
}

static llmprof_frame *frame_of(const llmprof_trace *trace, const steps *s) {
  llmprof_frame *frame = llmprof_frame_new(s->keys.count, trace->strings);
  bool ok = frame != NULL;
  for (size_t i = 0; ok && i < sizeof columns / sizeof *columns; i++)
    ok = add_column(frame, trace, &columns[i], s);
  if (ok) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

llmprof_frame *llmprof_trace_steps(llmprof_trace *trace,
                                   const char *const *tags, size_t count,
                                   llmprof_error *err) {
  if (!llmprof_trace_attribution(trace, err)) return NULL;
  llmprof_frame *frame = NULL;
  steps s = {0};
  llmprof_intern_init(&s.keys, sizeof(step_key));
  uint32_t *of_link = llmprof_trace_labelled_links(trace, tags, count);
  if (of_link && gather(trace, of_link, &s)) {
    if (s.keys.count) qsort(s.list, s.keys.count, sizeof *s.list, in_order);
    chain(s.list, s.keys.count);
    frame = frame_of(trace, &s);
  }
  llmprof_free(of_link);
  llmprof_free(s.list);
  llmprof_intern_free(&s.keys);
  if (!frame) llmprof_fail_nomem(err);
  return frame;
}
