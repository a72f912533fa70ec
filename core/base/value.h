/* Values: the tree that JSON and YAML are read into and written from.
 *
 * A value is null, a boolean, a 64-bit integer, a double, a string, a list or
 * a map. Strings and keys have a length and may hold any byte. Maps keep the
 * order of their entries and find a key in logarithmic time, whatever the
 * keys. A tree has one owner: what is put into a list or map belongs to it,
 * and freeing the root frees everything. */
#ifndef LLMPROF_VALUE_H
#define LLMPROF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct llmprof_value llmprof_value;

typedef enum llmprof_type {
  LLMPROF_NULL,
  LLMPROF_BOOL,
  LLMPROF_INT,
  LLMPROF_DOUBLE,
  LLMPROF_STRING,
  LLMPROF_LIST,
  LLMPROF_MAP,
} llmprof_type;

/* NULL when out of memory. The string's bytes are copied. */
llmprof_value *llmprof_value_new_null(void);
llmprof_value *llmprof_value_new_bool(bool boolean);
llmprof_value *llmprof_value_new_int(int64_t integer);
llmprof_value *llmprof_value_new_double(double number);
llmprof_value *llmprof_value_new_string(const char *bytes, size_t size);
llmprof_value *llmprof_value_new_list(void);
llmprof_value *llmprof_value_new_map(void);

/* Free a whole tree, however deep; NULL is fine. Needs no memory. */
void llmprof_value_free(llmprof_value *value);

llmprof_type llmprof_value_type(const llmprof_value *value);

/* What it holds. Ask only for what the type says. A string is NUL-terminated
 * beyond its size, and borrowed; size may be NULL. */
bool llmprof_value_bool(const llmprof_value *value);
int64_t llmprof_value_int(const llmprof_value *value);
double llmprof_value_double(const llmprof_value *value);
const char *llmprof_value_string(const llmprof_value *value, size_t *size);

/* Items of a list, entries of a map; index below the count. What at() gives is
 * borrowed and stays where it is until it is freed or replaced; a key until
 * the map is. size may be NULL. */
size_t llmprof_value_count(const llmprof_value *value);
llmprof_value *llmprof_value_at(const llmprof_value *value, size_t index);
const char *llmprof_value_key(const llmprof_value *map, size_t index,
                              size_t *size);

/* The entry with this key, borrowed, or NULL. */
llmprof_value *llmprof_value_get(const llmprof_value *map, const char *key,
                                 size_t size);

/* Put `item` into the list or map, which owns it from now on; on failure (out
 * of memory, or item is NULL because its making failed) it is freed. set
 * copies the key, replaces and frees an older entry with it and leaves that
 * entry's place alone. */
bool llmprof_value_append(llmprof_value *list, llmprof_value *item);
bool llmprof_value_set(llmprof_value *map, const char *key, size_t size,
                       llmprof_value *item);

/* Order the map's entries from index `from` on by the bytes of their keys; the
 * first `from` stay where they are. */
void llmprof_value_sort(llmprof_value *map, size_t from);

/* The deepest tree that the parsers make and the writers take: a list in a
 * list has depth 2. */
enum {
  LLMPROF_MAX_DEPTH = 1000
};

#endif
