/* A value is checked against each keyword of its rule, in the order of the
 * schema. */
#include "formats/schema.h"

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "formats/json.h"
#include "llmprof/alloc.h"
#include "text/path.h"

enum {
  MOST_REFERENCES = 32, /* one behind the other; more are a circle */
  SHOWN = 61            /* of a value in a message, with the NUL; bytes */
};

static const char suffix[] = ".schema.json", definitions[] = "/$defs/";

struct llmprof_schemas {
  llmprof_value *by_name; /* a map */
};

llmprof_schemas *llmprof_schemas_new(void) {
  llmprof_schemas *made = llmprof_zalloc(1, sizeof *made);
  if (made) made->by_name = llmprof_value_new_map();
  if (made && made->by_name) return made;
  llmprof_free(made);
  return NULL;
}

void llmprof_schemas_free(llmprof_schemas *schemas) {
  if (!schemas) return;
  llmprof_value_free(schemas->by_name);
  llmprof_free(schemas);
}

bool llmprof_schemas_add(llmprof_schemas *schemas, const char *name,
                         const char *text, size_t size, llmprof_error *err) {
  size_t length = strlen(name);
  if (llmprof_value_get(schemas->by_name, name, length)) return true;
  llmprof_value *tree = llmprof_json_parse(text, size, name, err);
  if (!tree) return false;
  return llmprof_value_set(schemas->by_name, name, length, tree) ||
         llmprof_fail_nomem(err);
}

/* ---- references ---- */

/* A rule and the schema that it is of. */
typedef struct place {
  const llmprof_value *schema, *rule;
} place;

static bool is_map(const llmprof_value *value) {
  return value && llmprof_value_type(value) == LLMPROF_MAP;
}

static bool is_list(const llmprof_value *value) {
  return value && llmprof_value_type(value) == LLMPROF_LIST;
}

static const llmprof_value *field(const llmprof_value *map, const char *name) {
  return is_map(map) ? llmprof_value_get(map, name, strlen(name)) : NULL;
}

static bool is_text(const llmprof_value *value) {
  return value && llmprof_value_type(value) == LLMPROF_STRING;
}

/* The size of the name before ".schema.json" in a reference; 0: of none. */
static size_t file_size(const char *target) {
  size_t size = strcspn(target, "#"), least = sizeof suffix - 1;
  bool is_file =
      size > least && memcmp(target + size - least, suffix, least) == 0;
  return is_file ? size - least : 0;
}

/* What a reference of a schema is to; its rule is NULL where that is none. */
static place follow(const llmprof_schemas *schemas, place from,
                    const llmprof_value *reference) {
  place to = {from.schema, NULL};
  if (!is_text(reference)) return to;
  const char *target = llmprof_value_string(reference, NULL);
  size_t file = file_size(target), own = strcspn(target, "#");
  if (own) to.schema = llmprof_value_get(schemas->by_name, target, file);
  target += own;
  if (own && !*target) to.rule = to.schema;
  if (*target++ != '#' ||
      strncmp(target, definitions, sizeof definitions - 1) != 0)
    return to;
  if (is_map(to.schema))
    to.rule = field(field(to.schema, "$defs"), target + sizeof definitions - 1);
  return to;
}

static const char *lacking_below(const llmprof_schemas *schemas,
                                 const llmprof_value *node, size_t *size) {
  const llmprof_value *reference = field(node, "$ref");
  if (is_text(reference)) {
    const char *target = llmprof_value_string(reference, NULL);
    *size = file_size(target);
    if (*size && !llmprof_value_get(schemas->by_name, target, *size))
      return target;
  }
  for (size_t i = 0;
       (is_map(node) || is_list(node)) && i < llmprof_value_count(node); i++) {
    const llmprof_value *below = llmprof_value_at(node, i);
    const char *found = lacking_below(schemas, below, size);
    if (found) return found;
  }
  return NULL;
}

const char *llmprof_schemas_lacking(const llmprof_schemas *schemas,
                                    size_t *size) {
  return lacking_below(schemas, schemas->by_name, size);
}

/* ---- what is wrong ---- */

typedef struct check {
  const llmprof_schemas *schemas;
  place at;
  unsigned references;      /* that led here, without a step down */
  const llmprof_path *path; /* to the value */
  llmprof_error *err;
} check;

/* The value does not fit: "$.stages[1].name: " and what is wrong. */
__attribute__((format(printf, 2, 3))) static bool wrong(const check *c,
                                                        const char *fmt, ...) {
  char where[256] = "", what[640];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  if (c->path) llmprof_path_text(c->path, where, sizeof where);
  return llmprof_fail(c->err, LLMPROF_SYNTAX, "$%s%s: %s",
                      *where && *where != '[' ? "." : "", where, what);
}

/* The schema has what is not known here. */
static bool unknown(const check *c, const char *what, const char *name) {
  return llmprof_fail(c->err, LLMPROF_UNSUPPORTED, "the schema: %s '%s'", what,
                      name);
}

static const char *const type_names[] = {
    [LLMPROF_NULL] = "null",     [LLMPROF_BOOL] = "boolean",
    [LLMPROF_INT] = "integer",   [LLMPROF_DOUBLE] = "number",
    [LLMPROF_STRING] = "string", [LLMPROF_LIST] = "array",
    [LLMPROF_MAP] = "object"};

/* A value for a message, as JSON; what is long only by its type. */
static const char *shown(const llmprof_value *value, char room[SHOWN]) {
  llmprof_type type = llmprof_value_type(value);
  llmprof_buffer text = {0};
  if (llmprof_json_write(value, 0, &text, NULL) && text.size < SHOWN)
    memcpy(room, text.bytes, text.size + 1);
  else if (type == LLMPROF_STRING)
    strcpy(room, "a long string");
  else
    snprintf(room, SHOWN, "%s %s", type == LLMPROF_DOUBLE ? "a" : "an",
             type_names[type]);
  llmprof_buffer_free(&text);
  return room;
}

/* "at least 1 expected, got 0" */
static bool expected(const check *c, const char *what,
                     const llmprof_value *wanted, const llmprof_value *value) {
  char room[SHOWN];
  llmprof_buffer text = {0};
  bool ok = llmprof_json_write(wanted, 0, &text, NULL);
  wrong(c, "%s%s expected, got %s", what, ok ? text.bytes : "another value",
        shown(value, room));
  llmprof_buffer_free(&text);
  return false;
}

/* ---- values ---- */

static bool fits(const check *c, const llmprof_value *value);

static bool fits_below(const check *c, const llmprof_value *rule,
                       const llmprof_path *path, const llmprof_value *value) {
  const check below = {c->schemas, {c->at.schema, rule}, 0, path, c->err};
  return fits(&below, value);
}

static bool is_number(const llmprof_value *value) {
  llmprof_type type = llmprof_value_type(value);
  return type == LLMPROF_INT || type == LLMPROF_DOUBLE;
}

/* Is a double one of the integers of 64 bits? */
static bool is_whole(double number) {
  return number >= -0x1p63 && number < 0x1p63 && floor(number) == number;
}

static bool is_of(const llmprof_value *value, const char *name) {
  llmprof_type type = llmprof_value_type(value);
  if (strcmp(type_names[type], name) == 0) return true;
  if (type == LLMPROF_INT) return strcmp(name, "number") == 0;
  return type == LLMPROF_DOUBLE && strcmp(name, "integer") == 0 &&
         is_whole(llmprof_value_double(value));
}

static bool fits_type(const check *c, const llmprof_value *types,
                      const llmprof_value *value) {
  char names[80] = "", room[SHOWN];
  bool one = !is_list(types);
  size_t count = one ? 1 : llmprof_value_count(types), size = 0;
  for (size_t i = 0; i < count; i++) {
    const llmprof_value *type = one ? types : llmprof_value_at(types, i);
    if (!is_text(type)) return unknown(c, "no type of", "type");
    const char *name = llmprof_value_string(type, NULL);
    if (is_of(value, name)) return true;
    if (size < sizeof names)
      size += (size_t)snprintf(names + size, sizeof names - size, "%s%s",
                               i ? " or " : "", name);
  }
  return wrong(c, "%s expected, got %s", names, shown(value, room));
}

static double real(const llmprof_value *number) {
  return llmprof_value_type(number) == LLMPROF_INT
             ? (double)llmprof_value_int(number)
             : llmprof_value_double(number);
}

static bool is_at_most(const llmprof_value *a, const llmprof_value *b) {
  if (llmprof_value_type(a) == LLMPROF_INT &&
      llmprof_value_type(b) == LLMPROF_INT)
    return llmprof_value_int(a) <= llmprof_value_int(b);
  return real(a) <= real(b);
}

static bool fits_minimum(const check *c, const llmprof_value *least,
                         const llmprof_value *value) {
  return !is_number(value) || is_at_most(least, value) ||
         expected(c, "at least ", least, value);
}

static bool fits_maximum(const check *c, const llmprof_value *most,
                         const llmprof_value *value) {
  return !is_number(value) || is_at_most(value, most) ||
         expected(c, "at most ", most, value);
}

static bool are_equal(const llmprof_value *a, const llmprof_value *b) {
  size_t size, other;
  if (is_number(a) && is_number(b)) return is_at_most(a, b) && is_at_most(b, a);
  if (llmprof_value_type(a) != llmprof_value_type(b)) return false;
  switch (llmprof_value_type(a)) {
  case LLMPROF_NULL:
    return true;
  case LLMPROF_BOOL:
    return llmprof_value_bool(a) == llmprof_value_bool(b);
  case LLMPROF_STRING: {
    const char *left = llmprof_value_string(a, &size);
    const char *right = llmprof_value_string(b, &other);
    return size == other && memcmp(left, right, size) == 0;
  }
  default:
    return false;
  }
}

static bool fits_const(const check *c, const llmprof_value *wanted,
                       const llmprof_value *value) {
  return are_equal(wanted, value) || expected(c, "", wanted, value);
}

static bool fits_enum(const check *c, const llmprof_value *choices,
                      const llmprof_value *value) {
  for (size_t i = 0; i < llmprof_value_count(choices); i++)
    if (are_equal(llmprof_value_at(choices, i), value)) return true;
  return expected(c, "one of ", choices, value);
}

/* The expression is one that means the same to POSIX: classes without a
 * backslash in them, * + {n}, and a backslash before a punctuation mark. */
static bool fits_pattern(const check *c, const llmprof_value *expression,
                         const llmprof_value *value) {
  regex_t compiled;
  size_t size;
  char room[SHOWN];
  const char *source =
      is_text(expression) ? llmprof_value_string(expression, NULL) : "(";
  if (strpbrk(source, "|()?")) return unknown(c, "pattern", source);
  if (!is_text(value)) return true;
  const char *text = llmprof_value_string(value, &size);
  if (regcomp(&compiled, source, REG_EXTENDED) != 0)
    return unknown(c, "pattern", source);
  regmatch_t all = {0, (regoff_t)size};
  bool ok = regexec(&compiled, text, 1, &all, REG_STARTEND) == 0;
  regfree(&compiled);
  return ok || wrong(c, "%s does not match %s", shown(value, room), source);
}

/* ---- lists and objects ---- */

static bool fits_items(const check *c, const llmprof_value *rule,
                       const llmprof_value *value) {
  llmprof_path path = {.up = c->path};
  for (size_t i = 0; is_list(value) && i < llmprof_value_count(value); i++) {
    path.index = i + 1;
    if (!fits_below(c, rule, &path, llmprof_value_at(value, i))) return false;
  }
  return true;
}

static bool fits_min_items(const check *c, const llmprof_value *least,
                           const llmprof_value *value) {
  size_t count = is_list(value) ? llmprof_value_count(value) : 0;
  return !is_list(value) || (double)count >= real(least) ||
         wrong(c, "at least %.0f items expected, got %zu", real(least), count);
}

static bool fits_max_items(const check *c, const llmprof_value *most,
                           const llmprof_value *value) {
  size_t count = is_list(value) ? llmprof_value_count(value) : 0;
  return !is_list(value) || (double)count <= real(most) ||
         wrong(c, "at most %.0f items expected, got %zu", real(most), count);
}

/* The first of a list of names that is no key of a map; NULL: all are. */
static const char *lacking(const llmprof_value *map,
                           const llmprof_value *names) {
  for (size_t i = 0; is_list(names) && i < llmprof_value_count(names); i++) {
    const llmprof_value *name = llmprof_value_at(names, i);
    size_t size;
    if (!is_text(name)) continue;
    const char *key = llmprof_value_string(name, &size);
    if (!llmprof_value_get(map, key, size)) return key;
  }
  return NULL;
}

static bool fits_required(const check *c, const llmprof_value *names,
                          const llmprof_value *value) {
  const char *name = is_map(value) ? lacking(value, names) : NULL;
  return !name || wrong(c, "no '%s'", name);
}

/* Where one key is there, others have to be. */
static bool fits_dependent(const check *c, const llmprof_value *needs,
                           const llmprof_value *value) {
  for (size_t i = 0; is_map(value) && i < llmprof_value_count(needs); i++) {
    size_t size;
    const char *trigger = llmprof_value_key(needs, i, &size);
    if (!llmprof_value_get(value, trigger, size)) continue;
    const char *name = lacking(value, llmprof_value_at(needs, i));
    if (name) return wrong(c, "'%s' without '%s'", trigger, name);
  }
  return true;
}

static bool fits_properties(const check *c, const llmprof_value *declared,
                            const llmprof_value *value) {
  llmprof_path path = {.up = c->path};
  for (size_t i = 0; is_map(value) && i < llmprof_value_count(value); i++) {
    path.key = llmprof_value_key(value, i, &path.size);
    const llmprof_value *rule =
        llmprof_value_get(declared, path.key, path.size);
    if (rule && !fits_below(c, rule, &path, llmprof_value_at(value, i)))
      return false;
  }
  return true;
}

/* `others` is of the keys that no property is declared for: false, or a rule.
 */
static bool fits_additional(const check *c, const llmprof_value *others,
                            const llmprof_value *value) {
  const llmprof_value *declared = field(c->at.rule, "properties");
  llmprof_path path = {.up = c->path};
  for (size_t i = 0; is_map(value) && i < llmprof_value_count(value); i++) {
    path.key = llmprof_value_key(value, i, &path.size);
    if (declared && llmprof_value_get(declared, path.key, path.size)) continue;
    if (!is_map(others)) return wrong(c, "unknown '%s'", path.key);
    if (!fits_below(c, others, &path, llmprof_value_at(value, i))) return false;
  }
  return true;
}

static bool fits_reference(const check *c, const llmprof_value *reference,
                           const llmprof_value *value) {
  const char *target =
      is_text(reference) ? llmprof_value_string(reference, NULL) : "";
  check to = {c->schemas, follow(c->schemas, c->at, reference),
              c->references + 1, c->path, c->err};
  if (!to.at.rule) return unknown(c, "nothing at", target);
  if (to.references > MOST_REFERENCES) return unknown(c, "a circle at", target);
  return fits(&to, value);
}

/* ---- rules ---- */

typedef struct keyword {
  const char *name, *argument; /* of that type; NULL: any that `fits` takes */
  bool (*fits)(const check *c, const llmprof_value *argument,
               const llmprof_value *value); /* NULL: whatever the value is */
} keyword;

static const keyword *keyword_of(const char *name) {
  static const keyword keywords[] = {
      {"type", NULL, fits_type},
      {"description", NULL, NULL},
      {"$ref", NULL, fits_reference},
      {"minimum", "number", fits_minimum},
      {"properties", "object", fits_properties},
      {"required", NULL, fits_required},
      {"additionalProperties", NULL, fits_additional},
      {"items", NULL, fits_items},
      {"enum", "array", fits_enum},
      {"const", NULL, fits_const},
      {"dependentRequired", "object", fits_dependent},
      {"maximum", "number", fits_maximum},
      {"minItems", "number", fits_min_items},
      {"maxItems", "number", fits_max_items},
      {"pattern", NULL, fits_pattern},
      {"$schema", NULL, NULL},
      {"$defs", NULL, NULL},
      {"title", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strcmp(keywords[i].name, name) == 0) return &keywords[i];
  return NULL;
}

/* Keys that are there are checked before those that are missing: of a misspelt
 * one the message says that it is unknown. */
static bool fits(const check *c, const llmprof_value *value) {
  const llmprof_value *required = NULL;
  if (!is_map(c->at.rule)) return unknown(c, "no rule for", "a value");
  for (size_t i = 0; i < llmprof_value_count(c->at.rule); i++) {
    const char *name = llmprof_value_key(c->at.rule, i, NULL);
    const keyword *one = keyword_of(name);
    const llmprof_value *argument = llmprof_value_at(c->at.rule, i);
    if (!one) return unknown(c, "unknown keyword", name);
    if (one->argument && !is_of(argument, one->argument))
      return unknown(c, "of another type", name);
    if (one->fits == fits_required)
      required = argument;
    else if (one->fits && !one->fits(c, argument, value))
      return false;
  }
  return !required || fits_required(c, required, value);
}

const llmprof_value *llmprof_schemas_get(const llmprof_schemas *schemas,
                                         const char *name) {
  return field(schemas->by_name, name);
}

bool llmprof_schemas_check(const llmprof_schemas *schemas, const char *name,
                           const char *definition, const llmprof_value *value,
                           llmprof_error *err) {
  const llmprof_value *schema = llmprof_schemas_get(schemas, name);
  check c = {schemas, {schema, schema}, 0, NULL, err};
  if (definition) c.at.rule = field(field(schema, "$defs"), definition);
  if (!c.at.rule)
    return unknown(&c, "nothing at", definition ? definition : name);
  return fits(&c, value);
}
