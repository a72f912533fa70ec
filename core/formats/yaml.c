/* libyaml's events become a tree by recursive descent: lists, maps, scalars
 * and what merge keys make of them. */
#include "formats/yaml.h"

#include <string.h>

#include "base/bounds.h"
#include "formats/yaml_reader.h"
#include "formats/yaml_scalar.h"
#include "llmprof/alloc.h"
#include "os/fs.h"
#include "text/lex.h"

enum {
  MAX_DIRECTIVES = 1000
};

/* ---- scalars ---- */

static const struct {
  const char *tag, *shown;
  llmprof_type type;
} tags[] = {
    {YAML_STR_TAG, "!!str", LLMPROF_STRING},
    {YAML_INT_TAG, "!!int", LLMPROF_INT},
    {YAML_FLOAT_TAG, "!!float", LLMPROF_DOUBLE},
    {YAML_BOOL_TAG, "!!bool", LLMPROF_BOOL},
    {YAML_NULL_TAG, "!!null", LLMPROF_NULL},
    {YAML_SEQ_TAG, "!!seq", LLMPROF_LIST},
    {YAML_MAP_TAG, "!!map", LLMPROF_MAP},
};

/* The type that the tag asks for. */
static bool type_of_tag(const llmprof_yaml_reader *r, const yaml_event_t *event,
                        const yaml_char_t *tag, llmprof_type *type,
                        const char **shown) {
  char quoted[LLMPROF_LEX_QUOTED];
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
    if (strcmp((const char *)tag, tags[i].tag) != 0) continue;
    *type = tags[i].type;
    *shown = tags[i].shown;
    return true;
  }
  llmprof_lex_quote(quoted, (const char *)tag, strlen((const char *)tag));
  return llmprof_yaml_fail_at(r, LLMPROF_UNSUPPORTED, event, "unknown tag %s",
                              quoted);
}

/* The tag of a list or a map can only say what it is anyway. */
static bool check_tag(const llmprof_yaml_reader *r, const yaml_event_t *event,
                      const yaml_char_t *tag, llmprof_type type) {
  llmprof_type wanted;
  const char *shown;
  if (!tag) return true;
  if (!type_of_tag(r, event, tag, &wanted, &shown)) return false;
  return wanted == type ||
         llmprof_yaml_fail_at(r, LLMPROF_SYNTAX, event,
                              "this is not of type %s", shown);
}

static const char *text_of(const yaml_event_t *event, size_t *size) {
  *size = event->data.scalar.length;
  return (const char *)event->data.scalar.value;
}

static bool scalar_type(const llmprof_yaml_reader *r, const yaml_event_t *event,
                        llmprof_type *type) {
  size_t size;
  const char *text = text_of(event, &size), *shown;
  const yaml_char_t *tag = event->data.scalar.tag;
  llmprof_type found = llmprof_yaml_type(text, size);
  if (!tag) {
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    *type = plain ? found : LLMPROF_STRING;
    return true;
  }
  if (!type_of_tag(r, event, tag, type, &shown)) return false;
  bool decimal = found == LLMPROF_INT && !memchr("xo", text[size > 1], 2);
  if (*type == found || *type == LLMPROF_STRING ||
      (*type == LLMPROF_DOUBLE && decimal))
    return true;
  return llmprof_yaml_fail_at(r, LLMPROF_SYNTAX, event,
                              "this is not of type %s", shown);
}

static llmprof_value *number(const llmprof_yaml_reader *r,
                             const yaml_event_t *event, llmprof_type type) {
  size_t size;
  const char *text = text_of(event, &size);
  int64_t integer = 0;
  double real = 0;
  llmprof_code code = type == LLMPROF_INT
                          ? llmprof_yaml_int(text, size, &integer)
                          : llmprof_yaml_double(text, size, &real);
  if (code == LLMPROF_RANGE) {
    llmprof_yaml_fail_at(r, LLMPROF_RANGE, event,
                         type == LLMPROF_INT
                             ? "integer does not fit into 64 bits"
                             : "number is too large for a double");
    return NULL;
  }
  if (code != LLMPROF_OK) return llmprof_yaml_made(r, NULL);
  return llmprof_yaml_made(r, type == LLMPROF_INT
                                  ? llmprof_value_new_int(integer)
                                  : llmprof_value_new_double(real));
}

static llmprof_value *read_scalar(llmprof_yaml_reader *r,
                                  const yaml_event_t *event) {
  size_t size;
  const char *text = text_of(event, &size);
  llmprof_type type;
  if (!llmprof_yaml_count(r, event, size) || !scalar_type(r, event, &type))
    return NULL;
  switch (type) {
  case LLMPROF_NULL:
    return llmprof_yaml_made(r, llmprof_value_new_null());
  case LLMPROF_BOOL:
    return llmprof_yaml_made(
        r, llmprof_value_new_bool(*text == 't' || *text == 'T'));
  case LLMPROF_INT:
  case LLMPROF_DOUBLE:
    return number(r, event, type);
  case LLMPROF_STRING:
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  return llmprof_yaml_made(r, llmprof_value_new_string(text, size));
}

/* ---- lists and maps ---- */

static llmprof_value *read_node(llmprof_yaml_reader *r,
                                const yaml_event_t *event, size_t depth);

/* The node that comes next, whatever it is. */
static llmprof_value *read_next(llmprof_yaml_reader *r, size_t depth) {
  yaml_event_t event;
  if (!llmprof_yaml_next(r, &event)) return NULL;
  llmprof_value *value = read_node(r, &event, depth);
  yaml_event_delete(&event);
  return value;
}

static bool read_items(llmprof_yaml_reader *r, llmprof_value *list,
                       size_t depth) {
  for (;;) {
    yaml_event_t event;
    if (!llmprof_yaml_next(r, &event)) return false;
    bool end = event.type == YAML_SEQUENCE_END_EVENT;
    llmprof_value *item = end ? NULL : read_node(r, &event, depth);
    yaml_event_delete(&event);
    if (end) return true;
    if (!item) return false;
    if (!llmprof_value_append(list, item)) return llmprof_fail_nomem(r->err);
  }
}

static bool is_merge(const yaml_event_t *event) {
  size_t size;
  if (event->type != YAML_SCALAR_EVENT || event->data.scalar.tag ||
      event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
    return false;
  const char *text = text_of(event, &size);
  return size == 2 && memcmp(text, "<<", 2) == 0;
}

/* The bytes live as long as the event, or as what its alias is of. */
static bool read_key(llmprof_yaml_reader *r, const yaml_event_t *event,
                     const char **key, size_t *size) {
  if (event->type == YAML_ALIAS_EVENT) {
    const llmprof_value *node = llmprof_yaml_find_anchor(r, event);
    if (!node) return false;
    if (llmprof_value_type(node) != LLMPROF_STRING)
      return llmprof_yaml_fail_at(r, LLMPROF_UNSUPPORTED, event,
                                  "key is not a string");
    *key = llmprof_value_string(node, size);
    return true;
  }
  if (event->type != YAML_SCALAR_EVENT)
    return llmprof_yaml_fail_at(r, LLMPROF_UNSUPPORTED, event,
                                "key is a list or a map");
  *key = text_of(event, size);
  const yaml_char_t *anchor = event->data.scalar.anchor;
  return check_tag(r, event, event->data.scalar.tag, LLMPROF_STRING) &&
         (!anchor || llmprof_yaml_remember(
                         r, anchor, llmprof_value_new_string(*key, *size)));
}

static bool fail_duplicate(const llmprof_yaml_reader *r,
                           const yaml_event_t *event, const char *key,
                           size_t size) {
  char quoted[LLMPROF_LEX_QUOTED];
  return llmprof_yaml_fail_at(r, LLMPROF_SYNTAX, event, "duplicate key %s",
                              llmprof_lex_quote(quoted, key, size));
}

static bool read_pair(llmprof_yaml_reader *r, const yaml_event_t *event,
                      llmprof_value *map, size_t depth) {
  const char *key = NULL;
  size_t size = 0;
  if (!read_key(r, event, &key, &size)) return false;
  if (llmprof_value_get(map, key, size))
    return fail_duplicate(r, event, key, size);
  r->text += size; /* the limit is checked with the value */
  size_t index = llmprof_value_count(map);
  if (!llmprof_value_set(map, key, size, llmprof_value_new_null()))
    return llmprof_fail_nomem(r->err);
  llmprof_value *value = read_next(r, depth);
  if (!value) return false;
  key = llmprof_value_key(map, index, &size);
  return llmprof_value_set(map, key, size, value) || llmprof_fail_nomem(r->err);
}

/* Entries of `from` whose keys the map does not have yet. */
static bool merge_map(llmprof_yaml_reader *r, const yaml_event_t *event,
                      llmprof_value *map, const llmprof_value *from,
                      size_t depth) {
  if (llmprof_value_type(from) != LLMPROF_MAP)
    return llmprof_yaml_fail_at(r, LLMPROF_SYNTAX, event,
                                "<< takes a map or a list of maps");
  for (size_t i = 0; i < llmprof_value_count(from); i++) {
    size_t size;
    const char *key = llmprof_value_key(from, i, &size);
    if (llmprof_value_get(map, key, size)) continue;
    r->text += size;
    llmprof_value *item =
        llmprof_yaml_copy(r, event, llmprof_value_at(from, i), depth);
    if (!item) return false;
    if (!llmprof_value_set(map, key, size, item))
      return llmprof_fail_nomem(r->err);
  }
  return true;
}

static bool merge(llmprof_yaml_reader *r, const yaml_event_t *event,
                  llmprof_value *map, const llmprof_value *from, size_t depth) {
  if (llmprof_value_type(from) != LLMPROF_LIST)
    return merge_map(r, event, map, from, depth);
  for (size_t i = 0; i < llmprof_value_count(from); i++) {
    if (!merge_map(r, event, map, llmprof_value_at(from, i), depth))
      return false;
  }
  return true;
}

/* What follows a map's `<<`, and where that stands. */
typedef struct merging {
  yaml_event_t key;
  bool seen;
  llmprof_value *from;
} merging;

static bool read_merge(llmprof_yaml_reader *r, const yaml_event_t *event,
                       merging *m, size_t depth) {
  if (m->seen) return fail_duplicate(r, event, "<<", 2);
  m->seen = true;
  m->key.start_mark = event->start_mark;
  m->from = read_next(r, depth);
  return m->from;
}

/* The map's own keys win, so that merging comes last. */
static bool read_pairs(llmprof_yaml_reader *r, llmprof_value *map,
                       size_t depth) {
  merging m = {0};
  bool ok = true, end = false;
  while (ok && !end) {
    yaml_event_t event;
    ok = llmprof_yaml_next(r, &event);
    if (!ok) break;
    end = event.type == YAML_MAPPING_END_EVENT;
    if (is_merge(&event))
      ok = read_merge(r, &event, &m, depth);
    else if (!end)
      ok = read_pair(r, &event, map, depth);
    yaml_event_delete(&event);
  }
  ok = ok && (!m.seen || merge(r, &m.key, map, m.from, depth));
  llmprof_value_free(m.from);
  return ok;
}

static llmprof_value *read_holder(llmprof_yaml_reader *r,
                                  const yaml_event_t *event, size_t depth) {
  bool map = event->type == YAML_MAPPING_START_EVENT;
  const yaml_char_t *tag =
      map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
  if (!llmprof_yaml_count(r, event, 0) ||
      !llmprof_yaml_check_depth(r, event, depth) ||
      !check_tag(r, event, tag, map ? LLMPROF_MAP : LLMPROF_LIST))
    return NULL;
  llmprof_value *value = llmprof_yaml_made(r, map ? llmprof_value_new_map()
                                                  : llmprof_value_new_list());
  if (value &&
      (map ? read_pairs(r, value, depth) : read_items(r, value, depth)))
    return value;
  llmprof_value_free(value);
  return NULL;
}

static llmprof_value *read_node(llmprof_yaml_reader *r,
                                const yaml_event_t *event, size_t depth) {
  if (event->type == YAML_ALIAS_EVENT) {
    const llmprof_value *node = llmprof_yaml_find_anchor(r, event);
    return node ? llmprof_yaml_copy(r, event, node, depth) : NULL;
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
  llmprof_value *copy = llmprof_yaml_copy(r, event, value, 0);
  if (copy && llmprof_yaml_remember(r, anchor, copy)) return value;
  llmprof_value_free(value);
  return NULL;
}

/* ---- in and out ---- */

/* Drop the next event and tell its type. */
static bool skip(llmprof_yaml_reader *r, yaml_event_type_t *type,
                 yaml_mark_t *mark) {
  yaml_event_t event;
  if (!llmprof_yaml_next(r, &event)) return false;
  *type = event.type;
  *mark = event.start_mark;
  yaml_event_delete(&event);
  return true;
}

static llmprof_value *read_document(llmprof_yaml_reader *r) {
  yaml_event_type_t type;
  yaml_event_t at = {0};
  if (!skip(r, &type, &at.start_mark) || !skip(r, &type, &at.start_mark))
    return NULL; /* the start of the stream, then of the document */
  if (type == YAML_STREAM_END_EVENT)
    return llmprof_yaml_made(r, llmprof_value_new_null());
  llmprof_value *value = read_next(r, 0);
  bool ok =
      value && skip(r, &type, &at.start_mark) && skip(r, &type, &at.start_mark);
  if (ok && type != YAML_STREAM_END_EVENT)
    ok = llmprof_yaml_fail_at(r, LLMPROF_UNSUPPORTED, &at,
                              "a second document starts here");
  if (ok) return value;
  llmprof_value_free(value);
  return NULL;
}

static llmprof_limits with_defaults(const llmprof_limits *given) {
  return llmprof_lex_limits(given,
                            (llmprof_limits){.max_depth = LLMPROF_YAML_DEPTH,
                                             .max_size = LLMPROF_YAML_SIZE,
                                             .max_nodes = LLMPROF_YAML_NODES});
}

/* libyaml compares every %TAG with all before it: a megabyte of them would
 * take ten seconds. They stand at the start of a line; each of these bytes can
 * be the last of what libyaml takes for a line break or a byte order mark. */
static bool check_directives(const llmprof_yaml_reader *r) {
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

static llmprof_value *read_all(llmprof_yaml_reader *r) {
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
                                  const char *name,
                                  const llmprof_limits *limits,
                                  llmprof_error *err) {
  llmprof_yaml_reader r = {
      .name = name, .bytes = bytes, .size = size, .err = err};
  r.limits = with_defaults(limits);
  if (size > r.limits.max_size) {
    llmprof_fail_size(err, name, r.limits.max_size);
    return NULL;
  }
  return check_directives(&r) ? read_all(&r) : NULL;
}

llmprof_value *llmprof_yaml_load(const char *path, const llmprof_limits *limits,
                                 llmprof_error *err) {
  llmprof_buffer text = {0};
  llmprof_value *value = NULL;
  if (llmprof_fs_read(path, with_defaults(limits).max_size, &text, err))
    value = llmprof_yaml_parse(text.bytes, text.size, path, limits, err);
  llmprof_buffer_free(&text);
  return value;
}
