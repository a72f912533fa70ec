/* Distances within each group find what is regular in time; what lies between
 * two rows of a group is then compared as a multiset of groups, since a prefill
 * may take as long as a decode step but runs other kernels. */
#include "frame/period.h"

#include <string.h>

#include "frame/group_by.h"
#include "frame/sort.h"
#include "frame/times.h"
#include "llmprof/alloc.h"

enum {
  REFERENCE = 7,        /* distances that the next is compared with */
  SPREAD_UNIT = 1 << 20 /* what spreads are counted in: whole numbers sort */
};

/* ---- rows by start, and by group ---- */

typedef struct sequence {
  size_t count;
  int64_t *start;     /* by row */
  uint32_t *rows;     /* by start */
  const uint32_t *of; /* by row: its group; borrowed */
} sequence;

static void sequence_free(sequence *s) {
  llmprof_free(s->start);
  llmprof_free(s->rows);
}

static bool sequence_make(sequence *s, llmprof_frame *frame,
                          size_t start_column, const llmprof_groups *groups,
                          llmprof_error *err) {
  const llmprof_column *start = llmprof_frame_column(frame, start_column, err);
  if (!start) return false;
  s->count = llmprof_frame_rows(frame);
  s->of = groups->of_row;
  s->start = llmprof_alloc(s->count, sizeof *s->start);
  s->rows = llmprof_alloc(s->count, sizeof *s->rows);
  if (!s->start || !s->rows) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < s->count; row++) {
    s->start[row] = llmprof_cell(start, row);
    s->rows[row] = (uint32_t)row;
  }
  return llmprof_sort_rows_i64(s->rows, s->count, s->start) ||
         llmprof_fail_nomem(err);
}

/* Starts of the rows of each group, in order, one block per group; first[g] is
 * where block g begins. */
typedef struct beats {
  int64_t *starts;
  size_t *first;
} beats;

static void beats_free(beats *b) {
  llmprof_free(b->starts);
  llmprof_free(b->first);
}

static bool beats_make(beats *b, const sequence *s,
                       const llmprof_groups *groups) {
  b->starts = llmprof_alloc(s->count, sizeof *b->starts);
  b->first = llmprof_zalloc(groups->count + 2, sizeof *b->first);
  if (!b->starts || !b->first) return false;
  size_t *fill = b->first + 1; /* one ahead: ends up as the starts */
  for (size_t g = 0; g < groups->count; g++)
    fill[g + 1] = fill[g] + groups->rows[g];
  for (size_t i = 0; i < s->count; i++)
    b->starts[fill[s->of[s->rows[i]]]++] = s->start[s->rows[i]];
  return true;
}

/* ---- runs ---- */

/* Room for the distances of the largest group. */
typedef struct scratch {
  int64_t *distances; /* of all runs of a group, one after another */
  int64_t *offsets;   /* how far each is off, in SPREAD_UNITs of a median */
  int64_t *sorted, *spare;
} scratch;

static void scratch_free(scratch *w) {
  llmprof_free(w->distances);
  llmprof_free(w->offsets);
  llmprof_free(w->sorted);
  llmprof_free(w->spare);
}

static bool scratch_make(scratch *w, const llmprof_groups *groups) {
  uint32_t most = 0;
  for (size_t g = 0; g < groups->count; g++) {
    if (groups->rows[g] > most) most = groups->rows[g];
  }
  w->distances = llmprof_alloc(most, sizeof *w->distances);
  w->offsets = llmprof_alloc(most, sizeof *w->offsets);
  w->sorted = llmprof_alloc(most, sizeof *w->sorted);
  w->spare = llmprof_alloc(most, sizeof *w->spare);
  return w->distances && w->offsets && w->sorted && w->spare;
}

static int64_t median(scratch *w, const int64_t *values, size_t count) {
  memcpy(w->sorted, values, count * sizeof *values);
  llmprof_sort_i64(w->sorted, count, w->spare);
  return w->sorted[count / 2];
}

/* Does a distance go on a run of `count` distances that ends at `end`? */
static bool goes_on(scratch *w, const int64_t *end, size_t count,
                    int64_t distance) {
  if (!count) return distance > 0;
  if (count > REFERENCE) count = REFERENCE;
  double reference = (double)median(w, end - count, count);
  return (double)distance <= 1.5 * reference &&
         1.5 * (double)distance >= reference;
}

/* The run is the last `length` of the `kept` distances. */
static void add_run(scratch *w, llmprof_rhythm *rhythm, size_t kept,
                    size_t length) {
  const int64_t *distances = w->distances + kept - length;
  int64_t middle = median(w, distances, length);
  for (size_t i = 0; i < length; i++) {
    int64_t off = distances[i] - middle;
    double share = (double)(off < 0 ? -off : off) / (double)middle;
    w->offsets[kept - length + i] =
        (int64_t)((share < 1e6 ? share : 1e6) * (double)SPREAD_UNIT);
    rhythm->span = llmprof_time_sum(rhythm->span, distances[i]);
  }
  rhythm->runs++;
  if (length > rhythm->longest) rhythm->longest = (uint32_t)length;
}

/* Fills in a rhythm from the starts of one group. */
static void measure(scratch *w, const int64_t *starts, size_t count,
                    uint32_t least, llmprof_rhythm *rhythm) {
  size_t kept = 0, length = 0;
  for (size_t i = 1; i <= count; i++) {
    int64_t distance =
        i < count ? llmprof_time_between(starts[i - 1], starts[i]) : 0;
    if (i < count && goes_on(w, w->distances + kept, length, distance)) {
      w->distances[kept++] = distance;
      length++;
      continue;
    }
    if (length >= least)
      add_run(w, rhythm, kept, length);
    else
      kept -= length;
    length = distance > 0;
    if (length) w->distances[kept++] = distance;
  }
  rhythm->distances = (uint32_t)kept;
  if (!kept) return;
  rhythm->period = median(w, w->distances, kept);
  rhythm->spread = (double)median(w, w->offsets, kept) / (double)SPREAD_UNIT;
}

static size_t measure_all(scratch *w, const beats *b,
                          const llmprof_groups *groups, uint32_t least,
                          llmprof_rhythm *rhythms) {
  size_t found = 0;
  for (size_t g = 0; g < groups->count; g++) {
    llmprof_rhythm rhythm = {.group = (uint32_t)g, .row = groups->first_row[g]};
    if (groups->rows[g] > least)
      measure(w, b->starts + b->first[g], groups->rows[g], least, &rhythm);
    if (rhythm.runs) rhythms[found++] = rhythm;
  }
  return found;
}

bool llmprof_rhythms_find(llmprof_frame *frame, size_t start_column,
                          const llmprof_groups *groups, uint32_t least,
                          llmprof_rhythm **rhythms, size_t *count,
                          llmprof_error *err) {
  sequence s = {0};
  beats b = {0};
  scratch w = {0};
  *rhythms = NULL;
  bool ok = sequence_make(&s, frame, start_column, groups, err);
  if (ok) {
    *rhythms = llmprof_alloc(groups->count, sizeof **rhythms);
    ok = (*rhythms && beats_make(&b, &s, groups) && scratch_make(&w, groups)) ||
         llmprof_fail_nomem(err);
  }
  if (ok) *count = measure_all(&w, &b, groups, least ? least : 1, *rhythms);
  sequence_free(&s);
  beats_free(&b);
  scratch_free(&w);
  if (ok) return true;
  llmprof_free(*rhythms);
  *rhythms = NULL;
  return false;
}

/* ---- cycles ---- */

/* Rows that pair off with equal groups between rows[a..a+na) and rows[b..b+nb);
 * `counts` is by group, all 0 before and after. */
static size_t pairs(const sequence *s, uint32_t *counts, size_t a, size_t na,
                    size_t b, size_t nb) {
  size_t paired = 0;
  for (size_t i = a; i < a + na; i++) counts[s->of[s->rows[i]]]++;
  for (size_t i = b; i < b + nb; i++) {
    uint32_t *left = &counts[s->of[s->rows[i]]];
    if (*left) {
      --*left;
      paired++;
    }
  }
  for (size_t i = a; i < a + na; i++) counts[s->of[s->rows[i]]] = 0;
  return paired;
}

static double likeness(const sequence *s, uint32_t *counts, size_t a, size_t na,
                       size_t b, size_t nb) {
  return (double)pairs(s, counts, a, na, b, nb) / (double)(na > nb ? na : nb);
}

/* The group's rows as cycles, not compared yet. Returns how many. */
static size_t cut(const sequence *s, uint32_t group, llmprof_cycle *cycles,
                  size_t *at) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->of[s->rows[i]] != group) continue;
    cycles[count] = (llmprof_cycle){
        .first = s->rows[i], .next = UINT32_MAX, .head_last = UINT32_MAX};
    at[count] = i;
    if (count) cycles[count - 1].next = s->rows[i];
    count++;
  }
  for (size_t c = 0; c < count; c++)
    cycles[c].rows = (uint32_t)((c + 1 < count ? at[c + 1] : s->count) - at[c]);
  return count;
}

static void compare(const sequence *s, uint32_t *counts, llmprof_cycle *cycles,
                    const size_t *at, size_t count) {
  for (size_t c = 1; c < count; c++) {
    llmprof_cycle *before = &cycles[c - 1], *here = &cycles[c];
    if (c + 1 < count) {
      double alike =
          likeness(s, counts, at[c - 1], before->rows, at[c], here->rows);
      if (alike > before->likeness) before->likeness = alike;
      here->likeness = alike;
    }
    if (here->rows < before->rows) continue;
    here->head =
        likeness(s, counts, at[c - 1], before->rows, at[c], before->rows);
    here->head_last = s->rows[at[c] + before->rows - 1];
  }
}

bool llmprof_cycles_find(llmprof_frame *frame, size_t start_column,
                         const llmprof_groups *groups, uint32_t group,
                         llmprof_cycle **cycles, size_t *count,
                         llmprof_error *err) {
  sequence s = {0};
  uint32_t *counts = NULL;
  size_t *at = NULL;
  *cycles = NULL;
  bool ok = sequence_make(&s, frame, start_column, groups, err);
  if (ok) {
    *cycles = llmprof_alloc(groups->rows[group], sizeof **cycles);
    at = llmprof_alloc(groups->rows[group], sizeof *at);
    counts = llmprof_zalloc(groups->count, sizeof *counts);
    ok = (*cycles && at && counts) || llmprof_fail_nomem(err);
  }
  if (ok) {
    *count = cut(&s, group, *cycles, at);
    compare(&s, counts, *cycles, at, *count);
  } else {
    llmprof_free(*cycles);
    *cycles = NULL;
  }
  sequence_free(&s);
  llmprof_free(counts);
  llmprof_free(at);
  return ok;
}
