/* Most patterns are in none of a thousand names. Which pairs of bytes a text
 * has is noted in a bit each; a pattern that needs one that is not there is not
 * looked for. */
#include "llmprof/rules.h"

#include <string.h>

#include "llmprof/alloc.h"
#include "text/pattern.h"

enum {
  LONGEST = 4096, /* of a kernel's name: patterns may take its square */
  PAIRS = 4096,   /* bits */
  MOST_PAIRS = 8  /* of a pattern that are looked at */
};

typedef struct rule {
  llmprof_pattern pattern;
  llmprof_rule_view view;
  uint32_t number;
  uint16_t pairs[MOST_PAIRS];
  size_t pair_count;
} rule;

struct llmprof_rules {
  rule *all;
  size_t count, cap;
};

llmprof_rules *llmprof_rules_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_rules));
}

void llmprof_rules_free(llmprof_rules *rules) {
  if (!rules) return;
  for (size_t i = 0; i < rules->count; i++)
    llmprof_pattern_free(&rules->all[i].pattern);
  llmprof_free(rules->all);
  llmprof_free(rules);
}

/* ---- pairs of bytes ---- */

static uint16_t pair_of(unsigned char a, unsigned char b) {
  return (uint16_t)((a * 67u ^ b) % PAIRS);
}

static bool is_needed(const llmprof_item *item) {
  return item->kind == LLMPROF_ITEM_BYTE && !item->repeat;
}

static void note_pairs(rule *r) {
  const llmprof_item *items = r->pattern.items;
  for (size_t i = 1; i < r->pattern.count; i++) {
    if (r->pair_count < MOST_PAIRS && is_needed(&items[i - 1]) &&
        is_needed(&items[i]))
      r->pairs[r->pair_count++] = pair_of(items[i - 1].byte, items[i].byte);
  }
}

bool llmprof_rules_add(llmprof_rules *rules, const char *pattern, size_t size,
                       llmprof_rule_view view, uint32_t number,
                       llmprof_error *err) {
  rule added = {.view = view, .number = number};
  if (!llmprof_grow(&rules->all, &rules->cap, rules->count + 1,
                    sizeof *rules->all))
    return llmprof_fail_nomem(err);
  if (!llmprof_pattern_compile(&added.pattern, pattern, size, err))
    return false;
  note_pairs(&added);
  rules->all[rules->count++] = added;
  return true;
}

/* ---- what a pattern looks at ---- */

typedef struct view {
  const char *text;
  size_t size;
  uint64_t pairs[PAIRS / 64];
} view;

static void view_init(view *v, const char *text, size_t size) {
  v->text = text;
  v->size = size;
  memset(v->pairs, 0, sizeof v->pairs);
  for (size_t i = 1; i < size; i++) {
    uint16_t pair = pair_of((unsigned char)text[i - 1], (unsigned char)text[i]);
    v->pairs[pair / 64] |= (uint64_t)1 << pair % 64;
  }
}

/* What is between brackets, and these, goes where they are closed. */
typedef struct brackets {
  uint16_t open[LONGEST], close[LONGEST]; /* close: 0 where it is not */
} brackets;

/* A name that is read, and both that are made of it. */
typedef struct kernel {
  char whole[LONGEST], function[LONGEST];
  size_t whole_size, function_size;
  brackets of;
} kernel;

static char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? (char)(byte + 'a' - 'A') : byte;
}

static bool begins(const char *text, size_t size, const char *with) {
  size_t length = strlen(with);
  return size >= length && memcmp(text, with, length) == 0;
}

/* Without any `what`, in place. */
static size_t without(char *text, size_t size, const char *what) {
  size_t kept = 0, length = strlen(what);
  for (size_t i = 0; i < size;) {
    if (begins(text + i, size - i, what))
      i += length;
    else
      text[kept++] = text[i++];
  }
  return kept;
}

/* Where each bracket that is closed is closed. */
static void pair_brackets(brackets *b, const char *text, size_t size) {
  size_t open = 0;
  memset(b->close, 0, size * sizeof *b->close);
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '<') b->open[open++] = (uint16_t)i;
    if (text[i] == '>' && open) b->close[b->open[--open]] = (uint16_t)i;
  }
}

/* Where the parameters begin, or the size: the first round bracket that no
 * template argument holds. */
static size_t parameters_at(const brackets *b, const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '(') return i;
    if (text[i] != '<') continue;
    if (!b->close[i]) break;
    i = b->close[i];
  }
  return size;
}

static bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Behind the last space that is not at the end. */
static void cut_function(kernel *k) {
  size_t size = k->function_size, from;
  while (size && is_space(k->function[size - 1])) size--;
  for (from = size; from && !is_space(k->function[from - 1]);) from--;
  k->function_size = size - from;
  memmove(k->function, k->function + from, size - from);
}

static void make_function(kernel *k) {
  k->function_size = 0;
  pair_brackets(&k->of, k->whole, k->whole_size);
  for (size_t i = 0; i < k->whole_size; i++) {
    if (k->whole[i] == '<' && k->of.close[i])
      i = k->of.close[i];
    else
      k->function[k->function_size++] = k->whole[i];
  }
  cut_function(k);
}

static void read_kernel(kernel *k, const char *name, size_t size) {
  size = size < LONGEST ? size : LONGEST;
  for (size_t i = 0; i < size; i++) k->whole[i] = lower(name[i]);
  size = without(k->whole, size, "<unnamed>::");
  size = without(k->whole, size, "(anonymous namespace)::");
  pair_brackets(&k->of, k->whole, size);
  size = parameters_at(&k->of, k->whole, size);
  size_t skipped = begins(k->whole, size, "void ") ? strlen("void ") : 0;
  memmove(k->whole, k->whole + skipped, size - skipped);
  k->whole_size = size - skipped;
  make_function(k);
}

/* ---- finding ---- */

static bool is_in(const rule *r, const view *v) {
  for (size_t i = 0; i < r->pair_count; i++) {
    if (!(v->pairs[r->pairs[i] / 64] >> r->pairs[i] % 64 & 1)) return false;
  }
  return llmprof_pattern_is_in(&r->pattern, v->text, v->size);
}

static void make_view(view *v, llmprof_rule_view which, kernel *k,
                      const char *text, size_t size) {
  if (which == LLMPROF_RULE_TEXT)
    view_init(v, text, size);
  else if (which == LLMPROF_RULE_WHOLE)
    view_init(v, k->whole, k->whole_size);
  else
    view_init(v, k->function, k->function_size);
}

uint32_t llmprof_rules_find(const llmprof_rules *rules, const char *text,
                            size_t size) {
  view views[LLMPROF_RULE_VIEWS];
  bool made[LLMPROF_RULE_VIEWS] = {false}, read = false;
  kernel k;
  for (size_t i = 0; i < rules->count; i++) {
    const rule *r = &rules->all[i];
    if (r->view != LLMPROF_RULE_TEXT && !read) {
      read_kernel(&k, text, size);
      read = true;
    }
    if (!made[r->view]) make_view(&views[r->view], r->view, &k, text, size);
    made[r->view] = true;
    if (is_in(r, &views[r->view])) return r->number;
  }
  return UINT32_MAX;
}
