/* Ledgers of a trace, as those see them that make, use and free them. Private
 * to the trace room. */
#ifndef LLMPROF_TRACE_LEDGER_H
#define LLMPROF_TRACE_LEDGER_H

#include "frame/ledger.h"
#include "trace/trace_internal.h"

enum {
  LLMPROF_LEDGERS = 2,
  LLMPROF_LEDGER_KEYS = 10,
  LLMPROF_LEDGER_BOOKS = 6,
};

/* The unit of links of accounts, this very text: no other column has it. */
extern const char llmprof_link_unit[];

typedef struct llmprof_ledger_spec {
  const char *table; /* whose rows */
  bool of_ops;       /* then rows are alike by the ranges around them, too */
  const char *keys[LLMPROF_LEDGER_KEYS + 1];
  unsigned strings; /* a bit for each key that is one */
  const char *books[LLMPROF_LEDGER_BOOKS + 1];
} llmprof_ledger_spec;

typedef llmprof_frame *(*llmprof_frame_maker)(llmprof_trace *trace,
                                              const char *name,
                                              llmprof_error *err);

/* What is known of one. */
struct llmprof_trace_ledger {
  llmprof_trace *trace;
  const llmprof_ledger_spec *spec;
  llmprof_ledger ledger;
  bool is_there, shelved; /* shelved: what it is made of lies on the shelf */
  size_t key_count;
  const llmprof_account *accounts;
  const uint32_t *cells;  /* by key and account */
  const uint32_t *link;   /* by account of operations, that of its first row */
  uint32_t *op;           /* owned: the first rows */
  const uint16_t *of_row; /* NULL: not looked at yet */
  bool owns_rows;
  uint32_t *index; /* owned: the same, once it was asked for */
  llmprof_book books[LLMPROF_LEDGER_BOOKS];
  bool was_opened[LLMPROF_LEDGER_BOOKS];
  llmprof_frame_maker frame_of; /* to number rows anew; NULL: not known */
};

/* What it owns. */
void llmprof_trace_ledger_free(struct llmprof_trace_ledger *ledger);

/* The ledger of a frame of rows of the table "gpu" or "api", from the shelf;
 * NULL: there is none. `frame_of` is llmprof_trace_frame. */
const llmprof_ledger *llmprof_trace_ledger(llmprof_trace *trace,
                                           const char *table,
                                           llmprof_frame_maker frame_of);

/* Bytes of those that are not on the shelf. */
size_t llmprof_trace_ledgers_size(const llmprof_trace *trace);

/* Put them away, also those that lie there. */
bool llmprof_trace_ledgers_put(llmprof_trace *trace,
                               bool (*put)(const void *to, const char *name,
                                           const void *data, size_t size),
                               const void *to);

#endif
