/* libyaml's events become a tree by recursive descent. libyaml's marks count
 * characters, messages count bytes, so that a place is worked out only when
 * something fails. An alias is copied on the spot, and every node and every
 * byte of text counts against the limits each time: a few lines that would
 * expand to billions of nodes stop early. */
#include "formats/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "base/interrupt.h"
#include "formats/yaml_scalar.h"
#include "os/fs.h"
#include "text/lex.h"

enum {
  MAX_DIRECTIVES = 1000
};

typedef struct reader {
  yaml_parser_t parser;
  const char *name;
  const char *bytes;
  size_t size;
  size_t nodes, text;     /* so far, copies included */
  llmprof_value *anchors; /* name -> copy of the node */
  llmprof_error *err;
} reader;

/* ---- messages ---- */

/* The byte at which libyaml's character number `index` starts. */
static size_t byte_offset(const reader *r, size_t index) {
  size_t at = 0;
  while (index-- && at < r->size) {
    size_t length = llmprof_lex_utf8(r->bytes + at, r->size - at);
    at += length ? length : 1;
  }
  return at;
}

static bool fail_offset(const reader *r, llmprof_code code, size_t offset,
                        const char *what) {
  size_t line, column;
  if (offset > r->size) offset = r->size;
  llmprof_lex_place(r->bytes, offset, &line, &column);
  return llmprof_fail_at(r->err, code, r->name, line, column, "%s", what);
}

/* Fail at the place of the event. */
__attribute__((format(printf, 4, 5))) static bool
fail_at(const reader *r, llmprof_code code, const yaml_event_t *event,
        const char *fmt, ...) {
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

static bool fail_libyaml(const reader *r) {
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

/* One more node, with room for its bytes of text. */
static bool count_node(reader *r, const yaml_event_t *event, size_t text) {
  if (++r->nodes > LLMPROF_YAML_NODES)
    return fail_at(r, LLMPROF_LIMIT, event, "more than %d values",
                   LLMPROF_YAML_NODES);
  r->text += text;
  if (r->text > LLMPROF_YAML_SIZE)
    return fail_at(r, LLMPROF_LIMIT, event, "more than %d bytes of text",
                   LLMPROF_YAML_SIZE);
  return true;
}

static bool check_depth(const reader *r, const yaml_event_t *event,
                        size_t depth) {
  return depth <= LLMPROF_YAML_DEPTH ||
         fail_at(r, LLMPROF_LIMIT, event, "nested deeper than %d levels",
                 LLMPROF_YAML_DEPTH);
}

/* Pass the value on; NULL is out of memory. */
static llmprof_value *made(const reader *r, llmprof_value *value) {
  if (!value) llmprof_fail_nomem(r->err);
  return value;
}

/* The next event, which the caller deletes. */
static bool next_event(reader *r, yaml_event_t *event) {
  if (llmprof_interrupted()) return llmprof_fail_interrupted(r->err);
  return yaml_parser_parse(&r->parser, event) || fail_libyaml(r);
}

/* ---- anchors ---- */

/* Let aliases of this name be that node, which becomes the reader's; NULL is
 * out of memory. A later anchor takes over the name. */
static bool remember(reader *r, const yaml_char_t *name, llmprof_value *copy) {
  return llmprof_value_set(r->anchors, (const char *)name,
                           strlen((const char *)name), copy) ||
         llmprof_fail_nomem(r->err);
}

/* The node that an alias event refers to, until its name is taken over. */
static const llmprof_value *find_anchor(const reader *r,
                                        const yaml_event_t *event) {
  const char *name = (const char *)event->data.alias.anchor;
  const llmprof_value *node = llmprof_value_get(r->anchors, name, strlen(name));
  if (!node)
    fail_at(r, LLMPROF_SYNTAX, event, "there is no anchor &%s above", name);
  return node;
}

static llmprof_value *copy_node(reader *r, const yaml_event_t *event,
                                const llmprof_value *from, size_t depth);

static bool copy_items(reader *r, const yaml_event_t *event,
                       const llmprof_value *from, llmprof_value *into,
                       size_t depth) {
  bool map = llmprof_value_type(from) == LLMPROF_MAP;
  for (size_t i = 0; i < llmprof_value_count(from); i++) {
    size_t size = 0;
    const char *key = map ? llmprof_value_key(from, i, &size) : NULL;
    llmprof_value *item = copy_node(r, event, llmprof_value_at(from, i), depth);
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

/* A copy of `from` that stands at the event, below `depth` lists and maps. */
static llmprof_value *copy_node(reader *r, const yaml_event_t *event,
                                const llmprof_value *from, size_t depth) {
  llmprof_type type = llmprof_value_type(from);
  size_t text = 0;
  if (type == LLMPROF_STRING) llmprof_value_string(from, &text);
  if (!count_node(r, event, text)) return NULL;
  if (type != LLMPROF_LIST && type != LLMPROF_MAP)
    return made(r, copy_scalar(from));
  if (!check_depth(r, event, depth + 1)) return NULL;
  llmprof_value *value =
      made(r, type == LLMPROF_MAP ? llmprof_value_new_map()
                                  : llmprof_value_new_list());
  if (value && copy_items(r, event, from, value, depth + 1)) return value;
  llmprof_value_free(value);
  return NULL;
}

/* ---- scalars ---- */

/* Values are what they look like. */
static bool check_untagged(const reader *r, const yaml_event_t *event,
                           const yaml_char_t *tag) {
  char quoted[LLMPROF_LEX_QUOTED];
  if (!tag) return true;
  llmprof_lex_quote(quoted, (const char *)tag, strlen((const char *)tag));
  return fail_at(r, LLMPROF_UNSUPPORTED, event, "tags are not known: %s",
                 quoted);
}

static const char *text_of(const yaml_event_t *event, size_t *size) {
  *size = event->data.scalar.length;
  return (const char *)event->data.scalar.value;
}

static llmprof_value *number(const reader *r, const yaml_event_t *event,
                             llmprof_type type) {
  size_t size;
  const char *text = text_of(event, &size);
  int64_t integer = 0;
  double real = 0;
  llmprof_code code = type == LLMPROF_INT
                          ? llmprof_yaml_int(text, size, &integer)
                          : llmprof_yaml_double(text, size, &real);
  if (code == LLMPROF_RANGE) {
    fail_at(r, LLMPROF_RANGE, event,
            type == LLMPROF_INT ? "integer does not fit into 64 bits"
                                : "number is too large for a double");
    return NULL;
  }
  if (code != LLMPROF_OK) return made(r, NULL);
  return made(r, type == LLMPROF_INT ? llmprof_value_new_int(integer)
                                     : llmprof_value_new_double(real));
}

static llmprof_value *read_scalar(reader *r, const yaml_event_t *event) {
  size_t size;
  const char *text = text_of(event, &size);
  bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  llmprof_type type = plain ? llmprof_yaml_type(text, size) : LLMPROF_STRING;
  if (!count_node(r, event, size) ||
      !check_untagged(r, event, event->data.scalar.tag))
    return NULL;
  switch (type) {
  case LLMPROF_NULL:
    return made(r, llmprof_value_new_null());
  case LLMPROF_BOOL:
    return made(r, llmprof_value_new_bool(*text == 't' || *text == 'T'));
  case LLMPROF_INT:
  case LLMPROF_DOUBLE:
    return number(r, event, type);
  case LLMPROF_STRING:
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  return made(r, llmprof_value_new_string(text, size));
}

/* ---- lists and maps ---- */

static llmprof_value *read_node(reader *r, const yaml_event_t *event,
                                size_t depth);

/* The node that comes next, whatever it is. */
static llmprof_value *read_next(reader *r, size_t depth) {
  yaml_event_t event;
  if (!next_event(r, &event)) return NULL;
  llmprof_value *value = read_node(r, &event, depth);
  yaml_event_delete(&event);
  return value;
}

static bool read_items(reader *r, llmprof_value *list, size_t depth) {
  for (;;) {
    yaml_event_t event;
    if (!next_event(r, &event)) return false;
    bool end = event.type == YAML_SEQUENCE_END_EVENT;
    llmprof_value *item = end ? NULL : read_node(r, &event, depth);
    yaml_event_delete(&event);
    if (end) return true;
    if (!item) return false;
    if (!llmprof_value_append(list, item)) return llmprof_fail_nomem(r->err);
  }
}

/* "<<" as other programs read it: the entries of another map, too. */
static bool is_merge(const yaml_event_t *event) {
  size_t size;
  const char *text = text_of(event, &size);
  return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && size == 2 &&
         memcmp(text, "<<", 2) == 0;
}

/* The bytes live as long as the event, or as what its alias is of. */
static bool read_key(reader *r, const yaml_event_t *event, const char **key,
                     size_t *size) {
  if (event->type == YAML_ALIAS_EVENT) {
    const llmprof_value *node = find_anchor(r, event);
    if (!node) return false;
    if (llmprof_value_type(node) != LLMPROF_STRING)
      return fail_at(r, LLMPROF_UNSUPPORTED, event, "key is not a string");
    *key = llmprof_value_string(node, size);
    return true;
  }
  if (event->type != YAML_SCALAR_EVENT)
    return fail_at(r, LLMPROF_UNSUPPORTED, event, "key is a list or a map");
  if (is_merge(event))
    return fail_at(r, LLMPROF_UNSUPPORTED, event,
                   "<< is not known: write the entries, or the key in quotes");
  *key = text_of(event, size);
  const yaml_char_t *anchor = event->data.scalar.anchor;
  return check_untagged(r, event, event->data.scalar.tag) &&
         (!anchor ||
          remember(r, anchor, llmprof_value_new_string(*key, *size)));
}

static bool read_pair(reader *r, const yaml_event_t *event, llmprof_value *map,
                      size_t depth) {
  const char *key = NULL;
  size_t size = 0;
  if (!read_key(r, event, &key, &size)) return false;
  if (llmprof_value_get(map, key, size)) {
    char quoted[LLMPROF_LEX_QUOTED];
    return fail_at(r, LLMPROF_SYNTAX, event, "duplicate key %s",
                   llmprof_lex_quote(quoted, key, size));
  }
  r->text += size; /* the limit is checked with the value */
  size_t index = llmprof_value_count(map);
  if (!llmprof_value_set(map, key, size, llmprof_value_new_null()))
    return llmprof_fail_nomem(r->err);
  llmprof_value *value = read_next(r, depth);
  if (!value) return false;
  key = llmprof_value_key(map, index, &size);
  return llmprof_value_set(map, key, size, value) || llmprof_fail_nomem(r->err);
}

static bool read_pairs(reader *r, llmprof_value *map, size_t depth) {
  for (;;) {
    yaml_event_t event;
    if (!next_event(r, &event)) return false;
    bool end = event.type == YAML_MAPPING_END_EVENT;
    bool ok = end || read_pair(r, &event, map, depth);
    yaml_event_delete(&event);
    if (end || !ok) return ok;
  }
}

static llmprof_value *read_holder(reader *r, const yaml_event_t *event,
                                  size_t depth) {
  bool map = event->type == YAML_MAPPING_START_EVENT;
  const yaml_char_t *tag =
      map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
  if (!count_node(r, event, 0) || !check_depth(r, event, depth) ||
      !check_untagged(r, event, tag))
    return NULL;
  llmprof_value *value =
      made(r, map ? llmprof_value_new_map() : llmprof_value_new_list());
  if (value &&
      (map ? read_pairs(r, value, depth) : read_items(r, value, depth)))
    return value;
  llmprof_value_free(value);
  return NULL;
}

static llmprof_value *read_node(reader *r, const yaml_event_t *event,
                                size_t depth) {
  if (event->type == YAML_ALIAS_EVENT) {
    const llmprof_value *node = find_anchor(r, event);
    return node ? copy_node(r, event, node, depth) : NULL;
  }
  const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT
                                  ? event->data.scalar.anchor
                              : event->type == YAML_MAPPING_START_EVENT
                                  ? event->data.mapping_start.anchor
                                  : event->data.sequence_start.anchor;
  llmprof_value *value = event->type == YAML_SCALAR_EVENT
                             ? read_scalar(r, event)
                             : read_holder(r, event, depth + 1);
  if (!value || !anchor) return value;
  llmprof_value *copy = copy_node(r, event, value, 0);
  if (copy && remember(r, anchor, copy)) return value;
  llmprof_value_free(value);
  return NULL;
}

/* ---- in and out ---- */

/* Drop the next event and tell its type. */
static bool skip(reader *r, yaml_event_type_t *type, yaml_mark_t *mark) {
  yaml_event_t event;
  if (!next_event(r, &event)) return false;
  *type = event.type;
  *mark = event.start_mark;
  yaml_event_delete(&event);
  return true;
}

static llmprof_value *read_document(reader *r) {
  yaml_event_type_t type;
  yaml_event_t at = {0};
  if (!skip(r, &type, &at.start_mark) || !skip(r, &type, &at.start_mark))
    return NULL; /* the start of the stream, then of the document */
  if (type == YAML_STREAM_END_EVENT) return made(r, llmprof_value_new_null());
  llmprof_value *value = read_next(r, 0);
  bool ok =
      value && skip(r, &type, &at.start_mark) && skip(r, &type, &at.start_mark);
  if (ok && type != YAML_STREAM_END_EVENT)
    ok = fail_at(r, LLMPROF_UNSUPPORTED, &at, "a second document starts here");
  if (ok) return value;
  llmprof_value_free(value);
  return NULL;
}

/* libyaml compares every %TAG with all before it: a megabyte of them would
 * take ten seconds. They stand at the start of a line; each of these bytes can
 * be the last of what libyaml takes for a line break or a byte order mark. */
static bool check_directives(const reader *r) {
  const char *at = r->bytes, *end = r->bytes + r->size;
  size_t seen = 0;
  while ((at = memmem(at, (size_t)(end - at), "%TAG", 4))) {
    seen += at == r->bytes || memchr("\n\r\x85\xA8\xA9\xBF", at[-1], 6);
    if (seen > MAX_DIRECTIVES)
      return llmprof_fail(r->err, LLMPROF_LIMIT,
                          "%s: more than %d %%TAG directives", r->name,
                          MAX_DIRECTIVES);
    at += 4;
  }
  return true;
}

static llmprof_value *read_all(reader *r) {
  r->anchors = llmprof_value_new_map();
  llmprof_value *value = NULL;
  if (!r->anchors || !yaml_parser_initialize(&r->parser)) {
    llmprof_fail_nomem(r->err);
  } else {
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const yaml_char_t *)r->bytes,
                                 r->size);
    value = read_document(r);
    yaml_parser_delete(&r->parser);
  }
  llmprof_value_free(r->anchors);
  return value;
}

llmprof_value *llmprof_yaml_parse(const char *bytes, size_t size,
                                  const char *name, llmprof_error *err) {
  reader r = {.name = name, .bytes = bytes, .size = size, .err = err};
  if (size > LLMPROF_YAML_SIZE)
    return llmprof_fail_size(err, name, LLMPROF_YAML_SIZE), NULL;
  return check_directives(&r) ? read_all(&r) : NULL;
}

llmprof_value *llmprof_yaml_load(const char *path, llmprof_error *err) {
  llmprof_buffer text = {0};
  llmprof_value *value = NULL;
  if (llmprof_fs_read(path, LLMPROF_YAML_SIZE, &text, err))
    value = llmprof_yaml_parse(text.bytes, text.size, path, err);
  llmprof_buffer_free(&text);
  return value;
}
