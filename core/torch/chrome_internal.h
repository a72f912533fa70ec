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

/* Fill in the event, whose strings live until release. The bytes are one
 * balanced object, and are changed. */
bool llmprof_chrome_parse(chrome_text *text, llmprof_chrome_event *event,
                          llmprof_error *err);

/* Free tree and shapes; the bytes stay. */
void llmprof_chrome_release(chrome_text *text);

#endif
