#include "timelines.h"

#include <string.h>

#include "timeline_reader.h"

llmprof_trace *test_timeline(const char *lines) {
  llmprof_error err = {0};
  if (!llmprof_reader_add(&timeline_reader, &err)) fail_msg("%s", err.message);
  const char *path = test_file("timeline", lines, strlen(lines));
  llmprof_trace *trace = llmprof_trace_open(path, &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}
