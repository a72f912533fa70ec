/* NVTX: ranges and marks that show up in nsys and ncu traces of this process.
 *
 * Built on NVIDIA's header-only NVTX 3 where the build finds it; otherwise,
 * and when no tool is attached, everything here does nothing. Names are
 * copied by the tool. A NULL domain is the default one, which is what most
 * filters of the tools look at. */
#ifndef LLMPROF_NVTX_H
#define LLMPROF_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "llmprof/error.h"

/* A name space of ranges, with a push/pop stack of its own. */
typedef struct llmprof_nvtx_domain llmprof_nvtx_domain;

/* True when a tool records what is sent; `why` says which, or why not. NVTX
 * looks for a tool once, at its first use in a process. */
bool llmprof_nvtx_available(char why[LLMPROF_MESSAGE_SIZE]);

/* NULL only when out of memory. Free it after its last range has ended. */
llmprof_nvtx_domain *llmprof_nvtx_domain_new(const char *name,
                                             llmprof_error *err);
void llmprof_nvtx_domain_free(llmprof_nvtx_domain *domain); /* NULL is fine */

/* A range of this thread: ranges of one domain nest. */
void llmprof_nvtx_push(const llmprof_nvtx_domain *domain, const char *name);
void llmprof_nvtx_pop(const llmprof_nvtx_domain *domain);

/* A moment. */
void llmprof_nvtx_mark(const llmprof_nvtx_domain *domain, const char *name);

/* A range that may overlap others and end on another thread. The id is for
 * stop, in the same domain; it is 0 when nothing records. */
uint64_t llmprof_nvtx_start(const llmprof_nvtx_domain *domain,
                            const char *name);
void llmprof_nvtx_stop(const llmprof_nvtx_domain *domain, uint64_t id);

#endif
