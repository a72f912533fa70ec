/* An event is read where it lies (chrome_scan.c). One that is cut by the end of
 * a piece, or is damaged, is followed byte by byte as far as strings and
 * brackets go, gathered, and read again. */
#include "torch/chrome_trace.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "os/source.h"
#include "text/lex.h"
#include "torch/chrome_internal.h"

enum {
  MAX_EVENT = 16 * 1024 * 1024,
  SHOWN = 20, /* bytes of what is no JSON, in a message */
};

typedef enum position {
  BEFORE, /* the list of events */
  INSIDE, /* it */
  AFTER,  /* the whole text */
} position;

struct llmprof_chrome {
  char *name;
  llmprof_source *source;
  const char *at, *end; /* what is left of the piece at hand */
  size_t line, column;  /* of at, from 1 */
  position position;
  bool in_object;      /* the list is an object's "traceEvents" */
  bool seen_events;    /* that key was there */
  bool seen_event;     /* one was read */
  bool is_whole;       /* what failed is one event, which lies behind */
  bool in_event;       /* what is followed is one */
  bool over;           /* the event is longer than the limit */
  llmprof_buffer text; /* an event that is gathered, or a key */
  size_t text_line, text_column; /* where it begins */
  llmprof_buffer strings;        /* of the event */
  llmprof_buffer headers[CHROME_HEADERS];
  llmprof_error *err;
};

/* ---- the text as it streams ---- */

static bool fail_here(llmprof_chrome *r, llmprof_code code, const char *what) {
  return llmprof_fail_at(r->err, code, r->name, r->line, r->column, "%s", what);
}

/* Of the value at hand. */
static bool fail_long(const llmprof_chrome *r) {
  return llmprof_fail_at(r->err, LLMPROF_LIMIT, r->name, r->text_line,
                         r->text_column, "longer than 16 MiB");
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
  const char *bytes;
  size_t size;
  *ok = llmprof_source_next(r->source, &bytes, &size, r->err);
  if (!*ok || !size) return false;
  r->at = bytes;
  r->end = bytes + size;
  return true;
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
    snprintf(what, sizeof what, "expected %s, found the end (cut short?)",
             wanted);
  } else {
    snprintf(what, sizeof what, "expected %s, found %s", wanted,
             llmprof_lex_quote(quoted, r->at, 1));
  }
  return fail_here(r, LLMPROF_SYNTAX, what);
}

/* Follows one value from its first byte to its last, by its brackets, whatever
 * kind they are. */
typedef struct follower {
  size_t depth; /* brackets that are open */
  bool string, escaped;
} follower;

typedef enum step {
  GO_ON,
  LAST,   /* the value ends with this byte */
  BEYOND, /* it ended with the byte before */
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
    f->depth++;
    return GO_ON;
  case '}':
  case ']':
    if (!f->depth) return BEYOND;
    return --f->depth ? GO_ON : LAST;
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

/* Keep bytes of a value, unless it is only passed over, as an event is that is
 * too long. */
static bool keep(llmprof_chrome *r, bool wanted, size_t size) {
  if (wanted && !r->over) {
    llmprof_buffer_add(&r->text, r->at, size);
    if (r->text.failed) return llmprof_fail_nomem(r->err);
    r->over = r->text.size > MAX_EVENT;
    if (r->over && !r->in_event) return fail_long(r);
    if (r->over) llmprof_buffer_clear(&r->text);
  }
  consume(r, size);
  return true;
}

/* The value that begins here, into the text if wanted. */
static bool take_value(llmprof_chrome *r, bool wanted) {
  follower f = {.depth = 0};
  llmprof_buffer_clear(&r->text);
  r->text_line = r->line;
  r->text_column = r->column;
  r->over = false;
  bool ok;
  while (more(r, &ok)) {
    const char *at = r->at;
    step got = GO_ON;
    while (got == GO_ON && at != r->end) got = follow(&f, *at++);
    if (!keep(r, wanted, (size_t)(at - r->at) - (got == BEYOND))) return false;
    if (got != GO_ON) return true;
  }
  return ok && llmprof_fail_at(r->err, LLMPROF_SYNTAX, r->name, r->text_line,
                               r->text_column, "never ends (cut short?)");
}

/* ---- around the list of events ---- */

static bool take_char(llmprof_chrome *r, char wanted, const char *what) {
  char c;
  if (!peek(r, &c)) return false;
  if (c != wanted || r->at == r->end) return expected(r, what);
  consume(r, 1);
  return true;
}

enum {
  EVENTS = CHROME_HEADERS,
  UNWANTED
};

static int key_number(const llmprof_buffer *key) {
  static const char *const keys[] = {
      [CHROME_SCHEMA] = "\"schemaVersion\"",
      [CHROME_BASE] = "\"baseTimeNanoseconds\"",
      [CHROME_DEVICES] = "\"deviceProperties\"",
      [CHROME_RANKS] = "\"distributedInfo\"",
      [EVENTS] = "\"traceEvents\"",
  };
  int i = 0;
  while (i < UNWANTED && (key->size != strlen(keys[i]) ||
                          memcmp(key->bytes, keys[i], key->size) != 0))
    i++;
  return i;
}

/* A key and what is before its value. */
static bool take_key(llmprof_chrome *r, int *number) {
  char c;
  if (!peek(r, &c)) return false;
  if (c != '"') return expected(r, "a key");
  if (!take_value(r, true)) return false;
  *number = key_number(&r->text);
  return take_char(r, ':', "':'") && peek(r, &c) &&
         (c || expected(r, "a value"));
}

static bool finish(llmprof_chrome *r) {
  char c;
  r->position = AFTER;
  if (!peek(r, &c)) return false;
  if (r->at != r->end) return expected(r, "nothing after the trace");
  return !r->in_object || r->seen_events ||
         fail_here(r, LLMPROF_UNSUPPORTED,
                   "no \"traceEvents\": not a Chrome trace");
}

/* The first one of its key stands. */
static bool take_header(llmprof_chrome *r, llmprof_buffer *header) {
  bool wanted = !header->size;
  if (!take_value(r, wanted)) return false;
  if (wanted) {
    llmprof_buffer_add(header, r->text.bytes, r->text.size);
    llmprof_buffer_putc(header, '\0');
  }
  return !header->failed || llmprof_fail_nomem(r->err);
}

const char *llmprof_chrome_header(const llmprof_chrome *r,
                                  chrome_header which) {
  return r->headers[which].size ? r->headers[which].bytes : NULL;
}

/* In the object: to the list of events, or to the end. */
static bool seek_events(llmprof_chrome *r) {
  for (;;) {
    char c;
    int key = UNWANTED;
    if (!peek(r, &c)) return false;
    if (c == '}') {
      consume(r, 1);
      return finish(r);
    }
    if (c == ',') consume(r, 1);
    if (!take_key(r, &key)) return false;
    if (key == EVENTS) {
      r->seen_events = true;
      r->position = INSIDE;
      return take_char(r, '[', "the list of events");
    }
    if (key == UNWANTED ? !take_value(r, false)
                        : !take_header(r, &r->headers[key]))
      return false;
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

/* ---- together ---- */

/* The event at hand, when it is sound and lies in one piece. */
static bool scan_event(llmprof_chrome *r, llmprof_chrome_event *event) {
  size_t left = (size_t)(r->end - r->at);
  const char *limit = left > MAX_EVENT ? r->at + MAX_EVENT : r->end, *stuck;
  const char *end =
      llmprof_chrome_scan(r->at, limit, &r->strings, event, &stuck);
  if (!end) return false;
  event->line = r->line;
  event->column = r->column;
  consume(r, (size_t)(end - r->at));
  return true;
}

/* The text that was gathered. */
static bool read_text(llmprof_chrome *r, llmprof_chrome_event *event) {
  const char *begin = r->text.bytes, *end = begin + r->text.size, *stuck;
  size_t line, column, shown;
  char quoted[LLMPROF_LEX_QUOTED];
  if (llmprof_chrome_scan(begin, end, &r->strings, event, &stuck)) {
    event->line = r->text_line;
    event->column = r->text_column;
    return true;
  }
  if (r->strings.failed) return llmprof_fail_nomem(r->err);
  llmprof_lex_place(begin, (size_t)(stuck - begin), &line, &column);
  shown = end - stuck < SHOWN ? (size_t)(end - stuck) : SHOWN;
  return llmprof_fail_at(
      r->err, LLMPROF_SYNTAX, r->name, r->text_line + line - 1,
      line > 1 ? column : r->text_column + column - 1, "no JSON: %s",
      llmprof_lex_quote(quoted, stuck, shown));
}

static int next_event(llmprof_chrome *r, llmprof_chrome_event *event) {
  if (!seek_event(r)) return -1;
  if (r->position == AFTER) return 0;
  if (scan_event(r, event)) return 1;
  r->in_event = true;
  bool taken = take_value(r, true);
  r->in_event = false;
  r->is_whole = taken;
  if (!taken || (r->over && !fail_long(r)) || !read_text(r, event)) return -1;
  r->is_whole = false;
  return 1;
}

/* Where and what, without the file's name. */
static void note_first(const llmprof_chrome *r, const llmprof_error *why,
                       llmprof_chrome_damage *damage) {
  size_t size = strlen(r->name);
  const char *text = why->message;
  if (strncmp(text, r->name, size) == 0) text += size + 1;
  while (*text == ' ') text++;
  if (!*damage->first)
    snprintf(damage->first, sizeof damage->first, "%.*s",
             (int)sizeof damage->first - 1, text);
}

int llmprof_chrome_next(llmprof_chrome *r, llmprof_chrome_event *event,
                        llmprof_chrome_damage *damage, llmprof_error *err) {
  llmprof_error why = {0};
  int got;
  r->err = &why;
  while ((got = next_event(r, event)) == -1 &&
         (why.code == LLMPROF_SYNTAX || why.code == LLMPROF_LIMIT) &&
         (r->is_whole || (why.code == LLMPROF_SYNTAX && r->seen_event))) {
    note_first(r, &why, damage);
    damage->cut = !r->is_whole;
    if (damage->cut) break;
    damage->broken++;
    r->is_whole = false;
  }
  r->err = NULL;
  r->seen_event |= got == 1;
  if (got < 0 && err) *err = why;
  return damage->cut ? 0 : got;
}

/* ---- opening ---- */

llmprof_chrome *llmprof_chrome_open(const char *path, llmprof_error *err) {
  llmprof_source *source = llmprof_source_open(path, err);
  if (!source) return NULL;
  llmprof_chrome *r = llmprof_zalloc(1, sizeof *r);
  if (r) {
    *r = (llmprof_chrome){.source = source, .line = 1, .column = 1};
    r->name = llmprof_strdup(path);
    if (r->name) return r;
  }
  llmprof_source_close(source);
  llmprof_free(r);
  return llmprof_fail_nomem(err), NULL;
}

void llmprof_chrome_close(llmprof_chrome *r) {
  if (!r) return;
  llmprof_buffer_free(&r->text);
  llmprof_buffer_free(&r->strings);
  for (int i = 0; i < CHROME_HEADERS; i++) llmprof_buffer_free(&r->headers[i]);
  llmprof_source_close(r->source);
  llmprof_free(r->name);
  llmprof_free(r);
}
