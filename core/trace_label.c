/* Labels: by operation, the innermost of some ranges around its launch. */
#include <string.h>

#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "trace_internal.h"

/* By link: the innermost range, from it outwards, whose tag is wanted. */
static void label_links(const llmprof_trace *trace, const uint32_t *tags,
                        size_t count, uint32_t *of_link) {
  const llmprof_attribution *a = &trace->attribution;
  for (size_t l = 0; l < a->link_count; l++) {
    uint32_t outer = a->links[l].outer, range = a->links[l].range;
    of_link[l] = outer == LLMPROF_NONE ? LLMPROF_NONE : of_link[outer];
    for (size_t i = 0; i < count; i++) {
      if (trace->ranges.tag[range] == tags[i] && tags[i] != LLMPROF_NO_STRING)
        of_link[l] = range;
    }
  }
}

/* By row of the frame, whose operations are in `ops`. */
static bool label_rows(llmprof_trace *trace, const llmprof_column *ops,
                       const char *const *tags, size_t count, uint32_t *labels,
                       size_t rows) {
  const llmprof_attribution *a = &trace->attribution;
  uint32_t *of_link = llmprof_alloc(a->link_count, sizeof *of_link);
  uint32_t *wanted = llmprof_alloc(count, sizeof *wanted);
  bool ok = of_link && wanted;
  if (ok) {
    for (size_t i = 0; i < count; i++)
      wanted[i] =
          llmprof_strings_find(trace->strings, tags[i], strlen(tags[i]));
    label_links(trace, wanted, count, of_link);
    for (size_t row = 0; row < rows; row++) {
      uint32_t link = a->link[llmprof_cell(ops, row)];
      labels[row] = link == LLMPROF_NONE ? LLMPROF_NONE : of_link[link];
    }
  }
  llmprof_free(of_link);
  llmprof_free(wanted);
  return ok;
}

/* Both columns or, when out of memory, perhaps the first. */
static bool add_label(llmprof_frame *frame, const char *name, const char *range,
                      const llmprof_trace *trace, const uint32_t *labels) {
  llmprof_column tag = {.name = name,
                        .type = LLMPROF_STRING_ID,
                        .data = trace->ranges.tag,
                        .index = labels};
  llmprof_column row = {.name = range, .type = LLMPROF_U32, .data = labels};
  return llmprof_frame_add(frame, &tag, NULL, NULL) &&
         llmprof_frame_add(frame, &row, NULL, NULL);
}

static bool make_label(llmprof_trace *trace, llmprof_frame *frame,
                       const char *name, const char *range,
                       const char *const *tags, size_t count,
                       llmprof_error *err) {
  const llmprof_column *ops =
      llmprof_frame_column(frame, llmprof_frame_find(frame, "op"), err);
  if (!ops || !llmprof_trace_attribution(trace, err)) return false;
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *labels = llmprof_alloc(rows, sizeof *labels);
  if (!labels || !llmprof_frame_own(frame, labels))
    return llmprof_fail_nomem(err);
  return (label_rows(trace, ops, tags, count, labels, rows) &&
          add_label(frame, name, range, trace, labels)) ||
         llmprof_fail_nomem(err);
}

static bool check_label(const llmprof_trace *trace, const llmprof_frame *frame,
                        const char *name, const char *range,
                        llmprof_error *err) {
  if (llmprof_frame_strings(frame) != trace->strings)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "the frame belongs to another trace");
  if (llmprof_frame_find(frame, "op") == SIZE_MAX)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "only frames of GPU operations can be labelled");
  if (llmprof_frame_find(frame, name) != SIZE_MAX ||
      llmprof_frame_find(frame, range) != SIZE_MAX)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "the frame has a column '%s' or '%s' already", name,
                        range);
  return true;
}

bool llmprof_trace_label(llmprof_trace *trace, llmprof_frame *frame,
                         const char *name, const char *const *tags,
                         size_t count, llmprof_error *err) {
  llmprof_buffer range = {0};
  llmprof_buffer_printf(&range, "%s_range", name);
  bool ok = range.failed ? llmprof_fail_nomem(err)
                         : check_label(trace, frame, name, range.bytes, err) &&
                               make_label(trace, frame, name, range.bytes, tags,
                                          count, err);
  llmprof_buffer_free(&range);
  return ok;
}
