/* Spans: rows of a frame that each stand for an interval of time, of one of
 * several keys (a rank, a process), and which of them other rows belong to.
 * A key column of SIZE_MAX means that there is one key only; rows whose key,
 * start or time is absent belong to nothing.
 *
 * What loops over rows ends with INTERRUPTED when llmprof_interrupted(). */
#ifndef LLMPROF_SPANS_H
#define LLMPROF_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "frame/interval.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

/* Add a column `name` in ns: when the next row of the same key starts;
 * INT64_MAX for the last one. Of rows that start together the one that comes
 * later in the frame is the next. */
bool llmprof_spans_until(llmprof_frame *spans, size_t start, size_t key,
                         const char *name, llmprof_error *err);

/* The columns that make rows of a frame spans. */
typedef struct llmprof_span_columns {
  size_t start, end, key;
} llmprof_span_columns;

/* Add a column `name` to `rows`: the row of `spans` with the same key whose
 * [start, end) holds the time. Spans of a key are taken to follow each other:
 * a time is in the last one that has started by then, or in none. */
bool llmprof_spans_assign(llmprof_frame *rows, size_t time, size_t key,
                          llmprof_frame *spans,
                          const llmprof_span_columns *columns, const char *name,
                          llmprof_error *err);

/* Add a column `name` to `rows`: the value of column `column` of the span that
 * `span` says a row is in. Spans outlive rows. */
bool llmprof_spans_look_up(llmprof_frame *rows, size_t span,
                           llmprof_frame *spans, size_t column,
                           const char *name, llmprof_error *err);

typedef enum llmprof_span_figure {
  LLMPROF_SPAN_LEAST,
  LLMPROF_SPAN_TOTAL,
} llmprof_span_figure;

/* Add a column `name` to spans: the least of the present values of column
 * `value` among the rows that `span` says are in it, or their sum; absent where
 * there is none. */
bool llmprof_spans_gather(llmprof_frame *spans, llmprof_frame *rows,
                          size_t span, size_t value, llmprof_span_figure figure,
                          const char *name, llmprof_error *err);

/* Add a column `name` in ns to spans: how much of each the intervals of its
 * key cover. Keys are 0 to count - 1, one set each; a span of another key is
 * covered by nothing, and one whose start or end is absent has no value. */
bool llmprof_spans_cover(llmprof_frame *spans,
                         const llmprof_span_columns *columns,
                         const llmprof_intervals *const *sets, size_t count,
                         const char *name, llmprof_error *err);

/* Add a column `name` in ns to spans: how much of each a column `covered`
 * leaves. */
bool llmprof_spans_rest(llmprof_frame *spans, size_t start, size_t end,
                        size_t covered, const char *name, llmprof_error *err);

#endif
