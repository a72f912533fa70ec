/* A ledger of a frame: rows that are alike in some columns share an account,
 * numbered by first appearance, and of some columns of numbers the values of
 * each account are kept in a book, in order. What is asked of whole accounts
 * is answered without a look at any row. Private to the core. */
#ifndef LLMPROF_LEDGER_H
#define LLMPROF_LEDGER_H

#include "llmprof/frame.h"

/* Rows of an account. No padding here and below: these are written to files. */
typedef struct llmprof_account {
  uint32_t first, rows; /* the first row, how many */
} llmprof_account;

/* What a book says of an account. */
typedef struct llmprof_entry {
  int64_t total;
  uint64_t squares[2];   /* their sum, low and high half, if all are near */
  uint32_t narrow, wide; /* values below UINT16_MAX, and others */
} llmprof_entry;

/* The values of one column, none negative: those of an account lie together
 * and ascend, account after account. */
typedef struct llmprof_book {
  const llmprof_entry *entries; /* by account */
  const uint16_t *narrow;
  const int64_t *wide;
  size_t narrow_count, wide_count;
  bool is_near; /* all are below UINT32_MAX */
} llmprof_book;

/* Owned by whoever made it, and outlives frames that have it. */
typedef struct llmprof_ledger {
  size_t count;
  const llmprof_account *accounts;
  llmprof_frame *frame; /* by account: the columns that its rows share, so */
  size_t shared;        /* many, and others behind them */
  /* By row its account, and the same as an index; NULL on failure. */
  const uint16_t *(*of_rows)(void *user, llmprof_error *err);
  const uint32_t *(*index)(void *user, llmprof_error *err);
  /* The book of a column, which lives as long as the ledger; NULL: none. */
  const llmprof_book *(*book)(void *user, const char *column);
  void *user;
} llmprof_ledger;

enum {
  LLMPROF_ACCOUNTS = 1 << 12 /* at most */
};

/* ---- making ---- */

/* Write a column of numbers up, by the account of each row. The arrays of the
 * book are from llmprof_alloc and the caller's; `entries` is NULL where some
 * value is negative or real, which is no failure. */
bool llmprof_book_make(llmprof_book *book, llmprof_frame *frame, size_t column,
                       const llmprof_groups *accounts, llmprof_error *err);

/* May the numbers of a book be what they say, by account? */
bool llmprof_book_is_valid(const llmprof_book *book, size_t accounts);

/* ---- frames that have one ---- */

/* The rows of a frame are those of accounts `first` to `first + count - 1`,
 * its first row is row `first_row` of the ledger. Columns of the ledger are
 * those of the same name that the frame has by now. */
bool llmprof_frame_set_ledger(llmprof_frame *frame,
                              const llmprof_ledger *ledger, size_t first,
                              size_t count, size_t first_row,
                              llmprof_error *err);

/* The book of a column; NULL: there is none. */
const llmprof_book *llmprof_frame_book(const llmprof_frame *frame,
                                       size_t column);

/* Which accounts the rows of a frame are of: by account of the frame; NULL: all
 * of them. */
const bool *llmprof_frame_chosen(const llmprof_frame *frame);

/* The accounts themselves, and the number of the first in books. */
const llmprof_account *llmprof_frame_account(const llmprof_frame *frame,
                                             size_t *first);

/* The rows of these accounts, in order, as a view; `chosen` is by account of
 * the frame, from llmprof_alloc, and becomes the view's, also on failure. */
llmprof_frame *llmprof_frame_choose(llmprof_frame *frame, bool *chosen,
                                    llmprof_error *err);

/* ---- answers ---- */

/* Groups of accounts, numbered by first appearance of their rows. */
typedef struct llmprof_parties {
  size_t count;
  uint32_t *members; /* accounts, party after party; */
  uint32_t *start;   /* by party, and one more */
} llmprof_parties;

/* Accounts that have equal cells in shared columns. The caller frees. */
bool llmprof_parties_make(llmprof_parties *parties, llmprof_frame *frame,
                          const size_t *keys, size_t key_count,
                          llmprof_error *err);
void llmprof_parties_free(llmprof_parties *parties);

/* As llmprof_summarize, by party; false where a total does not fit, or when out
 * of memory. Standard deviations are those of near values. */
bool llmprof_parties_sum(const llmprof_parties *parties,
                         const llmprof_book *book, size_t accounts,
                         size_t first, const double *wanted,
                         size_t wanted_count, llmprof_summary *summaries);

#endif
