/* Errors: how every llmprof function that can fail says what went wrong; and
 * how to stop one.
 *
 * A fallible function takes an llmprof_error as its last argument, returns
 * false or NULL on failure and fills the error in. The argument may be NULL.
 * Messages are one line, start with the path where there is one, and carry
 * line and column where those are known: "conf/a.yaml:3:7: ...". */
#ifndef LLMPROF_ERROR_H
#define LLMPROF_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "No value", in every int64_t that may lack one. */
#define LLMPROF_ABSENT INT64_MIN

typedef enum llmprof_code {
  LLMPROF_OK = 0,
  LLMPROF_NOMEM,       /* an allocation failed */
  LLMPROF_IO,          /* the operating system refused; see sys */
  LLMPROF_NOTFOUND,    /* file, program, table or column does not exist */
  LLMPROF_DENIED,      /* it exists but may not be used that way */
  LLMPROF_SYNTAX,      /* the input is malformed; see line and column */
  LLMPROF_LIMIT,       /* the input exceeds a size or depth limit */
  LLMPROF_RANGE,       /* a value cannot be represented without loss */
  LLMPROF_UNSUPPORTED, /* well-formed, but of a kind not handled */
  LLMPROF_INTERRUPTED, /* stopped by a signal or by the caller */
  LLMPROF_BUSY,        /* another process has hold of it */
  LLMPROF_TRUNCATED,   /* the file is shorter than it says */
  LLMPROF_EMPTY,       /* well-formed, but without what was looked for */
} llmprof_code;

enum {
  LLMPROF_MESSAGE_SIZE = 1024
};

typedef struct llmprof_error {
  llmprof_code code;
  int sys;       /* errno, 0 when the cause was no system call */
  size_t line;   /* 1-based, 0 when not known */
  size_t column; /* 1-based, in bytes, 0 when not known */
  char message[LLMPROF_MESSAGE_SIZE]; /* cut, never overrun */
} llmprof_error;

/* A stable lower-case name for comparing in scripts: "notfound", "syntax". */
const char *llmprof_code_name(llmprof_code code);

/* Fill err (may be NULL) and return false, so that callers can return it. */
bool llmprof_fail(llmprof_error *err, llmprof_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As llmprof_fail, for a system call: the code follows from errnum and the
 * message ends in its text. */
bool llmprof_fail_errno(llmprof_error *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As llmprof_fail, at a place in a text: the message is prefixed with
 * "name:line:column: " (column left out when 0). */
bool llmprof_fail_at(llmprof_error *err, llmprof_code code, const char *name,
                     size_t line, size_t column, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* Out of memory: needs no memory itself. */
bool llmprof_fail_nomem(llmprof_error *err);

/* Ask what loops over rows, in this whole process, to give up: it then fails
 * with INTERRUPTED. The request stands until it is taken back with false. May
 * be called from a signal handler and from any thread. */
void llmprof_interrupt(bool wanted);

/* Does such a request stand? For loops of a reader. */
bool llmprof_interrupted(void);

#ifdef __cplusplus
}
#endif

#endif
