/* GitHub-flavoured Markdown: tables, and text that renders as it is.
 *
 * Whatever a kernel is called, "<script>", "*p", "a|b", it shows as those
 * characters on GitHub and GitLab, and the source is readable too: columns
 * line up by display width. Malformed UTF-8 and control characters become
 * U+FFFD, a tab a space. Not prevented, because nothing in Markdown can: the
 * hosts' links for @names and #numbers and their :shortcodes:. */
#ifndef LLMPROF_MARKDOWN_H
#define LLMPROF_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "llmprof/error.h"
#include "text/text.h"

/* Append text for a paragraph, a heading or a list item. A newline becomes
 * <br>; spaces at either end are kept. */
void llmprof_markdown_escape(llmprof_buffer *out, const char *text,
                             size_t size);

/* The same where no line starts: a table cell. "-1" and "# 3" stay so. */
void llmprof_markdown_inline(llmprof_buffer *out, const char *text,
                             size_t size);

/* Append the text as inline code, fit for a table cell too: between enough
 * backticks or, when it holds a pipe or a newline, as a <code> element.
 * Nothing for an empty text. */
void llmprof_markdown_code(llmprof_buffer *out, const char *text, size_t size);

typedef struct llmprof_markdown_column {
  llmprof_slice title;
  llmprof_align align;
  size_t max; /* columns a cell may show; a wider text is shortened in the
                 middle and told in full in a footnote. 0: no limit */
  bool code;  /* cells are inline code */
} llmprof_markdown_column;

typedef struct llmprof_markdown_table {
  const llmprof_markdown_column *columns;
  size_t column_count;        /* at least 1 */
  const llmprof_slice *cells; /* row by row, column_count each; size 0: empty */
  size_t row_count;
  const char *note_prefix; /* letters and digits; NULL: "k" */
  size_t first_note;       /* number of the first footnote */
} llmprof_markdown_table;

/* Append the table to `out` and its footnotes, one "[^k1]: ..." line for each
 * distinct text, to `notes`: put them below the table, with a blank line
 * between. *note_count is how many there are. Tables of one document need
 * prefixes or numbers of their own. Columns are aligned up to a width of 100;
 * a longer cell sticks out. Memory is linear in the size of the cells, and time
 * but for the footnotes. False when out of memory: then both buffers hold part
 * of it. */
bool llmprof_markdown_render(llmprof_buffer *out, llmprof_buffer *notes,
                             const llmprof_markdown_table *table,
                             size_t *note_count, llmprof_error *err);

#endif
