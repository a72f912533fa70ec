#include "text/spelling.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text/pieces.h"

/* ---- bytes ---- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z');
}

static bool is_of_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is(const char *text, size_t size, const char *other) {
  return size == strlen(other) && memcmp(text, other, size) == 0;
}

/* How many digits there are from here on. */
static size_t count_digits(const char *text, size_t size) {
  size_t count = 0;
  while (count < size && is_digit(text[count])) count++;
  return count;
}

/* ---- copies and sets ---- */

static bool is_end(char c) {
  return c && strchr("HDPA", c) != NULL;
}

/* "[CUDA memcpy Host-to-Device]": its first letters; false: it is none. */
static bool read_copy(const char *name, size_t size, char ends[2]) {
  static const char before[] = "[CUDA memcpy ", between[] = "-to-";
  size_t at = sizeof before - 1;
  if (!llmprof_begins(name, size, before) || at == size || !is_upper(name[at]))
    return false;
  ends[0] = name[at++];
  while (at < size && is_letter(name[at])) at++;
  if (!llmprof_begins(name + at, size - at, between)) return false;
  at += sizeof between - 1;
  if (at == size || !is_upper(name[at])) return false;
  ends[1] = name[at];
  return true;
}

/* "Memcpy HtoD (Pageable -> Device)". */
static bool read_short_copy(const char *name, size_t size, char ends[2]) {
  static const char before[] = "Memcpy ";
  size_t at = sizeof before - 1;
  if (!llmprof_begins(name, size, before) || size < at + 4 ||
      !is_upper(name[at]) || memcmp(name + at + 1, "to", 2) != 0 ||
      !is_upper(name[at + 3]))
    return false;
  ends[0] = name[at];
  ends[1] = name[at + 3];
  return true;
}

/* 0: it is a kernel. */
static size_t spell_copy(const char *name, size_t size, char *word) {
  char ends[2];
  if ((read_copy(name, size, ends) || read_short_copy(name, size, ends)) &&
      is_end(ends[0]) && is_end(ends[1]))
    return (size_t)snprintf(word, LLMPROF_SPELLING_MOST, "copy %cto%c", ends[0],
                            ends[1]);
  if (llmprof_begins(name, size, "Memset") || is(name, size, "[CUDA memset]"))
    return (size_t)snprintf(word, LLMPROF_SPELLING_MOST, "set");
  return 0;
}

/* ---- kernels: each step in place, and what it makes is no longer ---- */

/* "(instance 2)" is "#2" elsewhere. */
static size_t shorten_instances(char *text, size_t size) {
  static const char before[] = "(instance ";
  size_t kept = llmprof_piece_at(text, size, before);
  for (size_t i = kept; i < size;) {
    size_t at = i + sizeof before - 1;
    size_t digits = text[i] == '(' && llmprof_begins(text + i, size - i, before)
                        ? count_digits(text + at, size - at)
                        : 0;
    if (!digits || at + digits == size || text[at + digits] != ')') {
      text[kept++] = text[i++];
      continue;
    }
    text[kept++] = '#';
    memmove(text + kept, text + at, digits);
    kept += digits;
    i = at + digits + 1;
  }
  return kept;
}

/* Without what is in round brackets, which is parameters and types of literals,
 * and without the other brackets, but for what is in them. */
static size_t without_brackets(char *text, size_t size) {
  size_t kept = 0, depth = 0;
  for (size_t i = 0; i < size; i++) {
    char c = text[i];
    if (c == '(')
      depth++;
    else if (c == ')')
      depth -= depth > 0;
    else if (!depth && c != '[' && c != ']' && c != '{' && c != '}')
      text[kept++] = c;
  }
  return kept;
}

static bool is_of_letters(const char *word, size_t size) {
  size_t i = 0;
  while (i < size && is_letter(word[i])) i++;
  return i == size;
}

/* Bytes of "2ul" that are its number; 0: it is none with letters behind. */
static size_t number_in(const char *word, size_t size) {
  size_t digits = count_digits(word, size), i = digits;
  if (!digits) return 0;
  while (i < size && strchr("uUlL", word[i])) i++;
  return i == size && digits < size ? digits : 0;
}

/* Words that stand in one spelling and not in the other, or elsewhere, go; and
 * values are as numbers. Returns the bytes of it. */
static size_t spell_word(char *to, const char *word, size_t size) {
  if (is_of_letters(word, size)) {
    if (is(word, size, "const") || is(word, size, "void")) return 0;
    bool is_true = is(word, size, "true");
    if (is_true || is(word, size, "false")) {
      *to = is_true ? '1' : '0';
      return 1;
    }
  }
  size_t number = number_in(word, size);
  if (number) size = number;
  memmove(to, word, size);
  return size;
}

static size_t spell_words(char *text, size_t size) {
  size_t kept = 0;
  for (size_t i = 0; i < size;) {
    size_t end = i;
    while (end < size && is_of_word(text[end])) end++;
    if (end > i)
      kept += spell_word(text + kept, text + i, end - i);
    else if (!is_space(text[end++]))
      text[kept++] = text[i];
    i = end;
  }
  return kept;
}

size_t llmprof_spelling(const char *name, size_t size,
                        char word[LLMPROF_SPELLING_MOST]) {
  size_t copy = spell_copy(name, size, word);
  if (copy) return copy;
  if (size > LLMPROF_SPELLING_MOST) size = LLMPROF_SPELLING_MOST;
  if (size) memcpy(word, name, size);
  size = llmprof_without(word, size, "<unnamed>::");
  size = llmprof_without(word, size, "(anonymous namespace)::");
  size = shorten_instances(word, size);
  size = without_brackets(word, size);
  return spell_words(word, size);
}
