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

/* What rows are labelled by: the number of a link, a range or a sample, and by
 * these numbers a range, or LLMPROF_NONE; owned by the frame. */
typedef struct labels {
  const llmprof_values *key;
  uint32_t *ranges, *own; /* own: is it of the sample's thread? */
  size_t count;
} labels;

/* Numbers, owned by the frame; NULL when out of memory, as NULL for them is. */
static uint32_t *owned(llmprof_frame *frame, uint32_t *numbers) {
  return numbers && llmprof_frame_own(frame, numbers) ? numbers : NULL;
}

static uint32_t *new_numbers(llmprof_frame *frame, size_t count) {
  return owned(frame, llmprof_alloc(count, sizeof(uint32_t)));
}

static bool find_labels(const llmprof_trace *trace, llmprof_frame *frame,
                        const llmprof_values *of, subject kind,
                        const uint32_t *names, labels *l) {
  *l = (labels){.key = of, .count = trace->ranges.count};
  if (kind == OPS) {
    l->key = llmprof_frame_lookup(frame, of, trace->attribution.link);
    l->count = trace->attribution.link_count;
    l->ranges = owned(frame, label_links(trace, names));
  } else if (kind == RANGES) {
    l->ranges = owned(frame, label_ranges(trace, names));
  } else {
    l->count = trace->cpu_samples.count;
    l->ranges = new_numbers(frame, l->count);
    l->own = new_numbers(frame, l->count);
    return l->ranges && l->own &&
           llmprof_trace_ranges_around_samples(trace, names, l->ranges, l->own);
  }
  return l->key && l->ranges;
}

/* What is in a range is called by its own tag or, where it is named, by that
 * name. */
static uint32_t *name_labels(const llmprof_trace *trace, llmprof_frame *frame,
                             const uint32_t *names, const labels *l) {
  uint32_t *texts = new_numbers(frame, l->count);
  for (size_t i = 0; texts && i < l->count; i++) {
    texts[i] = LLMPROF_NO_STRING;
    if (l->ranges[i] == LLMPROF_NONE) continue;
    uint32_t tag = llmprof_id_at(trace->ranges.tag, l->ranges[i]);
    texts[i] = is_named(trace, names, l->ranges[i]) ? names[tag] : tag;
  }
  return texts;
}

/* A column of what an array says of a row's number. */
static bool add_through(llmprof_frame *frame, const char *name,
                        llmprof_column_type type, const llmprof_values *key,
                        const uint32_t *array) {
  const llmprof_column column = {
      .name = name,
      .type = type,
      .values = llmprof_frame_lookup(
          frame, key, llmprof_frame_array(frame, LLMPROF_U32, array))};
  return column.values && llmprof_frame_add(frame, &column, NULL, NULL);
}

/* "NAME_own" beside the label of CPU samples. */
static bool add_own(llmprof_frame *frame, const char *name, const labels *l) {
  llmprof_buffer title = {0};
  llmprof_buffer_printf(&title, "%s_own", name);
  bool ok = !title.failed &&
            add_through(frame, title.bytes, LLMPROF_U32, l->key, l->own);
  llmprof_buffer_free(&title);
  return ok;
}

static bool add_labels(llmprof_trace *trace, llmprof_frame *frame,
                       const char *name, const char *range,
                       const uint32_t *names, llmprof_error *err) {
  subject kind;
  labels l;
  size_t number = subject_of(frame, &kind);
  const llmprof_column *of = llmprof_frame_column(frame, number, err);
  if (!of) return false;
  uint32_t *texts = find_labels(trace, frame, of->values, kind, names, &l)
                        ? name_labels(trace, frame, names, &l)
                        : NULL;
  return (texts && (!l.own || add_own(frame, name, &l)) &&
          add_through(frame, name, LLMPROF_STRING_ID, l.key, texts) &&
          add_through(frame, range, LLMPROF_U32, l.key, l.ranges)) ||
         llmprof_fail_nomem(err);
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
  uint32_t *found = new_numbers(frame, rows);
  uint32_t *texts = new_numbers(frame, count);
  if (!found || !texts) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < count; i++) {
    if (!llmprof_strings_add(trace->strings, spans[i].name,
                             strlen(spans[i].name), &texts[i]))
      return llmprof_fail_nomem(err);
  }
  for (size_t row = 0; row < rows; row++)
    found[row] = span_at(spans, count, llmprof_cell(start, row));
  const llmprof_column number = {
      .name = range,
      .type = LLMPROF_U32,
      .values = llmprof_frame_array(frame, LLMPROF_U32, found)};
  return (number.values &&
          add_through(frame, name, LLMPROF_STRING_ID, number.values, texts) &&
          llmprof_frame_add(frame, &number, NULL, NULL)) ||
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
