/* The order of many texts. Private to the core. */
#ifndef LLMPROF_TEXT_ORDER_H
#define LLMPROF_TEXT_ORDER_H

#include "llmprof/strings.h"

/* Sort ids of a pool, which differ, by the bytes of their strings. False
 * after an interrupt or when out of memory. */
bool llmprof_order_texts(const llmprof_strings *strings, uint32_t *ids,
                         size_t count);

#endif
