/* What cutting a file into events and reading one share. */
#ifndef LLMPROF_CHROME_INTERNAL_H
#define LLMPROF_CHROME_INTERNAL_H

#include "llmprof/buffer.h"
#include "llmprof/chrome_trace.h"

/* The text of one event, and what is made of it. */
typedef struct chrome_text {
  llmprof_buffer bytes;
  size_t line, column; /* where it begins */
  const char *file;    /* in messages; borrowed */
  struct cJSON *tree;
  char *shapes;
} chrome_text;

/* An event without values. */
extern const llmprof_chrome_event llmprof_chrome_nothing;

/* Microseconds as written -> ns, exactly: the fourth decimal rounds. Absent
 * when it does not fit. */
int64_t llmprof_chrome_ns(const char *text, size_t size);

/* Fill in the event that begins at its bracket, if it is a plain one that ends
 * before `end`: how long it is. Else 0, and the event is not filled in. Its
 * strings live in the text until that is used again. */
size_t llmprof_chrome_scan(const char *at, const char *end, chrome_text *text,
                           llmprof_chrome_event *event);

/* Fill in the event, whose strings live until release. The bytes are one
 * balanced object, and are changed. */
bool llmprof_chrome_parse(chrome_text *text, llmprof_chrome_event *event,
                          llmprof_error *err);

/* Free tree and shapes; the bytes stay. */
void llmprof_chrome_release(chrome_text *text);

#endif
