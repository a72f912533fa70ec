/* One event in one pass over its text: what is wanted of it is kept, the rest
 * is skipped. Strings are mostly plain, ASCII without escapes, and copied as
 * they are; the others are read by the reader of JSON. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "formats/json.h"
#include "text/lex.h"
#include "text/text.h"
#include "torch/chrome_internal.h"

enum {
  LONGEST_INTEGER = 15, /* digits that a double holds exactly */
};

/* How the value of a key is read. */
typedef enum kind {
  TEXT,
  TIME,
  INTEGER,
  TRIPLE,  /* [1, 2, 3] */
  SHAPES,  /* lists in lists, as text */
  PROCESS, /* a number or a text */
  THREAD,  /* a number, also as text */
  ARGS,    /* the map of the other keys */
} kind;

typedef struct key {
  const char *name;
  kind kind;
  size_t field; /* its offset in an event */
} key;

#define FIELD(name) offsetof(llmprof_chrome_event, name)

enum {
  EVENT_KEYS = 8 /* the others are inside "args" */
};

/* Spellings of one key stand together. */
static const key keys[] = {
    {"ph", TEXT, FIELD(phase)},
    {"cat", TEXT, FIELD(category)},
    {"name", TEXT, FIELD(name)},
    {"ts", TIME, FIELD(start)},
    {"dur", TIME, FIELD(duration)},
    {"pid", PROCESS, FIELD(pid)},
    {"tid", THREAD, FIELD(tid)},
    {"args", ARGS, 0},
    {"External id", INTEGER, FIELD(external_id)},
    {"external id", INTEGER, FIELD(external_id)},
    {"correlation", INTEGER, FIELD(correlation)},
    {"device", INTEGER, FIELD(device)},
    {"Device Id", INTEGER, FIELD(memory_device)},
    {"Device Type", INTEGER, FIELD(device_type)},
    {"Total Allocated", INTEGER, FIELD(allocated)},
    {"Total Reserved", INTEGER, FIELD(reserved)},
    {"context", INTEGER, FIELD(context)},
    {"stream", INTEGER, FIELD(stream)},
    {"bytes", INTEGER, FIELD(bytes)},
    {"registers per thread", INTEGER, FIELD(registers)},
    {"graph node id", INTEGER, FIELD(graph_node)},
    {"grid", TRIPLE, FIELD(grid)},
    {"block", TRIPLE, FIELD(block)},
    {"Input Dims", SHAPES, FIELD(shapes)},
    {"Input dims", SHAPES, FIELD(shapes)},
    {"name", TEXT, FIELD(label)},
    {"Process Group Name", TEXT, FIELD(group)},
    {"Process Group Ranks", TEXT, FIELD(group_ranks)},
    {"dtype", TEXT, FIELD(dtype)},
    {"In msg nelems", INTEGER, FIELD(elements_in)},
    {"Out msg nelems", INTEGER, FIELD(elements_out)},
};

enum {
  KEYS = sizeof keys / sizeof *keys
};

_Static_assert(KEYS <= 32, "each has a bit of `seen`");

typedef struct scanner {
  const char *at, *end;
  llmprof_buffer *strings;
  llmprof_chrome_event *event;
  size_t fields[KEYS], places[KEYS]; /* of texts: their offsets in the event
                                        and the strings */
  int texts;
  unsigned seen;  /* a bit for each key, that of its first spelling */
  unsigned depth; /* brackets that are open */
} scanner;

static bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool skip_space(scanner *s) {
  while (s->at < s->end && is_space(*s->at)) s->at++;
  return s->at < s->end;
}

static bool take(scanner *s, char wanted) {
  if (!skip_space(s) || *s->at != wanted) return false;
  s->at++;
  return true;
}

/* ---- strings ---- */

/* What ends a plain string, one way or another: the quote, an escape, what is
 * no ASCII or no text. */
static bool ends_plain(char c) {
  return (signed char)c < 0x20 || c == '"' || c == '\\';
}

/* What stands between the quotes. */
typedef struct span {
  const char *bytes;
  size_t size;
  bool is_plain;
} span;

static bool take_string(scanner *s, span *string) {
  const char *at = s->at + 1;
  while (at < s->end && !ends_plain(*at)) at++;
  string->is_plain = at < s->end && *at == '"';
  while (at < s->end && *at != '"') at += *at == '\\' ? 2 : 1;
  if (at >= s->end) return false;
  string->bytes = s->at + 1;
  string->size = (size_t)(at - string->bytes);
  s->at = at + 1;
  return true;
}

/* What writers get wrong is let pass: a control character is a space, and names
 * that are cut in the middle of a character still come out as UTF-8. */
static bool add_decoded(llmprof_buffer *out, const span *string) {
  llmprof_buffer text = {0};
  llmprof_error why = {0};
  llmprof_buffer_putc(&text, '"');
  llmprof_text_repair(&text, string->bytes, string->size);
  llmprof_buffer_putc(&text, '"');
  for (size_t i = 0; i < text.size; i++)
    if ((unsigned char)text.bytes[i] < 0x20) text.bytes[i] = ' ';
  llmprof_value *value =
      text.failed ? NULL : llmprof_json_parse(text.bytes, text.size, "", &why);
  if (value)
    llmprof_buffer_puts(out, llmprof_value_string(value, NULL));
  else
    out->failed |= text.failed || why.code == LLMPROF_NOMEM;
  bool ok = value != NULL;
  llmprof_value_free(value);
  llmprof_buffer_free(&text);
  return ok;
}

/* A text begins where the strings end. */
static void begin_text(scanner *s, size_t field) {
  s->fields[s->texts] = field;
  s->places[s->texts++] = s->strings->size;
}

static bool keep_string(scanner *s, size_t field) {
  const char *begin = s->at;
  span string;
  if (!take_string(s, &string)) return false;
  begin_text(s, field);
  if (string.is_plain) {
    llmprof_buffer_add(s->strings, string.bytes, string.size);
  } else if (!add_decoded(s->strings, &string)) {
    s->at = begin;
    return false;
  }
  llmprof_buffer_putc(s->strings, '\0');
  return !s->strings->failed;
}

/* ---- numbers ---- */

static void skip_digits(scanner *s) {
  while (s->at < s->end && llmprof_lex_is_digit(*s->at)) s->at++;
}

static bool skip_some_digits(scanner *s) {
  const char *begin = s->at;
  skip_digits(s);
  return s->at > begin;
}

static bool skip_fraction(scanner *s) {
  if (s->at == s->end || *s->at != '.') return true;
  s->at++;
  return skip_some_digits(s);
}

static bool skip_exponent(scanner *s) {
  if (s->at == s->end || (*s->at != 'e' && *s->at != 'E')) return true;
  s->at++;
  if (s->at < s->end && (*s->at == '+' || *s->at == '-')) s->at++;
  return skip_some_digits(s);
}

static bool is_number(const scanner *s) {
  return llmprof_lex_is_digit(*s->at) || (*s->at == '-' && s->at + 1 < s->end &&
                                          llmprof_lex_is_digit(s->at[1]));
}

/* As JSON has it, and whole: something follows. */
static bool skip_number(scanner *s) {
  s->at += *s->at == '-';
  bool leads_with_zero = *s->at++ == '0';
  if (leads_with_zero && s->at < s->end && llmprof_lex_is_digit(*s->at))
    return false;
  skip_digits(s);
  return skip_fraction(s) && skip_exponent(s) && s->at < s->end;
}

/* Absent unless it is a whole number that a double holds exactly. */
static int64_t whole_number(const char *text, size_t size) {
  double number;
  if (llmprof_lex_double(text, size, &number) != LLMPROF_OK ||
      fabs(number) > 9007199254740992.0 || number != floor(number))
    return LLMPROF_ABSENT;
  return (int64_t)number;
}

static bool take_integer(scanner *s, int64_t *value) {
  const char *begin = s->at;
  bool negative = *begin == '-', plain = true;
  if (!skip_number(s)) return false;
  *value = 0;
  for (const char *at = begin + negative; plain && at < s->at; at++) {
    plain = llmprof_lex_is_digit(*at) && at - begin < LONGEST_INTEGER;
    *value = *value * 10 + (*at - '0');
  }
  if (!plain)
    *value = whole_number(begin, (size_t)(s->at - begin));
  else if (negative)
    *value = -*value;
  return true;
}

/* ---- values that nobody wants ---- */

/* JSON's, and what printf and Python write for a number that is none. */
static bool skip_word(scanner *s) {
  static const char *const words[] = {"true", "false",    "null",
                                      "nan",  "infinity", "inf"};
  const char *begin = s->at + (*s->at == '-');
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t size = strlen(words[i]);
    if ((size_t)(s->end - begin) > size &&
        strncasecmp(begin, words[i], size) == 0) {
      s->at = begin + size;
      return true;
    }
  }
  return false;
}

static bool skip_value(scanner *s);

static bool skip_key(scanner *s) {
  span name;
  return skip_space(s) && *s->at == '"' && take_string(s, &name) &&
         take(s, ':');
}

static bool enter(scanner *s) {
  s->at++;
  return ++s->depth <= CHROME_MAX_DEPTH;
}

static bool leave(scanner *s, char closer) {
  s->depth--;
  return take(s, closer);
}

/* A list, or with keys a map, from its bracket on. */
static bool skip_group(scanner *s, char closer) {
  if (!enter(s)) return false;
  if (take(s, closer)) return s->depth--, true;
  do {
    if (closer == '}' && !skip_key(s)) return false;
    if (!skip_space(s) || !skip_value(s)) return false;
  } while (take(s, ','));
  return leave(s, closer);
}

static bool skip_value(scanner *s) {
  span string;
  if (*s->at == '[') return skip_group(s, ']');
  if (*s->at == '{') return skip_group(s, '}');
  if (*s->at == '"') return take_string(s, &string);
  return is_number(s) ? skip_number(s) : skip_word(s);
}

/* ---- values of fields ---- */

static bool take_time(scanner *s, int64_t *ns) {
  const char *begin = s->at;
  span string;
  if (*begin == '"') {
    if (!take_string(s, &string)) return false;
    *ns = llmprof_chrome_quoted_ns(string.bytes, string.size);
    return true;
  }
  if (!is_number(s)) return skip_value(s);
  if (!skip_number(s)) return false;
  *ns = llmprof_chrome_ns(begin, (size_t)(s->at - begin));
  return true;
}

static bool take_whole(scanner *s, int64_t *value) {
  return is_number(s) ? take_integer(s, value) : skip_value(s);
}

/* Until PyTorch 1.10 the numbers of threads were strings. */
static bool take_thread(scanner *s, int64_t *value) {
  span string;
  if (*s->at != '"') return take_whole(s, value);
  if (!take_string(s, &string)) return false;
  if (!string.size || strspn(string.bytes, "0123456789") < string.size ||
      !llmprof_lex_int(string.bytes, string.size, 10, value))
    *value = LLMPROF_ABSENT;
  return true;
}

/* [1, 2, 3]; of a list of any other length all are absent. */
static bool take_triple(scanner *s, int64_t *three) {
  int64_t items[4] = {LLMPROF_ABSENT, LLMPROF_ABSENT, LLMPROF_ABSENT};
  size_t count = 0;
  if (!enter(s)) return false;
  if (take(s, ']')) return s->depth--, true;
  do {
    if (!skip_space(s) || !take_whole(s, &items[count < 3 ? count : 3]))
      return false;
    count++;
  } while (take(s, ','));
  if (count == 3) memcpy(three, items, 3 * sizeof *three);
  return leave(s, ']');
}

/* Lists in lists, without the spaces. */
static bool keep_shapes(scanner *s, size_t field) {
  const char *at = s->at;
  if (*at != '[') return skip_value(s);
  if (!skip_value(s)) return false;
  begin_text(s, field);
  for (; at < s->at; at++)
    if (!is_space(*at)) llmprof_buffer_putc(s->strings, *at);
  llmprof_buffer_putc(s->strings, '\0');
  return !s->strings->failed;
}

/* ---- fields ---- */

/* Its first spelling; KEYS: nobody wants it. */
static int find_key(span name, bool in_args) {
  int i = in_args ? EVENT_KEYS : 0, end = in_args ? KEYS : EVENT_KEYS;
  for (; i < end; i++)
    if (name.size && *name.bytes == *keys[i].name &&
        strlen(keys[i].name) == name.size &&
        memcmp(name.bytes, keys[i].name, name.size) == 0)
      return i && keys[i - 1].field == keys[i].field ? i - 1 : i;
  return KEYS;
}

static bool scan_map(scanner *s, bool in_args);

static bool take_field(scanner *s, const key *of) {
  void *field = (char *)s->event + of->field;
  switch (of->kind) {
  case TIME:
    return take_time(s, field);
  case SHAPES:
    return keep_shapes(s, of->field);
  case TEXT:
    return *s->at == '"' ? keep_string(s, of->field) : skip_value(s);
  case TRIPLE:
    return *s->at == '[' ? take_triple(s, field) : skip_value(s);
  case PROCESS:
    if (*s->at == '"') return keep_string(s, FIELD(process));
    break;
  case THREAD:
    return take_thread(s, field);
  case ARGS:
    return *s->at == '{' ? scan_map(s, true) : skip_value(s);
  case INTEGER:
    break;
  }
  return take_whole(s, field);
}

/* The first of its key counts. */
static bool scan_pair(scanner *s, bool in_args) {
  span name;
  if (!skip_space(s) || *s->at != '"' || !take_string(s, &name) ||
      !take(s, ':') || !skip_space(s))
    return false;
  int number = find_key(name, in_args);
  if (number == KEYS || s->seen & 1u << number) return skip_value(s);
  s->seen |= 1u << number;
  return take_field(s, &keys[number]);
}

static bool scan_map(scanner *s, bool in_args) {
  if (!enter(s)) return false;
  if (take(s, '}')) return s->depth--, true;
  do {
    if (!scan_pair(s, in_args)) return false;
  } while (take(s, ','));
  return leave(s, '}');
}

const char *llmprof_chrome_scan(const char *at, const char *end,
                                llmprof_buffer *strings,
                                llmprof_chrome_event *event,
                                const char **stuck) {
  *event = llmprof_chrome_nothing;
  scanner s = {.at = at, .end = end, .strings = strings, .event = event};
  llmprof_buffer_clear(strings);
  bool ok = scan_map(&s, false);
  *stuck = s.at < end ? s.at : end;
  if (!ok) return NULL;
  for (int i = 0; i < s.texts; i++)
    *(const char **)(void *)((char *)event + s.fields[i]) =
        strings->bytes + s.places[i];
  return s.at;
}
