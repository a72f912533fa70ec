/* The folder of all caches, and how much may lie in it. Private to the cache
 * module. */
#ifndef LLMPROF_CACHE_FOLDER_H
#define LLMPROF_CACHE_FOLDER_H

#include "os/fs.h"

/* The cache of a trace is a file NAME and this. */
#define LLMPROF_CACHE_COLUMNS ".columns"

/* Make the folder, of mode 0700, if it is not there, and hold it against others
 * that write; NULL where that cannot be, BUSY when one does. */
llmprof_lock *llmprof_cache_folder_hold(const char *folder, llmprof_error *err);

/* Remove the files that were used longest ago until `bytes` more fit into
 * `most`; what is at `except` is about to be replaced. Files that are no
 * caches stay and do not count. LIMIT: they never will. */
bool llmprof_cache_folder_make_space(const char *folder, const char *except,
                                     uint64_t bytes, uint64_t most,
                                     llmprof_error *err);

#endif
