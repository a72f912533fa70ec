/* What ran beside a row: starts and ends are swept together. While a single
 * row of a group runs, the exclusive or of all that run names it; the time in
 * which it is so is the row's own, and the rest is shared. */
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/relate.h"
#include "frame/times.h"
#include "llmprof/alloc.h"

/* What of a group runs, and since when that is so. */
typedef struct running {
  uint32_t count, rows; /* rows: exclusive or of their numbers */
  int64_t since;
} running;

typedef struct sweep {
  const llmprof_column *start, *end;
  const uint32_t *by_start, *by_end; /* NULL: as they lie */
  size_t rows;
  running *of; /* by group */
  int64_t *own;
} sweep;

static bool sweep_init(sweep *s, llmprof_frame *frame, size_t start, size_t end,
                       size_t groups, llmprof_error *err) {
  s->rows = llmprof_frame_rows(frame);
  s->start = llmprof_frame_column(frame, start, err);
  s->end = s->start ? llmprof_frame_column(frame, end, err) : NULL;
  if (!s->end || !llmprof_frame_order(frame, start, &s->by_start, err) ||
      !llmprof_frame_order(frame, end, &s->by_end, err))
    return false;
  s->of = llmprof_zalloc(groups, sizeof *s->of);
  s->own = llmprof_zalloc(s->rows, sizeof *s->own);
  return (s->of && s->own) || llmprof_fail_nomem(err);
}

static uint32_t at(const uint32_t *order, size_t place) {
  return order ? order[place] : (uint32_t)place;
}

/* A row begins or ends; times are no further apart than one row is long. */
static void change(sweep *s, running *of, uint32_t row, int64_t time,
                   bool begins) {
  if (of->count == 1) s->own[of->rows] += llmprof_time_between(of->since, time);
  of->count += begins ? 1 : -1U;
  of->rows ^= row;
  of->since = time;
}

/* A cell at a place of an order; INT64_MAX behind all. */
static int64_t time_at(const sweep *s, const llmprof_column *column,
                       const uint32_t *order, size_t place) {
  return place < s->rows ? llmprof_cell(column, at(order, place)) : INT64_MAX;
}

/* All starts and ends in order, an end before a start of the same time. Rows
 * that cover no time are none. */
static bool walk(sweep *s, const llmprof_groups *groups, llmprof_error *err) {
  size_t started = 0, ended = 0;
  int64_t start = time_at(s, s->start, s->by_start, 0);
  int64_t end = time_at(s, s->end, s->by_end, 0);
  while (ended < s->rows) {
    if (llmprof_interrupted_at(started + ended))
      return llmprof_fail_interrupted(err);
    bool begins = started < s->rows && start < end;
    uint32_t row = begins ? at(s->by_start, started) : at(s->by_end, ended);
    int64_t from = begins ? start : llmprof_cell(s->start, row);
    int64_t to = begins ? llmprof_cell(s->end, row) : end;
    if (from != LLMPROF_ABSENT && from < to)
      change(s, &s->of[groups->of_row[row]], row, begins ? from : to, begins);
    if (begins)
      start = time_at(s, s->start, s->by_start, ++started);
    else
      end = time_at(s, s->end, s->by_end, ++ended);
  }
  return true;
}

/* From the time of its own to that beside others. */
static void to_shared(sweep *s) {
  for (size_t row = 0; row < s->rows; row++) {
    int64_t start = llmprof_cell(s->start, row), length;
    int64_t end = llmprof_cell(s->end, row);
    bool is_known = start != LLMPROF_ABSENT && end != LLMPROF_ABSENT &&
                    !__builtin_sub_overflow(end, start, &length);
    if (!is_known)
      s->own[row] = LLMPROF_ABSENT;
    else
      s->own[row] = length > s->own[row] ? length - s->own[row] : 0;
  }
}

bool llmprof_frame_overlap(llmprof_frame *frame, size_t start, size_t end,
                           const llmprof_groups *groups, const char *name,
                           llmprof_error *err) {
  sweep s = {0};
  bool ok = sweep_init(&s, frame, start, end, groups->count, err) &&
            walk(&s, groups, err);
  llmprof_free(s.of);
  if (!ok) {
    llmprof_free(s.own);
    return false;
  }
  to_shared(&s);
  return llmprof_frame_give(frame, name, "ns", LLMPROF_I64, s.own, err);
}
