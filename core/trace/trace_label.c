/* Labels: by operation, the innermost of some ranges around its launch, or the
 * stretch of time in which it starts. */
#include <string.h>

#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "trace/trace_internal.h"

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

uint32_t *llmprof_trace_labelled_links(const llmprof_trace *trace,
                                       const llmprof_trace_tag *tags,
                                       size_t count) {
  size_t links = trace->attribution.link_count;
  uint32_t *of_link = llmprof_alloc(links, sizeof *of_link);
  uint32_t *wanted = llmprof_alloc(count, sizeof *wanted);
  if (of_link && wanted) {
    for (size_t i = 0; i < count; i++)
      wanted[i] = llmprof_strings_find(trace->strings, tags[i].tag,
                                       strlen(tags[i].tag));
    label_links(trace, wanted, count, of_link);
    llmprof_free(wanted);
    return of_link;
  }
  llmprof_free(of_link);
  llmprof_free(wanted);
  return NULL;
}

/* By row of the frame, whose operations are in `ops`. */
static bool label_rows(llmprof_trace *trace, const llmprof_column *ops,
                       const llmprof_trace_tag *tags, size_t count,
                       uint32_t *labels, size_t rows) {
  const llmprof_attribution *a = &trace->attribution;
  uint32_t *of_link = llmprof_trace_labelled_links(trace, tags, count);
  if (!of_link) return false;
  for (size_t row = 0; row < rows; row++) {
    uint32_t link = a->link[llmprof_cell(ops, row)];
    labels[row] = link == LLMPROF_NONE ? LLMPROF_NONE : of_link[link];
  }
  llmprof_free(of_link);
  return true;
}

/* Both columns or, when out of memory, perhaps the first. */
static bool add_label(llmprof_frame *frame, const char *name, const char *range,
                      const uint32_t *tags, const uint32_t *labels) {
  llmprof_column tag = {
      .name = name, .type = LLMPROF_STRING_ID, .data = tags, .index = labels};
  llmprof_column row = {.name = range, .type = LLMPROF_U32, .data = labels};
  return llmprof_frame_add(frame, &tag, NULL, NULL) &&
         llmprof_frame_add(frame, &row, NULL, NULL);
}

/* By range, what an operation in it is called. Owned by the frame; NULL when
 * out of memory. */
static const uint32_t *name_ranges(llmprof_trace *trace, llmprof_frame *frame,
                                   const llmprof_trace_tag *tags,
                                   size_t count) {
  size_t ranges = trace->ranges.count;
  uint32_t *names = llmprof_alloc(ranges, sizeof *names);
  if (!names || !llmprof_frame_own(frame, names)) return NULL;
  for (size_t r = 0; r < ranges; r++) names[r] = trace->ranges.tag[r];
  for (size_t i = 0; i < count; i++) {
    const char *label = tags[i].label;
    uint32_t tag = llmprof_strings_find(trace->strings, tags[i].tag,
                                        strlen(tags[i].tag)),
             name;
    if (!label || tag == LLMPROF_NO_STRING) continue;
    if (!llmprof_strings_add(trace->strings, label, strlen(label), &name))
      return NULL;
    for (size_t r = 0; r < ranges; r++)
      if (trace->ranges.tag[r] == tag) names[r] = name;
  }
  return names;
}

static bool make_label(llmprof_trace *trace, llmprof_frame *frame,
                       const char *name, const char *range,
                       const llmprof_trace_tag *tags, size_t count,
                       llmprof_error *err) {
  const llmprof_column *ops =
      llmprof_frame_column(frame, llmprof_frame_find(frame, "op"), err);
  if (!ops || !llmprof_trace_attribution(trace, err)) return false;
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *labels = llmprof_alloc(rows, sizeof *labels);
  if (!labels || !llmprof_frame_own(frame, labels))
    return llmprof_fail_nomem(err);
  const uint32_t *names = name_ranges(trace, frame, tags, count);
  return (names && label_rows(trace, ops, tags, count, labels, rows) &&
          add_label(frame, name, range, names, labels)) ||
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

/* "NAME_range", once it is known that both columns can be added. */
static bool open_label(const llmprof_trace *trace, const llmprof_frame *frame,
                       const char *name, llmprof_buffer *range,
                       llmprof_error *err) {
  llmprof_buffer_printf(range, "%s_range", name);
  return range->failed ? llmprof_fail_nomem(err)
                       : check_label(trace, frame, name, range->bytes, err);
}

bool llmprof_trace_label(llmprof_trace *trace, llmprof_frame *frame,
                         const char *name, const llmprof_trace_tag *tags,
                         size_t count, llmprof_error *err) {
  llmprof_buffer range = {0};
  bool ok = open_label(trace, frame, name, &range, err) &&
            make_label(trace, frame, name, range.bytes, tags, count, err);
  llmprof_buffer_free(&range);
  return ok;
}

/* ---- by time ---- */

/* The last span that starts at or before `time`, if it has not ended. */
static uint32_t span_at(const llmprof_span *spans, size_t count, int64_t time) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (spans[middle].start <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low && time < spans[low - 1].end ? (uint32_t)(low - 1) : LLMPROF_NONE;
}

static bool label_spans(llmprof_trace *trace, llmprof_frame *frame,
                        const char *name, const char *range,
                        const llmprof_span *spans, size_t count,
                        llmprof_error *err) {
  const llmprof_column *start =
      llmprof_frame_column(frame, llmprof_frame_find(frame, "start"), err);
  if (!start) return false;
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *labels = llmprof_alloc(rows, sizeof *labels);
  uint32_t *texts = llmprof_alloc(count, sizeof *texts);
  bool owned = labels && llmprof_frame_own(frame, labels);
  owned = texts && llmprof_frame_own(frame, texts) && owned;
  if (!owned) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < count; i++) {
    if (!llmprof_strings_add(trace->strings, spans[i].name,
                             strlen(spans[i].name), &texts[i]))
      return llmprof_fail_nomem(err);
  }
  for (size_t row = 0; row < rows; row++)
    labels[row] = span_at(spans, count, llmprof_cell(start, row));
  return add_label(frame, name, range, texts, labels) ||
         llmprof_fail_nomem(err);
}

bool llmprof_trace_label_spans(llmprof_trace *trace, llmprof_frame *frame,
                               const char *name, const llmprof_span *spans,
                               size_t count, llmprof_error *err) {
  llmprof_buffer range = {0};
  bool ok = open_label(trace, frame, name, &range, err) &&
            label_spans(trace, frame, name, range.bytes, spans, count, err);
  llmprof_buffer_free(&range);
  return ok;
}
