/* Memory of SQLite in targets that open a database for each input: blocks that
 * are used again, where the sanitizer's malloc notes who asked for each. What
 * lies between blocks and in free ones is poisoned as there, and the one that
 * was freed first is used first. */
#ifndef FUZZ_POOL_H
#define FUZZ_POOL_H

#include <stddef.h>

/* To be called before anything else of SQLite. */
void fuzz_pool_use(void);

/* How many blocks are in use. */
size_t fuzz_pool_blocks(void);

#endif
