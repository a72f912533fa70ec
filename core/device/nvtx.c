#include "device/nvtx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "llmprof/alloc.h"

#ifdef LLMPROF_HAVE_NVTX

#include <nvtx3/nvToolsExt.h>

struct llmprof_nvtx_domain {
  nvtxDomainHandle_t handle; /* NULL when nothing records */
};

/* Where NVTX looks for a tool: a library named in the environment, then one
 * that was preloaded. */
static const char *named_tool(void) {
  const char *path = getenv("NVTX_INJECTION64_PATH");
  if (path && *path) return path;
  if (dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2Preinject"))
    return "a preloaded tool";
  return NULL;
}

bool llmprof_nvtx_available(char why[LLMPROF_MESSAGE_SIZE]) {
  const char *tool = named_tool();
  if (!tool) {
    snprintf(why, LLMPROF_MESSAGE_SIZE,
             "no tool is attached: NVTX_INJECTION64_PATH is not set");
    return false;
  }
  /* Only a tool makes domains; without one the handle is NULL. */
  nvtxDomainHandle_t probe = nvtxDomainCreateA("llmprof");
  snprintf(why, LLMPROF_MESSAGE_SIZE,
           probe ? "recorded by %s" : "%s does not record", tool);
  if (probe) nvtxDomainDestroy(probe);
  return probe != NULL;
}

llmprof_nvtx_domain *llmprof_nvtx_domain_new(const char *name,
                                             llmprof_error *err) {
  llmprof_nvtx_domain *domain = llmprof_alloc(1, sizeof *domain);
  if (!domain) return llmprof_fail_nomem(err), NULL;
  domain->handle = nvtxDomainCreateA(name);
  return domain;
}

void llmprof_nvtx_domain_free(llmprof_nvtx_domain *domain) {
  if (domain && domain->handle) nvtxDomainDestroy(domain->handle);
  llmprof_free(domain);
}

static nvtxEventAttributes_t event(const char *name) {
  return (nvtxEventAttributes_t){
      .version = NVTX_VERSION,
      .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
      .messageType = NVTX_MESSAGE_TYPE_ASCII,
      .message.ascii = name,
  };
}

/* A domain without a handle was made when nothing recorded: what is sent to
 * it must not end up in the default domain. */

void llmprof_nvtx_push(const llmprof_nvtx_domain *domain, const char *name) {
  nvtxEventAttributes_t attributes = event(name);
  if (!domain)
    nvtxRangePushA(name);
  else if (domain->handle)
    nvtxDomainRangePushEx(domain->handle, &attributes);
}

void llmprof_nvtx_pop(const llmprof_nvtx_domain *domain) {
  if (!domain)
    nvtxRangePop();
  else if (domain->handle)
    nvtxDomainRangePop(domain->handle);
}

void llmprof_nvtx_mark(const llmprof_nvtx_domain *domain, const char *name) {
  nvtxEventAttributes_t attributes = event(name);
  if (!domain)
    nvtxMarkA(name);
  else if (domain->handle)
    nvtxDomainMarkEx(domain->handle, &attributes);
}

uint64_t llmprof_nvtx_start(const llmprof_nvtx_domain *domain,
                            const char *name) {
  nvtxEventAttributes_t attributes = event(name);
  if (!domain) return nvtxRangeStartA(name);
  if (!domain->handle) return 0;
  return nvtxDomainRangeStartEx(domain->handle, &attributes);
}

void llmprof_nvtx_stop(const llmprof_nvtx_domain *domain, uint64_t id) {
  if (!domain)
    nvtxRangeEnd(id);
  else if (domain->handle)
    nvtxDomainRangeEnd(domain->handle, id);
}

#else

struct llmprof_nvtx_domain {
  char unused;
};

bool llmprof_nvtx_available(char why[LLMPROF_MESSAGE_SIZE]) {
  snprintf(why, LLMPROF_MESSAGE_SIZE, "llmprof was built without NVTX");
  return false;
}

llmprof_nvtx_domain *llmprof_nvtx_domain_new(const char *name,
                                             llmprof_error *err) {
  (void)name;
  llmprof_nvtx_domain *domain = llmprof_alloc(1, sizeof *domain);
  if (!domain) llmprof_fail_nomem(err);
  return domain;
}

void llmprof_nvtx_domain_free(llmprof_nvtx_domain *domain) {
  llmprof_free(domain);
}

void llmprof_nvtx_push(const llmprof_nvtx_domain *domain, const char *name) {
  (void)domain, (void)name;
}

void llmprof_nvtx_pop(const llmprof_nvtx_domain *domain) {
  (void)domain;
}

void llmprof_nvtx_mark(const llmprof_nvtx_domain *domain, const char *name) {
  (void)domain, (void)name;
}

uint64_t llmprof_nvtx_start(const llmprof_nvtx_domain *domain,
                            const char *name) {
  (void)domain, (void)name;
  return 0;
}

void llmprof_nvtx_stop(const llmprof_nvtx_domain *domain, uint64_t id) {
  (void)domain, (void)id;
}

#endif
