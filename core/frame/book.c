/* Books: values of a column by account, in order, and what is asked of them. */
#include <math.h>

#include "frame/blocks.h"
#include "frame/ledger.h"
#include "frame/sort.h"
#include "frame/sums.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

/* ---- making ---- */

typedef struct writing {
  const llmprof_blocks *blocks;
  llmprof_entry *entries;
  uint16_t *narrow;
  int64_t *wide;
  size_t narrow_count, wide_count;
  bool is_near;
} writing;

static int64_t value_of(const llmprof_blocks *b, size_t i) {
  return b->near ? b->low + (int64_t)b->near[i] : b->cells[i];
}

static void sort_account(const llmprof_blocks *b, size_t account,
                         void *scratch) {
  size_t first = b->start[account], count = llmprof_blocks_size(b, account);
  if (b->near)
    llmprof_sort_u32(b->near + first, count, scratch);
  else
    llmprof_sort_i64(b->cells + first, count, scratch);
}

/* False where the total does not fit. */
static bool write_account(writing *w, size_t account) {
  const llmprof_blocks *b = w->blocks;
  llmprof_entry *entry = &w->entries[account];
  llmprof_uint128 squares = 0;
  for (size_t i = b->start[account]; i < b->start[account + 1]; i++) {
    int64_t value = value_of(b, i);
    if (__builtin_add_overflow(entry->total, value, &entry->total))
      return false;
    squares += (llmprof_uint128)((uint64_t)value) * (uint64_t)value;
    if (value < UINT16_MAX) {
      w->narrow[w->narrow_count++] = (uint16_t)value;
      entry->narrow++;
    } else {
      w->wide[w->wide_count++] = value;
      entry->wide++;
    }
  }
  entry->squares[0] = (uint64_t)squares;
  entry->squares[1] = (uint64_t)(squares >> 64);
  return true;
}

static size_t count_wide(const llmprof_blocks *b) {
  size_t wide = 0;
  for (size_t i = 0; i < b->count; i++) wide += value_of(b, i) >= UINT16_MAX;
  return wide;
}

static bool write_all(writing *w, bool *fits, llmprof_error *err) {
  const llmprof_blocks *b = w->blocks;
  size_t wide = count_wide(b);
  int64_t *scratch = llmprof_alloc(llmprof_blocks_largest(b), sizeof *scratch);
  w->entries = llmprof_zalloc(b->groups, sizeof *w->entries);
  w->narrow = llmprof_alloc(b->count - wide, sizeof *w->narrow);
  w->wide = llmprof_alloc(wide, sizeof *w->wide);
  bool ok = scratch && w->entries && w->narrow && w->wide;
  *fits = true;
  for (size_t a = 0; ok && *fits && a < b->groups; a++) {
    if (llmprof_interrupted()) break;
    sort_account(b, a, scratch);
    *fits = write_account(w, a);
  }
  llmprof_free(scratch);
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  return ok || llmprof_fail_nomem(err);
}

static void writing_free(writing *w) {
  llmprof_free(w->entries);
  llmprof_free(w->narrow);
  llmprof_free(w->wide);
}

bool llmprof_book_make(llmprof_book *book, llmprof_frame *frame, size_t column,
                       const llmprof_groups *accounts, llmprof_error *err) {
  llmprof_blocks blocks;
  writing w = {.blocks = &blocks};
  bool fits = false;
  *book = (llmprof_book){0};
  bool ok = llmprof_blocks_load(&blocks, frame, column, accounts, err);
  bool is_fit = ok && (!blocks.count || blocks.low >= 0) &&
                blocks.column->type != LLMPROF_F64;
  if (is_fit) ok = write_all(&w, &fits, err);
  if (ok && fits)
    *book = (llmprof_book){.entries = w.entries,
                           .narrow = w.narrow,
                           .wide = w.wide,
                           .narrow_count = w.narrow_count,
                           .wide_count = w.wide_count};
  else
    writing_free(&w);
  book->is_near = !blocks.count || blocks.high < UINT32_MAX;
  llmprof_blocks_free(&blocks);
  return ok;
}

bool llmprof_book_is_valid(const llmprof_book *book, size_t accounts) {
  uint64_t narrow = 0, wide = 0;
  for (size_t a = 0; a < accounts; a++) {
    narrow += book->entries[a].narrow;
    wide += book->entries[a].wide;
  }
  return narrow == book->narrow_count && wide == book->wide_count;
}

/* ---- values of some accounts ---- */

/* Those of one of them. */
typedef struct run {
  const uint16_t *narrow;
  const int64_t *wide;
  uint32_t narrow_count, wide_count;
} run;

/* All of a party's. */
typedef struct pool {
  run *runs;
  size_t count;
  uint64_t narrow, wide; /* values */
} pool;

static size_t narrow_below(const run *r, int64_t value) {
  size_t low = 0, high = r->narrow_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->narrow[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static size_t wide_below(const run *r, int64_t value) {
  size_t low = 0, high = r->wide_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->wide[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Extremes are in the first and last places of runs. */
static int64_t least(const pool *p) {
  int64_t found = INT64_MAX;
  for (size_t i = 0; i < p->count; i++) {
    const run *r = &p->runs[i];
    if (r->narrow_count && r->narrow[0] < found) found = r->narrow[0];
    if (r->wide_count && r->wide[0] < found) found = r->wide[0];
  }
  return found;
}

static int64_t most(const pool *p) {
  int64_t found = 0;
  for (size_t i = 0; i < p->count; i++) {
    const run *r = &p->runs[i];
    if (r->narrow_count && r->narrow[r->narrow_count - 1] > found)
      found = r->narrow[r->narrow_count - 1];
    if (r->wide_count && r->wide[r->wide_count - 1] > found)
      found = r->wide[r->wide_count - 1];
  }
  return found;
}

/* The value at a rank, which there is: all narrow ones come before wide ones.
 * The least of which enough are not above it, by bisection. */
static int64_t at_rank(const pool *p, uint64_t rank) {
  bool narrow = rank < p->narrow;
  int64_t low = narrow ? 0 : UINT16_MAX;
  int64_t high = narrow ? UINT16_MAX - 1 : most(p);
  if (!narrow) rank -= p->narrow;
  if (p->count == 1)
    return narrow ? p->runs[0].narrow[rank] : p->runs[0].wide[rank];
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    uint64_t not_above = 0;
    for (size_t i = 0; i < p->count; i++)
      not_above += narrow ? narrow_below(&p->runs[i], middle + 1)
                          : wide_below(&p->runs[i], middle + 1);
    if (not_above > rank)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static double median_of(const pool *p, uint64_t count) {
  double upper = (double)at_rank(p, count / 2);
  return count % 2 ? upper : ((double)at_rank(p, count / 2 - 1) + upper) / 2;
}

static double percentile_of(const pool *p, uint64_t count, double wanted) {
  double rank = wanted / 100 * (double)(count - 1);
  uint64_t below = (uint64_t)rank;
  if (below + 1 >= count) return (double)at_rank(p, count - 1);
  double low = (double)at_rank(p, below), high = (double)at_rank(p, below + 1);
  return low + (rank - (double)below) * (high - low);
}

/* ---- summing up ---- */

/* The members of a party as runs, and what they add up to; false where that
 * does not fit. */
static bool gather(pool *p, const llmprof_parties *parties, size_t party,
                   const llmprof_entry *entries, const run *runs,
                   llmprof_sums *sums, int64_t *total) {
  *total = 0;
  p->count = 0;
  p->narrow = p->wide = 0;
  for (uint32_t m = parties->start[party]; m < parties->start[party + 1]; m++) {
    uint32_t account = parties->members[m];
    const llmprof_entry *entry = &entries[account];
    if (__builtin_add_overflow(*total, entry->total, total)) return false;
    sums->squares +=
        (llmprof_uint128)entry->squares[1] << 64 | entry->squares[0];
    p->narrow += entry->narrow;
    p->wide += entry->wide;
    if (entry->narrow || entry->wide) p->runs[p->count++] = runs[account];
  }
  sums->total = (uint64_t)*total;
  return true;
}

static void summarize(const pool *p, const llmprof_sums *sums, int64_t total,
                      const double *wanted, size_t wanted_count,
                      llmprof_summary *s) {
  size_t count = (size_t)(p->narrow + p->wide);
  *s = (llmprof_summary){.count = count};
  if (!count) return;
  s->total = total;
  s->min = least(p);
  s->max = most(p);
  s->mean = (double)total / (double)count;
  s->median = median_of(p, count);
  s->stddev = llmprof_sums_stddev(sums, count);
  for (size_t i = 0; i < wanted_count; i++)
    s->percentiles[i] = percentile_of(p, count, wanted[i]);
}

/* By account of the frame, of which the first is account `first`. */
static run *runs_of(const llmprof_book *book, size_t accounts, size_t first) {
  run *runs = llmprof_alloc(accounts, sizeof *runs);
  const uint16_t *narrow = book->narrow;
  const int64_t *wide = book->wide;
  for (size_t a = 0; runs && a < first + accounts; a++) {
    const llmprof_entry *entry = &book->entries[a];
    if (a >= first)
      runs[a - first] = (run){narrow, wide, entry->narrow, entry->wide};
    narrow += entry->narrow;
    wide += entry->wide;
  }
  return runs;
}

bool llmprof_parties_sum(const llmprof_parties *parties,
                         const llmprof_book *book, size_t accounts,
                         size_t first, const double *wanted,
                         size_t wanted_count, llmprof_summary *summaries) {
  run *runs = runs_of(book, accounts, first);
  pool p = {.runs = llmprof_alloc(accounts, sizeof *p.runs)};
  bool ok = runs && p.runs;
  for (size_t party = 0; ok && party < parties->count; party++) {
    llmprof_sums sums = {0};
    int64_t total;
    ok = gather(&p, parties, party, book->entries + first, runs, &sums, &total);
    if (ok)
      summarize(&p, &sums, total, wanted, wanted_count, &summaries[party]);
  }
  llmprof_free(runs);
  llmprof_free(p.runs);
  return ok;
}

/* ---- parties ---- */

void llmprof_parties_free(llmprof_parties *parties) {
  llmprof_free(parties->members);
  llmprof_free(parties->start);
  *parties = (llmprof_parties){0};
}

/* Sort accounts by party; of_account is UINT32_MAX for those of none. */
static bool list_members(llmprof_parties *parties, const uint32_t *of_account,
                         size_t accounts) {
  parties->start = llmprof_zalloc(parties->count + 2, sizeof *parties->start);
  parties->members = llmprof_alloc(accounts, sizeof *parties->members);
  if (!parties->start || !parties->members) return false;
  for (size_t a = 0; a < accounts; a++)
    if (of_account[a] != UINT32_MAX) parties->start[of_account[a] + 2]++;
  for (size_t p = 2; p < parties->count + 2; p++)
    parties->start[p] += parties->start[p - 1];
  for (size_t a = 0; a < accounts; a++)
    if (of_account[a] != UINT32_MAX)
      parties->members[parties->start[of_account[a] + 1]++] = (uint32_t)a;
  return true;
}

static llmprof_frame *keys_of(llmprof_frame *frame, const size_t *keys,
                              size_t key_count, size_t accounts,
                              llmprof_error *err) {
  llmprof_frame *made =
      llmprof_frame_new(accounts, llmprof_frame_strings(frame));
  bool ok = made || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++) {
    const llmprof_column *key;
    ok = llmprof_frame_shared(frame, keys[k], &key, err) &&
         (llmprof_frame_add(made, key, NULL, NULL) || llmprof_fail_nomem(err));
  }
  if (ok) return made;
  llmprof_frame_free(made);
  return NULL;
}

/* Number the parties of chosen accounts, by first appearance. */
static bool number_parties(llmprof_parties *parties, const bool *chosen,
                           size_t accounts, llmprof_groups *groups) {
  uint32_t *number = llmprof_alloc(groups->count, sizeof *number);
  if (!number) return false;
  for (size_t g = 0; g < groups->count; g++) number[g] = UINT32_MAX;
  for (size_t a = 0; a < accounts; a++) {
    uint32_t *of = &groups->of_row[a];
    if (chosen && !chosen[a]) {
      *of = UINT32_MAX;
      continue;
    }
    if (number[*of] == UINT32_MAX) number[*of] = (uint32_t)parties->count++;
    *of = number[*of];
  }
  llmprof_free(number);
  return list_members(parties, groups->of_row, accounts);
}

static bool group_accounts(llmprof_groups *groups, llmprof_frame *frame,
                           const size_t *keys, size_t key_count,
                           size_t accounts, llmprof_error *err) {
  llmprof_frame *of = keys_of(frame, keys, key_count, accounts, err);
  size_t *numbers = llmprof_alloc(key_count, sizeof *numbers);
  bool ok = of && (numbers || llmprof_fail_nomem(err));
  for (size_t k = 0; ok && k < key_count; k++) numbers[k] = k;
  if (ok) ok = llmprof_groups_make(groups, of, numbers, key_count, err);
  llmprof_free(numbers);
  llmprof_frame_free(of);
  return ok;
}

bool llmprof_parties_make(llmprof_parties *parties, llmprof_frame *frame,
                          const size_t *keys, size_t key_count,
                          llmprof_error *err) {
  size_t accounts = llmprof_frame_rows(llmprof_frame_accounts(frame));
  const bool *chosen = llmprof_frame_chosen(frame);
  llmprof_groups groups = {0};
  *parties = (llmprof_parties){0};
  if (!group_accounts(&groups, frame, keys, key_count, accounts, err))
    return false;
  bool ok = number_parties(parties, chosen, accounts, &groups);
  llmprof_groups_free(&groups);
  if (ok) return true;
  llmprof_parties_free(parties);
  return llmprof_fail_nomem(err);
}
