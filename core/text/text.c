/* Everything here walks over grapheme clusters, which llmprof_text_cluster
 * finds by a short form of UAX #29: a base, then whatever belongs to it. The
 * class of a character, and so its width, is one search in a table. */
#include "llmprof/text.h"

#include <string.h>

typedef enum text_class {
  NARROW,
  CONTROL,
  MARK,
  SPACING,
  WIDE,
  KEYCAP,
  EMOJI,
  PICTOGRAPH,
} text_class;

typedef struct text_range {
  uint32_t first, last;
  text_class class;
} text_range;

#include "text/text_width_table.h"

enum {
  REPLACEMENT = 0xFFFD,
  ZWJ = 0x200D,
  VS16 = 0xFE0F, /* "show the character before as emoji" */
};

/* ---- characters ---- */

/* What a lead byte announces: how many bytes follow it, the bits it gives
 * itself, and the range of the first of them, which is what rules out
 * overlong forms, surrogates and codes that are too large. */
typedef struct lead_byte {
  size_t follow; /* 0: not a lead byte */
  uint32_t bits;
  unsigned char low, high;
} lead_byte;

static lead_byte lead_of(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF)
    return (lead_byte){1, byte & 0x1F, 0x80, 0xBF};
  if (byte >= 0xE0 && byte <= 0xEF)
    return (lead_byte){2, byte & 0x0F, byte == 0xE0 ? 0xA0 : 0x80,
                       byte == 0xED ? 0x9F : 0xBF};
  if (byte >= 0xF0 && byte <= 0xF4)
    return (lead_byte){3, byte & 0x07, byte == 0xF0 ? 0x90 : 0x80,
                       byte == 0xF4 ? 0x8F : 0xBF};
  return (lead_byte){0, 0, 0, 0};
}

size_t llmprof_utf8_decode(const char *text, size_t size, uint32_t *code) {
  *code = REPLACEMENT;
  if (!size) return 0;
  const unsigned char *bytes = (const unsigned char *)text;
  if (bytes[0] < 0x80) {
    *code = bytes[0];
    return 1;
  }
  lead_byte lead = lead_of(bytes[0]);
  if (!lead.follow) return 1;
  uint32_t bits = lead.bits;
  for (size_t i = 1; i <= lead.follow; i++) {
    if (i == size || bytes[i] < lead.low || bytes[i] > lead.high) return i;
    bits = bits << 6 | (bytes[i] & 0x3F);
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  *code = bits;
  return lead.follow + 1;
}

static text_class class_of(uint32_t code) {
  size_t low = 0, high = sizeof text_ranges / sizeof *text_ranges;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (code > text_ranges[middle].last)
      low = middle + 1;
    else
      high = middle;
  }
  const text_range *range = &text_ranges[low];
  bool found =
      low < sizeof text_ranges / sizeof *text_ranges && code >= range->first;
  return found ? range->class : NARROW;
}

static size_t class_width(text_class class) {
  switch (class) {
  case CONTROL:
  case MARK:
    return 0;
  case NARROW:
  case SPACING:
  case KEYCAP:
  case EMOJI:
    return 1;
  case WIDE:
  case PICTOGRAPH:
    break;
  }
  return 2;
}

/* ---- clusters ---- */

static bool is_pictorial(text_class class) {
  return class == EMOJI || class == PICTOGRAPH;
}

static bool is_regional(uint32_t code) {
  return code >= 0x1F1E6 && code <= 0x1F1FF;
}

static bool is_skin_tone(uint32_t code) {
  return code >= 0x1F3FB && code <= 0x1F3FF;
}

/* Bytes of the pictograph that a ZWJ just read joins to the cluster. */
static size_t joined(const char *text, size_t size) {
  uint32_t code;
  size_t taken = llmprof_utf8_decode(text, size, &code);
  return is_pictorial(class_of(code)) ? taken : 0;
}

/* Bytes of what follows the base of class `base` and belongs to it. */
static size_t extend(const char *text, size_t size, text_class base,
                     size_t *width) {
  size_t at = 0;
  for (;;) {
    uint32_t code;
    size_t taken = llmprof_utf8_decode(text + at, size - at, &code);
    if (!taken || code < 0x80) return at;
    text_class class = class_of(code);
    if (is_skin_tone(code)) {
      *width = is_pictorial(base) ? 2 : *width + 2; /* shown by itself */
    } else if (class == SPACING) {
      *width += 1;
    } else if (class != MARK) {
      return at;
    }
    at += taken;
    if (code == VS16 && (base == EMOJI || base == KEYCAP)) *width = 2;
    if (code == ZWJ && is_pictorial(base)) {
      taken = joined(text + at, size - at);
      if (taken) *width = 2;
      at += taken;
    }
  }
}

size_t llmprof_text_cluster(const char *text, size_t size, size_t *width) {
  uint32_t code, next;
  *width = 0;
  size_t taken = llmprof_utf8_decode(text, size, &code);
  if (!taken) return 0;
  if (code >= 0x20 && code < 0x7F &&
      (size == 1 || (unsigned char)text[1] < 0x80)) {
    *width = 1;
    return 1;
  }
  text_class class = class_of(code);
  *width = class_width(class);
  if (class == CONTROL) return taken;
  if (is_regional(code)) {
    size_t pair = llmprof_utf8_decode(text + taken, size - taken, &next);
    if (is_regional(next)) taken += pair;
  }
  return taken + extend(text + taken, size - taken, class, width);
}

size_t llmprof_text_width(const char *text, size_t size) {
  size_t columns = 0, width;
  for (size_t at = 0; at < size; columns += width)
    at += llmprof_text_cluster(text + at, size - at, &width);
  return columns;
}

/* ---- making it fit ---- */

bool llmprof_text_is_sound(const char *text, size_t size) {
  uint32_t code;
  for (size_t at = 0; at < size;) {
    at += llmprof_utf8_decode(text + at, size - at, &code);
    if (code == REPLACEMENT || code == 0) return false;
  }
  return true;
}

void llmprof_text_repair(llmprof_buffer *out, const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    uint32_t code;
    size_t taken = llmprof_utf8_decode(text + at, size - at, &code);
    if (code == REPLACEMENT || code == 0)
      llmprof_buffer_puts(out, LLMPROF_REPLACEMENT);
    else
      llmprof_buffer_add(out, text + at, taken);
    at += taken;
  }
}

/* Bytes at the start of `text` that a terminal shows as they are. */
static size_t plain_run(const char *text, size_t size) {
  size_t at = 0;
  while (at < size && text[at] >= ' ' && text[at] <= '~') at++;
  return at;
}

/* Does it turn the direction of writing: a name could read as another? */
static bool is_bidi_control(uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool llmprof_text_is_control(uint32_t code) {
  return class_of(code) == CONTROL || is_bidi_control(code);
}

/* What stands for the control character or malformed sequence `code`. */
static const char *stand_in(uint32_t code, bool keep_lines) {
  if (code == '\t') return keep_lines ? "\t" : " ";
  if (code == '\n') return keep_lines ? "\n" : " ";
  return code == '\r' && !keep_lines ? " " : LLMPROF_REPLACEMENT;
}

static void clean(llmprof_buffer *out, const char *text, size_t size,
                  bool keep_lines) {
  for (size_t at = 0; at < size;) {
    size_t plain = plain_run(text + at, size - at);
    llmprof_buffer_add(out, text + at, plain);
    at += plain;
    if (at == size) return;
    if (text[at] == '\r' && at + 1 < size && text[at + 1] == '\n') at++;
    uint32_t code;
    size_t taken = llmprof_utf8_decode(text + at, size - at, &code);
    if (code == REPLACEMENT || llmprof_text_is_control(code))
      llmprof_buffer_puts(out, stand_in(code, keep_lines));
    else
      llmprof_buffer_add(out, text + at, taken);
    at += taken;
  }
}

void llmprof_text_clean(llmprof_buffer *out, const char *text, size_t size) {
  clean(out, text, size, false);
}

void llmprof_text_clean_lines(llmprof_buffer *out, const char *text,
                              size_t size) {
  clean(out, text, size, true);
}

/* Bytes of the longest beginning of at most `columns`, and its width. */
static size_t head_size(const char *text, size_t size, size_t columns,
                        size_t *width) {
  size_t at = 0;
  *width = 0;
  while (at < size) {
    size_t wide;
    size_t taken = llmprof_text_cluster(text + at, size - at, &wide);
    if (*width + wide > columns) break;
    *width += wide;
    at += taken;
  }
  return at;
}

/* Where the longest ending of at most `columns` starts in a text that is
 * `total` wide. Clusters can only be found from the front. */
static size_t tail_start(const char *text, size_t size, size_t total,
                         size_t columns) {
  size_t at = 0, width = 0;
  while (at < size && total - width > columns) {
    size_t wide;
    at += llmprof_text_cluster(text + at, size - at, &wide);
    width += wide;
  }
  return at;
}

void llmprof_text_truncate(llmprof_buffer *out, const char *text, size_t size,
                           size_t columns, llmprof_ellipsis place) {
  size_t total = llmprof_text_width(text, size);
  if (total <= columns) {
    llmprof_buffer_add(out, text, size);
    return;
  }
  if (!columns) return;
  size_t room = columns - 1, width;
  size_t wanted = place == LLMPROF_END ? room : room - (room + 1) / 3;
  size_t head = head_size(text, size, wanted, &width);
  llmprof_buffer_add(out, text, head);
  llmprof_buffer_puts(out, LLMPROF_ELLIPSIS);
  if (place == LLMPROF_END) return;
  size_t tail = tail_start(text, size, total, room - width);
  llmprof_buffer_add(out, text + tail, size - tail);
}

void llmprof_text_pad(llmprof_buffer *out, const char *text, size_t size,
                      size_t columns, llmprof_align align) {
  size_t width = llmprof_text_width(text, size);
  size_t spare = columns > width ? columns - width : 0;
  size_t before = align == LLMPROF_LEFT    ? 0
                  : align == LLMPROF_RIGHT ? spare
                                           : spare / 2;
  llmprof_buffer_fill(out, ' ', before);
  llmprof_buffer_add(out, text, size);
  llmprof_buffer_fill(out, ' ', spare - before);
}

/* ---- lines ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static llmprof_slice trimmed(const char *text, size_t from, size_t to) {
  while (to > from && is_blank(text[to - 1])) to--;
  return (llmprof_slice){text + from, to - from};
}

/* Where the next line starts when this one is broken at `at`: behind blanks,
 * and behind the newline that may follow them. */
static size_t skip_break(const char *text, size_t size, size_t at) {
  while (at < size && is_blank(text[at])) at++;
  return at < size && text[at] == '\n' ? at + 1 : at;
}

/* Where a line that starts at `from` ends: at a newline, at the end, or where
 * it must be broken. */
static size_t line_end(const char *text, size_t size, size_t columns,
                       size_t from) {
  size_t at = from, width = 0, between_words = from;
  bool in_word = false;
  while (at < size && text[at] != '\n') {
    size_t wide;
    size_t taken = llmprof_text_cluster(text + at, size - at, &wide);
    bool blank = taken == 1 && is_blank(text[at]);
    if (blank && in_word) between_words = at;
    if (width + wide > columns) {
      if (between_words > from) return between_words;
      return at > from ? at : at + taken;
    }
    in_word = !blank;
    width += wide;
    at += taken;
  }
  return at;
}

bool llmprof_text_wrap(const char *text, size_t size, size_t columns,
                       size_t *at, llmprof_slice *line) {
  if (*at >= size) return false;
  size_t end = line_end(text, size, columns, *at);
  *line = trimmed(text, *at, end);
  *at = skip_break(text, size, end);
  return true;
}

/* ---- programs ---- */

static const char *last_part(const char *name, size_t *size) {
  for (size_t i = *size; i > 0; i--) {
    if (name[i - 1] != '/') continue;
    *size -= i;
    return name + i;
  }
  return name;
}

/* Where the first word ends, if that is the program and not half of a path
 * that has a space in it; 0 when that cannot be told. */
static size_t program_size(const char *name) {
  size_t size = strcspn(name, " \t\n\r\v\f");
  const char *rest = name + size;
  rest += strspn(rest, " \t\n\r\v\f");
  bool path = memchr(name, '/', size) != NULL;
  if (!*rest || *rest == '-' || !path) return size;
  return 0;
}

void llmprof_text_program(llmprof_buffer *out, const char *name) {
  size_t size = program_size(name);
  const char *program = last_part(name, &size);
  if (memchr(program, '=', size) || size == 0)
    llmprof_buffer_puts(out, *name ? "process" : "");
  else
    llmprof_buffer_add(out, program, size);
}
