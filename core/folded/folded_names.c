/* The spellings of py-spy (function, and in brackets script and line or
 * library) and perf (the function alone). */
#include <stdbool.h>
#include <string.h>

#include "folded/folded_internal.h"
#include "text/lex.h"

/* Without ":12" at the end. */
static size_t without_line(const char *text, size_t size) {
  size_t at = size;
  while (at && llmprof_lex_is_digit(text[at - 1])) at--;
  return at && at < size && text[at - 1] == ':' ? at - 1 : size;
}

/* What follows the last slash of an absolute path. */
static void cut_folder(const char **text, size_t *size) {
  if (!*size || **text != '/') return;
  const char *end = *text + *size, *last = end;
  while (last[-1] != '/') last--;
  if (last == end) return;
  *size = (size_t)(end - last);
  *text = last;
}

/* The bracket that the last character closes; NULL without. */
static const char *opening(const char *text, size_t size) {
  size_t depth = 0;
  if (size < 4 || text[size - 1] != ')') return NULL;
  for (size_t at = size; at-- > 0;) {
    depth += text[at] == ')';
    depth -= text[at] == '(';
    if (!depth) return text + at;
  }
  return NULL;
}

static bool is_address(const char *text, size_t size) {
  static const char digits[] = "0123456789abcdefABCDEF";
  if (size < 3 || memcmp(text, "0x", 2) != 0) return false;
  for (size_t at = 2; at < size; at++) {
    if (!memchr(digits, text[at], sizeof digits - 1)) return false;
  }
  return true;
}

/* "process 12:\"...\"": what was called, with all its words, is not told. */
static size_t without_command(const char *text, size_t size) {
  static const char word[] = "process ";
  size_t at = sizeof word - 1;
  if (size <= at || memcmp(text, word, at) != 0) return size;
  while (at < size && llmprof_lex_is_digit(text[at])) at++;
  return at > sizeof word - 1 && at < size && text[at] == ':' ? at : size;
}

folded_name folded_name_read(const char *text, size_t size) {
  folded_name name = {.function = text, .function_size = size, .module = text};
  const char *bracket = opening(text, size);
  if (bracket && bracket > text + 1 && bracket[-1] == ' ' &&
      bracket + 2 < text + size) {
    name.function_size = (size_t)(bracket - 1 - text);
    name.module = bracket + 1;
    name.module_size = (size_t)(text + size - 2 - bracket);
    name.module_size = without_line(name.module, name.module_size);
    cut_folder(&name.module, &name.module_size);
  }
  name.function_size = without_command(name.function, name.function_size);
  cut_folder(&name.function, &name.function_size);
  name.nameless = is_address(name.function, name.function_size);
  return name;
}
