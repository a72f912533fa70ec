/* Collectives: PyTorch writes of each which process group it is of and how much
 * it moves, as arguments of an operator ("record_param_comms"). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "torch/torch_internal.h"

/* ---- one collective ---- */

/* Bytes of an element, by PyTorch's name of its type; 0: not known. */
static int64_t element_size(const char *type) {
  static const struct {
    const char *name;
    int64_t bytes;
  } known[] = {
      {"Byte", 1},  {"Char", 1}, {"Bool", 1},   {"Float8_", 1},
      {"Short", 2}, {"Half", 2}, {"Int", 4},    {"BFloat16", 2},
      {"Float", 4}, {"Long", 8}, {"Double", 8},
  };
  for (size_t i = 0; type && i < sizeof known / sizeof *known; i++) {
    size_t size = strlen(known[i].name);
    bool is_family = known[i].name[size - 1] == '_';
    if (is_family ? strncmp(type, known[i].name, size) == 0
                  : strcmp(type, known[i].name) == 0)
      return known[i].bytes;
  }
  return 0;
}

/* What a rank gives or gets, whichever is less: of a gather and a scatter the
 * other is that of all ranks. */
static int64_t message_of(const llmprof_chrome_event *event) {
  int64_t elements = event->elements_in, bytes = element_size(event->dtype);
  if (elements == LLMPROF_ABSENT ||
      (event->elements_out != LLMPROF_ABSENT && event->elements_out < elements))
    elements = event->elements_out;
  if (elements < 0 || !bytes || elements > INT64_MAX / bytes)
    return LLMPROF_ABSENT;
  return elements * bytes;
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const char *text) {
  for (; text && *text; text++)
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return (hash ^ 0xFF) * UINT64_C(0x100000001b3);
}

/* How many ranks a list names ("[0, 1, 2]"), which of many may be cut. */
static int64_t members_of(const char *list) {
  int64_t count = 0;
  if (!list || strstr(list, "...")) return LLMPROF_ABSENT;
  while (*(list += strcspn(list, "0123456789"))) {
    count++;
    list += strspn(list, "0123456789");
  }
  return count ? count : LLMPROF_ABSENT;
}

void torch_read_group(const llmprof_chrome_event *event,
                      llmprof_range_row *range) {
  if (!event->group && !event->group_ranks) return;
  uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), event->group);
  range->communicator =
      (int64_t)(mix(hash, event->group_ranks) & (uint64_t)INT64_MAX);
  range->message = message_of(event);
  range->payload = members_of(event->group_ranks);
}

/* ---- what lies inside of one ---- */

static bool says(const llmprof_range_row *range) {
  return range->communicator != LLMPROF_ABSENT;
}

static int by_thread_and_start(const void *a, const void *b) {
  const llmprof_range_row *one = *(llmprof_range_row *const *)a;
  const llmprof_range_row *other = *(llmprof_range_row *const *)b;
  if (one->thread != other->thread) return one->thread < other->thread ? -1 : 1;
  return (one->start > other->start) - (one->start < other->start);
}

/* The last of the sorted collectives that begins before the range does and ends
 * no earlier; NULL: none. */
static const llmprof_range_row *around(llmprof_range_row *const *list,
                                       size_t count,
                                       const llmprof_range_row *range) {
  size_t low = 0, high = count;
  LLMPROF_BISECT(low, high, at, by_thread_and_start(&list[at], &range) <= 0);
  const llmprof_range_row *last = low ? list[low - 1] : NULL;
  return last && last->thread == range->thread && last->end >= range->end
             ? last
             : NULL;
}

static bool is_mark(const torch_trace *t, const llmprof_range_row *range) {
  size_t size;
  const char *text = llmprof_strings_get(llmprof_builder_strings(t->builder),
                                         range->text, &size);
  return text && size > 5 && memcmp(text, "nccl:", 5) == 0;
}

bool torch_spread_groups(torch_trace *t, llmprof_error *err) {
  size_t count = 0;
  for (size_t i = 0; i < t->range_count; i++) count += says(&t->ranges[i]);
  if (!count) return true;
  llmprof_range_row **list = llmprof_alloc(count, sizeof *list);
  if (!list) return llmprof_fail_nomem(err);
  count = 0;
  for (size_t i = 0; i < t->range_count; i++)
    if (says(&t->ranges[i])) list[count++] = &t->ranges[i];
  qsort(list, count, sizeof *list, by_thread_and_start);
  for (size_t i = 0; i < t->range_count; i++) {
    llmprof_range_row *range = &t->ranges[i];
    if (says(range) || !is_mark(t, range)) continue;
    const llmprof_range_row *outer = around(list, count, range);
    if (!outer) continue;
    range->communicator = outer->communicator;
    range->message = outer->message;
  }
  llmprof_free(list);
  return true;
}
