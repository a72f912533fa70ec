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

/* The fields of an event that are wanted; args: inside "args". */
typedef enum field {
  PHASE,
  CATEGORY,
  NAME,
  START,
  DURATION,
  PID,
  TID,
  ARGS,
  EXTERNAL_ID,
  CORRELATION,
  DEVICE,
  CONTEXT,
  STREAM,
  BYTES,
  REGISTERS,
  GRAPH_NODE,
  GRID,
  BLOCK,
  SHAPES,
  LABEL,
  GROUP,
  GROUP_RANKS,
  DTYPE,
  ELEMENTS_IN,
  ELEMENTS_OUT,
  MEMORY_DEVICE,
  DEVICE_TYPE,
  ALLOCATED,
  RESERVED,
  PROCESS, /* PID as text */
  FIELDS,
  UNWANTED = FIELDS,
} field;

typedef struct scanner {
  const char *at, *end;
  llmprof_buffer *strings;
  llmprof_chrome_event *event;
  size_t places[FIELDS]; /* 1 + where in the strings, 0: not there */
  unsigned seen;         /* a bit for each field */
  unsigned depth;        /* brackets that are open */
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

static bool keep_string(scanner *s, field what) {
  const char *begin = s->at;
  span string;
  if (!take_string(s, &string)) return false;
  s->places[what] = s->strings->size + 1;
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
  span key;
  return skip_space(s) && *s->at == '"' && take_string(s, &key) && take(s, ':');
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
static bool keep_shapes(scanner *s) {
  const char *at = s->at;
  if (*at != '[') return skip_value(s);
  if (!skip_value(s)) return false;
  s->places[SHAPES] = s->strings->size + 1;
  for (; at < s->at; at++)
    if (!is_space(*at)) llmprof_buffer_putc(s->strings, *at);
  llmprof_buffer_putc(s->strings, '\0');
  return !s->strings->failed;
}

/* ---- fields ---- */

typedef struct key {
  const char *name;
  field what;
} key;

static const key event_keys[] = {
    {"ph", PHASE}, {"cat", CATEGORY}, {"name", NAME},
    {"ts", START}, {"dur", DURATION}, {"pid", PID},
    {"tid", TID},  {"args", ARGS},    {NULL, UNWANTED},
};

static const key argument_keys[] = {
    {"External id", EXTERNAL_ID},
    {"external id", EXTERNAL_ID},
    {"correlation", CORRELATION},
    {"device", DEVICE},
    {"Device Id", MEMORY_DEVICE},
    {"Device Type", DEVICE_TYPE},
    {"Total Allocated", ALLOCATED},
    {"Total Reserved", RESERVED},
    {"context", CONTEXT},
    {"stream", STREAM},
    {"bytes", BYTES},
    {"registers per thread", REGISTERS},
    {"graph node id", GRAPH_NODE},
    {"grid", GRID},
    {"block", BLOCK},
    {"Input Dims", SHAPES},
    {"Input dims", SHAPES},
    {"name", LABEL},
    {"Process Group Name", GROUP},
    {"Process Group Ranks", GROUP_RANKS},
    {"dtype", DTYPE},
    {"In msg nelems", ELEMENTS_IN},
    {"Out msg nelems", ELEMENTS_OUT},
    {NULL, UNWANTED},
};

static field find_key(const key *keys, span name) {
  for (; name.size && keys->name; keys++) {
    if (*name.bytes == *keys->name && strlen(keys->name) == name.size &&
        memcmp(name.bytes, keys->name, name.size) == 0)
      return keys->what;
  }
  return UNWANTED;
}

static bool scan_map(scanner *s, const key *keys);

static bool take_field(scanner *s, field what) {
  llmprof_chrome_event *event = s->event;
  int64_t *const integers[FIELDS] = {
      [PID] = &event->pid,
      [EXTERNAL_ID] = &event->external_id,
      [CORRELATION] = &event->correlation,
      [DEVICE] = &event->device,
      [MEMORY_DEVICE] = &event->memory_device,
      [DEVICE_TYPE] = &event->device_type,
      [ALLOCATED] = &event->allocated,
      [RESERVED] = &event->reserved,
      [CONTEXT] = &event->context,
      [STREAM] = &event->stream,
      [BYTES] = &event->bytes,
      [REGISTERS] = &event->registers,
      [GRAPH_NODE] = &event->graph_node,
      [ELEMENTS_IN] = &event->elements_in,
      [ELEMENTS_OUT] = &event->elements_out,
  };
  switch (what) {
  case START:
    return take_time(s, &event->start);
  case DURATION:
    return take_time(s, &event->duration);
  case SHAPES:
    return keep_shapes(s);
  case PHASE:
  case CATEGORY:
  case NAME:
  case LABEL:
  case GROUP:
  case GROUP_RANKS:
  case DTYPE:
    return *s->at == '"' ? keep_string(s, what) : skip_value(s);
  case GRID:
  case BLOCK:
    return *s->at == '['
               ? take_triple(s, what == GRID ? event->grid : event->block)
               : skip_value(s);
  case PID:
    if (*s->at == '"') return keep_string(s, PROCESS);
    break;
  case TID:
    return take_thread(s, &event->tid);
  case ARGS:
    return *s->at == '{' ? scan_map(s, argument_keys) : skip_value(s);
  case UNWANTED:
    return skip_value(s);
  default:
    break;
  }
  return take_whole(s, integers[what]);
}

/* The first of its key counts. */
static bool is_first(scanner *s, field what) {
  if (what == UNWANTED) return true;
  bool first = !(s->seen & 1u << what);
  s->seen |= 1u << what;
  return first;
}

static bool scan_pair(scanner *s, const key *keys) {
  span name;
  if (!skip_space(s) || *s->at != '"' || !take_string(s, &name) ||
      !take(s, ':') || !skip_space(s))
    return false;
  field what = find_key(keys, name);
  return is_first(s, what) ? take_field(s, what) : skip_value(s);
}

static bool scan_map(scanner *s, const key *keys) {
  if (!enter(s)) return false;
  if (take(s, '}')) return s->depth--, true;
  do {
    if (!scan_pair(s, keys)) return false;
  } while (take(s, ','));
  return leave(s, '}');
}

static const char *string_of(const scanner *s, field what) {
  return s->places[what] ? s->strings->bytes + s->places[what] - 1 : NULL;
}

const char *llmprof_chrome_scan(const char *at, const char *end,
                                llmprof_buffer *strings,
                                llmprof_chrome_event *event,
                                const char **stuck) {
  *event = llmprof_chrome_nothing;
  scanner s = {.at = at, .end = end, .strings = strings, .event = event};
  llmprof_buffer_clear(strings);
  bool ok = scan_map(&s, event_keys);
  *stuck = s.at < end ? s.at : end;
  if (!ok) return NULL;
  event->phase = string_of(&s, PHASE);
  event->category = string_of(&s, CATEGORY);
  event->name = string_of(&s, NAME);
  event->shapes = string_of(&s, SHAPES);
  event->label = string_of(&s, LABEL);
  event->group = string_of(&s, GROUP);
  event->group_ranks = string_of(&s, GROUP_RANKS);
  event->dtype = string_of(&s, DTYPE);
  event->process = string_of(&s, PROCESS);
  return s.at;
}
