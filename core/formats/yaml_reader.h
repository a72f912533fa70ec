/* A YAML text being read: libyaml's events, places for messages, limits, and
 * the nodes that have names. libyaml's marks count characters, messages count
 * bytes, so that a place is worked out only when something fails. An alias is
 * copied on the spot, and every node and every byte of text counts against the
 * limits each time: a few lines that would expand to billions of nodes stop
 * early. Whatever fails here has filled in the error. */
#ifndef LLMPROF_CORE_YAML_READER_H
#define LLMPROF_CORE_YAML_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "base/value.h"
#include "llmprof/error.h"

typedef struct llmprof_yaml_reader {
  yaml_parser_t parser;
  const char *name;
  const char *bytes;
  size_t size;
  size_t nodes, text; /* so far, copies included */
  llmprof_limits limits;
  llmprof_value *anchors; /* name -> copy of the node */
  llmprof_error *err;
} llmprof_yaml_reader;

/* Fail at the place of the event. */
bool llmprof_yaml_fail_at(const llmprof_yaml_reader *r, llmprof_code code,
                          const yaml_event_t *event, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Pass the value on; NULL is out of memory. */
llmprof_value *llmprof_yaml_made(const llmprof_yaml_reader *r,
                                 llmprof_value *value);

/* The next event, which the caller deletes. */
bool llmprof_yaml_next(llmprof_yaml_reader *r, yaml_event_t *event);

/* One more node, with room for its bytes of text. */
bool llmprof_yaml_count(llmprof_yaml_reader *r, const yaml_event_t *event,
                        size_t text);
bool llmprof_yaml_check_depth(const llmprof_yaml_reader *r,
                              const yaml_event_t *event, size_t depth);

/* Let aliases of this name be that node, which becomes the reader's; NULL is
 * out of memory. A later anchor takes over the name. */
bool llmprof_yaml_remember(llmprof_yaml_reader *r, const yaml_char_t *name,
                           llmprof_value *copy);

/* The node that an alias event refers to, until its name is taken over. */
const llmprof_value *llmprof_yaml_find_anchor(const llmprof_yaml_reader *r,
                                              const yaml_event_t *event);

/* A copy of `from` that stands at the event, below `depth` lists and maps. */
llmprof_value *llmprof_yaml_copy(llmprof_yaml_reader *r,
                                 const yaml_event_t *event,
                                 const llmprof_value *from, size_t depth);

#endif
