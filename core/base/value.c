/* A map is an array of entries in their order, threaded by an AA tree over the
 * keys: no hash that hostile keys could flood. Tree links are indices + 1, so
 * that 0 is "none" and growing the array breaks nothing. */
#include "base/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

typedef struct entry {
  char *key;
  size_t size;
  llmprof_value *value;
  uint32_t left, right; /* index + 1, 0: none */
  uint32_t level;
} entry;

struct llmprof_value {
  llmprof_type type;
  uint32_t root; /* of a map's tree */
  union {
    bool boolean;
    int64_t integer;
    double number;
    llmprof_value **items;
    entry *entries;
  } as;
  size_t count; /* items, entries, or bytes of a string, which follow */
  union {
    size_t cap;
    llmprof_value *doomed; /* next to be freed: no recursion, no memory */
  } u;
};

/* ---- making ---- */

static llmprof_value *new_value(llmprof_type type) {
  llmprof_value *value = llmprof_zalloc(1, sizeof *value);
  if (value) value->type = type;
  return value;
}

llmprof_value *llmprof_value_new_null(void) {
  return new_value(LLMPROF_NULL);
}

llmprof_value *llmprof_value_new_bool(bool boolean) {
  llmprof_value *value = new_value(LLMPROF_BOOL);
  if (value) value->as.boolean = boolean;
  return value;
}

llmprof_value *llmprof_value_new_int(int64_t integer) {
  llmprof_value *value = new_value(LLMPROF_INT);
  if (value) value->as.integer = integer;
  return value;
}

llmprof_value *llmprof_value_new_double(double number) {
  llmprof_value *value = new_value(LLMPROF_DOUBLE);
  if (value) value->as.number = number;
  return value;
}

static char *string_bytes(const llmprof_value *value) {
  return (char *)(value + 1);
}

llmprof_value *llmprof_value_new_string(const char *bytes, size_t size) {
  if (size > SIZE_MAX - sizeof(llmprof_value) - 1) return NULL;
  llmprof_value *value = llmprof_alloc(1, sizeof *value + size + 1);
  if (!value) return NULL;
  *value = (llmprof_value){.type = LLMPROF_STRING, .count = size};
  if (size) memcpy(string_bytes(value), bytes, size);
  string_bytes(value)[size] = '\0';
  return value;
}

llmprof_value *llmprof_value_new_list(void) {
  return new_value(LLMPROF_LIST);
}

llmprof_value *llmprof_value_new_map(void) {
  return new_value(LLMPROF_MAP);
}

/* ---- freeing ---- */

/* Free `value` now if it holds nothing, or put it on the list. */
static void doom(llmprof_value **doomed, llmprof_value *value) {
  bool list = value->type == LLMPROF_LIST, map = value->type == LLMPROF_MAP;
  if ((list || map) && value->count) {
    value->u.doomed = *doomed;
    *doomed = value;
    return;
  }
  if (list) llmprof_free(value->as.items);
  if (map) llmprof_free(value->as.entries);
  llmprof_free(value);
}

void llmprof_value_free(llmprof_value *value) {
  llmprof_value *doomed = NULL;
  if (value) doom(&doomed, value);
  while (doomed) {
    llmprof_value *holder = doomed;
    doomed = holder->u.doomed;
    for (size_t i = 0; i < holder->count; i++) {
      doom(&doomed, llmprof_value_at(holder, i));
      if (holder->type == LLMPROF_MAP) llmprof_free(holder->as.entries[i].key);
    }
    holder->count = 0;
    doom(&doomed, holder);
  }
}

/* ---- looking ---- */

llmprof_type llmprof_value_type(const llmprof_value *value) {
  return value->type;
}

bool llmprof_value_bool(const llmprof_value *value) {
  return value->as.boolean;
}

int64_t llmprof_value_int(const llmprof_value *value) {
  return value->as.integer;
}

double llmprof_value_double(const llmprof_value *value) {
  return value->as.number;
}

const char *llmprof_value_string(const llmprof_value *value, size_t *size) {
  if (size) *size = value->count;
  return string_bytes(value);
}

size_t llmprof_value_count(const llmprof_value *value) {
  return value->count;
}

llmprof_value *llmprof_value_at(const llmprof_value *value, size_t index) {
  return value->type == LLMPROF_LIST ? value->as.items[index]
                                     : value->as.entries[index].value;
}

const char *llmprof_value_key(const llmprof_value *map, size_t index,
                              size_t *size) {
  const entry *at = &map->as.entries[index];
  if (size) *size = at->size;
  return at->key;
}

/* ---- the tree over a map's keys ---- */

static entry *node(const llmprof_value *map, uint32_t link) {
  return &map->as.entries[link - 1];
}

static int compare(const char *key, size_t size, const entry *with) {
  size_t shorter = size < with->size ? size : with->size;
  int order = shorter ? memcmp(key, with->key, shorter) : 0;
  if (order) return order;
  return (size > with->size) - (size < with->size);
}

static entry *find(const llmprof_value *map, const char *key, size_t size) {
  uint32_t link = map->root;
  while (link) {
    entry *at = node(map, link);
    int order = compare(key, size, at);
    if (!order) return at;
    link = order < 0 ? at->left : at->right;
  }
  return NULL;
}

/* A left child on its parent's level: rotate right. */
static uint32_t skew(llmprof_value *map, uint32_t link) {
  entry *top = node(map, link);
  uint32_t left = top->left;
  if (!left || node(map, left)->level != top->level) return link;
  top->left = node(map, left)->right;
  node(map, left)->right = link;
  return left;
}

/* Two right children on their parent's level: rotate left, one level up. */
static uint32_t split(llmprof_value *map, uint32_t link) {
  entry *top = node(map, link);
  uint32_t right = top->right;
  if (!right) return link;
  uint32_t outer = node(map, right)->right;
  if (!outer || node(map, outer)->level != top->level) return link;
  top->right = node(map, right)->left;
  node(map, right)->left = link;
  node(map, right)->level++;
  return right;
}

/* Returns the subtree's new top. The depth is at most 2 log2(count). */
static uint32_t insert(llmprof_value *map, uint32_t link, uint32_t added) {
  if (!link) return added;
  entry *top = node(map, link), *new = node(map, added);
  if (compare(new->key, new->size, top) < 0)
    top->left = insert(map, top->left, added);
  else
    top->right = insert(map, top->right, added);
  return split(map, skew(map, link));
}

llmprof_value *llmprof_value_get(const llmprof_value *map, const char *key,
                                 size_t size) {
  const entry *found = find(map, key, size);
  return found ? found->value : NULL;
}

/* ---- filling ---- */

/* Room for one more slot. Most lists and maps are small: start with four. */
static bool grow(llmprof_value *value, void *slots, size_t size) {
  if (value->u.cap)
    return llmprof_grow(slots, &value->u.cap, value->count + 1, size);
  void *first = llmprof_alloc(4, size);
  if (!first) return false;
  memcpy(slots, &first, sizeof first);
  value->u.cap = 4;
  return true;
}

bool llmprof_value_append(llmprof_value *list, llmprof_value *item) {
  if (!item) return false;
  if (!grow(list, &list->as.items, sizeof *list->as.items)) {
    llmprof_value_free(item);
    return false;
  }
  list->as.items[list->count++] = item;
  return true;
}

/* Put the entries from this link on, the first of all or the last, into the
 * tree. */
static void thread_tree(llmprof_value *map, uint32_t first) {
  if (first == 1) map->root = 0;
  for (uint32_t added = first; added <= map->count; added++) {
    entry *at = node(map, added);
    at->left = at->right = 0;
    at->level = 1;
    map->root = insert(map, map->root, added);
  }
}

static bool add_entry(llmprof_value *map, const char *key, size_t size,
                      llmprof_value *item) {
  if (map->count >= UINT32_MAX - 1 ||
      !grow(map, &map->as.entries, sizeof *map->as.entries))
    return false;
  char *copy = llmprof_memdup(key, size);
  if (!copy) return false;
  map->as.entries[map->count++] = (entry){copy, size, item, 0, 0, 1};
  thread_tree(map, (uint32_t)map->count);
  return true;
}

bool llmprof_value_set(llmprof_value *map, const char *key, size_t size,
                       llmprof_value *item) {
  if (!item) return false;
  entry *found = find(map, key, size);
  if (found) {
    llmprof_value_free(found->value);
    found->value = item;
    return true;
  }
  if (add_entry(map, key, size, item)) return true;
  llmprof_value_free(item);
  return false;
}

/* ---- sorting ---- */

static int by_key(const void *left, const void *right) {
  const entry *a = left;
  return compare(a->key, a->size, right);
}

void llmprof_value_sort(llmprof_value *map, size_t from) {
  if (from >= map->count) return;
  qsort(&map->as.entries[from], map->count - from, sizeof *map->as.entries,
        by_key);
  thread_tree(map, 1);
}
