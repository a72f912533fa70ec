/* Escaping goes character by character with a view of its neighbours: what
 * needs no escape is left alone, since people read the source as well. */
#include <ctype.h>
#include <string.h>

#include "text/markdown.h"
#include "text/text.h"

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static bool is_word(const char *text, size_t size, size_t at) {
  return at < size && isascii((unsigned char)text[at]) &&
         isalnum((unsigned char)text[at]);
}

/* Bytes of the newline at `at`: 0, 1 or 2. */
static size_t newline_at(const char *text, size_t size, size_t at) {
  if (text[at] == '\n') return 1;
  if (text[at] != '\r') return 0;
  return at + 1 < size && text[at + 1] == '\n' ? 2 : 1;
}

/* True at the first slash of "://" and at the dot of "www.", which start links
 * in which escapes would show. */
static bool in_link(const char *text, size_t size, size_t at) {
  if (text[at] == '/')
    return at >= 1 && text[at - 1] == ':' && at + 1 < size &&
           text[at + 1] == '/';
  return text[at] == '.' && at >= 3 &&
         strncasecmp(text + at - 3, "www", 3) == 0;
}

/* Between characters of a word, underscores do not open or close emphasis. */
static bool inside_word(const char *text, size_t size, size_t at, size_t run) {
  return at && is_word(text, size, at - 1) && is_word(text, size, at + run);
}

/* True when every character in front is a digit; a longer number starts no
 * list. */
static bool is_list_number(const char *text, size_t at) {
  if (at == 0 || at > 9) return false;
  for (size_t i = 0; i < at; i++) {
    if (!isdigit((unsigned char)text[i])) return false;
  }
  return true;
}

/* True for what starts a list, a heading, an underline or a rule at the start
 * of a line, and for a # behind a space, which can end a heading. */
static bool is_block_mark(const char *text, size_t size, size_t at) {
  char c = text[at];
  char next = at + 1 < size ? text[at + 1] : ' ';
  switch (c) {
  case '#':
    return at == 0 || is_blank(text[at - 1]);
  case '=':
    return at == 0;
  case '+':
  case '-':
    return at == 0 && (is_blank(next) || next == c);
  case '.':
  case ')':
    return is_blank(next) && is_list_number(text, at);
  default:
    return false;
  }
}

static const char *entity_of(char c) {
  switch (c) {
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '&':
    return "&amp;";
  default:
    return NULL;
  }
}

/* Append a run of underscores. */
static size_t add_underscores(llmprof_buffer *out, const char *text,
                              size_t size, size_t at) {
  size_t run = 1;
  while (at + run < size && text[at + run] == '_') run++;
  bool plain = inside_word(text, size, at, run);
  for (size_t i = 0; i < run; i++)
    llmprof_buffer_puts(out, plain ? "_" : "\\_");
  return run;
}

/* Append what stands at `at`, neither blank nor newline. */
static size_t add_char(llmprof_buffer *out, const char *text, size_t size,
                       size_t at, bool line_start) {
  uint32_t code;
  size_t taken = llmprof_utf8_decode(text + at, size - at, &code);
  const char *entity = entity_of(text[at]);
  if (code == '_') return add_underscores(out, text, size, at);
  if (code == 0xFFFD) {
    llmprof_buffer_puts(out, LLMPROF_REPLACEMENT);
  } else if (llmprof_text_is_control(code)) {
    llmprof_text_put_control(out, code);
  } else if (entity) {
    llmprof_buffer_puts(out, entity);
  } else {
    if (code < 0x80 &&
        (strchr("\\`*[|~$", (int)code) || in_link(text, size, at) ||
         (line_start && is_block_mark(text, size, at))))
      llmprof_buffer_putc(out, '\\');
    llmprof_buffer_add(out, text + at, taken);
  }
  return taken;
}

static void escape(llmprof_buffer *out, const char *text, size_t size,
                   bool line_start) {
  size_t first = 0, last = size; /* blanks outside would be trimmed */
  while (first < size && is_blank(text[first])) first++;
  while (last > first && is_blank(text[last - 1])) last--;
  for (size_t at = 0; at < size;) {
    size_t newline = newline_at(text, size, at);
    if (newline) {
      llmprof_buffer_puts(out, "<br>");
      at += newline;
    } else if (is_blank(text[at])) {
      llmprof_buffer_puts(out, at < first || at >= last ? "&nbsp;" : " ");
      at++;
    } else {
      at += add_char(out, text, size, at, line_start);
    }
  }
}

void llmprof_markdown_escape(llmprof_buffer *out, const char *text,
                             size_t size) {
  escape(out, text, size, true);
}

void llmprof_markdown_inline(llmprof_buffer *out, const char *text,
                             size_t size) {
  escape(out, text, size, false);
}

/* ---- code ---- */

static size_t longest_run(const char *text, size_t size, char c) {
  size_t longest = 0, run = 0;
  for (size_t i = 0; i < size; i++) {
    run = text[i] == c ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

/* One space on each side is taken off by the renderer: give it one where the
 * text's own would go, and where a backtick would join the fence. */
static bool needs_spaces(const char *text, size_t size) {
  if (text[0] == '`' || text[size - 1] == '`') return true;
  if (!is_blank(text[0]) || !is_blank(text[size - 1])) return false;
  for (size_t i = 0; i < size; i++) {
    if (!is_blank(text[i])) return true;
  }
  return false;
}

static bool fits_fence(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '|' || text[i] == '\n' || text[i] == '\r') return false;
  }
  return true;
}

void llmprof_markdown_code(llmprof_buffer *out, const char *text, size_t size) {
  if (!size) return;
  if (!fits_fence(text, size)) {
    llmprof_buffer_puts(out, "<code>");
    escape(out, text, size, false);
    llmprof_buffer_puts(out, "</code>");
    return;
  }
  size_t fence = longest_run(text, size, '`') + 1;
  const char *space = needs_spaces(text, size) ? " " : "";
  llmprof_buffer_fill(out, '`', fence);
  llmprof_buffer_puts(out, space);
  llmprof_text_clean(out, text, size);
  llmprof_buffer_puts(out, space);
  llmprof_buffer_fill(out, '`', fence);
}
