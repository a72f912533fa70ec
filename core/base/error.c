#include "llmprof/error.h"

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

bool llmprof_fail(llmprof_error *err, llmprof_code code, const char *fmt, ...) {
  if (!err) return false;
  start(err, code);
  va_list args;
  va_start(args, fmt);
  vsnprintf(err->message, sizeof err->message, fmt, args);
  va_end(args);
  return false;
}

bool llmprof_fail_errno(llmprof_error *err, int errnum, const char *fmt, ...) {
  if (!err) return false;
  start(err, code_of_errno(errnum));
  err->sys = errnum;
  va_list args;
  va_start(args, fmt);
  vsnprintf(err->message, sizeof err->message, fmt, args);
  va_end(args);
  size_t used = strlen(err->message);
  snprintf(err->message + used, sizeof err->message - used, ": %s",
           strerror(errnum));
  return false;
}

bool llmprof_fail_at(llmprof_error *err, llmprof_code code, const char *name,
                     size_t line, size_t column, const char *fmt, ...) {
  if (!err) return false;
  start(err, code);
  err->line = line;
  err->column = column;
  if (column) {
    snprintf(err->message, sizeof err->message, "%s:%zu:%zu: ", name, line,
             column);
  } else {
    snprintf(err->message, sizeof err->message, "%s:%zu: ", name, line);
  }
  size_t used = strlen(err->message);
  va_list args;
  va_start(args, fmt);
  vsnprintf(err->message + used, sizeof err->message - used, fmt, args);
  va_end(args);
  return false;
}

bool llmprof_fail_size(llmprof_error *err, const char *name, size_t limit) {
  return llmprof_fail(err, LLMPROF_LIMIT,
                      "%s: larger than the limit of %zu bytes", name, limit);
}
