/* Which range a sample of the CPU was taken in: by thread and time, else by
 * process and time. */
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

/* Ranges and samples, each by what they belong to (a thread or a process) and
 * by time. */
typedef struct sides {
  const llmprof_trace *trace;
  uint32_t *ranges; /* rows */
  size_t range_count;
  uint32_t *samples;              /* rows */
  uint32_t *of_range, *of_sample; /* by row: what it belongs to */
  uint32_t *open; /* ranges that have begun, the last one on top */
  int64_t *start, *end, *level; /* by range */
} sides;

static bool sides_make(sides *s, const llmprof_trace *trace) {
  size_t ranges = trace->ranges.count, samples = trace->cpu_samples.count;
  *s = (sides){.trace = trace};
  s->ranges = llmprof_alloc(ranges, sizeof *s->ranges);
  s->open = llmprof_alloc(ranges, sizeof *s->open);
  s->of_range = llmprof_alloc(ranges, sizeof *s->of_range);
  s->samples = llmprof_alloc(samples, sizeof *s->samples);
  s->of_sample = llmprof_alloc(samples, sizeof *s->of_sample);
  s->start = llmprof_values_all(trace->ranges.start);
  s->end = llmprof_values_all(trace->ranges.end);
  s->level = llmprof_values_all(trace->attribution.level);
  return s->ranges && s->open && s->of_range && s->samples && s->of_sample &&
         s->start && s->end && s->level;
}

static void sides_free(sides *s) {
  llmprof_free(s->ranges);
  llmprof_free(s->open);
  llmprof_free(s->of_range);
  llmprof_free(s->samples);
  llmprof_free(s->of_sample);
  llmprof_free(s->start);
  llmprof_free(s->end);
  llmprof_free(s->level);
}

static uint32_t process_of(const llmprof_trace *trace, uint32_t thread) {
  return thread == LLMPROF_NONE ? LLMPROF_NONE
                                : llmprof_thread_at(trace, thread)->process;
}

/* By row: its thread, or the process of that. */
static void say_owner(const llmprof_trace *trace, const llmprof_values *threads,
                      bool processes, uint32_t *owners) {
  for (size_t i = 0; i < llmprof_values_count(threads); i++) {
    uint32_t thread = llmprof_id_at(threads, i);
    owners[i] = processes ? process_of(trace, thread) : thread;
  }
}

/* Those that take part, and have a name. */
static void list_ranges(sides *s, const uint32_t *names) {
  const llmprof_trace *t = s->trace;
  s->range_count = 0;
  for (uint32_t r = 0; r < t->ranges.count; r++) {
    uint32_t tag = llmprof_id_at(t->ranges.tag, r);
    if (tag != LLMPROF_NO_STRING && names[tag] != LLMPROF_NONE &&
        s->level[r] != LLMPROF_ABSENT && s->of_range[r] != LLMPROF_NONE)
      s->ranges[s->range_count++] = r;
  }
}

/* Of ranges that begin at once the outer is first. */
static bool put_in_order(sides *s) {
  const llmprof_trace *t = s->trace;
  size_t samples = t->cpu_samples.count;
  for (uint32_t i = 0; i < samples; i++) s->samples[i] = i;
  return llmprof_sort_rows_i64(s->ranges, s->range_count, s->level) &&
         llmprof_sort_rows_i64(s->ranges, s->range_count, s->start) &&
         llmprof_sort_rows_u32(s->ranges, s->range_count, s->of_range) &&
         llmprof_sort_rows_u32(s->samples, samples, s->of_sample);
}

/* The innermost range of the sample's owner that is open then; *at is the next
 * range of all, *open how many have begun. Whatever began last and has not
 * ended is innermost. */
static uint32_t range_at(const sides *s, uint32_t owner, int64_t time,
                         size_t *at, size_t *open) {
  for (; *at < s->range_count; (*at)++) {
    uint32_t next = s->ranges[*at];
    if (s->of_range[next] > owner ||
        (s->of_range[next] == owner && s->start[next] > time))
      break;
    if (s->of_range[next] == owner) s->open[(*open)++] = next;
  }
  while (*open && s->end[s->open[*open - 1]] <= time) (*open)--;
  return *open ? s->open[*open - 1] : LLMPROF_NONE;
}

/* Say it of the samples that have no range yet. */
static void sweep(const sides *s, bool own_threads, uint32_t *ranges,
                  uint32_t *own) {
  const llmprof_cpu_samples *c = &s->trace->cpu_samples;
  uint32_t owner = LLMPROF_NONE;
  size_t at = 0, open = 0;
  for (size_t i = 0; i < c->count; i++) {
    uint32_t row = s->samples[i];
    int64_t time = llmprof_values_get(c->time, row);
    if (s->of_sample[row] == LLMPROF_NONE || time == LLMPROF_ABSENT) continue;
    if (s->of_sample[row] != owner) open = 0;
    owner = s->of_sample[row];
    uint32_t range = range_at(s, owner, time, &at, &open);
    if (range == LLMPROF_NONE || ranges[row] != LLMPROF_NONE) continue;
    ranges[row] = range;
    own[row] = own_threads;
  }
}

bool llmprof_trace_ranges_around_samples(const llmprof_trace *trace,
                                         const uint32_t *names,
                                         uint32_t *ranges, uint32_t *own) {
  sides s;
  for (size_t i = 0; i < trace->cpu_samples.count; i++)
    ranges[i] = own[i] = LLMPROF_NONE;
  bool ok = sides_make(&s, trace);
  for (int processes = 0; ok && processes < 2; processes++) {
    say_owner(trace, trace->ranges.thread, processes, s.of_range);
    say_owner(trace, trace->cpu_samples.thread, processes, s.of_sample);
    list_ranges(&s, names);
    ok = put_in_order(&s);
    if (ok) sweep(&s, !processes, ranges, own);
  }
  sides_free(&s);
  return ok;
}
