/* Rows of two frames paired by order. Where the next cells of both are equal
 * they are a pair. Where not, the nearest place a little further on in either
 * is looked for from which a few cells agree, and what was passed over pairs
 * off as a longest common subsequence; else the place in the other frame with
 * the longest run that agrees, by its sorted suffixes. */
#include <limits.h>

#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/relate.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"

enum {
  NEAR = 48,      /* rows passed over in either frame */
  ENOUGH = 4,     /* cells that agree, near by */
  SEEN = 16,      /* of them that are counted */
  DRIFT = 3,      /* cells that a row passed over on one side only costs */
  FAR_ENOUGH = 8, /* the same anywhere else */
  LONGEST = 1024, /* cells by which suffixes are told apart */
  ALIKE = 64,     /* runs of the same length that are looked at */
};

#define NONE UINT32_MAX

typedef struct pairing {
  int64_t *left, *right;
  size_t left_count, right_count;
  uint32_t *suffixes; /* rows on the right, by what begins there */
  uint32_t *found;    /* by row on the left */
  size_t stop;        /* where the turn on the left ends */
} pairing;

static bool agree(const pairing *p, size_t left, size_t right) {
  return p->left[left] == p->right[right] && p->left[left] != LLMPROF_ABSENT;
}

/* How many cells agree from here, at most `most`. */
static size_t agreeing(const pairing *p, size_t left, size_t right,
                       size_t most) {
  size_t count = 0;
  while (count < most && left + count < p->stop &&
         right + count < p->right_count &&
         agree(p, left + count, right + count))
    count++;
  return count;
}

/* ---- sorted suffixes ---- */

/* Number equal keys alike, in order; true: all are different. */
static bool renumber(const uint32_t *rows, size_t count, const int64_t *keys,
                     int64_t *ranks) {
  int64_t rank = 0;
  for (size_t i = 0; i < count; i++) {
    if (i && keys[rows[i]] != keys[rows[i - 1]]) rank++;
    ranks[rows[i]] = rank;
  }
  return rank + 1 == (int64_t)count;
}

/* By their first `width` cells they are ordered; now by twice as many. */
static bool double_width(pairing *p, size_t width, const int64_t *ranks,
                         int64_t *keys) {
  size_t count = p->right_count;
  for (size_t i = 0; i < count; i++) {
    int64_t behind = i + width < count ? ranks[i + width] + 1 : 0;
    keys[i] = ranks[i] * ((int64_t)count + 1) + behind;
  }
  return llmprof_sort_rows_i64(p->suffixes, count, keys);
}

static bool sort_suffixes(pairing *p, int64_t *ranks, int64_t *keys) {
  size_t count = p->right_count;
  for (size_t i = 0; i < count; i++) p->suffixes[i] = (uint32_t)i;
  if (!llmprof_sort_rows_i64(p->suffixes, count, p->right)) return false;
  bool done = renumber(p->suffixes, count, p->right, ranks);
  for (size_t width = 1; !done && width < LONGEST; width *= 2) {
    if (!double_width(p, width, ranks, keys)) return false;
    done = renumber(p->suffixes, count, keys, ranks);
  }
  return true;
}

static bool order_suffixes(pairing *p, llmprof_error *err) {
  int64_t *ranks = llmprof_alloc(p->right_count, sizeof *ranks);
  int64_t *keys = llmprof_alloc(p->right_count, sizeof *keys);
  bool ok = ranks && keys && sort_suffixes(p, ranks, keys);
  llmprof_free(ranks);
  llmprof_free(keys);
  return ok || llmprof_fail_nomem(err);
}

/* ---- far away ---- */

/* Does what begins in this row on the right come before what is on the left? */
static bool comes_before(const pairing *p, size_t right, size_t left) {
  for (size_t i = 0; i < LONGEST; i++) {
    if (left + i == p->stop) return false;
    if (right + i == p->right_count) return true;
    int64_t here = p->left[left + i], there = p->right[right + i];
    if (here != there) return there < here;
  }
  return false;
}

static size_t first_suffix(const pairing *p, size_t left) {
  size_t low = 0, high = p->right_count;
  LLMPROF_BISECT(low, high, at, comes_before(p, p->suffixes[at], left));
  return low;
}

/* A place on the right, and how many cells agree there. */
typedef struct run {
  size_t right, length;
} run;

/* The longer one; of two of a length that which comes first from `near` on. */
static bool is_better(run a, run b, size_t near) {
  if (a.length != b.length) return a.length > b.length;
  if ((a.right >= near) != (b.right >= near)) return a.right >= near;
  return a.right < b.right;
}

/* Look at sorted suffixes from `at` on, forwards or backwards, as long as they
 * agree as far. */
static void look(const pairing *p, size_t left, size_t at, int by, size_t near,
                 run *best) {
  for (size_t i = 0; i < ALIKE && at < p->right_count; i++, at += (size_t)by) {
    run one = {p->suffixes[at], 0};
    one.length = agreeing(p, left, one.right, LONGEST);
    if (one.length < best->length || !one.length) return;
    if (is_better(one, *best, near)) *best = one;
  }
}

/* The longest run that agrees with what begins on the left. */
static run find_run(const pairing *p, size_t left, size_t near) {
  run best = {0, 0};
  if (p->left[left] == LLMPROF_ABSENT) return best;
  size_t at = first_suffix(p, left);
  look(p, left, at, 1, near, &best);
  look(p, left, at - 1, -1, near, &best);
  return best;
}

/* ---- near by ---- */

/* Pair off two short runs as their longest common subsequence. */
static void pair_between(pairing *p, size_t left, size_t left_end, size_t right,
                         size_t right_end) {
  static const size_t most = NEAR;
  unsigned char common[NEAR + 1][NEAR + 1];
  size_t rows = left_end - left, columns = right_end - right;
  if (!rows || !columns || rows > most || columns > most) return;
  for (size_t i = rows + 1; i-- > 0;) {
    for (size_t k = columns + 1; k-- > 0;) {
      if (i == rows || k == columns) {
        common[i][k] = 0;
      } else if (agree(p, left + i, right + k)) {
        common[i][k] = (unsigned char)(common[i + 1][k + 1] + 1);
      } else {
        unsigned char down = common[i + 1][k], across = common[i][k + 1];
        common[i][k] = down > across ? down : across;
      }
    }
  }
  for (size_t i = 0, k = 0; i < rows && k < columns;) {
    if (agree(p, left + i, right + k))
      p->found[left + i++] = (uint32_t)(right + k++);
    else if (common[i + 1][k] >= common[i][k + 1])
      i++;
    else
      k++;
  }
}

/* Does this number of cells suffice to go on there: enough, or all that are
 * left? */
static bool is_enough(const pairing *p, size_t left, size_t right,
                      size_t count) {
  return count && (count >= ENOUGH || left + count == p->stop ||
                   right + count == p->right_count);
}

/* Rows to pass over on both sides, and what for: cells that agree behind them,
 * less the rows, and less once more where one side has more of them: programs
 * change a kernel more often than they lose one. */
typedef struct detour {
  size_t left, right;
  long worth;
} detour;

static detour detour_of(const pairing *p, size_t left, size_t right,
                        size_t here, size_t there) {
  size_t count = agreeing(p, left + here, right + there, SEEN);
  if (!is_enough(p, left + here, right + there, count))
    return (detour){0, 0, LONG_MIN};
  size_t drift = here > there ? here - there : there - here;
  return (detour){here, there,
                  (long)count - (long)(here + there + DRIFT * drift)};
}

/* The best detour; its worth LONG_MIN: there is none. */
static detour find_detour(const pairing *p, size_t left, size_t right) {
  detour best = {0, 0, LONG_MIN};
  for (size_t passed = 1; passed <= 2 * (size_t)NEAR; passed++) {
    if (best.worth >= SEEN - (long)passed) break;
    size_t from = passed > NEAR ? passed - NEAR : 0;
    for (size_t here = from; here <= passed && here <= NEAR; here++) {
      detour one = detour_of(p, left, right, here, passed - here);
      if (one.worth > best.worth) best = one;
    }
  }
  return best;
}

/* Go on from near by, where both agree again; false: there is no such place. */
static bool resume_near(pairing *p, size_t *left, size_t *right) {
  detour way = find_detour(p, *left, *right);
  if (way.worth == LONG_MIN) return false;
  pair_between(p, *left, *left + way.left, *right, *right + way.right);
  *left += way.left;
  *right += way.right;
  return true;
}

/* ---- together ---- */

/* What is left of a turn where nothing more is found. */
static void pair_rest(pairing *p, size_t left, size_t right) {
  size_t end = right + NEAR < p->right_count ? right + NEAR : p->right_count;
  pair_between(p, left, p->stop, right, end);
}

/* Where nothing agrees near by: the longest run anywhere; false: there is
 * none that is long enough. */
static bool resume_far(const pairing *p, size_t left, size_t *right) {
  run found = find_run(p, left, *right);
  if (found.length < FAR_ENOUGH) return false;
  *right = found.right;
  return true;
}

static bool pair_turn(pairing *p, size_t left) {
  size_t right = 0;
  bool placed = true;
  while (left < p->stop) {
    if (llmprof_interrupted_at(left)) return false;
    if (placed && right < p->right_count && agree(p, left, right)) {
      p->found[left++] = (uint32_t)right++;
    } else if (placed && resume_near(p, &left, &right)) {
      continue;
    } else if (resume_far(p, left, &right)) {
      placed = true;
    } else if (placed && p->stop - left <= NEAR) {
      pair_rest(p, left, right);
      left = p->stop;
    } else {
      placed = false;
      left++;
    }
  }
  return true;
}

/* A copy of a column of integers; NULL on failure. */
static int64_t *read_column(llmprof_frame *frame, size_t number,
                            llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return NULL;
  size_t rows = llmprof_frame_rows(frame);
  int64_t *cells = llmprof_alloc(rows, sizeof *cells);
  for (size_t i = 0; cells && i < rows; i++) cells[i] = llmprof_cell(column, i);
  if (!cells) llmprof_fail_nomem(err);
  return cells;
}

static bool pair_rows(pairing *p, const llmprof_column *turn,
                      llmprof_error *err) {
  for (size_t i = 0; i < p->left_count; i++) p->found[i] = NONE;
  for (size_t first = 0; first < p->left_count; first = p->stop) {
    p->stop = turn ? first + 1 : p->left_count;
    while (p->stop < p->left_count &&
           llmprof_cell(turn, p->stop) == llmprof_cell(turn, first))
      p->stop++;
    if (!pair_turn(p, first)) return llmprof_fail_interrupted(err);
  }
  return true;
}

static bool pairing_init(pairing *p, llmprof_frame *frame, size_t column,
                         llmprof_frame *other, size_t other_column,
                         llmprof_error *err) {
  p->left_count = llmprof_frame_rows(frame);
  p->right_count = llmprof_frame_rows(other);
  if (p->right_count > INT32_MAX)
    return llmprof_fail(err, LLMPROF_LIMIT, "more than 2147483647 rows");
  p->left = read_column(frame, column, err);
  p->right = p->left ? read_column(other, other_column, err) : NULL;
  if (!p->right) return false;
  p->suffixes = llmprof_alloc(p->right_count, sizeof *p->suffixes);
  p->found = llmprof_alloc(p->left_count, sizeof *p->found);
  return (p->suffixes && p->found) || llmprof_fail_nomem(err);
}

bool llmprof_frame_pair(llmprof_frame *frame, size_t column, size_t turn,
                        llmprof_frame *other, size_t other_column,
                        const char *name, llmprof_error *err) {
  pairing p = {0};
  const llmprof_column *turns =
      turn == SIZE_MAX ? NULL : llmprof_frame_column(frame, turn, err);
  bool ok = (turns || turn == SIZE_MAX) &&
            pairing_init(&p, frame, column, other, other_column, err) &&
            order_suffixes(&p, err) && pair_rows(&p, turns, err);
  llmprof_free(p.left);
  llmprof_free(p.right);
  llmprof_free(p.suffixes);
  if (ok)
    return llmprof_frame_give(frame, name, NULL, LLMPROF_U32, p.found, err);
  llmprof_free(p.found);
  return false;
}
