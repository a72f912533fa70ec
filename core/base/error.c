#include "llmprof/error.h"
#include "base/bounds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[] = {
    [LLMPROF_OK] = "ok",
    [LLMPROF_NOMEM] = "nomem",
    [LLMPROF_IO] = "io",
    [LLMPROF_NOTFOUND] = "notfound",
    [LLMPROF_DENIED] = "denied",
    [LLMPROF_SYNTAX] = "syntax",
    [LLMPROF_LIMIT] = "limit",
    [LLMPROF_RANGE] = "range",
    [LLMPROF_UNSUPPORTED] = "unsupported",
    [LLMPROF_INTERRUPTED] = "interrupted",
    [LLMPROF_BUSY] = "busy",
    [LLMPROF_TRUNCATED] = "truncated",
    [LLMPROF_EMPTY] = "empty",
};

const char *llmprof_code_name(llmprof_code code) {
  size_t i = (size_t)code;
  return i < sizeof code_names / sizeof *code_names ? code_names[i] : "unknown";
}

static void start(llmprof_error *err, llmprof_code code) {
  memset(err, 0, sizeof *err);
  err->code = code;
}

static llmprof_code code_of_errno(int errnum) {
  switch (errnum) {
  case ENOMEM:
    return LLMPROF_NOMEM;
  case ENOENT:
  case ENOTDIR:
    return LLMPROF_NOTFOUND;
  case EACCES:
  case EPERM:
  case EROFS:
    return LLMPROF_DENIED;
  case EINTR:
    return LLMPROF_INTERRUPTED;
  default:
    return LLMPROF_IO;
  }
}

/* A message before it is cut: there may be a path of any length in it. */
typedef struct message {
  char text[5 * LLMPROF_MESSAGE_SIZE];
  size_t size;
} message;

__attribute__((format(printf, 2, 0))) static void
add(message *d, const char *fmt, va_list args) {
  size_t room = sizeof d->text - d->size;
  int wanted = vsnprintf(d->text + d->size, room, fmt, args);
  if (wanted > 0) d->size += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

static void add_text(message *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add_text(message *d, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  add(d, fmt, args);
  va_end(args);
}

/* Of a long message both ends: the path begins it, the reason ends it. */
static void finish(llmprof_error *err, const message *d) {
  enum {
    TAIL = 400,
    HEAD = LLMPROF_MESSAGE_SIZE - TAIL - 4
  };
  if (d->size < sizeof err->message)
    memcpy(err->message, d->text, d->size + 1);
  else
    snprintf(err->message, sizeof err->message, "%.*s...%s", HEAD, d->text,
             d->text + d->size - TAIL);
}

bool llmprof_fail(llmprof_error *err, llmprof_code code, const char *fmt, ...) {
  if (!err) return false;
  message d = {.size = 0};
  va_list args;
  va_start(args, fmt);
  add(&d, fmt, args);
  va_end(args);
  start(err, code);
  finish(err, &d);
  return false;
}

bool llmprof_fail_errno(llmprof_error *err, int errnum, const char *fmt, ...) {
  if (!err) return false;
  message d = {.size = 0};
  va_list args;
  va_start(args, fmt);
  add(&d, fmt, args);
  va_end(args);
  add_text(&d, ": %s", strerror(errnum));
  start(err, code_of_errno(errnum));
  err->sys = errnum;
  finish(err, &d);
  return false;
}

bool llmprof_fail_at(llmprof_error *err, llmprof_code code, const char *name,
                     size_t line, size_t column, const char *fmt, ...) {
  if (!err) return false;
  message d = {.size = 0};
  add_text(&d, "%s:%zu:", name, line);
  if (column) add_text(&d, "%zu:", column);
  add_text(&d, " ");
  va_list args;
  va_start(args, fmt);
  add(&d, fmt, args);
  va_end(args);
  start(err, code);
  err->line = line;
  err->column = column;
  finish(err, &d);
  return false;
}

bool llmprof_fail_size(llmprof_error *err, const char *name, size_t limit) {
  return llmprof_fail(err, LLMPROF_LIMIT,
                      "%s: larger than the limit of %zu bytes", name, limit);
}
