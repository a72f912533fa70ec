/* Short and mangled names of kernels: kept by their name where that tells them,
 * as it nearly always does, in place of two numbers of each kernel. */
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

enum {
  EACH = 4 /* names are few if there are so many kernels for each */
};

/* Names of kernels are numbers below this; 0: some have none. */
static size_t find_reach(const uint32_t *name, size_t kernels) {
  uint32_t highest = 0;
  for (size_t i = 0; i < kernels; i++)
    highest = name[i] > highest ? name[i] : highest;
  return highest == LLMPROF_NO_STRING ? 0 : (size_t)highest + 1;
}

/* By name; NULL where that does not tell them, or there is no memory. */
static uint32_t *told_by(const uint32_t *name, const uint32_t *other,
                         size_t kernels, size_t reach) {
  uint32_t *of = llmprof_alloc(reach, sizeof *of);
  bool *seen = llmprof_zalloc(reach, sizeof *seen), same = of && seen;
  for (size_t i = 0; same && i < kernels; i++) {
    if (!seen[name[i]]) of[name[i]] = other[i];
    seen[name[i]] = true;
    same = of[name[i]] == other[i];
  }
  for (size_t n = 0; same && n < reach; n++)
    if (!seen[n]) of[n] = LLMPROF_NO_STRING;
  llmprof_free(seen);
  if (same) return of;
  llmprof_free(of);
  return NULL;
}

void llmprof_names_fold(llmprof_trace *trace) {
  llmprof_names *n = &trace->narrow.names;
  llmprof_details *d = &trace->details;
  const uint32_t *name = trace->ops.name;
  size_t kernels = trace->ops.first[LLMPROF_COPY];
  if (!trace->reader || !trace->reader->load || trace->image.borrowed ||
      trace->narrow.whole[LLMPROF_PART_DETAILS] || !name || !kernels)
    return;
  size_t reach = find_reach(name, kernels);
  if (!reach || reach > kernels / EACH) return;
  uint32_t *short_of = told_by(name, d->short_name, kernels, reach);
  uint32_t *mangled_of =
      short_of ? told_by(name, d->mangled_name, kernels, reach) : NULL;
  if (!mangled_of) {
    llmprof_free(short_of);
    return;
  }
  *n = (llmprof_names){reach, short_of, mangled_of};
  llmprof_free(d->short_name);
  llmprof_free(d->mangled_name);
  d->short_name = d->mangled_name = NULL;
}

uint32_t *llmprof_names_of(const llmprof_trace *trace, const uint32_t *of) {
  size_t kernels = trace->ops.first[LLMPROF_COPY];
  uint32_t *names = llmprof_alloc(kernels, sizeof *names);
  for (size_t i = 0; names && i < kernels; i++)
    names[i] = of[trace->ops.name[i]];
  return names;
}

/* Frames may have those by name, which stay. */
bool llmprof_names_unfold(llmprof_trace *trace) {
  const llmprof_names *n = &trace->narrow.names;
  llmprof_details *d = &trace->details;
  if (!n->short_of) return true;
  if (!d->short_name) d->short_name = llmprof_names_of(trace, n->short_of);
  if (!d->mangled_name)
    d->mangled_name = llmprof_names_of(trace, n->mangled_of);
  return d->short_name && d->mangled_name;
}

void llmprof_names_free(llmprof_names *n) {
  llmprof_free(n->short_of);
  llmprof_free(n->mangled_of);
  *n = (llmprof_names){0};
}
