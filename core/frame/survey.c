#include "frame/survey.h"

#include "base/crew.h"
#include "frame/select.h"
#include "frame/sums.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  FINE_BITS = 6,
  FINE = 1 << FINE_BITS, /* bins for as many values as there are of a length */
  BINS = (32 - FINE_BITS + 1) * FINE,
  PART = 1 << 18, /* rows that are worth a thread; whole blocks */
  FEW = 16        /* rows for each group, at least */
};

bool llmprof_survey_pays(size_t groups, size_t rows, bool medians) {
  return groups <= rows / (medians ? (size_t)BINS : (size_t)FEW);
}

/* ---- bins: small values have one each, others share theirs with those that
 * agree in their leading bits ---- */

static inline uint32_t bin_of(uint32_t value) {
  int shift = 31 - FINE_BITS - __builtin_clz(value | FINE);
  return ((uint32_t)shift << FINE_BITS) + (value >> shift);
}

static int shift_of(uint32_t bin) {
  return bin < 2 * FINE ? 0 : (int)(bin >> FINE_BITS) - 1;
}

static uint32_t least_of(uint32_t bin) {
  int shift = shift_of(bin);
  return (bin - ((uint32_t)shift << FINE_BITS)) << shift;
}

static uint32_t most_of(uint32_t bin) {
  return least_of(bin) + ((UINT32_C(1) << shift_of(bin)) - 1);
}

/* ---- what is found out ---- */

/* Of a group within a part. */
typedef struct counts {
  llmprof_sums sums;
  uint64_t squares; /* of the last blocks, not in the sums yet */
  uint32_t count;
} counts;

/* Where the middle of a group lies: values [low, high], of which `before` are
 * less and `count` are there. */
typedef struct middle {
  uint32_t low, high;
  size_t before, count;
} middle;

/* The same for looking at values: those less than `span` above `low`. */
typedef struct window {
  uint32_t low, span;
} window;

typedef struct survey {
  const llmprof_column *column; /* but of piles only its name is there */
  const llmprof_groups *groups;
  const llmprof_tally *tally;
  const llmprof_piles *piles;
  size_t rows, parts, cells; /* cells: by part and group */
  counts *counts;            /* by part and group */
  uint64_t *squares;         /* by part: what those not in sums may come to */
  uint32_t *bins;            /* by part, group and bin; NULL: no medians */
  middle *middles;           /* by group, as are: */
  window *windows;           /* empty where values need not be looked at */
  size_t *fill;              /* by part and group: where its next value goes */
  uint32_t *values;          /* those in the middle, by group */
} survey;

static void survey_free(survey *s) {
  llmprof_free(s->counts);
  llmprof_free(s->squares);
  llmprof_free(s->bins);
  llmprof_free(s->middles);
  llmprof_free(s->windows);
  llmprof_free(s->fill);
  llmprof_free(s->values);
}

/* ---- blocks of rows ---- */

typedef struct block {
  const uint32_t *of_row, *values;
  size_t count;
  bool is_one; /* all rows are of one group */
  uint32_t own_of_row[LLMPROF_BLOCK], own_values[LLMPROF_BLOCK];
} block;

static void fill_values(block *b, const llmprof_column *column, size_t row) {
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cells(column, row, b->count, cells);
  for (size_t i = 0; i < b->count; i++)
    b->own_values[i] =
        cells[i] == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)cells[i];
  b->values = b->own_values;
}

static void read_block(const survey *s, size_t row, size_t end, block *b) {
  b->count = llmprof_block(row, end);
  b->is_one = false;
  if (s->column->index)
    fill_values(b, s->column, row);
  else
    b->values = (const uint32_t *)s->column->data + row;
  b->of_row = b->own_of_row;
  if (s->groups->of_row)
    b->of_row = s->groups->of_row + row;
  else
    llmprof_tally_groups(s->tally, row, b->count, b->own_of_row);
}

typedef void (*block_taker)(const survey *s, size_t part, const block *b);

/* Some parts of piles, of which each is of one group. */
static bool each_of_piles(const survey *s, size_t part, block_taker take,
                          llmprof_error *err) {
  const llmprof_piles *piles = s->piles;
  size_t end = piles->part_count * (part + 1) / s->parts;
  block b;
  b.of_row = b.own_of_row;
  b.is_one = true;
  for (size_t i = piles->part_count * part / s->parts; i < end; i++) {
    const llmprof_pile_part *p = &piles->parts[i];
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    for (size_t j = 0; j < llmprof_block(0, p->count); j++)
      b.own_of_row[j] = p->pile;
    for (size_t row = 0; row < p->count; row += LLMPROF_BLOCK) {
      b.count = llmprof_block(row, p->count);
      b.values = b.own_values;
      if (p->wide)
        b.values = p->wide + row;
      else
        llmprof_pile_numbers(p, row, b.count, b.own_values);
      take(s, part, &b);
    }
  }
  return true;
}

/* Gives each block of a part to `take`. */
static bool each_block(const survey *s, size_t part, block_taker take,
                       llmprof_error *err) {
  if (s->piles) return each_of_piles(s, part, take, err);
  size_t end = llmprof_part_begin(s->rows, s->parts, part + 1);
  block b;
  for (size_t row = llmprof_part_begin(s->rows, s->parts, part); row < end;
       row += LLMPROF_BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    read_block(s, row, end, &b);
    take(s, part, &b);
  }
  return true;
}

/* ---- once over all rows: sums, and values by bin ---- */

static inline void add_value(counts *c, uint32_t value) {
  llmprof_sums *sums = &c->sums;
  sums->total += value;
  sums->squares += (uint64_t)value * value;
  sums->low = value < sums->low ? value : sums->low;
  sums->high = value > sums->high ? value : sums->high;
  c->count++;
}

/* Squares of so short values fit into 64 bits, for a block and more. */
enum {
  SHORT = 1 << 26
};

/* Short values of one group. */
static void add_short_values(counts *c, const block *b) {
  uint32_t low = c->sums.low, high = c->sums.high, absent = 0;
  uint64_t total = 0, squares = 0;
  for (size_t i = 0; i < b->count; i++) {
    uint32_t value = b->values[i];
    uint32_t present = value == UINT32_MAX ? 0 : value;
    absent += value == UINT32_MAX;
    total += present;
    squares += (uint64_t)present * present;
    low = value < low ? value : low;
    high = present > high ? present : high;
  }
  c->sums.total += total;
  c->sums.squares += squares;
  c->sums.low = low;
  c->sums.high = high;
  c->count += (uint32_t)b->count - absent;
}

static uint32_t highest_of(const block *b) {
  uint32_t above = 0; /* the highest number, where absent is 0 */
  for (size_t i = 0; i < b->count; i++)
    above = b->values[i] + 1 > above ? b->values[i] + 1 : above;
  return above ? above - 1 : 0;
}

static void count_bins(uint32_t *bins, const block *b) {
  for (size_t i = 0; i < b->count; i++)
    if (b->values[i] != UINT32_MAX) bins[bin_of(b->values[i])]++;
}

/* Squares go into the sums, of all groups of a part. */
static void settle(const survey *s, size_t part) {
  counts *all = s->counts + part * s->groups->count;
  for (size_t group = 0; group < s->groups->count; group++) {
    all[group].sums.squares += all[group].squares;
    all[group].squares = 0;
  }
  s->squares[part] = 0;
}

/* Is there room for the squares of a block, whose values are short? */
static void make_room(const survey *s, size_t part, const block *b,
                      uint32_t highest) {
  uint64_t most = (uint64_t)highest * highest * b->count;
  if (s->squares[part] > UINT64_MAX - most) settle(s, part);
  s->squares[part] += most;
}

static inline void add_short_value(counts *c, uint32_t value) {
  c->sums.total += value;
  c->squares += (uint64_t)value * value;
  c->sums.low = value < c->sums.low ? value : c->sums.low;
  c->sums.high = value > c->sums.high ? value : c->sums.high;
  c->count++;
}

/* Inlined for each of the four cases. */
__attribute__((always_inline)) static inline void
count_values(counts *all, uint32_t *bins, const block *b, bool are_short,
             bool medians) {
  for (size_t i = 0; i < b->count; i++) {
    uint32_t value = b->values[i];
    size_t group = b->of_row[i];
    if (value == UINT32_MAX) continue;
    if (are_short)
      add_short_value(&all[group], value);
    else
      add_value(&all[group], value);
    if (medians) bins[group * BINS + bin_of(value)]++;
  }
}

static void count_block(const survey *s, size_t part, const block *b) {
  size_t first = part * s->groups->count;
  counts *all = s->counts + first;
  uint32_t *bins = s->bins ? s->bins + first * BINS : NULL;
  uint32_t highest = highest_of(b);
  if (b->is_one && highest < SHORT) {
    add_short_values(&all[b->of_row[0]], b);
    if (bins) count_bins(bins + (size_t)b->of_row[0] * BINS, b);
    return;
  }
  if (highest < SHORT) make_room(s, part, b, highest);
  if (highest < SHORT && bins)
    count_values(all, bins, b, true, true);
  else if (highest < SHORT)
    count_values(all, bins, b, true, false);
  else
    count_values(all, bins, b, false, bins != NULL);
}

static bool count_part(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  (void)worker;
  bool ok = each_block(user, part, count_block, err);
  settle(user, part);
  return ok;
}

static void join_counts(counts *to, const counts *from) {
  to->sums.total += from->sums.total;
  to->sums.squares += from->sums.squares;
  if (from->sums.low < to->sums.low) to->sums.low = from->sums.low;
  if (from->sums.high > to->sums.high) to->sums.high = from->sums.high;
  to->count += from->count;
}

/* Those of the first part become those of all. */
static void join_parts(const survey *s) {
  size_t groups = s->groups->count;
  for (size_t cell = groups; cell < s->cells; cell++)
    join_counts(&s->counts[cell % groups], &s->counts[cell]);
}

/* ---- where the middle is ---- */

static size_t in_bin(const survey *s, size_t group, uint32_t bin) {
  size_t count = 0;
  for (size_t cell = group; cell < s->cells; cell += s->groups->count)
    count += s->bins[cell * BINS + bin];
  return count;
}

/* The bin of the middle value and, of an even count, of the one above it. */
static middle find_middle(const survey *s, size_t group) {
  const counts *c = &s->counts[group];
  size_t middle_rank = (c->count - 1) / 2, before = 0, last = c->count / 2;
  uint32_t low = bin_of(c->sums.low);
  size_t count = in_bin(s, group, low);
  while (before + count <= middle_rank) {
    before += count;
    count = in_bin(s, group, ++low);
  }
  uint32_t high = low;
  while (before + count <= last) count += in_bin(s, group, ++high);
  middle m = {least_of(low), most_of(high), before, count};
  if (m.low < c->sums.low) m.low = c->sums.low;
  if (m.high > c->sums.high) m.high = c->sums.high;
  return m;
}

/* How many values of a part lie in the middle of their group. */
static size_t share_of(const survey *s, size_t cell, const middle *m) {
  size_t count = 0;
  for (uint32_t bin = bin_of(m->low); bin <= bin_of(m->high); bin++)
    count += s->bins[cell * BINS + bin];
  return count;
}

/* Values that are all the same need not be looked at. */
static bool is_open(const middle *m) {
  return m->count && m->low < m->high;
}

static window window_of(const middle *m) {
  return is_open(m) ? (window){m->low, m->high - m->low + 1} : (window){0, 0};
}

/* Where the values of each part and group go; how many there are. */
static size_t place_values(const survey *s) {
  size_t groups = s->groups->count, at = 0;
  for (size_t group = 0; group < groups; group++) {
    middle *m = &s->middles[group];
    *m = s->counts[group].count ? find_middle(s, group) : (middle){0};
    s->windows[group] = window_of(m);
    for (size_t cell = group; is_open(m) && cell < s->cells; cell += groups) {
      s->fill[cell] = at;
      at += share_of(s, cell, m);
    }
  }
  return at;
}

/* ---- once more: the values there ---- */

/* Of values of one group those in its middle. */
static void pick_values(window w, const block *b, uint32_t *values,
                        size_t *fill) {
  size_t at = *fill;
  for (size_t i = 0; w.span && i < b->count; i++) {
    uint32_t value = b->values[i];
    if (value - w.low < w.span) values[at++] = value;
  }
  *fill = at;
}

/* Absent ones are in no window. */
static void pick_block(const survey *s, size_t part, const block *b) {
  size_t *fill = s->fill + part * s->groups->count;
  if (b->is_one) {
    uint32_t group = b->of_row[0];
    pick_values(s->windows[group], b, s->values, &fill[group]);
    return;
  }
  for (size_t i = 0; i < b->count; i++) {
    uint32_t value = b->values[i];
    window w = s->windows[b->of_row[i]];
    if (value - w.low < w.span) s->values[fill[b->of_row[i]]++] = value;
  }
}

static bool pick_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)worker;
  return each_block(user, part, pick_block, err);
}

/* The last part's values of a group end where it was filled to. */
static double median_of(const survey *s, size_t group) {
  const middle *m = &s->middles[group];
  size_t count = s->counts[group].count;
  uint32_t two[2] = {m->low, m->low};
  if (is_open(m)) {
    size_t end = s->fill[s->cells - s->groups->count + group];
    llmprof_select_u32(s->values + end - m->count, m->count,
                       (count - 1) / 2 - m->before, m->low, m->high, two);
  }
  return count % 2 ? (double)two[0] : ((double)two[0] + (double)two[1]) / 2;
}

/* ---- all ---- */

static bool allocate(survey *s, bool medians) {
  s->counts = llmprof_zalloc(s->cells, sizeof *s->counts);
  s->squares = llmprof_zalloc(s->parts, sizeof *s->squares);
  for (size_t i = 0; s->counts && i < s->cells; i++)
    s->counts[i].sums.low = UINT32_MAX;
  if (!medians) return s->counts && s->squares;
  s->bins = llmprof_zalloc(s->cells, BINS * sizeof *s->bins);
  s->fill = llmprof_alloc(s->cells, sizeof *s->fill);
  s->middles = llmprof_alloc(s->groups->count, sizeof *s->middles);
  s->windows = llmprof_alloc(s->groups->count, sizeof *s->windows);
  return s->counts && s->squares && s->bins && s->fill && s->middles &&
         s->windows;
}

static bool find_values(survey *s, llmprof_error *err) {
  size_t count = place_values(s);
  llmprof_free(s->bins);
  s->bins = NULL;
  if (!count) return true;
  s->values = llmprof_alloc(count, sizeof *s->values);
  llmprof_crew crew = {.parts = s->parts, .work = pick_part, .user = s};
  return s->values ? llmprof_crew_run(&crew, s->parts, err)
                   : llmprof_fail_nomem(err);
}

static bool summarize_group(const survey *s, size_t group, bool medians,
                            llmprof_summary *summary, llmprof_error *err) {
  const counts *c = &s->counts[group];
  *summary = (llmprof_summary){.count = c->count};
  if (!c->count) return true;
  if (c->sums.total > INT64_MAX)
    return llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                        s->column->name);
  summary->total = (int64_t)c->sums.total;
  summary->min = c->sums.low;
  summary->max = c->sums.high;
  summary->mean = (double)summary->total / (double)c->count;
  summary->stddev = llmprof_sums_stddev(&c->sums, c->count);
  if (medians) summary->median = median_of(s, group);
  return true;
}

static bool find_all(survey *s, bool medians, llmprof_summary *summaries,
                     llmprof_error *err) {
  llmprof_crew crew = {.parts = s->parts, .work = count_part, .user = s};
  if (!allocate(s, medians)) return llmprof_fail_nomem(err);
  if (!llmprof_crew_run(&crew, s->parts, err)) return false;
  join_parts(s);
  bool ok = !medians || find_values(s, err);
  for (size_t group = 0; ok && group < s->groups->count; group++)
    ok = summarize_group(s, group, medians, &summaries[group], err);
  return ok;
}

bool llmprof_survey(llmprof_frame *frame, size_t column,
                    const llmprof_surveyed *of, bool medians,
                    llmprof_summary *summaries, llmprof_error *err) {
  survey s = {.column = of->piles ? llmprof_frame_peek(frame, column)
                                  : llmprof_frame_column(frame, column, err),
              .groups = of->groups,
              .tally = of->tally,
              .piles = of->piles,
              .rows = llmprof_frame_rows(frame)};
  if (!s.column) return false;
  s.parts = llmprof_crew_size(s.rows / PART);
  s.cells = s.parts * s.groups->count;
  bool ok = find_all(&s, medians, summaries, err);
  survey_free(&s);
  return ok;
}
