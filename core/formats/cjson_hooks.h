/* cJSON's allocator, which it keeps per process. Private to the core. */
#ifndef LLMPROF_CJSON_HOOKS_H
#define LLMPROF_CJSON_HOOKS_H

/* Make it llmprof's; to be called before every use, from any thread. Defined
 * in json.c. */
void llmprof_cjson_hooks(void);

#endif
