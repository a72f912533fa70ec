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

enum {
  LONG = 5 * LLMPROF_MESSAGE_SIZE, /* there may be a path of any length in it */
  TAIL = 400,
  HEAD = LLMPROF_MESSAGE_SIZE - TAIL - 4
};

/* Of a long message both ends: the path begins it, the reason ends it. */
__attribute__((format(printf, 3, 0))) static void
put(llmprof_error *err, llmprof_error as, const char *fmt, va_list args,
    const char *before, const char *after) {
  char said[LONG], all[3 * LONG];
  vsnprintf(said, sizeof said, fmt, args);
  int size = snprintf(all, sizeof all, "%s%s%s", before, said, after);
  *err = as;
  if (size < LLMPROF_MESSAGE_SIZE)
    memcpy(err->message, all, (size_t)size + 1);
  else
    snprintf(err->message, sizeof err->message, "%.*s...%s", HEAD, all,
             all + size - TAIL);
}

bool llmprof_fail(llmprof_error *err, llmprof_code code, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  if (err) put(err, (llmprof_error){.code = code}, fmt, args, "", "");
  va_end(args);
  return false;
}

bool llmprof_fail_errno(llmprof_error *err, int errnum, const char *fmt, ...) {
  /* memory ended, which no file is to blame for */
  if (errnum == ENOMEM)
    return llmprof_fail(err, LLMPROF_NOMEM, "out of memory");
  char reason[256];
  va_list args;
  va_start(args, fmt);
  snprintf(reason, sizeof reason, ": %s", strerror(errnum));
  const llmprof_error as = {.code = code_of_errno(errnum), .sys = errnum};
  if (err) put(err, as, fmt, args, "", reason);
  va_end(args);
  return false;
}

bool llmprof_fail_at(llmprof_error *err, llmprof_code code, const char *name,
                     size_t line, size_t column, const char *fmt, ...) {
  char place[LONG], at[32] = "";
  va_list args;
  va_start(args, fmt);
  if (column) snprintf(at, sizeof at, "%zu:", column);
  snprintf(place, sizeof place, "%s:%zu:%s ", name, line, at);
  const llmprof_error as = {.code = code, .line = line, .column = column};
  if (err) put(err, as, fmt, args, place, "");
  va_end(args);
  return false;
}

bool llmprof_fail_size(llmprof_error *err, const char *name, size_t limit) {
  return llmprof_fail(err, LLMPROF_LIMIT,
                      "%s: larger than the limit of %zu bytes", name, limit);
}
