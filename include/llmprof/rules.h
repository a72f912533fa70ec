/* What a text is of, as a list of rules has it: each a pattern with a number,
 * and the first whose pattern is found in the text decides.
 *
 * Patterns are those of Lua's string.find, without references to captures. */
#ifndef LLMPROF_RULES_H
#define LLMPROF_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What of the text a pattern looks at. The last two are of a function's name as
 * a kernel has it, in lower case, read to its 4,096th byte, without anonymous
 * namespaces, its parameters and a "void" before it. */
typedef enum llmprof_rule_view {
  LLMPROF_RULE_TEXT,     /* all of it */
  LLMPROF_RULE_WHOLE,    /* the name with its template arguments */
  LLMPROF_RULE_FUNCTION, /* the function's own, with its namespaces */
  LLMPROF_RULE_VIEWS,
} llmprof_rule_view;

typedef struct llmprof_rules llmprof_rules;

/* No rules yet; NULL when out of memory. */
llmprof_rules *llmprof_rules_new(void);
void llmprof_rules_free(llmprof_rules *rules); /* NULL is fine */

/* One more. SYNTAX: that is no pattern, and err says why. */
bool llmprof_rules_add(llmprof_rules *rules, const char *pattern, size_t size,
                       llmprof_rule_view view, uint32_t number,
                       llmprof_error *err);

/* The number of the first rule whose pattern is in the text; UINT32_MAX where
 * none is. */
uint32_t llmprof_rules_find(const llmprof_rules *rules, const char *text,
                            size_t size);

#ifdef __cplusplus
}
#endif

#endif
