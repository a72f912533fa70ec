/* Times in which no row of a frame ran, from one sweep over its rows by start.
 * Their lengths are what most ask for: where they begin and end is found by
 * another sweep, when somebody asks. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/interval.h"
#include "frame/visit.h"

/* What is swept. Columns are copies: those of a frame move when it gets more of
 * them. */
typedef struct sweeping {
  llmprof_column start, end;
  const uint32_t *order;
  size_t rows;
  uint64_t shortest;
} sweeping;

/* What is found, into those of these that are there. */
typedef struct idle_intervals {
  uint32_t *took;
  int64_t *start, *end, *length;
  size_t count;
  bool fits;    /* all took less than UINT32_MAX */
  int64_t last; /* the latest end so far; ABSENT: nothing ran yet */
} idle_intervals;

/* More than 64 bits, as only a broken file has them, are absent. */
static int64_t length_of(int64_t start, int64_t end) {
  int64_t length;
  return __builtin_sub_overflow(end, start, &length) ? LLMPROF_ABSENT : length;
}

static void add_idle(idle_intervals *p, int64_t start, int64_t end) {
  uint64_t took = (uint64_t)end - (uint64_t)start;
  if (p->took) p->took[p->count] = (uint32_t)took;
  if (p->start) p->start[p->count] = start;
  if (p->end) p->end[p->count] = end;
  if (p->length) p->length[p->count] = length_of(start, end);
  p->count++;
  p->fits &= took < UINT32_MAX;
}

static void sweep_block(idle_intervals *p, uint64_t shortest,
                        const llmprof_visit_block *b) {
  int64_t last = p->last;
  for (size_t i = 0; i < b->count; i++) {
    int64_t start = b->starts[i], end = b->ends[i];
    if (start == LLMPROF_ABSENT || end <= start) continue;
    if (last == LLMPROF_ABSENT) last = start;
    if (start > last && (uint64_t)start - (uint64_t)last >= shortest)
      add_idle(p, last, start);
    last = end > last ? end : last;
  }
  p->last = last;
}

static bool sweep(idle_intervals *p, const sweeping *s, llmprof_error *err) {
  const llmprof_visit v = {&s->start, &s->end, s->order, s->rows};
  p->fits = true;
  p->last = LLMPROF_ABSENT;
  for (size_t place = 0; place < s->rows; place += LLMPROF_BLOCK) {
    llmprof_visit_block b;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    llmprof_visit_read(&v, place, &b);
    sweep_block(p, s->shortest, &b);
  }
  return true;
}

/* ---- as a frame ---- */

/* Room for as many times as there are, owned by the frame; NULL when out of
 * memory. */
static int64_t *room_for(llmprof_frame *frame, llmprof_column *column) {
  int64_t *times = llmprof_alloc(llmprof_frame_rows(frame), sizeof *times);
  column->data = times;
  return times && llmprof_frame_own(frame, times) ? times : NULL;
}

static bool load_starts(llmprof_frame *frame, llmprof_column *column,
                        void *user, llmprof_error *err) {
  idle_intervals p = {.start = room_for(frame, column)};
  return p.start ? sweep(&p, user, err) : llmprof_fail_nomem(err);
}

static bool load_ends(llmprof_frame *frame, llmprof_column *column, void *user,
                      llmprof_error *err) {
  idle_intervals p = {.end = room_for(frame, column)};
  return p.end ? sweep(&p, user, err) : llmprof_fail_nomem(err);
}

static bool load_lengths(llmprof_frame *frame, llmprof_column *column,
                         void *user, llmprof_error *err) {
  idle_intervals p = {.length = room_for(frame, column)};
  return p.length ? sweep(&p, user, err) : llmprof_fail_nomem(err);
}

static bool add_times(llmprof_frame *frame, const char *name,
                      llmprof_column_loader load, sweeping *s) {
  const llmprof_column column = {
      .name = name, .unit = "ns", .type = LLMPROF_I64};
  return llmprof_frame_add(frame, &column, load, s);
}

/* Lengths become the frame's, also on failure; NULL: they are not short. */
static bool add_columns(llmprof_frame *frame, sweeping *s, uint32_t *took,
                        llmprof_error *err) {
  if (!add_times(frame, "start", load_starts, s) ||
      !add_times(frame, "end", load_ends, s) ||
      (!took && !add_times(frame, "duration", load_lengths, s))) {
    llmprof_free(took);
    return llmprof_fail_nomem(err);
  }
  return !took ||
         llmprof_frame_give(frame, "duration", "ns", LLMPROF_U32, took, err);
}

/* What is kept for later is the frame's. */
static llmprof_frame *new_frame(const llmprof_frame *of, const sweeping *s,
                                size_t rows, sweeping **kept) {
  llmprof_frame *frame = llmprof_frame_new(rows, llmprof_frame_strings(of));
  *kept = llmprof_memdup(s, sizeof *s);
  if (frame && *kept && llmprof_frame_own(frame, *kept)) return frame;
  if (!frame) llmprof_free(*kept);
  llmprof_frame_free(frame);
  return NULL;
}

static llmprof_frame *make_frame(const llmprof_frame *of, const sweeping *s,
                                 idle_intervals *p, llmprof_error *err) {
  sweeping *kept;
  llmprof_frame *frame = new_frame(of, s, p->count, &kept);
  if (!frame) return llmprof_fail_nomem(err), NULL;
  uint32_t *took = p->fits ? p->took : NULL;
  if (took) p->took = NULL;
  if (add_columns(frame, kept, took, err)) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

/* There is at most one before each row. */
static uint32_t *trimmed(uint32_t *took, size_t count) {
  uint32_t *less = count ? llmprof_resize(took, count, sizeof *took) : NULL;
  return less ? less : took;
}

llmprof_frame *llmprof_frame_idle_intervals(llmprof_frame *frame,
                                            size_t start_column,
                                            size_t end_column, int64_t shortest,
                                            llmprof_error *err) {
  llmprof_visit v;
  llmprof_frame *made = NULL;
  if (!llmprof_visit_make(&v, frame, start_column, end_column, err))
    return NULL;
  const sweeping s = {*v.start, *v.end, v.order, v.rows,
                      shortest > 0 ? (uint64_t)shortest : 1};
  idle_intervals p = {.took = llmprof_alloc(v.rows, sizeof *p.took)};
  if (!p.took) return llmprof_fail_nomem(err), NULL;
  if (sweep(&p, &s, err)) {
    p.took = trimmed(p.took, p.count);
    made = make_frame(frame, &s, &p, err);
  }
  llmprof_free(p.took);
  return made;
}
