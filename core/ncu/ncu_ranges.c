/* An item is domain:range and six fields on payload, colour and message. Quotes
 * and colons inside a name are not escaped: the six fields are cut from the
 * right, and a piece too short to hold them was cut inside a name and goes on
 * in the next. */
#include "ncu/ncu_ranges.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
  TRAILING = 6,              /* fields behind the name */
  IN_STACK = TRAILING + 1,   /* colons of an item */
  IN_STARTED = TRAILING + 2, /* with an id before it */
};

typedef struct text {
  const char *bytes;
  size_t size;
} text;

static bool is_blank(char c) {
  return isspace((unsigned char)c);
}

static text trim(text t) {
  while (t.size && is_blank(*t.bytes)) t.bytes++, t.size--;
  while (t.size && is_blank(t.bytes[t.size - 1])) t.size--;
  return t;
}

/* Bytes at the start that are digits. */
static size_t digits(text t) {
  size_t count = 0;
  while (count < t.size && isdigit((unsigned char)t.bytes[count])) count++;
  return count;
}

static text from(text t, size_t start) {
  return (text){t.bytes + start, t.size - start};
}

static size_t colons(text t) {
  size_t count = 0;
  for (size_t i = 0; i < t.size; i++) count += t.bytes[i] == ':';
  return count;
}

static text without_trailing(text item) {
  size_t end = item.size;
  for (int left = TRAILING; left > 0; left--) {
    while (end && item.bytes[end - 1] != ':') end--;
    if (!end) return item; /* fewer of them */
    end--;
  }
  return (text){item.bytes, end};
}

static void put_tag(llmprof_buffer *tags, text item) {
  static const char standard[] = "<default domain>:";
  text tag = without_trailing(item);
  if (!memchr(tag.bytes, ':', tag.size)) tag = item;
  size_t skip = sizeof standard - 1;
  if (tag.size >= skip && memcmp(tag.bytes, standard, skip) == 0)
    tag = from(tag, skip);
  for (size_t i = 0; i < tag.size; i++) /* a tag is a line */
    llmprof_buffer_putc(tags, tag.bytes[i] == '\n' ? ' ' : tag.bytes[i]);
}

/* Where a quote, blanks and a quote begin, from `at` on, and their end; false:
 * nowhere. */
static bool find_gap(text t, size_t at, size_t *begin, size_t *end) {
  for (; at < t.size; at++) {
    if (t.bytes[at] != '"') continue;
    size_t next = at + 1;
    while (next < t.size && is_blank(t.bytes[next])) next++;
    if (next == at + 1 || next == t.size || t.bytes[next] != '"') continue;
    *begin = at;
    *end = next + 1;
    return true;
  }
  return false;
}

static void put_item(llmprof_buffer *tags, size_t number, text item,
                     bool has_id) {
  if (number) llmprof_buffer_putc(tags, '\n');
  size_t id = has_id ? digits(item) : 0;
  if (id && id < item.size && item.bytes[id] == ':') item = from(item, id + 1);
  put_tag(tags, item);
}

static size_t put_items(text cell, size_t least, llmprof_buffer *tags) {
  text body = trim(cell);
  if (body.size < 2 || *body.bytes != '"' || body.bytes[body.size - 1] != '"')
    return 0;
  body = (text){body.bytes + 1, body.size - 2};
  size_t count = 0, start = 0, at = 0, begin, end;
  while (find_gap(body, at, &begin, &end)) {
    text item = {body.bytes + start, begin - start};
    if (colons(item) >= least) {
      put_item(tags, count++, item, least == IN_STARTED);
      start = end;
    }
    at = end;
  }
  put_item(tags, count++, from(body, start), least == IN_STARTED);
  return count;
}

size_t ncu_ranges_stack(const char *cell, size_t size, llmprof_buffer *tags,
                        int64_t *thread) {
  text rest = {cell, size};
  while (rest.size && is_blank(*rest.bytes)) rest = from(rest, 1);
  size_t count = digits(rest);
  if (count && count <= 18 && count < rest.size &&
      is_blank(rest.bytes[count])) {
    int64_t id = 0;
    for (size_t i = 0; i < count; i++) id = id * 10 + (rest.bytes[i] - '0');
    *thread = id;
    rest = from(rest, count);
  }
  return put_items(rest, IN_STACK, tags);
}

size_t ncu_ranges_started(const char *cell, size_t size, llmprof_buffer *tags) {
  return put_items((text){cell, size}, IN_STARTED, tags);
}
