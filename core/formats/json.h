/* JSON: exactly RFC 8259, read into values and written from them.
 *
 * cJSON decodes strings. What it would let pass or lose is looked after here:
 * the grammar holds to the letter, integers never go through a double, strings
 * may hold U+0000, a key may come once. A byte order mark at the start is
 * skipped. cJSON keeps its allocator per process: from the first parse of a
 * string with escapes on, it is llmprof's. */
#ifndef LLMPROF_JSON_H
#define LLMPROF_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/value.h"
#include "llmprof/error.h"

/* The value, which the caller frees, or NULL: SYNTAX, LIMIT (a text of more
 * than 256 MiB or 32 Mi values, lists and maps more than 200 deep), NOMEM, or
 * RANGE for a number that is no integer of 64 bits or too large for a double.
 * Numbers without fraction and exponent are integers. Messages begin with
 * "name:line:column: ". */
llmprof_value *llmprof_json_parse(const char *bytes, size_t size,
                                  const char *name, llmprof_error *err);

/* As parse, from a file (NOTFOUND, DENIED, IO). */
llmprof_value *llmprof_json_load(const char *path, llmprof_error *err);

/* Append the value's text, on one line (indent 0) or pretty, `indent` spaces a
 * level; no newline at the end. Map entries come in the map's order. False
 * with the path to what is to blame: RANGE for NaN, infinity and strings that
 * are not UTF-8, LIMIT for a tree deeper than LLMPROF_MAX_DEPTH, NOMEM. What
 * was appended until then is to be thrown away. */
bool llmprof_json_write(const llmprof_value *value, unsigned indent,
                        llmprof_buffer *out, llmprof_error *err);

/* Append a string with its quotes. Any bytes: a malformed sequence becomes
 * U+FFFD. */
void llmprof_json_put_any(llmprof_buffer *out, const char *bytes, size_t size);

#endif
