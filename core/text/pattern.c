/* An item is a byte or a set of them with how often it may come, so that
 * classes, '.' and brackets are one look at a bit. What comes how often makes
 * no difference to whether there is a match: '-' is '*'. */
#include "text/pattern.h"

#include <string.h>

#include "llmprof/alloc.h"

/* ---- sets ---- */

static void put(llmprof_byte_set *set, unsigned char byte) {
  set->bits[byte >> 6] |= (uint64_t)1 << (byte & 63);
}

static void invert(llmprof_byte_set *set) {
  for (int i = 0; i < 4; i++) set->bits[i] = ~set->bits[i];
}

static bool is_lower(unsigned char byte) {
  return byte >= 'a' && byte <= 'z';
}

static bool is_upper(unsigned char byte) {
  return byte >= 'A' && byte <= 'Z';
}

static bool is_digit(unsigned char byte) {
  return byte >= '0' && byte <= '9';
}

static bool is_space(unsigned char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_in_class(unsigned char byte, char class) {
  bool letter = is_lower(byte) || is_upper(byte);
  bool visible = byte > ' ' && byte < 0x7f;
  switch (class) {
  case 'a':
    return letter;
  case 'c':
    return byte < ' ' || byte == 0x7f;
  case 'd':
    return is_digit(byte);
  case 'g':
    return visible;
  case 'l':
    return is_lower(byte);
  case 'p':
    return visible && !letter && !is_digit(byte);
  case 's':
    return is_space(byte);
  case 'u':
    return is_upper(byte);
  case 'w':
    return letter || is_digit(byte);
  case 'x':
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') ||
           (byte >= 'A' && byte <= 'F');
  case 'z':
    return byte == 0;
  default:
    return false;
  }
}

/* "%a", or what has no meaning of its own: "%.". */
static void put_class(llmprof_byte_set *set, unsigned char letter) {
  char class = (char)(is_upper(letter) ? letter + 'a' - 'A' : letter);
  if (!memchr("acdglpsuwxz", class, 11)) {
    put(set, letter);
    return;
  }
  for (int byte = 0; byte < 256; byte++) {
    if (is_in_class((unsigned char)byte, class) != is_upper(letter))
      put(set, (unsigned char)byte);
  }
}

/* ---- compiling ---- */

typedef struct reader {
  const char *source;
  size_t size, at;
  llmprof_pattern *pattern;
  llmprof_error *err;
} reader;

/* There is room for one at each byte that begins one. */
static llmprof_byte_set *new_set(reader *r, llmprof_item *item) {
  item->set = r->pattern->set_count++;
  return &r->pattern->sets[item->set];
}

static size_t count_sets(const char *source, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++)
    count += source[i] == '.' || source[i] == '%' || source[i] == '[';
  return count;
}

static bool wrong(reader *r, const char *what) {
  return llmprof_fail(r->err, LLMPROF_SYNTAX, "malformed pattern (%s)", what);
}

static unsigned char peek(const reader *r, size_t ahead) {
  return r->at + ahead < r->size ? (unsigned char)r->source[r->at + ahead] : 0;
}

/* Behind the "[" of a set: where it ends. A "]" that comes first is of it. */
static bool find_end(reader *r, size_t *end) {
  size_t at = r->at + (peek(r, 0) == '^');
  do {
    if (at >= r->size) return wrong(r, "missing ']'");
    if (r->source[at++] == '%' && at < r->size) at++;
  } while (at >= r->size || r->source[at] != ']');
  *end = at;
  return true;
}

static void put_range(llmprof_byte_set *set, unsigned char from,
                      unsigned char to) {
  for (int byte = from; byte <= to; byte++) put(set, (unsigned char)byte);
}

static bool read_set(reader *r, llmprof_byte_set *set) {
  size_t end = 0;
  r->at++;
  if (!find_end(r, &end)) return false;
  bool inverted = peek(r, 0) == '^';
  for (r->at += inverted; r->at < end; r->at++) {
    if (peek(r, 0) == '%') {
      r->at++;
      put_class(set, peek(r, 0));
    } else if (peek(r, 1) == '-' && r->at + 2 < end) {
      put_range(set, peek(r, 0), peek(r, 2));
      r->at += 2;
    } else {
      put(set, peek(r, 0));
    }
  }
  r->at = end + 1;
  if (inverted) invert(set);
  return true;
}

static bool read_balanced(reader *r, llmprof_item *item) {
  if (r->at + 3 >= r->size) return wrong(r, "missing arguments to '%b'");
  item->kind = LLMPROF_ITEM_BALANCED;
  item->byte = peek(r, 2);
  item->close = peek(r, 3);
  r->at += 4;
  return true;
}

static bool read_frontier(reader *r, llmprof_item *item) {
  r->at += 2;
  if (peek(r, 0) != '[') return wrong(r, "missing '[' after '%f'");
  item->kind = LLMPROF_ITEM_FRONTIER;
  return read_set(r, new_set(r, item));
}

static bool read_single(reader *r, llmprof_item *item) {
  unsigned char byte = peek(r, 0);
  item->kind = LLMPROF_ITEM_SET;
  if (byte == '[') return read_set(r, new_set(r, item));
  if (byte == '%' && ++r->at == r->size) return wrong(r, "ends with '%'");
  if (byte == '%') {
    put_class(new_set(r, item), peek(r, 0));
  } else if (byte == '.') {
    invert(new_set(r, item));
  } else {
    item->kind = LLMPROF_ITEM_BYTE;
    item->byte = byte;
  }
  r->at++;
  return true;
}

static void read_repeat(reader *r, llmprof_item *item) {
  unsigned char next = peek(r, 0);
  if (r->at < r->size && next && strchr("*+-?", next)) {
    item->repeat = next;
    r->at++;
  }
}

static bool read_item(reader *r, llmprof_item *item) {
  unsigned char class = peek(r, 0) == '%' ? peek(r, 1) : 0;
  if (class == 'b') return read_balanced(r, item);
  if (class == 'f') return read_frontier(r, item);
  if (is_digit(class)) return wrong(r, "captures cannot be referred to");
  if (!read_single(r, item)) return false;
  read_repeat(r, item);
  return true;
}

/* Captures make no difference; all that are opened are closed. */
static bool skip_brackets(reader *r, size_t *open) {
  for (; r->at < r->size; r->at++) {
    unsigned char byte = peek(r, 0);
    if (byte == '(')
      ++*open;
    else if (byte != ')')
      break;
    else if (!(*open)--)
      return wrong(r, "a ')' closes nothing");
  }
  return true;
}

static bool read_items(reader *r, llmprof_pattern *p) {
  size_t open = 0;
  for (;;) {
    if (!skip_brackets(r, &open)) return false;
    p->to_end = r->at + 1 == r->size && peek(r, 0) == '$';
    if (r->at + p->to_end >= r->size) break;
    if (!read_item(r, &p->items[p->count++])) return false;
  }
  return !open || wrong(r, "unfinished capture");
}

bool llmprof_pattern_compile(llmprof_pattern *pattern, const char *source,
                             size_t size, llmprof_error *err) {
  size_t sets = count_sets(source, size);
  *pattern = (llmprof_pattern){
      .items = llmprof_zalloc(size, sizeof *pattern->items),
      .sets = llmprof_zalloc(sets, sizeof *pattern->sets),
  };
  reader r = {source, size, 0, pattern, err};
  r.at = pattern->from_start = size && source[0] == '^';
  bool ok = (pattern->items && pattern->sets) || llmprof_fail_nomem(err);
  if (ok && read_items(&r, pattern)) return true;
  llmprof_pattern_free(pattern);
  return false;
}

void llmprof_pattern_free(llmprof_pattern *pattern) {
  llmprof_free(pattern->items);
  llmprof_free(pattern->sets);
  *pattern = (llmprof_pattern){0};
}

bool llmprof_pattern_begins(const llmprof_pattern *pattern,
                            llmprof_byte_set *with) {
  const llmprof_item *first = pattern->items;
  bool needed = pattern->from_start && pattern->count &&
                (!first->repeat || first->repeat == '+');
  if (!needed || first->kind > LLMPROF_ITEM_SET) return false;
  if (first->kind == LLMPROF_ITEM_BYTE) put(with, first->byte);
  for (int i = 0; first->kind == LLMPROF_ITEM_SET && i < 4; i++)
    with->bits[i] |= pattern->sets[first->set].bits[i];
  return true;
}

/* ---- matching ---- */

typedef struct matcher {
  const llmprof_pattern *pattern;
  const char *text, *end;
} matcher;

static const llmprof_byte_set *set_of(const matcher *m,
                                      const llmprof_item *item) {
  return &m->pattern->sets[item->set];
}

static bool fits(const matcher *m, const llmprof_item *item, const char *at) {
  if (at == m->end) return false;
  return item->kind == LLMPROF_ITEM_BYTE
             ? (unsigned char)*at == item->byte
             : llmprof_byte_set_has(set_of(m, item), (unsigned char)*at);
}

static bool is_frontier(const matcher *m, const llmprof_item *item,
                        const char *at) {
  unsigned char before = at == m->text ? 0 : (unsigned char)at[-1];
  unsigned char here = at == m->end ? 0 : (unsigned char)*at;
  const llmprof_byte_set *set = set_of(m, item);
  return !llmprof_byte_set_has(set, before) && llmprof_byte_set_has(set, here);
}

/* Behind what is balanced, or NULL. */
static const char *balanced(const matcher *m, const llmprof_item *item,
                            const char *at) {
  if (at == m->end || (unsigned char)*at != item->byte) return NULL;
  size_t open = 1;
  while (++at < m->end) {
    unsigned char byte = (unsigned char)*at;
    if (byte == item->close) {
      if (--open == 0) return at + 1;
    } else if (byte == item->byte) {
      open++;
    }
  }
  return NULL;
}

static bool match(const matcher *m, size_t number, const char *at);

/* As often as it fits, and then less often; at least once with '+'. */
static bool match_many(const matcher *m, size_t number, const char *at) {
  const llmprof_item *item = &m->pattern->items[number];
  size_t count = 0, least = item->repeat == '+';
  while (fits(m, item, at + count)) count++;
  for (; count > least; count--) {
    if (match(m, number + 1, at + count)) return true;
  }
  return count == least && match(m, number + 1, at + count);
}

static bool match(const matcher *m, size_t number, const char *at) {
  for (; number < m->pattern->count; number++) {
    const llmprof_item *item = &m->pattern->items[number];
    if (item->kind == LLMPROF_ITEM_BALANCED) {
      at = balanced(m, item, at);
      if (!at) return false;
    } else if (item->kind == LLMPROF_ITEM_FRONTIER) {
      if (!is_frontier(m, item, at)) return false;
    } else if (!item->repeat) {
      if (!fits(m, item, at++)) return false;
    } else if (item->repeat != '?') {
      return match_many(m, number, at);
    } else if (fits(m, item, at) && match(m, number + 1, at + 1)) {
      return true;
    }
  }
  return !m->pattern->to_end || at == m->end;
}

/* The next place where the first item may be, or NULL. */
static const char *next_place(const matcher *m, const char *at) {
  const llmprof_item *first = m->pattern->items;
  bool needed = m->pattern->count && first->kind == LLMPROF_ITEM_BYTE &&
                (!first->repeat || first->repeat == '+');
  return needed ? memchr(at, first->byte, (size_t)(m->end - at)) : at;
}

bool llmprof_pattern_is_in(const llmprof_pattern *pattern, const char *text,
                           size_t size) {
  matcher m = {pattern, text, text + size};
  if (pattern->from_start) return match(&m, 0, text);
  for (const char *at = text; at <= m.end; at++) {
    at = next_place(&m, at);
    if (!at) return false;
    if (match(&m, 0, at)) return true;
  }
  return false;
}
