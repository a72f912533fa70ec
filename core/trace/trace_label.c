/* Labels: by operation, the innermost of some ranges around its launch, by
 * range or sample of the CPU the innermost around it, or the interval of time
 * in which it starts. */
#include <string.h>

#include "base/bisect.h"
#include "base/buffer.h"
#include "frame/cells.h"
#include "llmprof/alloc.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

/* By string: what a range of that tag is called, or LLMPROF_NONE where it is
 * none of `tags`. The caller frees; NULL when out of memory. */
static uint32_t *names_of_tags(const llmprof_trace *trace,
                               const llmprof_trace_tag *tags, size_t count) {
  size_t strings = llmprof_strings_count(trace->strings);
  uint32_t *names = llmprof_alloc(strings, sizeof *names);
  if (!names) return NULL;
  for (size_t i = 0; i < strings; i++) names[i] = LLMPROF_NONE;
  for (size_t i = 0; i < count; i++) {
    const char *label = tags[i].label;
    uint32_t tag = llmprof_strings_find(trace->strings, tags[i].tag,
                                        strlen(tags[i].tag)),
             name = tag;
    if (tag == LLMPROF_NO_STRING || tag >= strings) continue;
    if (label &&
        !llmprof_strings_add(trace->strings, label, strlen(label), &name)) {
      llmprof_free(names);
      return NULL;
    }
    names[tag] = name;
  }
  return names;
}

static bool is_named(const llmprof_trace *trace, const uint32_t *names,
                     uint32_t range) {
  uint32_t tag = llmprof_id_at(trace->ranges.tag, range);
  return tag != LLMPROF_NO_STRING && names[tag] != LLMPROF_NONE;
}

/* By link: the innermost range, from it outwards, that is named. */
static uint32_t *label_links(const llmprof_trace *trace,
                             const uint32_t *names) {
  const llmprof_attribution *a = &trace->attribution;
  uint32_t *of_link = llmprof_alloc(a->link_count, sizeof *of_link);
  if (!of_link) return NULL;
  for (size_t l = 0; l < a->link_count; l++) {
    uint32_t outer = llmprof_id_at(a->outer, l);
    uint32_t range = llmprof_id_at(a->range, l);
    of_link[l] = outer == LLMPROF_NONE ? LLMPROF_NONE : of_link[outer];
    if (is_named(trace, names, range)) of_link[l] = range;
  }
  return of_link;
}

uint32_t *llmprof_trace_labelled_links(const llmprof_trace *trace,
                                       const llmprof_trace_tag *tags,
                                       size_t count) {
  uint32_t *names = names_of_tags(trace, tags, count);
  uint32_t *of_link = names ? label_links(trace, names) : NULL;
  llmprof_free(names);
  return of_link;
}

enum {
  NOT_YET = UINT32_MAX - 1 /* no row: a trace has fewer */
};

/* The innermost named range from `range` outwards; what is found on the way is
 * kept in `found`, so that each range is passed once. */
static uint32_t innermost(const llmprof_trace *trace, const uint32_t *names,
                          uint32_t *found, uint32_t range) {
  const llmprof_values *parent = trace->attribution.parent;
  uint32_t top = range, label = LLMPROF_NONE;
  while (top != LLMPROF_NONE && found[top] == NOT_YET &&
         !is_named(trace, names, top))
    top = llmprof_id_at(parent, top);
  if (top != LLMPROF_NONE) label = found[top] == NOT_YET ? top : found[top];
  for (uint32_t r = range; r != top; r = llmprof_id_at(parent, r))
    found[r] = label;
  if (top != LLMPROF_NONE) found[top] = label;
  return label;
}

/* By range: the innermost named one from it outwards. */
static uint32_t *label_ranges(const llmprof_trace *trace,
                              const uint32_t *names) {
  size_t ranges = trace->ranges.count;
  uint32_t *found = llmprof_alloc(ranges, sizeof *found);
  if (!found) return NULL;
  for (size_t r = 0; r < ranges; r++) found[r] = NOT_YET;
  for (size_t r = 0; r < ranges; r++)
    innermost(trace, names, found, (uint32_t)r);
  return found;
}

/* What a frame's rows are of, by the column that says which. */
typedef enum subject {
  OPS,
  RANGES,
  CPU_SAMPLES,
  SUBJECTS,
} subject;

static const char *const subjects[SUBJECTS] = {
    [OPS] = "op", [RANGES] = "range", [CPU_SAMPLES] = "cpu_sample"};

/* The column's number; SIZE_MAX where the frame has none of them. */
static size_t subject_of(const llmprof_frame *frame, subject *of) {
  size_t column = SIZE_MAX;
  for (int i = 0; i < SUBJECTS && column == SIZE_MAX; i++) {
    *of = (subject)i;
    column = llmprof_frame_find(frame, subjects[i]);
  }
  return column;
}

/* By row of a frame of CPU samples; own: is the range of the sample's thread.
 */
static bool label_samples(const llmprof_trace *trace, const llmprof_column *of,
                          const uint32_t *names, uint32_t *labels,
                          uint32_t *own, size_t rows) {
  size_t all = trace->cpu_samples.count;
  uint32_t *ranges = llmprof_alloc(all, sizeof *ranges);
  uint32_t *owned = llmprof_alloc(all, sizeof *owned);
  bool ok = ranges && owned &&
            llmprof_trace_ranges_around_samples(trace, names, ranges, owned);
  for (size_t row = 0; ok && row < rows; row++) {
    int64_t sample = llmprof_cell(of, row);
    labels[row] = ranges[sample];
    own[row] = owned[sample];
  }
  llmprof_free(ranges);
  llmprof_free(owned);
  return ok;
}

/* "NAME_own" beside the label of CPU samples. */
static bool add_own(llmprof_frame *frame, const char *name, uint32_t *own) {
  llmprof_buffer title = {0};
  llmprof_buffer_printf(&title, "%s_own", name);
  const llmprof_column column = {
      .name = title.bytes,
      .type = LLMPROF_U32,
      .values = llmprof_frame_array(frame, LLMPROF_U32, own)};
  bool ok = !title.failed && column.values &&
            llmprof_frame_add(frame, &column, NULL, NULL);
  llmprof_buffer_free(&title);
  return ok;
}

/* What become the columns of a label: of a row its text, and its range. */
typedef struct labelled {
  const llmprof_values *text, *range;
} labelled;

/* Both columns or, when out of memory, perhaps the first. */
static bool add_label(llmprof_frame *frame, const char *name, const char *range,
                      const labelled *l) {
  const llmprof_column text = {
      .name = name, .type = LLMPROF_STRING_ID, .values = l->text};
  const llmprof_column row = {
      .name = range, .type = LLMPROF_U32, .values = l->range};
  return l->text && l->range && llmprof_frame_add(frame, &text, NULL, NULL) &&
         llmprof_frame_add(frame, &row, NULL, NULL);
}

/* What an array says of a row's number. */
static const llmprof_values *through(llmprof_frame *frame,
                                     const llmprof_values *key,
                                     const uint32_t *array) {
  return llmprof_frame_lookup(frame, key,
                              llmprof_frame_array(frame, LLMPROF_U32, array));
}

/* Room for `count` labels, owned by the frame; NULL when out of memory. */
static uint32_t *new_labels(llmprof_frame *frame, size_t count) {
  uint32_t *made = llmprof_alloc(count, sizeof *made);
  return made && llmprof_frame_own(frame, made) ? made : NULL;
}

static uint32_t text_of(const llmprof_trace *trace, const uint32_t *names,
                        uint32_t range) {
  uint32_t tag = llmprof_id_at(trace->ranges.tag, range);
  return is_named(trace, names, range) ? names[tag] : tag;
}

/* ---- operations: what is so of their links ---- */

static bool label_ops(const llmprof_trace *trace, llmprof_frame *frame,
                      size_t column, const uint32_t *names, labelled *l,
                      llmprof_error *err) {
  size_t count = trace->attribution.link_count;
  const llmprof_column *op = llmprof_frame_column(frame, column, err);
  if (!op) return false;
  uint32_t *ranges = label_links(trace, names);
  uint32_t *texts = new_labels(frame, count);
  if (!ranges || !llmprof_frame_own(frame, ranges) || !texts)
    return llmprof_fail_nomem(err);
  for (size_t i = 0; i < count; i++)
    texts[i] = ranges[i] == LLMPROF_NONE ? LLMPROF_NO_STRING
                                         : text_of(trace, names, ranges[i]);
  const llmprof_values *links =
      llmprof_frame_lookup(frame, op->values, trace->attribution.link);
  if (!links) return llmprof_fail_nomem(err);
  l->text = through(frame, links, texts);
  l->range = through(frame, links, ranges);
  return true;
}

/* ---- ranges and samples of the CPU ---- */

/* By range, what is in it is called; NULL when out of memory. */
static const uint32_t *name_ranges(const llmprof_trace *trace,
                                   llmprof_frame *frame,
                                   const uint32_t *names) {
  uint32_t *made = new_labels(frame, trace->ranges.count);
  for (size_t r = 0; made && r < trace->ranges.count; r++)
    made[r] = text_of(trace, names, (uint32_t)r);
  return made;
}

/* By row of the frame, whose ranges are in `of`. */
static bool label_rows(const llmprof_trace *trace, const llmprof_column *of,
                       const uint32_t *names, uint32_t *labels, size_t rows) {
  uint32_t *found = label_ranges(trace, names);
  if (!found) return false;
  for (size_t row = 0; row < rows; row++)
    labels[row] = found[llmprof_cell(of, row)];
  llmprof_free(found);
  return true;
}

static bool say_labels(llmprof_trace *trace, llmprof_frame *frame,
                       const char *name, const llmprof_column *of, subject kind,
                       const uint32_t *names, uint32_t *labels) {
  size_t rows = llmprof_frame_rows(frame);
  if (kind == RANGES) return label_rows(trace, of, names, labels, rows);
  uint32_t *own = new_labels(frame, rows);
  return own && label_samples(trace, of, names, labels, own, rows) &&
         add_own(frame, name, own);
}

static bool label_others(llmprof_trace *trace, llmprof_frame *frame,
                         const char *name, size_t column, subject kind,
                         const uint32_t *names, labelled *l,
                         llmprof_error *err) {
  const llmprof_column *of = llmprof_frame_column(frame, column, err);
  if (!of) return false;
  uint32_t *labels = new_labels(frame, llmprof_frame_rows(frame));
  const uint32_t *texts = labels ? name_ranges(trace, frame, names) : NULL;
  if (!texts || !say_labels(trace, frame, name, of, kind, names, labels))
    return llmprof_fail_nomem(err);
  l->range = llmprof_frame_array(frame, LLMPROF_U32, labels);
  l->text = l->range ? through(frame, l->range, texts) : NULL;
  return true;
}

static bool add_labels(llmprof_trace *trace, llmprof_frame *frame,
                       const char *name, const char *range,
                       const uint32_t *names, llmprof_error *err) {
  subject kind;
  size_t column = subject_of(frame, &kind);
  labelled l = {0};
  bool ok = kind == OPS ? label_ops(trace, frame, column, names, &l, err)
                        : label_others(trace, frame, name, column, kind, names,
                                       &l, err);
  return ok && (add_label(frame, name, range, &l) || llmprof_fail_nomem(err));
}

static bool make_label(llmprof_trace *trace, llmprof_frame *frame,
                       const char *name, const char *range,
                       const llmprof_trace_tag *tags, size_t count,
                       llmprof_error *err) {
  if (!llmprof_trace_attribution(trace, err)) return false;
  uint32_t *names = names_of_tags(trace, tags, count);
  if (!names) return llmprof_fail_nomem(err);
  bool ok = add_labels(trace, frame, name, range, names, err);
  llmprof_free(names);
  return ok;
}

static bool check_label(const llmprof_trace *trace, const llmprof_frame *frame,
                        const char *name, const char *range,
                        llmprof_error *err) {
  subject kind;
  if (llmprof_frame_strings(frame) != trace->strings)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "the frame belongs to another trace");
  if (subject_of(frame, &kind) == SIZE_MAX)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "only frames of GPU operations, of ranges or of CPU "
                        "samples can be labelled");
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
  LLMPROF_BISECT(low, high, at, spans[at].start <= time);
  return low && time < spans[low - 1].end ? (uint32_t)(low - 1) : LLMPROF_NONE;
}

static bool label_spans(llmprof_trace *trace, llmprof_frame *frame,
                        const char *name, const char *range,
                        const llmprof_span *spans, size_t count,
                        llmprof_error *err) {
  subject kind;
  subject_of(frame, &kind);
  const char *when = kind == CPU_SAMPLES ? "time" : "start";
  const llmprof_column *start =
      llmprof_frame_column(frame, llmprof_frame_find(frame, when), err);
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
  labelled l = {.range = llmprof_frame_array(frame, LLMPROF_U32, labels)};
  l.text = l.range ? through(frame, l.range, texts) : NULL;
  return add_label(frame, name, range, &l) || llmprof_fail_nomem(err);
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
