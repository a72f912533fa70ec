/* YAML: one document, read into a value and written from one.
 *
 * libyaml splits the text. Plain scalars follow the YAML 1.2 core schema: null
 * ~ true false 12 0x1F 0o17 1.5 .inf .nan in their spellings, and yes, no, on
 * and off are strings. Quoted scalars are strings. Anchors and aliases (copied)
 * work, tags and merge keys (a plain <<) do not; keys are strings, namely the
 * text as it stands. An empty document is null. */
#ifndef LLMPROF_YAML_H
#define LLMPROF_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/value.h"
#include "llmprof/error.h"

/* What is accepted at most. Nodes are counted after aliases are
 * copied, those with an anchor twice, and the text of all scalars together,
 * copies included, is held to the size limit too. */
enum {
  LLMPROF_YAML_DEPTH = 200,
  LLMPROF_YAML_SIZE = 256 * 1024 * 1024,
  LLMPROF_YAML_NODES = 1024 * 1024
};

/* The value, which the caller frees, or NULL: SYNTAX (a duplicate key
 * included), LIMIT, NOMEM, UNSUPPORTED for tags, merge keys, keys that are
 * lists or maps and a second document, RANGE for a number that is no integer of
 * 64 bits or too large for a double. Messages begin with "name:line:column: ".
 * The text is UTF-8. */
llmprof_value *llmprof_yaml_parse(const char *bytes, size_t size,
                                  const char *name, llmprof_error *err);

/* As parse, from a file (NOTFOUND, DENIED, IO). */
llmprof_value *llmprof_yaml_load(const char *path, llmprof_error *err);

/* Append the value in block style with a newline at the end; the same value
 * gives the same bytes. A string or key is quoted when bare it would read back
 * as something else: here, or in a program that follows YAML 1.1 (yes, off,
 * 1_000, 2001-01-01; whatever begins like a number is). Strings of several
 * lines become literal blocks where that is exact, else they are quoted.
 * False with the path to what is to blame: RANGE for strings that are not
 * UTF-8, LIMIT for a string longer than LLMPROF_YAML_SIZE and for a tree deeper
 * than LLMPROF_MAX_DEPTH, NOMEM. What was appended until then is to be thrown
 * away. */
bool llmprof_yaml_write(const llmprof_value *value, llmprof_buffer *out,
                        llmprof_error *err);

/* As write, in flow style on one line and without the newline, as it can stand
 * behind "key: ". */
bool llmprof_yaml_write_line(const llmprof_value *value, llmprof_buffer *out,
                             llmprof_error *err);

#endif
