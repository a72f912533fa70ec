/* Schemas are gone through as they were read: a value is held against each
 * keyword of its rule. Whatever cannot be told makes it not fit. */
#include "llmprof/schema.h"

#include <math.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "llmprof/json.h"
#include "text/pattern.h"

enum {
  MOST_REFERENCES = 32 /* one behind the other; more are a circle */
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
  llmprof_value *tree = llmprof_json_parse(text, size, name, NULL, err);
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

/* ---- values ---- */

typedef struct check {
  const llmprof_schemas *schemas;
  place at;
  unsigned references; /* that led here, without a step down */
} check;

static bool fits(check c, const llmprof_value *value);

static bool fits_below(const check *c, const llmprof_value *rule,
                       const llmprof_value *value) {
  return fits((check){c->schemas, {c->at.schema, rule}, 0}, value);
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
  static const char *const names[] = {
      [LLMPROF_NULL] = "null",     [LLMPROF_BOOL] = "boolean",
      [LLMPROF_INT] = "integer",   [LLMPROF_DOUBLE] = "number",
      [LLMPROF_STRING] = "string", [LLMPROF_LIST] = "array",
      [LLMPROF_MAP] = "object"};
  llmprof_type type = llmprof_value_type(value);
  if (strcmp(names[type], name) == 0) return true;
  if (type == LLMPROF_INT) return strcmp(name, "number") == 0;
  return type == LLMPROF_DOUBLE && strcmp(name, "integer") == 0 &&
         is_whole(llmprof_value_double(value));
}

static bool fits_type(const check *c, const llmprof_value *types,
                      const llmprof_value *value) {
  (void)c;
  if (is_text(types)) return is_of(value, llmprof_value_string(types, NULL));
  for (size_t i = 0; is_list(types) && i < llmprof_value_count(types); i++) {
    const llmprof_value *type = llmprof_value_at(types, i);
    if (is_text(type) && is_of(value, llmprof_value_string(type, NULL)))
      return true;
  }
  return false;
}

static double real(const llmprof_value *number) {
  return llmprof_value_type(number) == LLMPROF_INT
             ? (double)llmprof_value_int(number)
             : llmprof_value_double(number);
}

/* Is a number at most another one, for sure? Integers are held against others
 * as such; what is rounded is only told where that is no matter. */
static bool is_at_most(const llmprof_value *a, const llmprof_value *b) {
  if (llmprof_value_type(a) == LLMPROF_INT &&
      llmprof_value_type(b) == LLMPROF_INT)
    return llmprof_value_int(a) <= llmprof_value_int(b);
  double left = real(a), right = real(b);
  return left < right || (left == right && fabs(left) < 0x1p53);
}

static bool fits_minimum(const check *c, const llmprof_value *least,
                         const llmprof_value *value) {
  (void)c;
  return !is_number(value) || (is_number(least) && is_at_most(least, value));
}

static bool fits_maximum(const check *c, const llmprof_value *most,
                         const llmprof_value *value) {
  (void)c;
  return !is_number(value) || (is_number(most) && is_at_most(value, most));
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
  (void)c;
  return are_equal(wanted, value);
}

static bool fits_enum(const check *c, const llmprof_value *choices,
                      const llmprof_value *value) {
  (void)c;
  for (size_t i = 0; is_list(choices) && i < llmprof_value_count(choices); i++)
    if (are_equal(llmprof_value_at(choices, i), value)) return true;
  return false;
}

/* ---- patterns ---- */

/* The class at `at` as often as {n} behind it says; returns what is behind. */
static const char *put_class(llmprof_buffer *out, const char *at) {
  const char *end = strchr(at + 1, ']');
  if (!end) return out->failed = true, at + 1;
  size_t size = (size_t)(++end - at), times = 1, digits = 0;
  if (memchr(at, '\\', size)) out->failed = true;
  if (*end == '{') digits = strspn(end + 1, "0123456789");
  if (digits && digits < 4 && end[1 + digits] == '}') {
    times = 0;
    for (size_t i = 1; i <= digits; i++)
      times = times * 10 + (size_t)(end[i] - '0');
    end += digits + 2;
  }
  while (times--) llmprof_buffer_add(out, at, size);
  return end;
}

/* An expression as a pattern of Lua's; false where that is not to be had. */
static bool put_pattern(llmprof_buffer *out, const char *expression) {
  if (strpbrk(expression, "|()%?")) return false;
  for (const char *at = expression; *at && !out->failed;) {
    if (*at == '[') {
      at = put_class(out, at);
    } else if (*at == '-' || (*at == '\\' && at[1])) {
      at += *at == '\\';
      llmprof_buffer_putc(out, '%');
      llmprof_buffer_putc(out, *at++);
    } else {
      llmprof_buffer_putc(out, *at++);
    }
  }
  return !out->failed;
}

static bool fits_pattern(const check *c, const llmprof_value *expression,
                         const llmprof_value *value) {
  (void)c;
  llmprof_buffer source = {0};
  llmprof_pattern pattern;
  llmprof_error ignored;
  size_t size;
  if (!is_text(value)) return true;
  const char *text = llmprof_value_string(value, &size);
  bool ok = is_text(expression) &&
            put_pattern(&source, llmprof_value_string(expression, NULL)) &&
            llmprof_pattern_compile(&pattern, source.bytes ? source.bytes : "",
                                    source.size, &ignored);
  if (ok) {
    ok = llmprof_pattern_is_in(&pattern, text, size);
    llmprof_pattern_free(&pattern);
  }
  llmprof_buffer_free(&source);
  return ok;
}

/* ---- lists and objects ---- */

static bool fits_items(const check *c, const llmprof_value *rule,
                       const llmprof_value *value) {
  for (size_t i = 0; is_list(value) && i < llmprof_value_count(value); i++)
    if (!fits_below(c, rule, llmprof_value_at(value, i))) return false;
  return true;
}

static bool is_count(const llmprof_value *value) {
  return llmprof_value_type(value) == LLMPROF_INT &&
         llmprof_value_int(value) >= 0;
}

static bool fits_min_items(const check *c, const llmprof_value *least,
                           const llmprof_value *value) {
  (void)c;
  return !is_list(value) ||
         (is_count(least) &&
          llmprof_value_count(value) >= (size_t)llmprof_value_int(least));
}

static bool fits_max_items(const check *c, const llmprof_value *most,
                           const llmprof_value *value) {
  (void)c;
  return !is_list(value) ||
         (is_count(most) &&
          llmprof_value_count(value) <= (size_t)llmprof_value_int(most));
}

/* Are all names of a list keys of a map? */
static bool has_all(const llmprof_value *map, const llmprof_value *names) {
  for (size_t i = 0; i < llmprof_value_count(names); i++) {
    const llmprof_value *name = llmprof_value_at(names, i);
    size_t size;
    if (!is_text(name)) return false;
    const char *key = llmprof_value_string(name, &size);
    if (!llmprof_value_get(map, key, size)) return false;
  }
  return true;
}

static bool fits_required(const check *c, const llmprof_value *names,
                          const llmprof_value *value) {
  (void)c;
  return !is_map(value) || (is_list(names) && has_all(value, names));
}

static bool fits_dependent(const check *c, const llmprof_value *needs,
                           const llmprof_value *value) {
  (void)c;
  if (!is_map(value)) return true;
  for (size_t i = 0; is_map(needs) && i < llmprof_value_count(needs); i++) {
    size_t size;
    const char *trigger = llmprof_value_key(needs, i, &size);
    const llmprof_value *names = llmprof_value_at(needs, i);
    if (!is_list(names)) return false;
    if (llmprof_value_get(value, trigger, size) && !has_all(value, names))
      return false;
  }
  return is_map(needs);
}

static bool fits_properties(const check *c, const llmprof_value *declared,
                            const llmprof_value *value) {
  if (!is_map(declared)) return false;
  for (size_t i = 0; is_map(value) && i < llmprof_value_count(value); i++) {
    size_t size;
    const char *key = llmprof_value_key(value, i, &size);
    const llmprof_value *rule = llmprof_value_get(declared, key, size);
    if (rule && !fits_below(c, rule, llmprof_value_at(value, i))) return false;
  }
  return true;
}

/* `others` is of the keys that no property is declared for: false, or a rule.
 */
static bool fits_additional(const check *c, const llmprof_value *others,
                            const llmprof_value *value) {
  const llmprof_value *declared = field(c->at.rule, "properties");
  for (size_t i = 0; is_map(value) && i < llmprof_value_count(value); i++) {
    size_t size;
    const char *key = llmprof_value_key(value, i, &size);
    bool is_declared = declared && llmprof_value_get(declared, key, size);
    if (!is_declared &&
        (!is_map(others) || !fits_below(c, others, llmprof_value_at(value, i))))
      return false;
  }
  return true;
}

static bool fits_reference(const check *c, const llmprof_value *reference,
                           const llmprof_value *value) {
  place to = follow(c->schemas, c->at, reference);
  if (!to.rule || c->references == MOST_REFERENCES) return false;
  return fits((check){c->schemas, to, c->references + 1}, value);
}

/* ---- rules ---- */

static bool fits_any(const check *c, const llmprof_value *argument,
                     const llmprof_value *value) {
  (void)c, (void)argument, (void)value;
  return true;
}

typedef bool (*keyword)(const check *c, const llmprof_value *argument,
                        const llmprof_value *value);

static keyword keyword_of(const char *name) {
  static const struct {
    const char *name;
    keyword fits;
  } keywords[] = {
      {"type", fits_type},
      {"description", fits_any},
      {"$ref", fits_reference},
      {"minimum", fits_minimum},
      {"properties", fits_properties},
      {"required", fits_required},
      {"additionalProperties", fits_additional},
      {"items", fits_items},
      {"enum", fits_enum},
      {"const", fits_const},
      {"dependentRequired", fits_dependent},
      {"maximum", fits_maximum},
      {"minItems", fits_min_items},
      {"maxItems", fits_max_items},
      {"pattern", fits_pattern},
      {"$schema", fits_any},
      {"$defs", fits_any},
      {"title", fits_any},
  };
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (*keywords[i].name == *name && strcmp(keywords[i].name, name) == 0)
      return keywords[i].fits;
  return NULL;
}

static bool fits(check c, const llmprof_value *value) {
  if (!is_map(c.at.rule)) return false;
  for (size_t i = 0; i < llmprof_value_count(c.at.rule); i++) {
    keyword one = keyword_of(llmprof_value_key(c.at.rule, i, NULL));
    if (!one || !one(&c, llmprof_value_at(c.at.rule, i), value)) return false;
  }
  return true;
}

const llmprof_value *llmprof_schemas_get(const llmprof_schemas *schemas,
                                         const char *name) {
  return field(schemas->by_name, name);
}

bool llmprof_schemas_fit(const llmprof_schemas *schemas, const char *name,
                         const llmprof_value *value) {
  const llmprof_value *schema = llmprof_schemas_get(schemas, name);
  return fits((check){schemas, {schema, schema}, 0}, value);
}
