/* Most patterns are in none of a thousand names. Each that needs pairs of bytes
 * is entered at one of them, so that a text's pairs name the few that may be in
 * it; and which pairs it has is noted in a bit each, since these need others,
 * too. */
#include "llmprof/rules.h"

#include <string.h>

#include "llmprof/alloc.h"
#include "text/pattern.h"
#include "text/pieces.h"

enum {
  LONGEST = 4096, /* of a kernel's name: patterns may take its square */
  PAIRS = 1024,   /* bits, and where rules are entered: pairs share them */
  MOST_PAIRS = 8, /* of a pattern that are looked at */
  NUMBERED = 512  /* rules that are entered; those behind are all looked at */
};

typedef struct rule {
  llmprof_pattern pattern;
  llmprof_rule_view view;
  uint32_t number;
  uint16_t pairs[MOST_PAIRS];
  size_t pair_count;
  uint16_t next; /* entered at the same pair, as its place and 1 */
} rule;

struct llmprof_rules {
  rule *all;
  size_t count, cap;
  uint64_t always[NUMBERED / 64];        /* those that need no pairs */
  uint16_t *entered[LLMPROF_RULE_VIEWS]; /* by pair, as `next`; 0: none. NULL:
                                            no rule looks at it */
  llmprof_byte_set begins[LLMPROF_RULE_VIEWS]; /* what has a rule with these, */
  bool anyhow[LLMPROF_RULE_VIEWS];             /* or with any */
};

llmprof_rules *llmprof_rules_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_rules));
}

void llmprof_rules_free(llmprof_rules *rules) {
  if (!rules) return;
  for (size_t i = 0; i < rules->count; i++)
    llmprof_pattern_free(&rules->all[i].pattern);
  for (int view = 0; view < LLMPROF_RULE_VIEWS; view++)
    llmprof_free(rules->entered[view]);
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

static bool make_entries(llmprof_rules *rules, llmprof_rule_view view) {
  uint16_t **entered = &rules->entered[view];
  if (!*entered) *entered = llmprof_zalloc(PAIRS, sizeof **entered);
  return *entered != NULL;
}

/* At its last pair: patterns of one family begin alike. */
static void enter(llmprof_rules *rules, size_t place) {
  rule *r = &rules->all[place];
  if (place >= NUMBERED) return;
  if (!r->pair_count) {
    rules->always[place / 64] |= (uint64_t)1 << place % 64;
    return;
  }
  uint16_t *at = &rules->entered[r->view][r->pairs[r->pair_count - 1]];
  r->next = *at;
  *at = (uint16_t)(place + 1);
}

bool llmprof_rules_add(llmprof_rules *rules, const char *pattern, size_t size,
                       llmprof_rule_view view, uint32_t number,
                       llmprof_error *err) {
  rule added = {.view = view, .number = number};
  if (!make_entries(rules, view) ||
      !llmprof_grow(&rules->all, &rules->cap, rules->count + 1,
                    sizeof *rules->all))
    return llmprof_fail_nomem(err);
  if (!llmprof_pattern_compile(&added.pattern, pattern, size, err))
    return false;
  note_pairs(&added);
  if (!llmprof_pattern_begins(&added.pattern, &rules->begins[view]))
    rules->anyhow[view] = true;
  rules->all[rules->count] = added;
  enter(rules, rules->count++);
  return true;
}

/* ---- what a pattern looks at ---- */

typedef struct view {
  const char *text;
  size_t size;
  bool none;                  /* of its rules is in it: it begins otherwise */
  uint64_t pairs[PAIRS / 64]; /* that it has */
} view;

static bool may_begin(const llmprof_rules *rules, llmprof_rule_view which,
                      const view *v) {
  return rules->anyhow[which] ||
         (v->size &&
          llmprof_byte_set_has(&rules->begins[which], (unsigned char)*v->text));
}

/* Notes in `may` the rules that are entered at pairs of the text. */
static void view_init(view *v, const llmprof_rules *rules,
                      llmprof_rule_view which, uint64_t *may) {
  const uint16_t *entered = rules->entered[which];
  v->none = !may_begin(rules, which, v);
  if (v->none) return;
  memset(v->pairs, 0, sizeof v->pairs);
  for (size_t i = 1; i < v->size; i++) {
    uint16_t pair =
        pair_of((unsigned char)v->text[i - 1], (unsigned char)v->text[i]);
    v->pairs[pair / 64] |= (uint64_t)1 << pair % 64;
    for (size_t r = entered[pair]; r; r = rules->all[r - 1].next)
      may[(r - 1) / 64] |= (uint64_t)1 << (r - 1) % 64;
  }
}

/* What is between brackets, and these, goes where they are closed. */
typedef struct brackets {
  uint16_t open[LONGEST];
  uint16_t close[LONGEST]; /* of each that opens; 0 where it is not closed */
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

/* Where each bracket that is closed is closed. */
static void pair_brackets(brackets *b, const char *text, size_t size) {
  size_t open = 0;
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '<') {
      b->close[i] = 0;
      b->open[open++] = (uint16_t)i;
    }
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
  size = llmprof_without(k->whole, size, "<unnamed>::");
  size = llmprof_without(k->whole, size, "(anonymous namespace)::");
  if (llmprof_begins(k->whole, size, "void ")) {
    size -= strlen("void ");
    memmove(k->whole, k->whole + strlen("void "), size);
  }
  pair_brackets(&k->of, k->whole, size);
  k->whole_size = parameters_at(&k->of, k->whole, size);
  make_function(k);
}

/* ---- finding ---- */

static bool is_in(const rule *r, const view *v) {
  if (v->none) return false;
  for (size_t i = 0; i < r->pair_count; i++) {
    if (!(v->pairs[r->pairs[i] / 64] >> r->pairs[i] % 64 & 1)) return false;
  }
  return llmprof_pattern_is_in(&r->pattern, v->text, v->size);
}

/* What the rules look at of a text. */
typedef struct views {
  kernel kernel;
  view of[LLMPROF_RULE_VIEWS];
  uint64_t may[NUMBERED / 64]; /* rules that may be in it */
} views;

static void make_views(views *v, const llmprof_rules *rules, const char *text,
                       size_t size) {
  kernel *k = &v->kernel;
  v->of[LLMPROF_RULE_TEXT] = (view){.text = text, .size = size};
  if (rules->entered[LLMPROF_RULE_WHOLE] ||
      rules->entered[LLMPROF_RULE_FUNCTION])
    read_kernel(k, text, size);
  v->of[LLMPROF_RULE_WHOLE].text = k->whole;
  v->of[LLMPROF_RULE_WHOLE].size = k->whole_size;
  v->of[LLMPROF_RULE_FUNCTION].text = k->function;
  v->of[LLMPROF_RULE_FUNCTION].size = k->function_size;
  memcpy(v->may, rules->always, sizeof v->may);
  for (int which = 0; which < LLMPROF_RULE_VIEWS; which++)
    if (rules->entered[which])
      view_init(&v->of[which], rules, (llmprof_rule_view)which, v->may);
}

static bool holds(const llmprof_rules *rules, size_t place, const views *v) {
  const rule *r = &rules->all[place];
  return is_in(r, &v->of[r->view]);
}

uint32_t llmprof_rules_find(const llmprof_rules *rules, const char *text,
                            size_t size) {
  views v;
  make_views(&v, rules, text, size);
  for (size_t word = 0; word < NUMBERED / 64; word++) {
    for (uint64_t may = v.may[word]; may; may &= may - 1) {
      size_t place = word * 64 + (size_t)__builtin_ctzll(may);
      if (holds(rules, place, &v)) return rules->all[place].number;
    }
  }
  for (size_t place = NUMBERED; place < rules->count; place++)
    if (holds(rules, place, &v)) return rules->all[place].number;
  return UINT32_MAX;
}
