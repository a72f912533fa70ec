/* Two layers. The outer one follows the text as it streams, byte by byte, only
 * as far as strings and brackets go, and gathers one event at a time. The inner
 * one walks over that event once, for what cJSON cannot do (exact times, words
 * that are no JSON), and lets cJSON make its tree. */
#include "llmprof/chrome_trace.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cjson_hooks.h"
#include "lex.h"
#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "llmprof/json.h"
#include "llmprof/text.h"
#include "source.h"

enum {
  MAX_EVENT = 16 * 1024 * 1024,
  MAX_DEPTH = 200,
  CJSON_LONGEST_NUMBER = 63,
};

typedef enum position {
  BEFORE, /* the list of events */
  INSIDE, /* it */
  AFTER,  /* the whole text */
  BROKEN, /* something failed */
} position;

struct llmprof_chrome {
  char *name;
  llmprof_source *source;
  const char *at, *end; /* what is left of the piece at hand */
  size_t line, column;  /* of at, from 1 */
  position position;
  bool in_object;      /* the list is an object's "traceEvents" */
  bool seen_events;    /* that key was there */
  llmprof_buffer text; /* the event, or a key */
  size_t text_line, text_column;
  cJSON *tree;
  char *shapes;
  llmprof_error *err;
};

/* ---- the text as it streams ---- */

static bool fail_here(llmprof_chrome *r, llmprof_code code, const char *what) {
  return llmprof_fail_at(r->err, code, r->name, r->line, r->column, "%s", what);
}

static void consume(llmprof_chrome *r, size_t size) {
  const char *end = r->at + size, *newline;
  while ((newline = memchr(r->at, '\n', (size_t)(end - r->at)))) {
    r->at = newline + 1;
    r->line++;
    r->column = 1;
  }
  r->column += (size_t)(end - r->at);
  r->at = end;
}

/* Is there another byte? False at the end and on failure: *ok tells. */
static bool more(llmprof_chrome *r, bool *ok) {
  *ok = true;
  if (r->at != r->end) return true;
  size_t size;
  *ok = llmprof_source_next(r->source, &r->at, &size, r->err);
  if (!*ok) size = 0;
  r->end = r->at + size;
  return size > 0;
}

/* The next character that is no space: '\0' at the end. */
static bool peek(llmprof_chrome *r, char *c) {
  bool ok;
  while (more(r, &ok)) {
    if (!memchr(" \t\r\n", *r->at, 4)) {
      *c = *r->at;
      return true;
    }
    consume(r, 1);
  }
  *c = '\0';
  return ok;
}

static bool expected(llmprof_chrome *r, const char *wanted) {
  char what[128 + LLMPROF_LEX_QUOTED], quoted[LLMPROF_LEX_QUOTED];
  if (r->at == r->end) {
    snprintf(what, sizeof what, "expected %s, found the end: cut short?",
             wanted);
  } else {
    snprintf(what, sizeof what, "expected %s, found %s", wanted,
             llmprof_lex_quote(quoted, r->at, 1));
  }
  return fail_here(r, LLMPROF_SYNTAX, what);
}

/* Follows one value from its first byte to its last. */
typedef struct follower {
  char closers[MAX_DEPTH];
  size_t depth;
  bool string, escaped;
} follower;

typedef enum step {
  GO_ON,
  LAST,   /* the value ends with this byte */
  BEYOND, /* it ended with the byte before */
  MISMATCH,
  TOO_DEEP,
} step;

static step in_string(follower *f, char c) {
  if (f->escaped) {
    f->escaped = false;
  } else if (c == '\\') {
    f->escaped = true;
  } else if (c == '"') {
    f->string = false;
    return f->depth ? GO_ON : LAST;
  }
  return GO_ON;
}

static step follow(follower *f, char c) {
  if (f->string) return in_string(f, c);
  switch (c) {
  case '"':
    f->string = true;
    return GO_ON;
  case '{':
  case '[':
    if (f->depth == MAX_DEPTH) return TOO_DEEP;
    f->closers[f->depth++] = c == '{' ? '}' : ']';
    return GO_ON;
  case '}':
  case ']':
    if (!f->depth) return BEYOND;
    if (f->closers[--f->depth] != c) return MISMATCH;
    return f->depth ? GO_ON : LAST;
  case ',':
  case ':':
  case ' ':
  case '\t':
  case '\r':
  case '\n':
    return f->depth ? GO_ON : BEYOND;
  default:
    return GO_ON;
  }
}

/* Keep bytes of a value, unless it is only passed over. */
static bool keep(llmprof_chrome *r, bool wanted, size_t size) {
  if (wanted) {
    llmprof_buffer_add(&r->text, r->at, size);
    if (r->text.failed) return llmprof_fail_nomem(r->err);
    if (r->text.size > MAX_EVENT)
      return llmprof_fail_at(r->err, LLMPROF_LIMIT, r->name, r->text_line,
                             r->text_column, "longer than %d MiB",
                             MAX_EVENT >> 20);
  }
  consume(r, size);
  return true;
}

/* The value that begins here, into r->text if wanted. */
static bool take_value(llmprof_chrome *r, bool wanted) {
  follower f = {.depth = 0};
  llmprof_buffer_clear(&r->text);
  r->text_line = r->line;
  r->text_column = r->column;
  bool ok;
  while (more(r, &ok)) {
    const char *at = r->at;
    step got = GO_ON;
    while (got == GO_ON && at != r->end) got = follow(&f, *at++);
    size_t size = (size_t)(at - r->at) - (got > LAST);
    if (!keep(r, wanted, size)) return false;
    if (got == LAST || got == BEYOND) return true;
    if (got == MISMATCH)
      return fail_here(r, LLMPROF_SYNTAX, "bracket closes another kind");
    if (got == TOO_DEEP)
      return fail_here(r, LLMPROF_LIMIT, "nested deeper than 200 levels");
  }
  return ok && llmprof_fail_at(r->err, LLMPROF_SYNTAX, r->name, r->text_line,
                               r->text_column, "never ends: cut short?");
}

/* ---- around the list of events ---- */

static bool take_char(llmprof_chrome *r, char wanted, const char *what) {
  char c;
  if (!peek(r, &c)) return false;
  if (c != wanted || r->at == r->end) return expected(r, what);
  consume(r, 1);
  return true;
}

/* A key and what is before its value; *events: it is "traceEvents". */
static bool take_key(llmprof_chrome *r, bool *events) {
  static const char wanted[] = "\"traceEvents\"";
  char c;
  if (!peek(r, &c)) return false;
  if (c != '"') return expected(r, "a key");
  if (!take_value(r, true)) return false;
  *events = r->text.size == sizeof wanted - 1 &&
            memcmp(r->text.bytes, wanted, r->text.size) == 0;
  return take_char(r, ':', "':'") && peek(r, &c) &&
         (c || expected(r, "a value"));
}

static bool finish(llmprof_chrome *r) {
  char c;
  r->position = AFTER;
  if (!peek(r, &c)) return false;
  if (r->at != r->end) return expected(r, "nothing after the trace");
  return !r->in_object || r->seen_events ||
         fail_here(r, LLMPROF_SYNTAX, "no \"traceEvents\": not a trace");
}

/* In the object: to the list of events, or to the end. */
static bool seek_events(llmprof_chrome *r) {
  for (;;) {
    char c;
    bool events = false;
    if (!peek(r, &c)) return false;
    if (c == '}') {
      consume(r, 1);
      return finish(r);
    }
    if (c == ',') consume(r, 1);
    if (!take_key(r, &events)) return false;
    if (events) {
      r->seen_events = true;
      r->position = INSIDE;
      return take_char(r, '[', "the list of events");
    }
    if (!take_value(r, false)) return false;
  }
}

static bool skip_mark(llmprof_chrome *r) {
  static const char mark[] = "\xEF\xBB\xBF";
  bool ok;
  for (size_t i = 0; i < 3 && more(r, &ok) && *r->at == mark[i]; i++) r->at++;
  return ok;
}

static bool begin(llmprof_chrome *r) {
  char c;
  if (!skip_mark(r) || !peek(r, &c)) return false;
  if (c == '{') {
    r->in_object = true;
    consume(r, 1);
    return seek_events(r);
  }
  if (c != '[') return expected(r, "a trace: '{' or '['");
  r->position = INSIDE;
  consume(r, 1);
  return true;
}

/* To the next event, or to the end of the text. */
static bool seek_event(llmprof_chrome *r) {
  if (r->position == BEFORE && !begin(r)) return false;
  while (r->position == INSIDE) {
    char c;
    if (!peek(r, &c)) return false;
    if (c == '{') return true;
    if (c == ',') {
      consume(r, 1);
    } else if (c == ']') {
      consume(r, 1);
      if (!(r->in_object ? seek_events(r) : finish(r))) return false;
    } else {
      return expected(r, "an event");
    }
  }
  return true;
}

/* ---- one event ---- */

/* Microseconds as written -> ns, exactly: the fourth decimal rounds. Absent
 * when it does not fit. */
static int64_t to_ns(const char *text, size_t size) {
  size_t whole = 0;
  while (whole < size && !memchr(".eE", text[whole], 3)) whole++;
  bool plain = whole == size || text[whole] == '.';
  int64_t us, ns = 0;
  if (!plain || memchr(text + whole, 'e', size - whole) ||
      memchr(text + whole, 'E', size - whole)) {
    double value;
    if (llmprof_lex_double(text, size, &value) != LLMPROF_OK ||
        fabs(value) > 9e15)
      return LLMPROF_CHROME_ABSENT;
    return llround(value * 1000);
  }
  if (!llmprof_lex_int(text, whole, 10, &us)) return LLMPROF_CHROME_ABSENT;
  for (size_t i = 1; i <= 3; i++)
    ns = ns * 10 + (whole + i < size ? text[whole + i] - '0' : 0);
  if (whole + 4 < size && text[whole + 4] >= '5') ns++;
  if (*text == '-') ns = -ns;
  if (__builtin_mul_overflow(us, 1000, &us) ||
      __builtin_add_overflow(us, ns, &us))
    return LLMPROF_CHROME_ABSENT;
  return us;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t string_size(const char *text, size_t size) {
  size_t at = 1;
  while (at < size && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at < size ? at + 1 : size;
}

static size_t token_size(const char *text, size_t size) {
  size_t at = 1;
  while (at < size &&
         (is_letter(text[at]) || memchr("+-.0123456789", text[at], 13)))
    at++;
  return at;
}

/* An empty list stands for a number that is none: it fits where "nan" was. */
static void blank(char *text, size_t size) {
  memset(text, ' ', size);
  memcpy(text, "[]", 2);
}

/* What printf and Python write for a number that is none. */
static void mend_word(char *text, size_t size) {
  static const char *const words[] = {"nan", "inf", "infinity"};
  size_t sign = *text == '-';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (size - sign == strlen(words[i]) &&
        strncasecmp(text + sign, words[i], size - sign) == 0)
      blank(text, size);
  }
}

/* A string of the event itself, quotes included. */
typedef struct span {
  const char *at;
  size_t size;
} span;

static bool span_is(span s, const char *text) {
  return s.size == strlen(text) && memcmp(s.at, text, s.size) == 0;
}

/* A token that is no string; last: the string before it. */
static void take_token(char *text, size_t size, size_t depth, span last,
                       llmprof_chrome_event *event) {
  if (is_letter(text[size - 1])) {
    mend_word(text, size);
  } else if (depth == 1 && span_is(last, "\"ts\"")) {
    event->start = to_ns(text, size);
  } else if (depth == 1 && span_is(last, "\"dur\"")) {
    event->duration = to_ns(text, size);
  }
  if (size > CJSON_LONGEST_NUMBER) blank(text, size);
}

static void walk(llmprof_buffer *text, llmprof_chrome_event *event) {
  size_t depth = 0, at = 0;
  span last = {"", 0};
  while (at < text->size) {
    char *here = text->bytes + at;
    size_t left = text->size - at, size = 1;
    if (*here == '"') {
      size = string_size(here, left);
      last = (span){here, size};
    } else if (*here == '{' || *here == '[') {
      depth++;
    } else if (*here == '}' || *here == ']') {
      depth--;
    } else if (*here == '-' || is_letter(*here) ||
               (*here >= '0' && *here <= '9')) {
      size = token_size(here, left);
      take_token(here, size, depth, last, event);
    }
    at += size;
  }
}

static const char *get_string(const cJSON *map, const char *key) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(map, key));
}

/* Absent unless it is a whole number that a double holds exactly. */
static int64_t get_integer(const cJSON *map, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(map, key);
  if (!cJSON_IsNumber(item) || fabs(item->valuedouble) > 9007199254740992.0 ||
      item->valuedouble != floor(item->valuedouble))
    return LLMPROF_CHROME_ABSENT;
  return (int64_t)item->valuedouble;
}

/* Old versions spell some keys differently. */
static int64_t get_external_id(const cJSON *args) {
  int64_t id = get_integer(args, "External id");
  return id == LLMPROF_CHROME_ABSENT ? get_integer(args, "external id") : id;
}

static bool get_shapes(llmprof_chrome *r, const cJSON *args) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
  if (!item) item = cJSON_GetObjectItemCaseSensitive(args, "Input dims");
  if (!cJSON_IsArray(item)) return true;
  r->shapes = cJSON_PrintUnformatted(item);
  return r->shapes || llmprof_fail_nomem(r->err);
}

static void release_event(llmprof_chrome *r) {
  cJSON_Delete(r->tree);
  cJSON_free(r->shapes);
  r->tree = NULL;
  r->shapes = NULL;
}

/* cJSON does not tell whether memory or the text was to blame, nor what is
 * wrong; the strict reader does. */
static bool fail_event(llmprof_chrome *r) {
  llmprof_error why = {0};
  llmprof_value *fine =
      llmprof_json_parse(r->text.bytes, r->text.size, "event", NULL, &why);
  llmprof_value_free(fine);
  if (fine || why.code == LLMPROF_NOMEM) return llmprof_fail_nomem(r->err);
  size_t line = r->text_line + why.line - 1;
  size_t column = why.line > 1 ? why.column : r->text_column + why.column - 1;
  const char *what = strstr(why.message, ": "); /* "event:1:2: what" */
  return llmprof_fail_at(r->err, why.code, r->name, line, column, "%s",
                         what ? what + 2 : why.message);
}

static bool parse_event(llmprof_chrome *r) {
  llmprof_cjson_hooks();
  r->tree = cJSON_ParseWithLengthOpts(r->text.bytes, r->text.size, NULL, 0);
  return r->tree || fail_event(r);
}

static bool fill_event(llmprof_chrome *r, llmprof_chrome_event *event) {
  const cJSON *args = cJSON_GetObjectItemCaseSensitive(r->tree, "args");
  event->phase = get_string(r->tree, "ph");
  event->category = get_string(r->tree, "cat");
  event->name = get_string(r->tree, "name");
  event->pid = get_integer(r->tree, "pid");
  event->tid = get_integer(r->tree, "tid");
  event->external_id = get_external_id(args);
  event->correlation = get_integer(args, "correlation");
  event->device = get_integer(args, "device");
  event->stream = get_integer(args, "stream");
  event->line = r->text_line;
  event->column = r->text_column;
  if (!get_shapes(r, args)) return false;
  event->shapes = r->shapes;
  return true;
}

/* Names cut in the middle of a character still come out as UTF-8. */
static bool mend_text(llmprof_chrome *r) {
  if (llmprof_lex_is_utf8(r->text.bytes, r->text.size)) return true;
  llmprof_buffer clean = {0};
  llmprof_text_clean(&clean, r->text.bytes, r->text.size);
  llmprof_buffer_free(&r->text);
  r->text = clean;
  return !clean.failed || llmprof_fail_nomem(r->err);
}

static int next_event(llmprof_chrome *r, llmprof_chrome_event *event) {
  if (!seek_event(r)) return -1;
  if (r->position == AFTER) return 0;
  *event = (llmprof_chrome_event){.start = LLMPROF_CHROME_ABSENT,
                                  .duration = LLMPROF_CHROME_ABSENT};
  if (!take_value(r, true) || !mend_text(r)) return -1;
  walk(&r->text, event);
  return parse_event(r) && fill_event(r, event) ? 1 : -1;
}

int llmprof_chrome_next(llmprof_chrome *r, llmprof_chrome_event *event,
                        llmprof_error *err) {
  r->err = err;
  release_event(r);
  if (r->position == BROKEN) {
    llmprof_fail(err, LLMPROF_SYNTAX, "%s: read on after a failure", r->name);
    return -1;
  }
  if (r->position == AFTER) return 0;
  int got = next_event(r, event);
  if (got < 0) r->position = BROKEN;
  r->err = NULL;
  return got;
}

/* ---- opening ---- */

static llmprof_chrome *reader_new(const char *name, llmprof_source *source,
                                  llmprof_error *err) {
  if (!source) return NULL;
  llmprof_chrome *r = llmprof_zalloc(1, sizeof *r);
  if (r) {
    *r = (llmprof_chrome){.source = source, .line = 1, .column = 1};
    r->name = llmprof_strdup(name);
    if (r->name) return r;
  }
  llmprof_source_close(source);
  llmprof_free(r);
  return llmprof_fail_nomem(err), NULL;
}

llmprof_chrome *llmprof_chrome_open(const char *path, llmprof_error *err) {
  return reader_new(path, llmprof_source_open(path, err), err);
}

llmprof_chrome *llmprof_chrome_open_bytes(const char *name, const void *bytes,
                                          size_t size, llmprof_error *err) {
  return reader_new(name, llmprof_source_bytes(name, bytes, size, err), err);
}

void llmprof_chrome_close(llmprof_chrome *r) {
  if (!r) return;
  release_event(r);
  llmprof_buffer_free(&r->text);
  llmprof_source_close(r->source);
  llmprof_free(r->name);
  llmprof_free(r);
}
