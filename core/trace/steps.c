/* Steps: ranges as the GPU ran them, one after the other on each device.
 *
 * A range marks when the CPU asked for a step. The GPU may run it much later,
 * so a step begins where the GPU could begin it: where what ran before it
 * ended, if it was asked for by then, else with its own first operation. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "frame/row_table.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

/* What makes a step one: a range, and the process and device that ran it. */
typedef struct step_key {
  uint32_t range, process, device;
} step_key;

typedef struct step {
  step_key key;
  uint32_t operations, kernels;
  int64_t launched, start, end;
  int64_t before, begin; /* before: LLMPROF_ABSENT where nothing was */
} step;

typedef struct steps {
  step *list;
  size_t count;
} steps;

static step *open_step(llmprof_intern *found, const step_key *key) {
  const step opened = {.key = *key,
                       .launched = LLMPROF_ABSENT,
                       .before = LLMPROF_ABSENT,
                       .start = INT64_MAX,
                       .end = INT64_MIN};
  return llmprof_intern_put(found, &opened);
}

/* What of operations is looked at, one after the other. */
typedef struct operations {
  const llmprof_trace *trace;
  llmprof_cursor start, duration, place, call, link;
} operations;

static void open_operations(operations *o, const llmprof_trace *trace) {
  o->trace = trace;
  llmprof_cursor_open(&o->start, trace->ops.start);
  llmprof_cursor_open(&o->duration, trace->ops.duration);
  llmprof_cursor_open(&o->place, trace->ops.place);
  llmprof_cursor_open(&o->call, trace->attribution.call);
  llmprof_cursor_open(&o->link, trace->attribution.link);
}

static void extend(step *s, operations *o, size_t op) {
  int64_t call = llmprof_cursor_at(&o->call, op);
  int64_t start = llmprof_cursor_at(&o->start, op);
  int64_t end = llmprof_end_of(start, llmprof_cursor_at(&o->duration, op));
  int64_t launched = llmprof_values_get(o->trace->calls.start, (size_t)call);
  if (s->launched == LLMPROF_ABSENT || launched < s->launched)
    s->launched = launched;
  if (start < s->start) s->start = start;
  if (end > s->end) s->end = end;
  s->operations++;
  s->kernels += op < o->trace->ops.first[LLMPROF_COPY];
}

static bool is_key(const step_key *a, const step_key *b) {
  return a->range == b->range && a->process == b->process &&
         a->device == b->device;
}

/* of_link: by link, the wanted range around a call. Operations come a step at a
 * time for the most part: only the first of each is looked for. */
static bool gather(llmprof_trace *trace, const uint32_t *of_link,
                   llmprof_intern *found) {
  step *at = NULL;
  operations o;
  open_operations(&o, trace);
  for (size_t op = 0; op < trace->ops.count; op++) {
    int64_t link = llmprof_cursor_at(&o.link, op);
    if (link == LLMPROF_ABSENT || of_link[link] == LLMPROF_NONE ||
        llmprof_cursor_at(&o.duration, op) == LLMPROF_ABSENT)
      continue;
    const llmprof_place *place =
        llmprof_intern_get(&trace->rows[LLMPROF_PLACES],
                           (uint32_t)llmprof_cursor_at(&o.place, op));
    step_key key = {of_link[link], place->process, place->device};
    if (!at || !is_key(&key, &at->key)) at = open_step(found, &key);
    if (!at) return false;
    extend(at, &o, op);
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

/* ---- what ran before ---- */

/* The first step of a place's process and device that starts no earlier than
 * `time`, or the one behind them; steps are in order. */
static size_t step_from(const steps *s, const llmprof_place *place,
                        int64_t time) {
  const step wanted = {.key = {0, place->process, place->device},
                       .start = time};
  size_t low = 0, high = s->count;
  LLMPROF_BISECT(low, high, at, in_order(&s->list[at], &wanted) < 0);
  return low;
}

static bool is_of(const step *s, const llmprof_place *place) {
  return s->key.process == place->process && s->key.device == place->device;
}

/* Where the last operation of a place ended: behind the start of one step, and
 * no later than that of the next. */
typedef struct gap {
  int64_t after, until;
  step *next; /* NULL: there is none */
} gap;

static gap find_gap(const steps *s, const llmprof_place *place, int64_t time) {
  size_t i = step_from(s, place, time);
  bool follows = i && is_of(&s->list[i - 1], place);
  bool more = i < s->count && is_of(&s->list[i], place);
  return (gap){follows ? s->list[i - 1].start : INT64_MIN,
               more ? s->list[i].start : INT64_MAX, more ? &s->list[i] : NULL};
}

/* `before` of a step is when the last operation ended that had ended on its
 * device when it started, of those that had not when the step before did. */
static bool look_back(const llmprof_trace *trace, const steps *s) {
  const llmprof_intern *places = &trace->rows[LLMPROF_PLACES];
  gap *gaps = llmprof_zalloc(places->count, sizeof *gaps);
  operations o;
  open_operations(&o, trace);
  for (size_t op = 0; gaps && op < trace->ops.count; op++) {
    int64_t end = llmprof_end_of(llmprof_cursor_at(&o.start, op),
                                 llmprof_cursor_at(&o.duration, op));
    uint32_t place = (uint32_t)llmprof_cursor_at(&o.place, op);
    gap *g = &gaps[place];
    if (end == LLMPROF_ABSENT) continue;
    if (end <= g->after || end > g->until)
      *g = find_gap(s, llmprof_intern_get(places, place), end);
    if (g->next && end > g->next->before) g->next->before = end;
  }
  bool ok = gaps != NULL;
  llmprof_free(gaps);
  return ok;
}

/* A step that ended before what ran before it had nothing to wait for. */
static int64_t begin_of(const step *s) {
  bool queued = s->before != LLMPROF_ABSENT && s->launched <= s->before;
  return queued && s->before < s->end ? s->before : s->start;
}

/* A step may still run when the next one starts on another stream. */
static void chain(step *list, size_t count) {
  int64_t last_end = LLMPROF_ABSENT;
  for (size_t i = 0; i < count; i++) {
    bool other = i && (list[i - 1].key.process != list[i].key.process ||
                       list[i - 1].key.device != list[i].key.device);
    if (other) last_end = LLMPROF_ABSENT;
    if (last_end > list[i].before) list[i].before = last_end;
    list[i].begin = begin_of(&list[i]);
    last_end = list[i].before;
    if (list[i].end > last_end) last_end = list[i].end;
  }
}

/* ---- as a frame ---- */

static const llmprof_row_column columns[] = {
    {.name = "range"},
    {.name = "tag", .is_text = true},
    {.name = "pid"},
    {.name = "tid"},
    {.name = "device"},
    {.name = "host_start", .unit = "ns"},
    {.name = "host_end", .unit = "ns"},
    {.name = "host", .unit = "ns"},
    {.name = "launched", .unit = "ns"},
    {.name = "start", .unit = "ns"},
    {.name = "end", .unit = "ns"},
    {.name = "before", .unit = "ns"},
    {.name = "begin", .unit = "ns"},
    {.name = "length", .unit = "ns"},
    {.name = "operations"},
    {.name = "kernels"},
};

static bool add_row(llmprof_row_table *table, const llmprof_trace *trace,
                    const step *s) {
  const llmprof_ranges *r = &trace->ranges;
  size_t range = s->key.range;
  uint32_t thread = llmprof_id_at(r->thread, range);
  int64_t start = llmprof_values_get(r->start, range);
  int64_t end = llmprof_values_get(r->end, range);
  const int64_t cells[] = {s->key.range,
                           llmprof_values_get(r->tag, range),
                           llmprof_thread_pid(trace, thread),
                           llmprof_thread_tid(trace, thread),
                           llmprof_widen(s->key.device),
                           start,
                           end,
                           llmprof_between(start, end),
                           s->launched,
                           s->start,
                           s->end,
                           s->before,
                           s->begin,
                           llmprof_between(s->begin, s->end),
                           s->operations,
                           s->kernels};
  return llmprof_row_table_add(table, cells) != NULL;
}

static llmprof_frame *frame_of(const llmprof_trace *trace, const steps *s) {
  llmprof_row_table table = {.columns = columns,
                             .column_count = sizeof columns / sizeof *columns};
  llmprof_frame *frame = NULL;
  bool ok = true;
  for (size_t i = 0; ok && i < s->count; i++)
    ok = add_row(&table, trace, &s->list[i]);
  if (ok) frame = llmprof_row_table_frame(&table, NULL, trace->strings, NULL);
  llmprof_row_table_free(&table);
  return frame;
}

llmprof_frame *llmprof_trace_steps(llmprof_trace *trace,
                                   const llmprof_trace_tag *tags, size_t count,
                                   llmprof_error *err) {
  if (!llmprof_trace_attribution(trace, err)) return NULL;
  llmprof_frame *frame = NULL;
  llmprof_intern found;
  llmprof_intern_init_keyed(&found, sizeof(step), sizeof(step_key));
  uint32_t *of_link = llmprof_trace_labelled_links(trace, tags, count);
  if (of_link && gather(trace, of_link, &found)) {
    const steps s = {(step *)(void *)found.records, found.count};
    if (s.count) qsort(s.list, s.count, sizeof *s.list, in_order);
    if (look_back(trace, &s)) {
      chain(s.list, s.count);
      frame = frame_of(trace, &s);
    }
  }
  llmprof_free(of_link);
  llmprof_intern_free(&found);
  if (!frame) llmprof_fail_nomem(err);
  return frame;
}
