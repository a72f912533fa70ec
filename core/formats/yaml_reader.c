#include "formats/yaml_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "text/lex.h"

/* ---- messages ---- */

/* The byte at which libyaml's character number `index` starts. */
static size_t byte_offset(const llmprof_yaml_reader *r, size_t index) {
  size_t at = 0;
  while (index-- && at < r->size) {
    size_t length = llmprof_lex_utf8(r->bytes + at, r->size - at);
    at += length ? length : 1;
  }
  return at;
}

static bool fail_offset(const llmprof_yaml_reader *r, llmprof_code code,
                        size_t offset, const char *what) {
  size_t line, column;
  if (offset > r->size) offset = r->size;
  llmprof_lex_place(r->bytes, offset, &line, &column);
  return llmprof_fail_at(r->err, code, r->name, line, column, "%s", what);
}

bool llmprof_yaml_fail_at(const llmprof_yaml_reader *r, llmprof_code code,
                          const yaml_event_t *event, const char *fmt, ...) {
  char what[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  return fail_offset(r, code, byte_offset(r, event->start_mark.index), what);
}

/* libyaml's common complaints, said so that one sees what to do. */
static const char *plain_words(const char *problem) {
  static const struct {
    const char *problem, *words;
  } table[] = {
      {"could not find expected ':'", "expected ':' after the key"},
      {"mapping values are not allowed in this context",
       "':' is not allowed here; quote the text or check the indentation"},
      {"did not find expected key", "expected a key; check the indentation"},
      {"did not find expected '-' indicator",
       "expected '-'; check the indentation"},
      {"did not find expected <document start>",
       "expected nothing after the value; check the indentation"},
      {"did not find expected node content", "expected a value"},
      {"found unexpected end of stream", "the text ends too early"},
      {"found character that cannot start any token",
       "no value starts with this character; quote the text"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strcmp(problem, table[i].problem) == 0) return table[i].words;
  }
  return problem;
}

static bool fail_libyaml(const llmprof_yaml_reader *r) {
  const yaml_parser_t *p = &r->parser;
  char what[256];
  if (p->error == YAML_MEMORY_ERROR || !p->problem)
    return llmprof_fail_nomem(r->err);
  if (p->error == YAML_READER_ERROR)
    return fail_offset(r, LLMPROF_SYNTAX, p->problem_offset, p->problem);
  size_t offset = byte_offset(r, p->problem_mark.index);
  const char *words = plain_words(p->problem);
  if (offset < r->size && r->bytes[offset] == '\t')
    words = "a tab cannot indent; use spaces";
  if (!p->context ||
      strcmp(p->context, "while scanning for the next token") == 0)
    return fail_offset(r, LLMPROF_SYNTAX, offset, words);
  size_t line, column;
  llmprof_lex_place(r->bytes, byte_offset(r, p->context_mark.index), &line,
                    &column);
  snprintf(what, sizeof what, "%s (%s that starts in line %zu)", words,
           p->context, line);
  return fail_offset(r, LLMPROF_SYNTAX, offset, what);
}

/* ---- limits ---- */

bool llmprof_yaml_count(llmprof_yaml_reader *r, const yaml_event_t *event,
                        size_t text) {
  if (++r->nodes > r->limits.max_nodes)
    return llmprof_yaml_fail_at(r, LLMPROF_LIMIT, event, "more than %zu values",
                                r->limits.max_nodes);
  r->text += text;
  if (r->text > r->limits.max_size)
    return llmprof_yaml_fail_at(r, LLMPROF_LIMIT, event,
                                "more than %zu bytes of text",
                                r->limits.max_size);
  return true;
}

bool llmprof_yaml_check_depth(const llmprof_yaml_reader *r,
                              const yaml_event_t *event, size_t depth) {
  return depth <= r->limits.max_depth ||
         llmprof_yaml_fail_at(r, LLMPROF_LIMIT, event,
                              "nested deeper than %zu levels",
                              r->limits.max_depth);
}

llmprof_value *llmprof_yaml_made(const llmprof_yaml_reader *r,
                                 llmprof_value *value) {
  if (!value) llmprof_fail_nomem(r->err);
  return value;
}

bool llmprof_yaml_next(llmprof_yaml_reader *r, yaml_event_t *event) {
  if (llmprof_interrupted()) return llmprof_fail_interrupted(r->err);
  return yaml_parser_parse(&r->parser, event) || fail_libyaml(r);
}

/* ---- anchors ---- */

bool llmprof_yaml_remember(llmprof_yaml_reader *r, const yaml_char_t *name,
                           llmprof_value *copy) {
  return llmprof_value_set(r->anchors, (const char *)name,
                           strlen((const char *)name), copy) ||
         llmprof_fail_nomem(r->err);
}

const llmprof_value *llmprof_yaml_find_anchor(const llmprof_yaml_reader *r,
                                              const yaml_event_t *event) {
  const char *name = (const char *)event->data.alias.anchor;
  const llmprof_value *node = llmprof_value_get(r->anchors, name, strlen(name));
  if (!node)
    llmprof_yaml_fail_at(r, LLMPROF_SYNTAX, event,
                         "there is no anchor &%s above", name);
  return node;
}

static bool copy_items(llmprof_yaml_reader *r, const yaml_event_t *event,
                       const llmprof_value *from, llmprof_value *into,
                       size_t depth) {
  bool map = llmprof_value_type(from) == LLMPROF_MAP;
  for (size_t i = 0; i < llmprof_value_count(from); i++) {
    size_t size = 0;
    const char *key = map ? llmprof_value_key(from, i, &size) : NULL;
    llmprof_value *item =
        llmprof_yaml_copy(r, event, llmprof_value_at(from, i), depth);
    if (!item) return false;
    r->text += size;
    if (!(map ? llmprof_value_set(into, key, size, item)
              : llmprof_value_append(into, item)))
      return llmprof_fail_nomem(r->err);
  }
  return true;
}

static llmprof_value *copy_scalar(const llmprof_value *from) {
  switch (llmprof_value_type(from)) {
  case LLMPROF_BOOL:
    return llmprof_value_new_bool(llmprof_value_bool(from));
  case LLMPROF_INT:
    return llmprof_value_new_int(llmprof_value_int(from));
  case LLMPROF_DOUBLE:
    return llmprof_value_new_double(llmprof_value_double(from));
  case LLMPROF_STRING: {
    size_t size;
    const char *bytes = llmprof_value_string(from, &size);
    return llmprof_value_new_string(bytes, size);
  }
  case LLMPROF_NULL:
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  return llmprof_value_new_null();
}

llmprof_value *llmprof_yaml_copy(llmprof_yaml_reader *r,
                                 const yaml_event_t *event,
                                 const llmprof_value *from, size_t depth) {
  llmprof_type type = llmprof_value_type(from);
  size_t text = 0;
  if (type == LLMPROF_STRING) llmprof_value_string(from, &text);
  if (!llmprof_yaml_count(r, event, text)) return NULL;
  if (type != LLMPROF_LIST && type != LLMPROF_MAP)
    return llmprof_yaml_made(r, copy_scalar(from));
  if (!llmprof_yaml_check_depth(r, event, depth + 1)) return NULL;
  llmprof_value *value =
      llmprof_yaml_made(r, type == LLMPROF_MAP ? llmprof_value_new_map()
                                               : llmprof_value_new_list());
  if (value && copy_items(r, event, from, value, depth + 1)) return value;
  llmprof_value_free(value);
  return NULL;
}
