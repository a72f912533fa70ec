/* Ledgers of a trace's operations and calls: made when somebody says so, put
 * away with its arrays, and had back from there. */
#include <stdio.h>
#include <string.h>

#include "frame/intern.h"
#include "frame/ledger.h"
#include "llmprof/alloc.h"
#include "trace/trace_columns.h"
#include "trace/trace_ledger.h"
#include "trace/trace_shelf.h"

/* ---- which there are ---- */

enum {
  EACH = 64 /* accounts are few if there are so many rows for each */
};

const char llmprof_link_unit[] = "link";

typedef llmprof_ledger_spec spec;
typedef struct llmprof_trace_ledger book_keeper;

static const spec specs[LLMPROF_LEDGERS] = {
    {"gpu",
     true,
     {"name", "kind", "api", "tag", "device", "context", "stream", "pid",
      "launch_pid", "launch_tid"},
     0xf,
     {"duration", "queue_time", "api_time", "bytes", "gap_before",
      "gpu_gap_before"}},
    {"api", false, {"name", "pid", "tid"}, 0x1, {"duration"}},
};

static size_t count_of(const char *const *names) {
  size_t count = 0;
  while (names[count]) count++;
  return count;
}

static void name_array(char name[LLMPROF_KEPT_NAME], const spec *of,
                       const char *what, const char *part) {
  snprintf(name, LLMPROF_KEPT_NAME, "ledger.%s.%s%s", of->table, what, part);
}

static bool are_loaded(const book_keeper *k, const llmprof_trace *trace) {
  return trace->loaded[k->spec->of_ops ? LLMPROF_PART_OPS : LLMPROF_PART_CALLS];
}

static size_t rows_of(const llmprof_trace *trace, const spec *of) {
  return of->of_ops ? trace->ops.count : trace->calls.count;
}

/* ---- the ranges around operations ---- */

/* By link, a number for the tags from the outermost range to its own; NULL when
 * out of memory. */
static uint32_t *number_chains(const llmprof_trace *trace) {
  const llmprof_attribution *a = &trace->attribution;
  uint32_t *chain = llmprof_alloc(a->link_count, sizeof *chain);
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(uint32_t));
  bool ok = chain != NULL;
  for (size_t l = 0; ok && l < a->link_count; l++) {
    uint32_t outer = a->links[l].outer;
    uint32_t pair[2] = {outer == LLMPROF_NONE ? LLMPROF_NONE : chain[outer],
                        trace->ranges.tag[a->links[l].range]};
    ok = llmprof_intern_add(&pairs, pair, &chain[l]);
  }
  llmprof_intern_free(&pairs);
  if (ok) return chain;
  llmprof_free(chain);
  return NULL;
}

/* A view of the frame with their numbers. */
static llmprof_frame *with_chains(llmprof_trace *trace, llmprof_frame *frame,
                                  llmprof_error *err) {
  if (!llmprof_trace_load_links(trace, err)) return NULL;
  llmprof_frame *view =
      llmprof_frame_slice(frame, 0, llmprof_frame_rows(frame), err);
  if (!view) return NULL;
  uint32_t *chain = number_chains(trace);
  llmprof_column column = {.name = "chain",
                           .type = LLMPROF_U32,
                           .data = chain,
                           .index = trace->attribution.link};
  if (chain && llmprof_frame_own(view, chain) &&
      llmprof_frame_add(view, &column, NULL, NULL)) {
    llmprof_frame_set_items(view, llmprof_frame_columns(view) - 1,
                            trace->attribution.link_count);
    return view;
  }
  llmprof_frame_free(view);
  return llmprof_fail_nomem(err), NULL;
}

/* ---- making ---- */

static bool find_columns(llmprof_frame *frame, const spec *of, size_t *keys,
                         llmprof_error *err) {
  for (size_t k = 0; of->keys[k]; k++) {
    keys[k] = llmprof_frame_find(frame, of->keys[k]);
    if (keys[k] == SIZE_MAX)
      return llmprof_fail(err, LLMPROF_NOTFOUND, "no column '%s'", of->keys[k]);
  }
  return true;
}

/* Number the accounts of all rows. */
static bool number_rows(llmprof_trace *trace, const spec *of,
                        llmprof_frame *frame, llmprof_groups *groups,
                        llmprof_error *err) {
  size_t keys[LLMPROF_LEDGER_KEYS + 1], count = count_of(of->keys);
  llmprof_frame *view = of->of_ops ? with_chains(trace, frame, err) : NULL;
  if (of->of_ops && !view) return false;
  llmprof_frame *from = view ? view : frame;
  if (view) keys[count] = llmprof_frame_find(view, "chain");
  bool ok = find_columns(from, of, keys, err) &&
            llmprof_groups_make(groups, from, keys, count + of->of_ops, err);
  llmprof_frame_free(view);
  return ok;
}

static bool write_accounts(book_keeper *k, llmprof_frame *frame,
                           const llmprof_groups *groups, llmprof_error *err) {
  size_t count = groups->count;
  llmprof_account *accounts = llmprof_alloc(count, sizeof *accounts);
  k->accounts = accounts;
  uint32_t *cells = llmprof_alloc(count * k->key_count, sizeof *cells);
  k->cells = cells;
  if (!accounts || !cells) return llmprof_fail_nomem(err);
  for (size_t a = 0; a < count; a++)
    accounts[a] = (llmprof_account){groups->first_row[a], groups->rows[a]};
  for (size_t key = 0; key < k->key_count; key++) {
    size_t number = llmprof_frame_find(frame, k->spec->keys[key]);
    const llmprof_column *column = llmprof_frame_column(frame, number, err);
    if (!column) return false;
    for (size_t a = 0; a < count; a++) {
      int64_t cell = llmprof_cell(column, accounts[a].first);
      cells[key * count + a] =
          cell == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)cell;
    }
  }
  return true;
}

static bool write_links(book_keeper *k, llmprof_error *err) {
  if (!k->spec->of_ops) return true;
  uint32_t *link = llmprof_alloc(k->ledger.count, sizeof *link);
  k->link = link;
  if (!link) return llmprof_fail_nomem(err);
  for (size_t a = 0; a < k->ledger.count; a++)
    link[a] = k->trace->attribution.link[k->accounts[a].first];
  return true;
}

static bool write_books(book_keeper *k, llmprof_frame *frame,
                        const llmprof_groups *groups, llmprof_error *err) {
  for (size_t b = 0; k->spec->books[b]; b++) {
    size_t column = llmprof_frame_find(frame, k->spec->books[b]);
    if (column != SIZE_MAX &&
        !llmprof_book_make(&k->books[b], frame, column, groups, err))
      return false;
    k->was_opened[b] = true;
  }
  return true;
}

static bool write_rows(book_keeper *k, const llmprof_groups *groups,
                       llmprof_error *err) {
  size_t rows = rows_of(k->trace, k->spec);
  uint16_t *of_row = llmprof_alloc(rows, sizeof *of_row);
  if (!of_row) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row++)
    of_row[row] = (uint16_t)groups->of_row[row];
  k->of_row = of_row;
  k->owns_rows = true;
  return true;
}

static bool write_ledger(book_keeper *k, llmprof_frame *frame,
                         llmprof_groups *groups, llmprof_error *err) {
  k->ledger.count = groups->count;
  if (!write_accounts(k, frame, groups, err) || !write_links(k, err) ||
      !write_books(k, frame, groups, err))
    return false;
  return write_rows(k, groups, err);
}

/* ---- as a ledger ---- */

/* Where what lies on the shelf is no good rows are numbered anew, which gives
 * the same accounts. */
static bool number_again(book_keeper *k, llmprof_error *err) {
  llmprof_groups groups;
  if (!k->frame_of)
    return llmprof_fail(err, LLMPROF_IO, "rows of a cache are damaged");
  llmprof_frame *frame = k->frame_of(k->trace, k->spec->table, err);
  if (!frame) return false;
  bool ok = number_rows(k->trace, k->spec, frame, &groups, err);
  llmprof_frame_free(frame);
  if (!ok) return false;
  bool same = groups.count == k->ledger.count;
  for (size_t a = 0; same && a < groups.count; a++)
    same = groups.rows[a] == k->accounts[a].rows;
  ok = same ? write_rows(k, &groups, err)
            : llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                           k->trace->path);
  llmprof_groups_free(&groups);
  return ok;
}

static bool are_accounts(const uint16_t *of_row, size_t rows, size_t count) {
  uint16_t highest = 0;
  for (size_t row = 0; row < rows; row++)
    highest = of_row[row] > highest ? of_row[row] : highest;
  return !rows || highest < count;
}

/* A sound array of `count` records of `width` bytes; NULL: there is none. */
static const void *sound(const book_keeper *k, const char *what,
                         const char *part, size_t width, size_t count) {
  char name[LLMPROF_KEPT_NAME];
  const llmprof_shelf *shelf = &k->trace->image.shelf;
  size_t size;
  name_array(name, k->spec, what, part);
  const void *data = shelf->find(shelf->user, name, &size);
  return data && size == width * count && shelf->is_sound(shelf->user, name)
             ? data
             : NULL;
}

static const uint16_t *of_rows(void *user, llmprof_error *err) {
  book_keeper *k = user;
  size_t rows = rows_of(k->trace, k->spec);
  if (k->of_row) return k->of_row;
  const uint16_t *of_row = sound(k, "rows", "", sizeof *of_row, rows);
  if (of_row && are_accounts(of_row, rows, k->ledger.count))
    k->of_row = of_row;
  else if (!number_again(k, err))
    return NULL;
  return k->of_row;
}

static const uint32_t *index_of(void *user, llmprof_error *err) {
  book_keeper *k = user;
  size_t rows = rows_of(k->trace, k->spec);
  const uint16_t *of_row = of_rows(k, err);
  if (k->index || !of_row) return k->index;
  k->index = llmprof_alloc(rows, sizeof *k->index);
  if (!k->index) return llmprof_fail_nomem(err), NULL;
  for (size_t row = 0; row < rows; row++) k->index[row] = of_row[row];
  return k->index;
}

/* ---- books ---- */

static size_t size_on_shelf(const book_keeper *k, const char *what,
                            const char *part) {
  char name[LLMPROF_KEPT_NAME];
  const llmprof_shelf *shelf = &k->trace->image.shelf;
  size_t size;
  name_array(name, k->spec, what, part);
  return shelf->find(shelf->user, name, &size) ? size : 0;
}

/* Are all values so small that their squares were added up? */
static bool find_near(llmprof_book *book) {
  book->is_near = true;
  for (size_t i = 0; i < book->wide_count; i++)
    book->is_near &= book->wide[i] >= 0 && book->wide[i] < UINT32_MAX;
  return true;
}

static bool open_book(book_keeper *k, size_t b) {
  const char *name = k->spec->books[b];
  llmprof_book book = {
      .narrow_count = size_on_shelf(k, name, ".narrow") / sizeof(uint16_t),
      .wide_count = size_on_shelf(k, name, ".wide") / sizeof(int64_t)};
  book.entries =
      sound(k, name, ".entries", sizeof *book.entries, k->ledger.count);
  book.narrow =
      sound(k, name, ".narrow", sizeof *book.narrow, book.narrow_count);
  book.wide = sound(k, name, ".wide", sizeof *book.wide, book.wide_count);
  if (!book.entries || !book.narrow || !book.wide ||
      !llmprof_book_is_valid(&book, k->ledger.count) || !find_near(&book))
    return false;
  k->books[b] = book;
  return true;
}

static const llmprof_book *book_of(void *user, const char *column) {
  book_keeper *k = user;
  for (size_t b = 0; k->spec->books[b]; b++) {
    if (strcmp(k->spec->books[b], column) != 0) continue;
    if (!k->was_opened[b]) open_book(k, b);
    k->was_opened[b] = true;
    return k->books[b].entries ? &k->books[b] : NULL;
  }
  return NULL;
}

/* ---- from the shelf ---- */

/* Rows of accounts of one kind of operations are rows of that kind. */
static bool are_partitions(const book_keeper *k) {
  const llmprof_trace *trace = k->trace;
  const llmprof_account *accounts = k->accounts;
  uint64_t rows = 0;
  size_t a = 0;
  for (int kind = 1; k->spec->of_ops && kind <= LLMPROF_OP_KINDS; kind++) {
    for (; a < k->ledger.count && accounts[a].first < trace->ops.first[kind];
         a++)
      rows += accounts[a].rows;
    if (rows != trace->ops.first[kind]) return false;
  }
  for (; a < k->ledger.count; a++) rows += accounts[a].rows;
  bool ok = rows == rows_of(trace, k->spec);
  for (a = 0; ok && a < k->ledger.count; a++)
    ok = accounts[a].rows && accounts[a].first < rows &&
         (!a || accounts[a].first > accounts[a - 1].first);
  return ok;
}

static bool are_below(const uint32_t *cells, size_t count, size_t limit) {
  bool ok = true;
  for (size_t i = 0; i < count; i++)
    ok &= cells[i] == LLMPROF_NONE || cells[i] < limit;
  return ok;
}

static bool are_valid(const book_keeper *k) {
  const llmprof_trace *trace = k->trace;
  size_t count = k->ledger.count;
  bool ok = are_partitions(k);
  for (size_t key = 0; ok && key < k->key_count; key++)
    ok = !(k->spec->strings >> key & 1) ||
         are_below(k->cells + key * count, count,
                   llmprof_strings_count(trace->strings));
  return ok &&
         (!k->link || are_below(k->link, count, trace->attribution.link_count));
}

static bool add_column(book_keeper *k, const char *name, const char *unit,
                       llmprof_column_type type, const uint32_t *cells) {
  llmprof_column column = {
      .name = name, .unit = unit, .type = type, .data = cells};
  return llmprof_frame_add(k->ledger.frame, &column, NULL, NULL);
}

/* The columns that rows share, and, of operations, which to ask for labels. */
static bool make_frame(book_keeper *k) {
  size_t count = k->ledger.count;
  k->ledger.frame = llmprof_frame_new(count, k->trace->strings);
  k->op = llmprof_alloc(count, sizeof *k->op);
  bool ok = k->ledger.frame && k->op;
  for (size_t key = 0; ok && key < k->key_count; key++)
    ok = add_column(k, k->spec->keys[key], NULL,
                    k->spec->strings >> key & 1 ? LLMPROF_STRING_ID
                                                : LLMPROF_U32,
                    k->cells + key * count);
  for (size_t a = 0; ok && a < count; a++) k->op[a] = k->accounts[a].first;
  return ok && (!k->link || (add_column(k, "op", NULL, LLMPROF_U32, k->op) &&
                             add_column(k, "link", llmprof_link_unit,
                                        LLMPROF_U32, k->link)));
}

static void say_ledger(book_keeper *k) {
  k->ledger.accounts = k->accounts;
  k->ledger.shared = k->key_count;
  k->ledger.of_rows = of_rows;
  k->ledger.index = index_of;
  k->ledger.book = book_of;
  k->ledger.user = k;
  k->is_there = true;
}

static void take_ledger(book_keeper *k) {
  k->ledger.count = size_on_shelf(k, "accounts", "") / sizeof(llmprof_account);
  size_t count = k->ledger.count;
  k->shelved = true;
  k->accounts = sound(k, "accounts", "", sizeof *k->accounts, count);
  k->cells = sound(k, "cells", "", sizeof *k->cells * k->key_count, count);
  if (k->spec->of_ops) k->link = sound(k, "links", "", sizeof *k->link, count);
  if (count && k->accounts && k->cells && (k->link || !k->spec->of_ops) &&
      are_valid(k) && make_frame(k))
    say_ledger(k);
}

static bool start(llmprof_trace *trace) {
  if (trace->ledgers) return true;
  trace->ledgers = llmprof_zalloc(LLMPROF_LEDGERS, sizeof *trace->ledgers);
  for (size_t i = 0; trace->ledgers && i < LLMPROF_LEDGERS; i++) {
    book_keeper *k = &trace->ledgers[i];
    k->trace = trace;
    k->spec = &specs[i];
    k->key_count = count_of(specs[i].keys);
    int piece = k->spec->of_ops ? LLMPROF_PART_OPS : LLMPROF_PART_CALLS;
    if (trace->image.has_shelf && trace->image.pieces[piece]) take_ledger(k);
  }
  return trace->ledgers != NULL;
}

static book_keeper *keeper_of(llmprof_trace *trace, const char *table) {
  if (!start(trace)) return NULL;
  for (size_t i = 0; i < LLMPROF_LEDGERS; i++)
    if (strcmp(specs[i].table, table) == 0) return &trace->ledgers[i];
  return NULL;
}

const llmprof_ledger *llmprof_trace_ledger(llmprof_trace *trace,
                                           const char *table,
                                           llmprof_frame_maker frame_of) {
  book_keeper *k = keeper_of(trace, table);
  if (k) k->frame_of = frame_of;
  return k && k->is_there && k->shelved ? &k->ledger : NULL;
}

/* ---- on request ---- */

bool llmprof_trace_has_ledger(llmprof_trace *trace, const char *table) {
  book_keeper *k = keeper_of(trace, table);
  return k && k->is_there;
}

static bool is_few(size_t accounts, size_t rows) {
  return accounts && accounts <= LLMPROF_ACCOUNTS && accounts <= rows / EACH;
}

/* As if nobody had asked for it. */
static void start_anew(book_keeper *k) {
  llmprof_trace_ledger_free(k);
  *k = (book_keeper){
      .trace = k->trace, .spec = k->spec, .key_count = k->key_count};
}

static bool make_ledger(book_keeper *k, llmprof_frame *frame,
                        llmprof_groups *groups, llmprof_error *err) {
  if (!is_few(groups->count, llmprof_frame_rows(frame))) return true;
  start_anew(k);
  k->is_there = write_ledger(k, frame, groups, err);
  if (k->is_there) return true;
  start_anew(k);
  return false;
}

bool llmprof_trace_keep_ledger(llmprof_trace *trace, const char *table,
                               llmprof_frame *frame, llmprof_error *err) {
  book_keeper *k = keeper_of(trace, table);
  llmprof_groups groups;
  if (!trace->ledgers) return llmprof_fail_nomem(err);
  if (!k)
    return llmprof_fail(err, LLMPROF_NOTFOUND, "no ledger of '%s'", table);
  if (k->is_there) return true;
  if (llmprof_frame_rows(frame) != rows_of(trace, k->spec))
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "a ledger is of all rows of '%s'", table);
  if (!number_rows(trace, k->spec, frame, &groups, err)) return false;
  bool ok = make_ledger(k, frame, &groups, err);
  llmprof_groups_free(&groups);
  return ok;
}

/* ---- putting away ---- */

static size_t size_of(const book_keeper *k) {
  size_t bytes = k->ledger.count * (sizeof *k->accounts + sizeof *k->link +
                                    k->key_count * sizeof *k->cells) +
                 rows_of(k->trace, k->spec) * sizeof *k->of_row;
  for (size_t b = 0; b < LLMPROF_LEDGER_BOOKS; b++)
    bytes += k->books[b].narrow_count * sizeof(uint16_t) +
             k->books[b].wide_count * sizeof(int64_t);
  return bytes;
}

size_t llmprof_trace_ledgers_size(const llmprof_trace *trace) {
  size_t bytes = 0;
  for (size_t i = 0; trace->ledgers && i < LLMPROF_LEDGERS; i++) {
    const book_keeper *k = &trace->ledgers[i];
    bytes += k->is_there && !k->shelved ? size_of(k) : 0;
  }
  return bytes;
}

/* Where they go. */
typedef struct way {
  const book_keeper *keeper;
  bool (*put)(const void *to, const char *name, const void *data, size_t size);
  const void *to;
} way;

static bool put_array(const way *w, const char *what, const char *part,
                      const void *data, size_t size) {
  char name[LLMPROF_KEPT_NAME];
  name_array(name, w->keeper->spec, what, part);
  return !data || w->put(w->to, name, data, size);
}

static bool put_book(const way *w, const char *name, const llmprof_book *book,
                     size_t accounts) {
  return put_array(w, name, ".entries", book->entries,
                   accounts * sizeof *book->entries) &&
         put_array(w, name, ".narrow", book->narrow,
                   book->narrow_count * sizeof *book->narrow) &&
         put_array(w, name, ".wide", book->wide,
                   book->wide_count * sizeof *book->wide);
}

static bool put_ledger(const way *w) {
  const book_keeper *k = w->keeper;
  size_t count = k->ledger.count;
  bool ok =
      put_array(w, "accounts", "", k->accounts, count * sizeof *k->accounts) &&
      put_array(w, "cells", "", k->cells,
                count * k->key_count * sizeof *k->cells) &&
      put_array(w, "links", "", k->link, count * sizeof *k->link) &&
      put_array(w, "rows", "", k->of_row,
                rows_of(k->trace, k->spec) * sizeof *k->of_row);
  for (size_t b = 0; ok && k->spec->books[b]; b++)
    ok = put_book(w, k->spec->books[b], &k->books[b], count);
  return ok;
}

/* What lies on the shelf comes along as far as it is good. */
static void open_all(book_keeper *k) {
  llmprof_error err;
  for (size_t b = 0; k->spec->books[b]; b++) book_of(k, k->spec->books[b]);
  if (!of_rows(k, &err)) k->is_there = false;
}

bool llmprof_trace_ledgers_put(llmprof_trace *trace,
                               bool (*put)(const void *to, const char *name,
                                           const void *data, size_t size),
                               const void *to) {
  bool ok = start(trace);
  for (size_t i = 0; ok && i < LLMPROF_LEDGERS; i++) {
    book_keeper *k = &trace->ledgers[i];
    if (k->is_there && k->shelved) open_all(k);
    if (k->is_there && are_loaded(k, trace))
      ok = put_ledger(&(way){k, put, to});
  }
  return ok;
}
