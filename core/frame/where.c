/* Selecting rows. Every condition becomes a test of a cell: whether it lies
 * between two bounds, is one of a set, or is not. Bounds on a column that
 * ascends, or does in a few runs, are found by bisection; the rows between them
 * meet the other tests, a block at a time. */
#include <string.h>

#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"

typedef enum test_kind {
  WITHIN,  /* low <= cell <= high */
  ONE_OF,  /* in the set */
  NONE_OF, /* present and not in the set */
  ANY,
} test_kind;

typedef struct test {
  size_t number;
  const llmprof_column *column;
  test_kind kind;
  int64_t low, high; /* bounds; of a set, its lowest and highest value */
  int64_t *values;   /* owned: of a set, ascending */
  size_t count;      /* of them */
} test;

/* ---- making tests ---- */

/* low > high: no cell. */
static void bound(test *t, int64_t low, int64_t high) {
  t->kind = WITHIN;
  t->low = low;
  t->high = high;
}

/* The present cells on one side of a value; without one, as if it was absent.
 */
static void bound_by(test *t, llmprof_compare compare, int64_t to) {
  const int64_t least = INT64_MIN + 1, most = INT64_MAX;
  if (compare == LLMPROF_LT)
    bound(t, least, to > least ? to - 1 : LLMPROF_ABSENT);
  else if (compare == LLMPROF_LE)
    bound(t, least, to);
  else if (compare == LLMPROF_GT && to == most)
    bound(t, most, least);
  else
    bound(t, compare == LLMPROF_GT ? to + 1 : to > least ? to : least, most);
}

/* Any of the values, or none of them. */
static bool fill_set(test *t, const llmprof_condition *condition) {
  size_t count = condition->count;
  int64_t *scratch = llmprof_alloc(count, sizeof *scratch);
  t->values = llmprof_alloc(count, sizeof *t->values);
  bool ok = scratch && t->values;
  if (ok) {
    memcpy(t->values, condition->values, count * sizeof *t->values);
    llmprof_sort_i64(t->values, count, scratch);
    t->count = count;
    t->low = t->values[0];
    t->high = t->values[count - 1];
    t->kind = condition->compare == LLMPROF_EQ ? ONE_OF : NONE_OF;
  }
  llmprof_free(scratch);
  return ok;
}

/* A test of the cells of a column, which is loaded. */
static bool test_init(test *t, const llmprof_column *column,
                      const llmprof_condition *condition, llmprof_error *err) {
  llmprof_compare compare = condition->compare;
  size_t count = condition->count;
  int64_t first = count ? condition->values[0] : LLMPROF_ABSENT;
  t->number = condition->column;
  t->column = column;
  if (compare > LLMPROF_NE)
    bound_by(t, compare, first);
  else if (compare == LLMPROF_EQ && count < 2)
    bound(t, first, count ? first : LLMPROF_ABSENT);
  else if (compare == LLMPROF_NE && !count)
    t->kind = ANY;
  else
    return fill_set(t, condition) || llmprof_fail_nomem(err);
  if (compare == LLMPROF_EQ && !count) bound(t, 1, 0);
  return true;
}

static void tests_free(test *tests, size_t count) {
  for (size_t i = 0; tests && i < count; i++) llmprof_free(tests[i].values);
  llmprof_free(tests);
}

/* ---- testing a cell ---- */

static bool in_set(const test *t, int64_t value) {
  size_t low = 0, high = t->count;
  if (value < t->low || value > t->high) return false;
  LLMPROF_BISECT(low, high, at, t->values[at] < value);
  return low < t->count && t->values[low] == value;
}

static inline bool passes(const test *t, int64_t value) {
  switch (t->kind) {
  case WITHIN:
    return value >= t->low && value <= t->high;
  case ONE_OF:
    return in_set(t, value);
  case NONE_OF:
    return value != LLMPROF_ABSENT && !in_set(t, value);
  default:
    return true;
  }
}

/* ---- testing rows ---- */

/* Of a block of rows, numbered from 0, those that pass into `rows`; returns
 * how many. Bounds, which most conditions are, have a loop without a branch. */
static size_t sift_block(const test *t, size_t first, size_t count,
                         uint16_t *rows) {
  int64_t cells[LLMPROF_BLOCK];
  size_t kept = 0;
  llmprof_cells(t->column, first, count, cells);
  if (t->kind == WITHIN) {
    int64_t low = t->low, high = t->high;
    for (size_t i = 0; i < count; i++) {
      rows[kept] = (uint16_t)i;
      kept += (cells[i] >= low) & (cells[i] <= high);
    }
    return kept;
  }
  for (size_t i = 0; i < count; i++) {
    rows[kept] = (uint16_t)i;
    kept += passes(t, cells[i]);
  }
  return kept;
}

/* The same of those that passed before. */
static size_t sift_rows(const test *t, size_t first, size_t count,
                        uint16_t *rows) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    uint16_t row = rows[i];
    rows[kept] = row;
    kept += passes(t, llmprof_cell(t->column, first + row));
  }
  return kept;
}

static size_t sift(const test *tests, size_t count, size_t first, size_t rows,
                   uint16_t *kept) {
  size_t left = sift_block(&tests[0], first, rows, kept);
  for (size_t i = 1; left && i < count; i++)
    left = sift_rows(&tests[i], first, left, kept);
  return left;
}

/* Rows [first, last). */
typedef struct piece {
  size_t first, last;
} piece;

enum {
  MOST_PIECES = 2 * LLMPROF_MANY_RUNS
};

/* What may still pass: pieces that follow each other, none of them empty. */
typedef struct rest {
  piece pieces[MOST_PIECES];
  size_t count;
} rest;

static size_t rows_of(const rest *r) {
  size_t rows = 0;
  for (size_t i = 0; i < r->count; i++)
    rows += r->pieces[i].last - r->pieces[i].first;
  return rows;
}

/* Add the numbers of those that pass all tests; returns how many. */
static size_t match_piece(const test *tests, size_t count, piece p,
                          uint32_t *rows) {
  size_t found = 0;
  for (size_t row = p.first; row < p.last; row += LLMPROF_BLOCK) {
    uint16_t kept[LLMPROF_BLOCK];
    size_t left = sift(tests, count, row, llmprof_block(row, p.last), kept);
    for (size_t i = 0; i < left; i++)
      rows[found + i] = (uint32_t)(row + kept[i]);
    found += left;
    if (llmprof_interrupted()) break;
  }
  return found;
}

static size_t list_piece(piece p, uint32_t *rows) {
  for (size_t row = p.first; row < p.last; row++)
    rows[row - p.first] = (uint32_t)row;
  return p.last - p.first;
}

/* Row numbers of the rest that pass all tests. */
static uint32_t *matching_rows(const test *tests, size_t count, const rest *r,
                               size_t *found, llmprof_error *err) {
  uint32_t *rows = llmprof_alloc(rows_of(r), sizeof *rows);
  if (!rows) return llmprof_fail_nomem(err), NULL;
  *found = 0;
  for (size_t i = 0; i < r->count; i++)
    *found += count ? match_piece(tests, count, r->pieces[i], rows + *found)
                    : list_piece(r->pieces[i], rows + *found);
  if (llmprof_interrupted()) {
    llmprof_free(rows);
    return llmprof_fail_interrupted(err), NULL;
  }
  uint32_t *trimmed = llmprof_resize(rows, *found, sizeof *rows);
  return trimmed ? trimmed : rows;
}

/* ---- without looking at rows ---- */

/* What bounds of its column's cells say of a test: MET or FAILED by all rows,
 * or OPEN. */
typedef enum verdict {
  OPEN,
  MET,
  FAILED
} verdict;

static verdict verdict_of(const test *t, const llmprof_cell_span *span) {
  if (t->kind == ANY) return MET;
  if (t->low == LLMPROF_ABSENT && t->high == LLMPROF_ABSENT) {
    if (span->absent) return OPEN;
    return t->kind == NONE_OF ? MET : FAILED;
  }
  if (t->low == LLMPROF_ABSENT || t->kind == NONE_OF) return OPEN;
  if (t->low > t->high || span->low > t->high || span->high < t->low)
    return FAILED;
  bool inside = t->low <= span->low && span->high <= t->high;
  return t->kind == WITHIN && inside && !span->absent ? MET : OPEN;
}

static verdict judge(llmprof_frame *frame, const test *t) {
  llmprof_cell_span span;
  if (!llmprof_frame_bounds(frame, t->number, &span, NULL))
    return t->kind == ANY ? MET : OPEN;
  return verdict_of(t, &span);
}

/* ---- bisection ---- */

/* Cut the rest where runs begin; false where that makes too many pieces. */
static bool cut(rest *r, const uint32_t *first, unsigned runs) {
  rest made = {.count = 0};
  for (size_t i = 0; i < r->count; i++) {
    piece left = r->pieces[i];
    for (unsigned run = 1; run <= runs && left.first < left.last; run++) {
      size_t end = run < runs ? first[run] : left.last;
      if (end <= left.first) continue;
      if (end > left.last) end = left.last;
      if (made.count == MOST_PIECES) return false;
      made.pieces[made.count++] = (piece){left.first, end};
      left.first = end;
    }
  }
  *r = made;
  return true;
}

/* Does a test bound a column that ascends in pieces of the rest, and so is met
 * once these are narrowed down? */
static bool narrow(llmprof_frame *frame, const test *t, rest *r) {
  const uint32_t *first;
  if (t->kind != WITHIN || t->low == LLMPROF_ABSENT || t->low > t->high)
    return false;
  unsigned runs = llmprof_frame_runs(frame, t->number, &first);
  if (!runs || !cut(r, first, runs)) return false;
  size_t kept = 0;
  for (size_t i = 0; i < r->count; i++) {
    piece p = r->pieces[i];
    p.first = llmprof_first_at(t->column, p.first, p.last, t->low, false);
    p.last = llmprof_first_at(t->column, p.first, p.last, t->high, true);
    if (p.first < p.last) r->pieces[kept++] = p;
  }
  r->count = kept;
  return true;
}

/* Narrow down, and keep the tests that remain; returns how many. */
static size_t narrow_all(llmprof_frame *frame, test *tests, size_t count,
                         rest *r) {
  size_t kept = 0, rows = llmprof_frame_rows(frame);
  *r = (rest){.pieces = {{0, rows}}, .count = rows > 0};
  for (size_t i = 0; i < count; i++) {
    verdict all = judge(frame, &tests[i]);
    if (all == FAILED) r->count = 0;
    if (all != OPEN || narrow(frame, &tests[i], r)) continue;
    test swap = tests[kept];
    tests[kept++] = tests[i];
    tests[i] = swap;
  }
  return kept;
}

static llmprof_frame *select_rows(llmprof_frame *frame, test *tests,
                                  size_t count, llmprof_error *err) {
  rest r;
  size_t found;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err), NULL;
  size_t left = narrow_all(frame, tests, count, &r);
  piece only = r.count ? r.pieces[0] : (piece){0, 0};
  if (!r.count || (!left && r.count == 1))
    return llmprof_frame_slice(frame, only.first, only.last - only.first, err);
  uint32_t *rows = matching_rows(tests, left, &r, &found, err);
  if (!rows) return NULL;
  if (r.count > 1 || found < only.last - only.first)
    return llmprof_frame_take(frame, rows, found, err);
  llmprof_free(rows); /* all of them need no list */
  return llmprof_frame_slice(frame, only.first, found, err);
}

static bool init_all(test *tests, llmprof_frame *frame,
                     const llmprof_condition *conditions, size_t count,
                     llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++) {
    const llmprof_column *column =
        llmprof_frame_column(frame, conditions[i].column, err);
    ok = column && test_init(&tests[i], column, &conditions[i], err);
  }
  return ok;
}

llmprof_frame *llmprof_frame_where(llmprof_frame *frame,
                                   const llmprof_condition *conditions,
                                   size_t count, llmprof_error *err) {
  test *tests = llmprof_zalloc(count, sizeof *tests);
  bool ok = tests ? init_all(tests, frame, conditions, count, err)
                  : llmprof_fail_nomem(err);
  llmprof_frame *view = ok ? select_rows(frame, tests, count, err) : NULL;
  tests_free(tests, count);
  return view;
}
