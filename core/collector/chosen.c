#include "collector/chosen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector/diagnose.h"
#include "collector/plan.h"
#include "collector/ranges.h"

/* Parts of names of kernels that wait for another GPU, process or the host. */
static const char *const never[] = {
    "nccl",           "NCCL",          "cross_device_reduce",
    "all_reduce",     "allreduce",     "AllReduce",
    "all_gather",     "allgather",     "AllGather",
    "reduce_scatter", "ReduceScatter", "nvshmem",
    "multimem",       "one_shot",      "two_shot",
    "deep_ep",        "symm_mem",      "barrier",
    "lamport",        "Lamport",
};

enum {
  KERNEL_SLOTS = 4096, /* a power of two */
  GRAPH_SLOTS = 1024,
};

/* The launches of the plan that differ in their ordinals only. */
typedef struct group {
  const plan_launch *first;
  const plan_launch **wanted;
  size_t wanted_count;
  atomic_uint seen; /* such launches since the beginning */
} group;

/* The groups of a kernel, by the address of its name. Never freed, since other
 * threads may look at it: there is one per kernel and plan. */
typedef struct kernel_groups {
  const char *kernel;
  size_t count;
  group *of[];
} kernel_groups;

static group *groups;
static size_t group_count;
static size_t grouped; /* launches of the plan that they are of */
static kernel_groups *_Atomic kernels[KERNEL_SLOTS];

/* ---- the plan ---- */

bool chosen_is_communication(const char *kernel) {
  for (size_t i = 0; i < sizeof never / sizeof *never; i++)
    if (strstr(kernel, never[i])) return true;
  return false;
}

static bool same_range(const plan_range *a, const plan_range *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->domain, b->domain) == 0;
}

static bool same_group(const plan_launch *a, const plan_launch *b) {
  return strcmp(a->kernel, b->kernel) == 0 && a->any_shape == b->any_shape &&
         a->any_block == b->any_block && a->any_shared == b->any_shared &&
         memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
         memcmp(a->block, b->block, sizeof a->block) == 0 &&
         a->shared == b->shared && same_range(&a->stage, &b->stage);
}

static group *group_for(const plan_launch *wanted) {
  for (size_t i = 0; i < group_count; i++)
    if (same_group(groups[i].first, wanted)) return &groups[i];
  groups[group_count].first = wanted;
  return &groups[group_count++];
}

static void want(group *g, const plan_launch *l) {
  const plan_launch **more =
      realloc(g->wanted, (g->wanted_count + 1) * sizeof *g->wanted);
  if (!more) {
    diagnose(SPOOL_ERROR, "memory", "no memory to choose %s", l->kernel);
    return;
  }
  g->wanted = more;
  g->wanted[g->wanted_count++] = l;
}

/* How often each graph was launched in each stage of the plan. */
static struct {
  uint32_t graph;
  uint32_t line; /* of the plan */
  uint32_t seen;
} graphs[GRAPH_SLOTS];
static size_t graphs_used;
static pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER;

/* Launches are only ever added to the plan: as many are the same ones. */
static bool is_read(void) {
  return groups && grouped == the_plan.launch_count;
}

static void count_again(void) {
  for (size_t i = 0; i < group_count; i++) atomic_store(&groups[i].seen, 0);
  pthread_mutex_lock(&graphs_lock);
  graphs_used = 0;
  pthread_mutex_unlock(&graphs_lock);
}

static bool wants_any(void) {
  return group_count > 0 || the_plan.graph_count > 0;
}

bool chosen_begin(bool restart) {
  if (is_read()) {
    if (restart) count_again();
    return wants_any();
  }
  for (size_t i = 0; i < KERNEL_SLOTS; i++) atomic_store(&kernels[i], NULL);
  group_count = 0;
  grouped = the_plan.launch_count;
  groups = calloc(the_plan.launch_count + 1, sizeof *groups);
  for (size_t i = 0; groups && i < the_plan.launch_count; i++) {
    const plan_launch *l = &the_plan.launches[i];
    if (chosen_is_communication(l->kernel))
      diagnose(SPOOL_WARNING, "communication",
               "not measured, since it waits for others: %s", l->kernel);
    else
      want(group_for(l), l);
  }
  count_again();
  return wants_any();
}

/* ---- launches ---- */

static bool is_for(const group *g, const char *kernel) {
  return strcmp(g->first->kernel, kernel) == 0 ||
         (strcmp(g->first->kernel, "*") == 0 &&
          !chosen_is_communication(kernel));
}

static kernel_groups *find_groups(const char *kernel) {
  kernel_groups *found = malloc(sizeof *found + group_count * sizeof(group *));
  if (!found) return NULL;
  found->kernel = kernel;
  found->count = 0;
  for (size_t i = 0; i < group_count; i++)
    if (is_for(&groups[i], kernel)) found->of[found->count++] = &groups[i];
  return found;
}

/* NULL: no memory, or more kernels than slots. A slot keeps its kernel. */
static const kernel_groups *groups_of(const char *kernel) {
  size_t at = ((uintptr_t)kernel >> 3) * 31;
  for (size_t i = 0; i < KERNEL_SLOTS; i++) {
    kernel_groups *_Atomic *slot = &kernels[(at + i) & (KERNEL_SLOTS - 1)];
    kernel_groups *there = atomic_load_explicit(slot, memory_order_acquire);
    if (there && there->kernel != kernel) continue;
    if (there) return there;
    kernel_groups *found = find_groups(kernel);
    if (!found || atomic_compare_exchange_strong(slot, &there, found))
      return found;
    free(found); /* another thread was first, with this kernel or another */
    if (there->kernel == kernel) return there;
  }
  return NULL;
}

static bool fits(const group *g, const launch *l) {
  const plan_launch *w = g->first;
  return (w->any_shape || memcmp(w->grid, l->grid, sizeof w->grid) == 0) &&
         (w->any_block || memcmp(w->block, l->block, sizeof w->block) == 0) &&
         (w->any_shared || w->shared == l->shared) &&
         (!w->stage.name[0] || ranges_inside(&w->stage));
}

static const plan_launch *wanted_as(const group *g, uint32_t ordinal) {
  for (size_t i = 0; i < g->wanted_count; i++)
    if (g->wanted[i]->from <= ordinal && ordinal <= g->wanted[i]->to)
      return g->wanted[i];
  return NULL;
}

bool chosen_is(const launch *l, choice *out) {
  bool found = false;
  *out = (choice){0};
  const kernel_groups *of = l->kernel ? groups_of(l->kernel) : NULL;
  for (size_t i = 0; of && i < of->count; i++) {
    group *g = of->of[i];
    if (!fits(g, l)) continue;
    uint32_t number = atomic_fetch_add(&g->seen, 1);
    const plan_launch *as = found ? NULL : wanted_as(g, number);
    if (out->like && !as) continue;
    *out =
        (choice){.ordinal = number, .passes = as ? as->passes : 0, .like = g};
    found = as != NULL;
  }
  return found;
}

/* ---- graphs ---- */

/* With the lock: how many there were before. More than there are slots for are
 * never the first. */
static uint32_t count_graph(uint32_t graph, uint32_t line) {
  for (size_t i = 0; i < graphs_used; i++)
    if (graphs[i].graph == graph && graphs[i].line == line)
      return graphs[i].seen++;
  if (graphs_used == GRAPH_SLOTS) return UINT32_MAX;
  graphs[graphs_used].graph = graph;
  graphs[graphs_used].line = line;
  graphs[graphs_used++].seen = 1;
  return 0;
}

bool chosen_graph_is(const launch *l, uint32_t *ordinal) {
  bool found = false;
  pthread_mutex_lock(&graphs_lock);
  for (uint32_t i = 0; i < the_plan.graph_count; i++) {
    const plan_graph *g = &the_plan.graphs[i];
    if ((g->graph && g->graph != l->graph) ||
        (g->stage.name[0] && !ranges_inside(&g->stage)))
      continue;
    uint32_t number = count_graph(l->graph, i);
    if (found || number < g->from || number > g->to) continue;
    *ordinal = number;
    found = true;
  }
  pthread_mutex_unlock(&graphs_lock);
  return found;
}

void chosen_reset(void) {
  grouped = SIZE_MAX;
}

void chosen_forget(void) {
  pthread_mutex_init(&graphs_lock, NULL);
  chosen_reset();
}
