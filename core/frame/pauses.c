/* Times in which no row of a frame ran, from one sweep over its rows by start.
 */
#include "frame/visit.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"
#include "llmprof/interval.h"

/* What is found: at most one before each row. */
typedef struct pauses {
  int64_t *start, *end;
  uint32_t *took; /* end - start, where `fits` */
  size_t count;
  bool fits;    /* all of them so far are small */
  int64_t last; /* the latest end so far; ABSENT: nothing ran yet */
  int64_t shortest;
} pauses;

static void add_pause(pauses *p, int64_t start, int64_t end) {
  uint64_t took = (uint64_t)end - (uint64_t)start;
  p->start[p->count] = start;
  p->end[p->count] = end;
  p->took[p->count++] = (uint32_t)took;
  p->fits &= took < UINT32_MAX;
}

static void sweep_block(pauses *p, const llmprof_visit_block *b) {
  uint64_t shortest = p->shortest > 0 ? (uint64_t)p->shortest : 1;
  int64_t last = p->last;
  for (size_t i = 0; i < b->count; i++) {
    int64_t start = b->starts[i], end = b->ends[i];
    if (start == LLMPROF_ABSENT || end <= start) continue;
    if (last == LLMPROF_ABSENT) last = start;
    if (start > last && (uint64_t)start - (uint64_t)last >= shortest)
      add_pause(p, last, start);
    last = end > last ? end : last;
  }
  p->last = last;
}

static bool sweep(pauses *p, const llmprof_visit *v, llmprof_error *err) {
  for (size_t place = 0; place < v->rows; place += LLMPROF_BLOCK) {
    llmprof_visit_block b;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    llmprof_visit_read(v, place, &b);
    sweep_block(p, &b);
  }
  return true;
}

/* More than 64 bits, as only a broken file has them, are absent. */
static int64_t *wide_durations(const pauses *p) {
  int64_t *took = llmprof_alloc(p->count, sizeof *took);
  for (size_t i = 0; took && i < p->count; i++)
    if (__builtin_sub_overflow(p->end[i], p->start[i], &took[i]))
      took[i] = LLMPROF_ABSENT;
  return took;
}

static void *trimmed(void *memory, size_t count, size_t size) {
  void *less = count ? llmprof_resize(memory, count, size) : NULL;
  return less ? less : memory;
}

static void pauses_free(pauses *p) {
  llmprof_free(p->start);
  llmprof_free(p->end);
  llmprof_free(p->took);
}

/* What is handed on is the frame's, also on failure. */
static bool fill_frame(llmprof_frame *frame, pauses *p, llmprof_error *err) {
  void *took =
      p->fits ? trimmed(p->took, p->count, sizeof *p->took) : wide_durations(p);
  if (!p->fits) llmprof_free(p->took);
  void *start = trimmed(p->start, p->count, sizeof *p->start);
  void *end = trimmed(p->end, p->count, sizeof *p->end);
  llmprof_column_type type = p->fits ? LLMPROF_U32 : LLMPROF_I64;
  *p = (pauses){.end = end, .took = took};
  if (!llmprof_frame_give(frame, "start", "ns", LLMPROF_I64, start, err))
    return false;
  p->end = NULL;
  if (!llmprof_frame_give(frame, "end", "ns", LLMPROF_I64, end, err))
    return false;
  p->took = NULL;
  return llmprof_frame_give(frame, "duration", "ns", type, took, err);
}

static llmprof_frame *make_frame(pauses *p, const llmprof_strings *strings,
                                 llmprof_error *err) {
  llmprof_frame *frame = llmprof_frame_new(p->count, strings);
  if (!frame) return llmprof_fail_nomem(err), NULL;
  if (fill_frame(frame, p, err)) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

llmprof_frame *llmprof_frame_pauses(llmprof_frame *frame, size_t start_column,
                                    size_t end_column, int64_t shortest,
                                    llmprof_error *err) {
  llmprof_visit v;
  llmprof_frame *made = NULL;
  if (!llmprof_visit_make(&v, frame, start_column, end_column, err))
    return NULL;
  pauses p = {.fits = true, .last = LLMPROF_ABSENT, .shortest = shortest};
  p.start = llmprof_alloc(v.rows, sizeof *p.start);
  p.end = llmprof_alloc(v.rows, sizeof *p.end);
  p.took = llmprof_alloc(v.rows, sizeof *p.took);
  if (!p.start || !p.end || !p.took)
    llmprof_fail_nomem(err);
  else if (sweep(&p, &v, err))
    made = make_frame(&p, llmprof_frame_strings(frame), err);
  pauses_free(&p);
  return made;
}
