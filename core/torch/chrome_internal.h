/* What cutting a file into events and reading one share. */
#ifndef LLMPROF_CHROME_INTERNAL_H
#define LLMPROF_CHROME_INTERNAL_H

#include "base/buffer.h"
#include "torch/chrome_trace.h"

enum {
  CHROME_MAX_DEPTH =
      200 /* brackets that are open, the event's own among them */
};

/* What an event is of, by its category. */
typedef enum chrome_kind {
  CHROME_OTHER,
  CHROME_OPERATOR,
  CHROME_CALL,
  CHROME_KERNEL,
  CHROME_COPY,
  CHROME_SET,
  CHROME_MARK,     /* a range that the program named */
  CHROME_FUNCTION, /* of Python */
} chrome_kind;

/* As written today, and with a capital before 2022; CHROME_OTHER for what is no
 * complete event ("X"). */
chrome_kind llmprof_chrome_kind(const llmprof_chrome_event *event);

/* Is it a call of a runtime that is neither CUDA's nor HIP's, "xpu_runtime"? */
bool llmprof_chrome_is_foreign(const llmprof_chrome_event *event);

/* Is there a time, which leaves room for ends and differences? */
bool llmprof_chrome_is_usable(const llmprof_chrome_event *event);

/* What the object beside its events says of all of them. */
typedef enum chrome_header {
  CHROME_SCHEMA,  /* "schemaVersion" */
  CHROME_BASE,    /* "baseTimeNanoseconds" */
  CHROME_DEVICES, /* "deviceProperties" */
  CHROME_RANKS,   /* "distributedInfo" */
  CHROME_HEADERS,
} chrome_header;

/* Its JSON, whole once the last event was read; NULL: it is not there. */
const char *llmprof_chrome_header(const llmprof_chrome *reader,
                                  chrome_header which);

/* An event without values. */
extern const llmprof_chrome_event llmprof_chrome_nothing;

/* Microseconds as written -> ns, exactly: the fourth decimal rounds. Absent
 * when it does not fit. */
int64_t llmprof_chrome_ns(const char *text, size_t size);

/* The same of what stood in quotes: absent unless it is a plain number. */
int64_t llmprof_chrome_quoted_ns(const char *text, size_t size);

/* Fill in the event that begins at `at`, its bracket: where it ends. NULL: it
 * is no JSON, does not end before `end`, nests too deep, or memory ran out,
 * which `strings` tells; *stuck is how far it was read. Its strings live in
 * `strings` until that is used again. */
const char *llmprof_chrome_scan(const char *at, const char *end,
                                llmprof_buffer *strings,
                                llmprof_chrome_event *event,
                                const char **stuck);

#endif
