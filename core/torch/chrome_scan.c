/* One event in one pass, straight from the piece of the file that it lies in.
 * Only the plain form that writers use is read here: ASCII without escapes,
 * numbers of JSON, each key once. All else is left to chrome_event.c, which
 * knows every case; both give the same event. */
#include <string.h>

#include "torch/chrome_internal.h"

enum {
  DEEPEST = 60,
  LONGEST_INTEGER = 15, /* digits that a double holds exactly */
  LONGEST_SHAPE = 9,    /* digits that cJSON prints as they are */
  LONGEST_NUMBER = 63,  /* of cJSON */
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
  chrome_text *text;
  llmprof_chrome_event *event;
  size_t strings[FIELDS]; /* 1 + where in the text's bytes, 0: not there */
  unsigned seen;          /* a bit for each field */
} scanner;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool skip_space(scanner *s) {
  while (s->at < s->end &&
         (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
    s->at++;
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

/* The bytes between the quotes. */
static bool take_string(scanner *s, const char **begin, size_t *size) {
  const char *at = s->at + 1;
  while (at < s->end && !ends_plain(*at)) at++;
  if (at == s->end || *at != '"') return false;
  *begin = s->at + 1;
  *size = (size_t)(at - *begin);
  s->at = at + 1;
  return true;
}

static bool keep_string(scanner *s, field what) {
  const char *begin;
  size_t size;
  if (*s->at != '"' || !take_string(s, &begin, &size)) return false;
  llmprof_buffer *bytes = &s->text->bytes;
  s->strings[what] = bytes->size + 1;
  llmprof_buffer_add(bytes, begin, size);
  llmprof_buffer_putc(bytes, '\0');
  return !bytes->failed;
}

/* ---- numbers ---- */

static void skip_digits(scanner *s) {
  while (s->at < s->end && is_digit(*s->at)) s->at++;
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

/* As JSON has it, and whole: something follows. */
static bool skip_number(scanner *s) {
  const char *begin = s->at;
  if (*s->at == '-') s->at++;
  const char *digits = s->at;
  if (!skip_some_digits(s) || (*digits == '0' && s->at - digits > 1))
    return false;
  return skip_fraction(s) && skip_exponent(s) && s->at < s->end &&
         s->at - begin <= LONGEST_NUMBER;
}

static bool take_time(scanner *s, int64_t *ns) {
  const char *begin = s->at;
  if (*begin == '"') {
    size_t size;
    if (!take_string(s, &begin, &size)) return false;
    *ns = llmprof_chrome_quoted_ns(begin, size);
    return true;
  }
  if ((*begin != '-' && !is_digit(*begin)) || !skip_number(s)) return false;
  *ns = llmprof_chrome_ns(begin, (size_t)(s->at - begin));
  return true;
}

static bool take_integer(scanner *s, int64_t *value) {
  const char *begin = s->at;
  bool negative = *begin == '-';
  if (!skip_number(s)) return false;
  const char *digits = begin + negative;
  if (s->at - digits > LONGEST_INTEGER) return false;
  *value = 0;
  for (const char *at = digits; at < s->at; at++) {
    if (!is_digit(*at)) return false; /* may be whole all the same */
    *value = *value * 10 + (*at - '0');
  }
  if (negative) *value = -*value;
  return true;
}

/* [1, 2, 3]; any other list is left to the tree. */
static bool take_triple(scanner *s, int64_t *three) {
  s->at++;
  for (int i = 0; i < 3; i++) {
    if ((i && !take(s, ',')) || !skip_space(s) ||
        (*s->at != '-' && !is_digit(*s->at)) || !take_integer(s, &three[i]))
      return false;
  }
  return take(s, ']');
}

/* ---- values that nobody wants ---- */

static bool skip_word(scanner *s) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t size = strlen(words[i]);
    if ((size_t)(s->end - s->at) > size && memcmp(s->at, words[i], size) == 0) {
      s->at += size;
      return true;
    }
  }
  return false;
}

static bool skip_scalar(scanner *s) {
  const char *begin;
  size_t size;
  if (*s->at == '"') return take_string(s, &begin, &size);
  if (*s->at == '-' || is_digit(*s->at)) return skip_number(s);
  return skip_word(s);
}

static bool skip_value(scanner *s, unsigned depth);

static bool skip_key(scanner *s) {
  const char *begin;
  size_t size;
  return skip_space(s) && *s->at == '"' && take_string(s, &begin, &size) &&
         take(s, ':');
}

/* A list, or with keys a map, from its bracket on. */
static bool skip_group(scanner *s, char closer, unsigned depth) {
  s->at++;
  if (take(s, closer)) return true;
  do {
    if (closer == '}' && !skip_key(s)) return false;
    if (!skip_space(s) || !skip_value(s, depth + 1)) return false;
  } while (take(s, ','));
  return take(s, closer);
}

static bool skip_value(scanner *s, unsigned depth) {
  if (depth > DEEPEST) return false;
  if (*s->at == '[') return skip_group(s, ']', depth);
  if (*s->at == '{') return skip_group(s, '}', depth);
  return skip_scalar(s);
}

/* ---- shapes ---- */

/* A number as cJSON would print it: itself. */
static bool is_shape_number(const char *begin, const char *end) {
  if (end - begin > LONGEST_SHAPE) return false;
  for (const char *at = begin; at < end; at++) {
    if (!is_digit(*at)) return false;
  }
  return true;
}

static bool copy_number(scanner *s) {
  const char *begin = s->at;
  if (!is_digit(*begin) || !skip_number(s) || !is_shape_number(begin, s->at))
    return false;
  llmprof_buffer_add(&s->text->bytes, begin, (size_t)(s->at - begin));
  return true;
}

/* Lists of whole numbers in lists, without the spaces. */
static bool copy_shapes(scanner *s, unsigned depth) {
  if (*s->at != '[') return copy_number(s);
  llmprof_buffer *bytes = &s->text->bytes;
  const char *comma = "";
  s->at++;
  llmprof_buffer_putc(bytes, '[');
  if (!take(s, ']')) {
    do {
      llmprof_buffer_puts(bytes, comma);
      comma = ",";
      if (depth > DEEPEST || !skip_space(s) || !copy_shapes(s, depth + 1))
        return false;
    } while (take(s, ','));
    if (!take(s, ']')) return false;
  }
  llmprof_buffer_putc(bytes, ']');
  return true;
}

static bool keep_shapes(scanner *s) {
  if (*s->at != '[') return skip_value(s, 1);
  s->strings[SHAPES] = s->text->bytes.size + 1;
  if (!copy_shapes(s, 0)) return false;
  llmprof_buffer_putc(&s->text->bytes, '\0');
  return !s->text->bytes.failed;
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

static field find_key(const key *keys, const char *name, size_t size) {
  for (; keys->name; keys++) {
    if (*name == *keys->name && strlen(keys->name) == size &&
        memcmp(name, keys->name, size) == 0)
      return keys->what;
  }
  return UNWANTED;
}

static bool scan_map(scanner *s, const key *keys);

static bool take_field(scanner *s, field what) {
  llmprof_chrome_event *event = s->event;
  int64_t *const integers[FIELDS] = {
      [PID] = &event->pid,
      [TID] = &event->tid,
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
  case PHASE:
  case CATEGORY:
  case NAME:
    return keep_string(s, what);
  case START:
    return take_time(s, &event->start);
  case DURATION:
    return take_time(s, &event->duration);
  case SHAPES:
    return keep_shapes(s);
  case LABEL:
  case GROUP:
  case GROUP_RANKS:
  case DTYPE:
    return *s->at == '"' ? keep_string(s, what) : skip_value(s, 1);
  case GRID:
  case BLOCK:
    return *s->at == '['
               ? take_triple(s, what == GRID ? event->grid : event->block)
               : skip_value(s, 1);
  case PID:
    if (*s->at == '"') return keep_string(s, PROCESS);
    break;
  case ARGS:
    return *s->at == '{' && scan_map(s, argument_keys);
  default:
    break;
  }
  bool is_number = *s->at == '-' || is_digit(*s->at);
  return what != UNWANTED && is_number ? take_integer(s, integers[what])
                                       : skip_value(s, 1);
}

/* The second of its key counts in one way here and in another there. */
static bool is_first(scanner *s, field what) {
  if (what == UNWANTED) return true;
  bool first = !(s->seen & 1u << what);
  s->seen |= 1u << what;
  return first;
}

static bool scan_pair(scanner *s, const key *keys) {
  const char *name;
  size_t size;
  if (!skip_space(s) || *s->at != '"' || !take_string(s, &name, &size) ||
      !take(s, ':') || !skip_space(s))
    return false;
  field what = size ? find_key(keys, name, size) : UNWANTED;
  return is_first(s, what) && take_field(s, what);
}

static bool scan_map(scanner *s, const key *keys) {
  s->at++;
  if (take(s, '}')) return true;
  do {
    if (!scan_pair(s, keys)) return false;
  } while (take(s, ','));
  return take(s, '}');
}

static const char *string_of(const scanner *s, field what) {
  return s->strings[what] ? s->text->bytes.bytes + s->strings[what] - 1 : NULL;
}

size_t llmprof_chrome_scan(const char *at, const char *end, chrome_text *text,
                           llmprof_chrome_event *event) {
  *event = llmprof_chrome_nothing;
  scanner s = {.at = at, .end = end, .text = text, .event = event};
  llmprof_buffer_clear(&text->bytes);
  if (!scan_map(&s, event_keys)) return 0;
  event->phase = string_of(&s, PHASE);
  event->category = string_of(&s, CATEGORY);
  event->name = string_of(&s, NAME);
  event->shapes = string_of(&s, SHAPES);
  event->label = string_of(&s, LABEL);
  event->group = string_of(&s, GROUP);
  event->group_ranks = string_of(&s, GROUP_RANKS);
  event->dtype = string_of(&s, DTYPE);
  event->process = string_of(&s, PROCESS);
  return (size_t)(s.at - at);
}
