/* One pass over the name, from left to right. What a later part may refer to
 * (S_, S0_, ...) is kept as text. A type is written with a mark where what
 * points to it goes: "void (^)(int)" becomes "void (*)(int)"; marks that are
 * left are taken out at the end. */
#include "text/demangle.h"

#include <string.h>

#include "llmprof/alloc.h"
#include "text/lex.h"

enum {
  MOST_DEPTH = 96,
  MOST_TEXT = 64 * 1024, /* of a name, and of all that is kept of it */
  MOST_KEPT = 1024,
  MARK = '\1',
};

typedef struct piece {
  size_t at, size; /* in kept_text */
} piece;

typedef struct reader {
  const char *at, *end;
  llmprof_buffer kept_text;
  piece kept[MOST_KEPT];
  size_t kept_count;
  llmprof_buffer *base; /* of the outermost name; NULL: not wanted */
  int depth;
} reader;

/* What of a name tells how its arguments go on. */
typedef struct name_kind {
  bool is_template; /* ends with template arguments: a return type follows */
  bool is_const;
  bool has_no_return; /* constructors, conversions */
} name_kind;

static bool parse_type(reader *r, llmprof_buffer *out);
static bool parse_encoding(reader *r, llmprof_buffer *out);
static bool parse_arguments(reader *r, llmprof_buffer *out);

/* ---- characters ---- */

static char peek(const reader *r) {
  return r->at < r->end ? *r->at : '\0';
}

static char peek_second(const reader *r) {
  return r->end - r->at > 1 ? r->at[1] : '\0';
}

static bool take(reader *r, char c) {
  if (peek(r) != c) return false;
  r->at++;
  return true;
}

static bool take_word(reader *r, const char *word) {
  size_t size = strlen(word);
  if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
    return false;
  r->at += size;
  return true;
}

static bool take_number(reader *r, size_t *number) {
  if (!llmprof_lex_is_digit(peek(r))) return false;
  *number = 0;
  while (llmprof_lex_is_digit(peek(r)) && *number < MOST_TEXT)
    *number = *number * 10 + (size_t)(*r->at++ - '0');
  return true;
}

/* "_" is 0, "0_" is 1, and so on; in base 36 where that is asked for. */
static bool take_sequence(reader *r, size_t base, size_t *number) {
  *number = 0;
  if (take(r, '_')) return true;
  while (*number < MOST_TEXT) {
    char c = peek(r);
    size_t digit = llmprof_lex_is_digit(c) ? (size_t)(c - '0')
                   : c >= 'A' && c <= 'Z'  ? (size_t)(c - 'A') + 10
                                           : base;
    if (digit >= base) break;
    *number = *number * base + digit;
    r->at++;
  }
  (*number)++;
  return take(r, '_');
}

/* ---- what is kept ---- */

static bool keep_text(reader *r, const char *bytes, size_t size) {
  if (r->kept_count == MOST_KEPT || r->kept_text.size + size > MOST_TEXT)
    return false;
  r->kept[r->kept_count++] = (piece){r->kept_text.size, size};
  llmprof_buffer_add(&r->kept_text, bytes, size);
  return true;
}

/* What was appended to `out` since `from`. */
static bool keep(reader *r, const llmprof_buffer *out, size_t from) {
  if (out->failed) return true;
  return keep_text(r, out->bytes ? out->bytes + from : "", out->size - from);
}

static bool put_kept(reader *r, llmprof_buffer *out, size_t number) {
  if (number >= r->kept_count || r->kept_text.failed ||
      out->size + r->kept[number].size > MOST_TEXT)
    return false;
  if (r->kept[number].size)
    llmprof_buffer_add(out, r->kept_text.bytes + r->kept[number].at,
                       r->kept[number].size);
  return true;
}

/* ---- changing what was written ---- */

/* Insert text at a place of what is there. */
static void insert(llmprof_buffer *out, size_t at, const char *text) {
  size_t size = strlen(text), after = out->size - at;
  llmprof_buffer_puts(out, text);
  if (out->failed) return;
  memmove(out->bytes + at + size, out->bytes + at, after);
  memcpy(out->bytes + at, text, size);
}

/* "*" or "&" to the type since `from`. */
static void point_to(llmprof_buffer *out, size_t from, const char *sign) {
  if (out->failed || out->size == from) return;
  const char *mark = memchr(out->bytes + from, MARK, out->size - from);
  if (mark) {
    insert(out, (size_t)(mark - out->bytes), sign);
    return;
  }
  char last = out->bytes[out->size - 1];
  if (last != '*' && last != '&') llmprof_buffer_putc(out, ' ');
  llmprof_buffer_puts(out, sign);
}

static void qualify(llmprof_buffer *out, size_t from, const char *word) {
  if (out->failed || out->size == from) return;
  char last = out->bytes[out->size - 1];
  if (last == '*' || last == '&') {
    llmprof_buffer_puts(out, word);
    return;
  }
  insert(out, from, " ");
  if (!out->failed) insert(out, from, word);
}

/* ---- names ---- */

static bool put_source_name(reader *r, llmprof_buffer *out) {
  static const char unnamed[] = "_GLOBAL__N_";
  size_t size;
  if (!take_number(r, &size) || size > (size_t)(r->end - r->at)) return false;
  if (size >= sizeof unnamed - 1 &&
      memcmp(r->at, unnamed, sizeof unnamed - 1) == 0)
    llmprof_buffer_puts(out, "<unnamed>");
  else
    llmprof_buffer_add(out, r->at, size);
  r->at += size;
  return true;
}

/* Types separated by commas up to `end`, as arguments of a function. */
static bool put_parameters(reader *r, llmprof_buffer *out, char end) {
  llmprof_buffer_putc(out, '(');
  if (peek(r) == 'v' && (peek_second(r) == end || r->end - r->at == 1)) {
    r->at++;
  } else {
    for (bool first = true; peek(r) != end; first = false) {
      if (!first) llmprof_buffer_puts(out, ", ");
      if (!parse_type(r, out)) return false;
    }
  }
  llmprof_buffer_putc(out, ')');
  return true;
}

static bool put_lambda(reader *r, llmprof_buffer *out) {
  size_t number;
  llmprof_buffer_puts(out, "[lambda");
  if (!put_parameters(r, out, 'E') || !take(r, 'E') ||
      !take_sequence(r, 10, &number))
    return false;
  llmprof_buffer_printf(out, " (instance %zu)]", number + 1);
  return true;
}

static bool put_operator(reader *r, llmprof_buffer *out) {
  static const struct {
    const char *code, *sign;
  } signs[] = {
      {"cl", "()"}, {"ix", "[]"}, {"pl", "+"},  {"mi", "-"},  {"ml", "*"},
      {"dv", "/"},  {"rm", "%"},  {"eq", "=="}, {"ne", "!="}, {"lt", "<"},
      {"gt", ">"},  {"le", "<="}, {"ge", ">="}, {"an", "&"},  {"or", "|"},
      {"eo", "^"},  {"aS", "="},  {"pL", "+="}, {"nt", "!"},  {"ls", "<<"},
      {"rs", ">>"}, {"pt", "->"}, {"aa", "&&"}, {"oo", "||"},
  };
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    if (!take_word(r, signs[i].code)) continue;
    llmprof_buffer_printf(out, "operator %s", signs[i].sign);
    return true;
  }
  return false;
}

static bool put_unqualified(reader *r, llmprof_buffer *out) {
  size_t number;
  take(r, 'L'); /* of internal linkage */
  if (llmprof_lex_is_digit(peek(r))) return put_source_name(r, out);
  if (take_word(r, "Ul")) return put_lambda(r, out);
  if (take_word(r, "Ut")) {
    if (!take_sequence(r, 10, &number)) return false;
    llmprof_buffer_printf(out, "[unnamed type (instance %zu)]", number + 1);
    return true;
  }
  return put_operator(r, out);
}

/* The base name is that of the last part of the outermost name. */
static void note_base(reader *r, const llmprof_buffer *out, size_t from) {
  if (!r->base || r->depth > 1 || out->failed) return;
  llmprof_buffer_clear(r->base);
  llmprof_buffer_add(r->base, out->bytes + from, out->size - from);
}

static bool put_standard(reader *r, llmprof_buffer *out) {
  static const struct {
    const char *code, *name;
  } names[] = {
      {"Sa", "std::allocator"}, {"Sb", "std::basic_string"},
      {"Ss", "std::string"},    {"Si", "std::istream"},
      {"So", "std::ostream"},   {"Sd", "std::iostream"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!take_word(r, names[i].code)) continue;
    llmprof_buffer_puts(out, names[i].name);
    return true;
  }
  return false;
}

static bool put_substitution(reader *r, llmprof_buffer *out) {
  size_t number;
  if (put_standard(r, out)) return true;
  return take(r, 'S') && take_sequence(r, 36, &number) &&
         put_kept(r, out, number);
}

/* The first part of a nested name that is no substitution of its own. */
static bool put_first(reader *r, llmprof_buffer *out, bool *is_kept) {
  *is_kept = true;
  if (take_word(r, "St")) {
    llmprof_buffer_puts(out, "std");
    return true;
  }
  if (peek(r) == 'S') return put_substitution(r, out);
  *is_kept = false;
  if (peek(r) == 'T') return parse_type(r, out);
  size_t from = out->size;
  if (!put_unqualified(r, out)) return false;
  note_base(r, out, from);
  return true;
}

static bool put_constructor(reader *r, llmprof_buffer *out, size_t last_from,
                            size_t last_size) {
  bool ends = peek(r) == 'D';
  r->at += 2;
  if (out->failed) return true;
  llmprof_buffer name = {0};
  llmprof_buffer_puts(&name, ends ? "::~" : "::");
  llmprof_buffer_add(&name, out->bytes + last_from, last_size);
  if (!name.failed) llmprof_buffer_add(out, name.bytes, name.size);
  out->failed |= name.failed;
  llmprof_buffer_free(&name);
  return true;
}

static bool is_constructor(const reader *r) {
  char first = peek(r), second = peek_second(r);
  return (first == 'C' && second >= '1' && second <= '3') ||
         (first == 'D' && second >= '0' && second <= '2');
}

static bool parse_nested(reader *r, llmprof_buffer *out, name_kind *kind) {
  size_t from = out->size;
  bool is_kept;
  while (peek(r) == 'r' || peek(r) == 'V' || peek(r) == 'K')
    kind->is_const |= *r->at++ == 'K';
  if (peek(r) == 'R' || peek(r) == 'O') r->at++;
  if (!put_first(r, out, &is_kept)) return false;
  size_t last = from, last_size = out->size - from;
  while (!take(r, 'E')) {
    /* A template parameter keeps itself. */
    if (!is_kept && !keep(r, out, from)) return false;
    is_kept = false;
    kind->is_template = peek(r) == 'I';
    if (kind->is_template) {
      if (!parse_arguments(r, out)) return false;
    } else if (is_constructor(r)) {
      kind->has_no_return = true;
      put_constructor(r, out, last, last_size);
    } else {
      llmprof_buffer_puts(out, "::");
      last = out->size;
      if (!put_unqualified(r, out)) return false;
      last_size = out->size - last;
      note_base(r, out, last);
    }
  }
  return true;
}

/* A name inside of a function. */
static bool parse_local(reader *r, llmprof_buffer *out, name_kind *kind);

static bool parse_name(reader *r, llmprof_buffer *out, name_kind *kind) {
  size_t from = out->size;
  bool is_kept = false;
  *kind = (name_kind){0};
  if (take(r, 'N')) return parse_nested(r, out, kind);
  if (take(r, 'Z')) return parse_local(r, out, kind);
  if (take_word(r, "St")) {
    llmprof_buffer_puts(out, "std::");
  } else if (peek(r) == 'S') {
    if (!put_substitution(r, out)) return false;
    is_kept = true;
  }
  if (!is_kept) {
    size_t last = out->size;
    if (!put_unqualified(r, out)) return false;
    note_base(r, out, last);
  }
  if (peek(r) != 'I') return true;
  kind->is_template = true;
  return (is_kept || keep(r, out, from)) && parse_arguments(r, out);
}

static bool parse_local(reader *r, llmprof_buffer *out, name_kind *kind) {
  size_t number;
  if (!parse_encoding(r, out) || !take(r, 'E')) return false;
  if (take(r, 's')) return false; /* a string */
  llmprof_buffer_puts(out, "::");
  if (!parse_name(r, out, kind)) return false;
  if (take_word(r, "__")) return take_number(r, &number) && take(r, '_');
  if (peek(r) == '_' && llmprof_lex_is_digit(peek_second(r))) r->at += 2;
  return true;
}

/* ---- template arguments ---- */

/* A function or a variable by its name: the types of a function are read, since
 * later parts may refer to them, and not written. */
static bool put_address(reader *r, llmprof_buffer *out) {
  name_kind kind;
  llmprof_buffer types = {0};
  if (r->depth >= MOST_DEPTH) return false;
  llmprof_buffer_putc(out, '&');
  bool ok = parse_name(r, out, &kind);
  while (ok && peek(r) && peek(r) != 'E') ok = parse_type(r, &types);
  out->failed |= types.failed;
  llmprof_buffer_free(&types);
  return ok && take(r, 'E');
}

static bool put_literal(reader *r, llmprof_buffer *out) {
  if (take_word(r, "_Z")) return put_address(r, out);
  llmprof_buffer_putc(out, '(');
  if (!parse_type(r, out)) return false;
  llmprof_buffer_putc(out, ')');
  if (take(r, 'n')) llmprof_buffer_putc(out, '-');
  while (peek(r) && peek(r) != 'E') llmprof_buffer_putc(out, *r->at++);
  return take(r, 'E');
}

static bool put_parameter(reader *r, llmprof_buffer *out) {
  size_t number;
  if (!take(r, 'T') || !take_sequence(r, 10, &number)) return false;
  llmprof_buffer_printf(out, "T%zu", number + 1);
  return true;
}

static bool put_argument(reader *r, llmprof_buffer *out, bool *first) {
  if (take(r, 'J')) { /* a pack, which may hold others */
    if (r->depth >= MOST_DEPTH) return false;
    r->depth++;
    while (!take(r, 'E')) {
      if (!put_argument(r, out, first)) return false;
    }
    r->depth--;
    return true;
  }
  if (!*first) llmprof_buffer_puts(out, ", ");
  *first = false;
  if (take(r, 'L')) return put_literal(r, out);
  if (take_word(r, "XadL_Z")) return put_address(r, out) && take(r, 'E');
  if (take(r, 'X')) return put_parameter(r, out) && take(r, 'E');
  return parse_type(r, out);
}

static bool parse_arguments(reader *r, llmprof_buffer *out) {
  bool first = true;
  if (!take(r, 'I')) return false;
  r->depth++; /* names in here are not the function's */
  llmprof_buffer_putc(out, '<');
  while (!take(r, 'E')) {
    if (!put_argument(r, out, &first)) return false;
  }
  llmprof_buffer_putc(out, '>');
  r->depth--;
  return true;
}

/* ---- types ---- */

static const char *builtin(char code) {
  static const char *const names['z' - 'a' + 1] = {
      ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
      ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
      ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
      ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
      ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
      ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
      ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
      ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
      ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
      ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
      ['z' - 'a'] = "...",
  };
  return code >= 'a' && code <= 'z' ? names[code - 'a'] : NULL;
}

static bool put_qualified(reader *r, llmprof_buffer *out) {
  size_t from = out->size;
  bool is_volatile = take(r, 'V'), is_const = take(r, 'K');
  if (!parse_type(r, out)) return false;
  if (is_volatile) qualify(out, from, "volatile");
  if (is_const) qualify(out, from, "const");
  return true;
}

static bool put_pointer(reader *r, llmprof_buffer *out) {
  size_t from = out->size;
  const char *sign = take(r, 'P') ? "*" : take(r, 'R') ? "&" : "&&";
  if (sign[0] == '&' && sign[1]) r->at++;
  if (!parse_type(r, out)) return false;
  point_to(out, from, sign);
  return true;
}

static bool put_function(reader *r, llmprof_buffer *out) {
  take(r, 'Y');
  if (!parse_type(r, out)) return false;
  llmprof_buffer_printf(out, " (%c)", MARK);
  return put_parameters(r, out, 'E') && take(r, 'E');
}

static bool put_array(reader *r, llmprof_buffer *out) {
  size_t number;
  if (!take_number(r, &number) || !take(r, '_') || !parse_type(r, out))
    return false;
  llmprof_buffer_printf(out, " (%c)[%zu]", MARK, number);
  return true;
}

static bool put_class(reader *r, llmprof_buffer *out) {
  name_kind kind;
  r->depth++;
  bool ok = parse_name(r, out, &kind);
  r->depth--;
  return ok;
}

/* A substitution that is a type as it stands. */
static bool is_bare_substitution(const reader *r, const char *before) {
  return *before == 'S' && before[1] != 't' && peek(r) != 'I' &&
         r->at[-1] != 'E';
}

/* A type that is kept for later. */
static bool put_compound(reader *r, llmprof_buffer *out) {
  size_t from = out->size;
  const char *before = r->at;
  bool ok;
  switch (peek(r)) {
  case 'P':
  case 'R':
  case 'O':
    ok = put_pointer(r, out);
    break;
  case 'K':
  case 'V':
    ok = put_qualified(r, out);
    break;
  case 'F':
    r->at++;
    ok = put_function(r, out);
    break;
  case 'A':
    r->at++;
    ok = put_array(r, out);
    break;
  case 'T':
    ok = put_parameter(r, out);
    if (ok && peek(r) == 'I')
      ok = keep(r, out, from) && parse_arguments(r, out);
    break;
  default:
    ok = put_class(r, out);
    if (ok && is_bare_substitution(r, before)) return true;
  }
  return ok && keep(r, out, from);
}

/* With two letters and more: nullptr, half floats, packs. */
static bool put_other(reader *r, llmprof_buffer *out) {
  if (take_word(r, "DF16b") || take_word(r, "DF16_")) {
    llmprof_buffer_puts(out, r->at[-1] == 'b' ? "__bf16" : "_Float16");
    return true;
  }
  if (take_word(r, "Dn")) {
    llmprof_buffer_puts(out, "std::nullptr_t");
    return true;
  }
  if (take_word(r, "Dp")) {
    size_t from = out->size;
    if (!parse_type(r, out)) return false;
    llmprof_buffer_puts(out, "...");
    return keep(r, out, from);
  }
  return false;
}

static bool parse_type(reader *r, llmprof_buffer *out) {
  if (r->depth >= MOST_DEPTH || out->size > MOST_TEXT) return false;
  const char *name = builtin(peek(r));
  if (name) {
    r->at++;
    llmprof_buffer_puts(out, name);
    return true;
  }
  r->depth++;
  bool ok =
      peek(r) == 'D' ? put_other(r, out) : peek(r) && put_compound(r, out);
  r->depth--;
  return ok;
}

/* ---- functions ---- */

static bool parse_encoding(reader *r, llmprof_buffer *out) {
  size_t from = out->size;
  name_kind kind;
  if (r->depth >= MOST_DEPTH) return false;
  r->depth++;
  bool ok = parse_name(r, out, &kind);
  char end = r->depth > 1 ? 'E' : '\0';
  if (ok && peek(r) != end) {
    r->depth++; /* no name in here is the function's */
    if (kind.is_template && !kind.has_no_return) {
      llmprof_buffer returned = {0};
      ok = parse_type(r, &returned);
      llmprof_buffer_putc(&returned, ' ');
      if (ok && !returned.failed) insert(out, from, returned.bytes);
      out->failed |= returned.failed;
      llmprof_buffer_free(&returned);
    }
    ok = ok && put_parameters(r, out, end);
    r->depth--;
  }
  if (ok && kind.is_const) llmprof_buffer_puts(out, " const");
  r->depth--;
  return ok;
}

/* Marks that nothing points to: "int (^)[4]" is "int [4]". */
static void put_without_marks(llmprof_buffer *out, const char *text,
                              size_t size) {
  for (size_t i = 0; i < size; i++) {
    bool alone = size - i >= 3 && text[i] == '(' && text[i + 1] == MARK &&
                 text[i + 2] == ')';
    if (alone)
      i += 2;
    else if (text[i] != MARK)
      llmprof_buffer_putc(out, text[i]);
  }
}

static bool put_as_it_is(const char *name, size_t size, llmprof_buffer *full,
                         llmprof_buffer *base) {
  llmprof_buffer_add(full, name, size);
  llmprof_buffer_add(base, name, size);
  return !full->failed && !base->failed;
}

bool llmprof_demangle(const char *name, size_t size, llmprof_buffer *full,
                      llmprof_buffer *base) {
  if (size < 3 || size > MOST_TEXT || memcmp(name, "_Z", 2) != 0)
    return put_as_it_is(name, size, full, base);
  reader *r = llmprof_zalloc(1, sizeof *r);
  if (!r) return false;
  llmprof_buffer text = {0}, last = {0};
  r->at = name + 2;
  r->end = name + size;
  r->base = &last;
  bool known = parse_encoding(r, &text) && r->at == r->end && last.size &&
               text.size <= MOST_TEXT;
  bool ok = !text.failed && !last.failed && !r->kept_text.failed;
  if (ok && known) {
    put_without_marks(full, text.bytes, text.size);
    llmprof_buffer_add(base, last.bytes, last.size);
    ok = !full->failed && !base->failed;
  } else if (ok) {
    ok = put_as_it_is(name, size, full, base);
  }
  llmprof_buffer_free(&r->kept_text);
  llmprof_free(r);
  llmprof_buffer_free(&text);
  llmprof_buffer_free(&last);
  return ok;
}

/* ---- names that are written out ---- */

static bool has_at(const char *at, const char *end, const char *text) {
  size_t size = strlen(text);
  return (size_t)(end - at) >= size && memcmp(at, text, size) == 0;
}

/* What is in brackets ends no name; "(anonymous namespace)" is a part of one,
 * any other round bracket begins the arguments. */
void llmprof_demangled_base(const char *name, size_t size, const char **begin,
                            size_t *base_size) {
  static const char nameless[] = "(anonymous namespace)";
  const char *end = name + size, *first = name, *last = NULL, *at = name;
  size_t depth = 0, round = 0;
  for (; at < end && (depth || *at != '(' || has_at(at, end, nameless)); at++) {
    if (!depth && *at == '(') at += sizeof nameless - 2;
    if (!depth && (*at == ' ' || *at == ':')) {
      first = at + 1;
      last = NULL;
    }
    if (!depth && *at == '<') last = at;
    round += depth && *at == '(';
    round -= round && *at == ')';
    if (round) continue; /* "(8)>(0)" compares */
    depth += *at == '<' || *at == '{';
    depth -= depth && (*at == '>' || *at == '}');
  }
  if (!last) last = at;
  bool sound = last > first && !depth;
  *begin = sound ? first : name;
  *base_size = sound ? (size_t)(last - first) : size;
}
