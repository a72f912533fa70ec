/* Text for people: UTF-8 and how many terminal columns it takes.
 *
 * Widths and clusters are those of the Unicode data in utf8proc, never of the
 * locale. Text is cut between grapheme clusters only: a letter with
 * its accents, a flag, a family of emoji stays whole. Any bytes are taken: a
 * malformed sequence counts as one U+FFFD, one column wide. `size` is in
 * bytes everywhere and may be 0 with text NULL. What is appended to a buffer
 * is lost when memory runs out: see the buffer's `failed`. */
#ifndef LLMPROF_TEXT_H
#define LLMPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define LLMPROF_ELLIPSIS    "\xE2\x80\xA6" /* one column */
#define LLMPROF_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD, one column */

/* Some bytes of a longer text; not NUL-terminated. */
typedef struct llmprof_slice {
  const char *bytes;
  size_t size;
} llmprof_slice;

/* Decode the character at `text`: the bytes it takes (0 only when size is 0)
 * and its code in *code. Overlong forms, surrogates, codes above U+10FFFF and
 * cut sequences are U+FFFD and take their longest valid beginning, at least
 * one byte, as the Unicode standard recommends. */
size_t llmprof_utf8_decode(const char *text, size_t size, uint32_t *code);

/* The grapheme cluster at `text`: the bytes it takes (0 only when size is 0)
 * and its columns in *width: 2 for East Asian wide characters and emoji, 0
 * for control characters and for marks that stand alone. */
size_t llmprof_text_cluster(const char *text, size_t size, size_t *width);

/* The columns of the whole text. Control characters, newlines and tabs among
 * them, count as 0: replace them first (clean) or break lines (wrap). */
size_t llmprof_text_width(const char *text, size_t size);

/* Is the text well-formed UTF-8 without NUL and U+FFFD? */
bool llmprof_text_is_sound(const char *text, size_t size);

/* Is the character invisible: one that a terminal acts on (a control character,
 * a line separator, a change of the direction of writing), or one without a
 * shape, which an agent reads and a person does not (a zero-width space, a tag,
 * a variation selector)? */
bool llmprof_text_is_control(uint32_t code);

/* Append the text with U+FFFD for every NUL and malformed sequence. */
void llmprof_text_repair(llmprof_buffer *out, const char *text, size_t size);

/* Append the text fit for one line of a terminal: a tab or a newline becomes
 * a space, a malformed sequence or a control character U+FFFD, and what cannot
 * be seen or turns the direction of writing its code: \u{200b}. */
void llmprof_text_clean(llmprof_buffer *out, const char *text, size_t size);

/* The same for several lines: tabs and newlines stay. */
void llmprof_text_clean_lines(llmprof_buffer *out, const char *text,
                              size_t size);

/* The same for programs that compare bytes: characters without a shape stay,
 * but for turns of the direction of writing. */
void llmprof_text_clean_exact(llmprof_buffer *out, const char *text,
                              size_t size);

/* Append what stands for a character of llmprof_text_is_control. */
void llmprof_text_put_control(llmprof_buffer *out, uint32_t code);

/* Are all bytes printable ASCII or, with keep_lines, newlines? Such a text is
 * clean. */
bool llmprof_text_is_plain(const char *text, size_t size, bool keep_lines);

/* Append the text, clean, for an element or a quoted attribute of HTML: a
 * character that means something there is its entity. */
void llmprof_text_html(llmprof_buffer *out, const char *text, size_t size);

typedef enum llmprof_ellipsis {
  LLMPROF_MIDDLE, /* keep two thirds from the start and a third of the end */
  LLMPROF_END,
} llmprof_ellipsis;

/* Append the text, or when it is wider than `columns` what of it fits around
 * an ellipsis at `place`; never wider than `columns`, and nothing for 0. */
void llmprof_text_truncate(llmprof_buffer *out, const char *text, size_t size,
                           size_t columns, llmprof_ellipsis place);

typedef enum llmprof_align {
  LLMPROF_LEFT,
  LLMPROF_RIGHT,
} llmprof_align;

/* Append the text with spaces on one side up to `columns`; a wider text as it
 * is. */
void llmprof_text_pad(llmprof_buffer *out, const char *text, size_t size,
                      size_t columns, llmprof_align align);

/* The next line of the text when it is broken to at most `columns`: at its
 * newlines, between words, and inside a word only where that alone is too
 * wide. *at is where to go on: 0 at first, moved on by each call. Spaces and
 * tabs at a break are dropped. False at the end; an empty text has no line.
 * One cluster wider than `columns` still gets a line. */
bool llmprof_text_wrap(const char *text, size_t size, size_t columns,
                       size_t *at, llmprof_slice *line);

/* Append what of a process's name is the program: neither where it lies nor its
 * arguments. "process" when that cannot be told. */
void llmprof_text_program(llmprof_buffer *out, const char *name);

#endif
