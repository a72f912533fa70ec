/* Everything here walks over grapheme clusters: where they end is UAX #29, as
 * utf8proc knows it; how wide they are is that of their first character, but
 * for what terminals do with emoji and their variation selectors. */
#include "text/text.h"

#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

enum {
  REPLACEMENT = 0xFFFD,
  ZWJ = 0x200D,
  VS16 = 0xFE0F, /* "show the character before as emoji" */
  LONGEST = 4,   /* bytes of a character */
};

/* ---- characters ---- */

/* Bytes of the longest beginning of a character at a malformed sequence: what
 * is there, filled up, would be one. */
static size_t malformed(const unsigned char *bytes, size_t size) {
  unsigned char filled[LONGEST] = {bytes[0], 0x80, 0x80, 0x80};
  size_t taken = 1;
  while (taken < size && taken + 1 < LONGEST) {
    utf8proc_int32_t code;
    filled[taken] = bytes[taken];
    utf8proc_ssize_t whole = utf8proc_iterate(filled, LONGEST, &code);
    if (whole <= (utf8proc_ssize_t)taken + 1) break;
    taken++;
  }
  return taken;
}

size_t llmprof_utf8_decode(const char *text, size_t size, uint32_t *code) {
  *code = REPLACEMENT;
  if (!size) return 0;
  const unsigned char *bytes = (const unsigned char *)text;
  if (bytes[0] < 0x80) {
    *code = bytes[0];
    return 1;
  }
  if (size > LONGEST) size = LONGEST;
  utf8proc_int32_t found;
  utf8proc_ssize_t taken =
      utf8proc_iterate(bytes, (utf8proc_ssize_t)size, &found);
  if (taken <= 0) return malformed(bytes, size);
  *code = (uint32_t)found;
  return (size_t)taken;
}

static const utf8proc_property_t *property(uint32_t code) {
  return utf8proc_get_property((utf8proc_int32_t)code);
}

/* Unassigned, but wide when they are: CJK by the rules of UAX #11, and where
 * the next versions of Unicode put their emoji. */
static bool is_reserved_wide(uint32_t code) {
  static const struct {
    uint32_t first, last;
  } blocks[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
      {0x1F6D0, 0x1F6FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x2FFFD},
      {0x30000, 0x3FFFD},
  };
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    if (code >= blocks[i].first && code <= blocks[i].last) return true;
  }
  return false;
}

/* Columns of a character by itself. Marks that take room, signs written before
 * a number and flags are wider than utf8proc has them, vowels and finals of
 * conjoining Hangul are part of their syllable. */
static size_t code_width(uint32_t code) {
  const utf8proc_property_t *of = property(code);
  if (of->category == UTF8PROC_CATEGORY_MC) return 1;
  if (of->category == UTF8PROC_CATEGORY_CN)
    return is_reserved_wide(code) ? 2 : 1;
  switch (of->boundclass) {
  case UTF8PROC_BOUNDCLASS_V:
  case UTF8PROC_BOUNDCLASS_T:
    return 0;
  case UTF8PROC_BOUNDCLASS_PREPEND:
    return 1;
  case UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR:
    return 2;
  default:
    return of->charwidth;
  }
}

static bool is_line_or_control(uint32_t code) {
  int category = property(code)->category;
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

/* ---- clusters ---- */

static bool is_pictorial(uint32_t code) {
  return property(code)->boundclass ==
         UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

/* What VS16 and U+20E3 make a key of. */
static bool is_keycap(uint32_t code) {
  return (code >= '0' && code <= '9') || code == '#' || code == '*';
}

static bool is_skin_tone(uint32_t code) {
  return code >= 0x1F3FB && code <= 0x1F3FF;
}

/* Columns of the cluster that begins with `base` and is `width` wide so far,
 * with one character more. */
static size_t wider(uint32_t base, uint32_t before, uint32_t code,
                    size_t width) {
  bool emoji = is_pictorial(base);
  if (code == VS16) return emoji || is_keycap(base) ? 2 : width;
  if (emoji && (is_skin_tone(code) || before == ZWJ)) return 2;
  bool flag =
      property(code)->boundclass == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
  return flag ? width : width + code_width(code);
}

size_t llmprof_text_cluster(const char *text, size_t size, size_t *width) {
  uint32_t base, before, code;
  *width = 0;
  size_t at = llmprof_utf8_decode(text, size, &base);
  if (!at) return 0;
  if (base >= 0x20 && base < 0x7F &&
      (size == 1 || (unsigned char)text[1] < 0x80)) {
    *width = 1;
    return 1;
  }
  *width = code_width(base);
  if (is_line_or_control(base)) return at;
  utf8proc_int32_t state = 0;
  for (before = base; at < size; before = code) {
    size_t taken = llmprof_utf8_decode(text + at, size - at, &code);
    if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before,
                                         (utf8proc_int32_t)code, &state))
      return at;
    *width = wider(base, before, code, *width);
    at += taken;
  }
  return at;
}

static bool is_plain(char c, bool keep_lines) {
  return (c >= ' ' && c <= '~') || (keep_lines && c == '\n');
}

/* Bytes at the start of `text` that a terminal shows as they are. */
static size_t plain_run(const char *text, size_t size, bool keep_lines) {
  size_t at = 0;
  while (at < size && is_plain(text[at], keep_lines)) at++;
  return at;
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

bool llmprof_text_is_plain(const char *text, size_t size, bool keep_lines) {
  return plain_run(text, size, keep_lines) == size;
}

/* Does it turn the direction of what follows: a name could read as another? */
static bool is_turn(uint32_t code) {
  return (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

/* Unicode's Default_Ignorable_Code_Point, by whole ranges: the data of
 * utf8proc know no characters that are not assigned yet. */
static bool is_invisible(uint32_t code) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {
      {0x00AD, 0x00AD},   {0x034F, 0x034F},   {0x061C, 0x061C},
      {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
      {0x200B, 0x200F},   {0x202A, 0x202E},   {0x2060, 0x206F},
      {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
      {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFF8},   {0x1BCA0, 0x1BCA3},
      {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (code <= ranges[i].last) return code >= ranges[i].first;
  }
  return false;
}

bool llmprof_text_is_control(uint32_t code) {
  return is_line_or_control(code) || is_invisible(code);
}

void llmprof_text_put_control(llmprof_buffer *out, uint32_t code) {
  if (is_invisible(code))
    llmprof_buffer_printf(out, "\\u{%" PRIx32 "}", code);
  else
    llmprof_buffer_puts(out, LLMPROF_REPLACEMENT);
}

typedef struct cleaning {
  bool keep_lines, keep_invisible;
} cleaning;

/* Append what stands for a character that is not printable ASCII. */
static void put_clean(llmprof_buffer *out, uint32_t code, const char *bytes,
                      size_t size, cleaning how) {
  bool tab = code == '\t', line = code == '\n';
  if ((tab || line || code == '\r') && !how.keep_lines)
    llmprof_buffer_putc(out, ' ');
  else if (code == REPLACEMENT)
    llmprof_buffer_puts(out, LLMPROF_REPLACEMENT);
  else if (tab || line || !llmprof_text_is_control(code) ||
           (how.keep_invisible && is_invisible(code) && !is_turn(code)))
    llmprof_buffer_add(out, bytes, size);
  else
    llmprof_text_put_control(out, code);
}

static void clean(llmprof_buffer *out, const char *text, size_t size,
                  cleaning how) {
  for (size_t at = 0; at < size;) {
    size_t plain = plain_run(text + at, size - at, how.keep_lines);
    llmprof_buffer_add(out, text + at, plain);
    at += plain;
    if (at == size) return;
    if (text[at] == '\r' && at + 1 < size && text[at + 1] == '\n') at++;
    uint32_t code;
    size_t taken = llmprof_utf8_decode(text + at, size - at, &code);
    put_clean(out, code, text + at, taken, how);
    at += taken;
  }
}

void llmprof_text_clean(llmprof_buffer *out, const char *text, size_t size) {
  clean(out, text, size, (cleaning){0});
}

void llmprof_text_clean_lines(llmprof_buffer *out, const char *text,
                              size_t size) {
  clean(out, text, size, (cleaning){.keep_lines = true});
}

void llmprof_text_clean_exact(llmprof_buffer *out, const char *text,
                              size_t size) {
  clean(out, text, size,
        (cleaning){.keep_lines = true, .keep_invisible = true});
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
  if (align == LLMPROF_RIGHT) llmprof_buffer_fill(out, ' ', spare);
  llmprof_buffer_add(out, text, size);
  if (align == LLMPROF_LEFT) llmprof_buffer_fill(out, ' ', spare);
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
