#include "collector/sources.h"

#include <stdatomic.h>
#include <string.h>

#include "collector/diagnose.h"
#include "collector/memory.h"
#include "collector/names.h"
#include "collector/native.h"
#include "collector/output.h"
#include "collector/plan.h"
#include "collector/python.h"
#include "collector/spool.h"
#include "collector/stacks.h"

enum {
  LAUNCHES = 1 << 20, /* that may be in CUPTI's buffers and on their way */
  FIRST_NODES = 1 << 12,
  MOST_NODES = 1 << 21, /* of graphs */
  HOPS = 8,             /* from a clone to what made it */
};

/* Correlation ids above the stacks that launched them. */
static _Atomic(_Atomic uint64_t *) launches;
static atomic_bool told; /* what there is to say of the interpreter */

/* ---- the program's threads ---- */

static void tell(python_state now) {
  if (now == PYTHON_BEGUN || atomic_exchange(&told, true)) return;
  if (now == PYTHON_OFF)
    diagnose(SPOOL_WARNING, "sources", "no lines of source: %s", python_why());
  else if (now == PYTHON_NONE)
    diagnose(SPOOL_WARNING, "sources",
             "no lines of source: no Python in this process");
}

static void take_launches(void) {
  if (atomic_load(&launches)) return;
  _Atomic uint64_t *fresh = memory_take(LAUNCHES * sizeof *fresh), *none = NULL;
  if (fresh && !atomic_compare_exchange_strong(&launches, &none, fresh))
    memory_give(fresh, LAUNCHES * sizeof *fresh);
}

static bool begin(void) {
  if (the_plan.sources == SOURCES_OFF) return false;
  /* Who wants kernels alone pays for no lines that were not asked for. */
  if (the_plan.sources == SOURCES_AUTO && !the_plan.calls) return false;
  if (the_plan.sources == SOURCES_NATIVE) return native_begin();
  python_state now = python_begin();
  if (now != PYTHON_NONE || the_plan.sources == SOURCES_PYTHON) tell(now);
  return now == PYTHON_BEGUN || now == PYTHON_ON;
}

bool sources_begin(void) {
  if (!begin()) return false;
  take_launches();
  return atomic_load(&launches) != NULL;
}

uint32_t sources_stack(void) {
  if (the_plan.sources == SOURCES_NATIVE) return native_walk();
  return the_plan.sources == SOURCES_OFF ? 0 : python_walk();
}

void sources_launch(uint32_t correlation) {
  _Atomic uint64_t *all = atomic_load_explicit(&launches, memory_order_acquire);
  uint32_t stack = all ? sources_stack() : 0;
  if (stack)
    atomic_store_explicit(&all[correlation & (LAUNCHES - 1)],
                          (uint64_t)correlation << 32 | stack,
                          memory_order_relaxed);
}

/* ---- nodes of graphs ---- */

typedef struct node {
  uint64_t id, original; /* id 0: empty */
  uint32_t stack;
  uint32_t reserved;
} node;

static node *nodes; /* the writer's */
static size_t node_slots, node_count;
static bool late; /* a kernel was of a node whose making was not seen */

static node *find_node(node *in, size_t slots, uint64_t id) {
  size_t slot = (id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots - 1);
  while (in[slot].id && in[slot].id != id) slot = (slot + 1) & (slots - 1);
  return &in[slot];
}

static bool grow_nodes(void) {
  size_t slots = node_slots ? node_slots * 2 : FIRST_NODES;
  if (slots > MOST_NODES) return false;
  node *more = memory_take(slots * sizeof *more);
  if (!more) return false;
  for (size_t i = 0; i < node_slots; i++)
    if (nodes[i].id) *find_node(more, slots, nodes[i].id) = nodes[i];
  memory_give(nodes, node_slots * sizeof *nodes);
  nodes = more;
  node_slots = slots;
  return true;
}

/* One that there is no room for has no line. */
void sources_node(uint64_t id, uint64_t original, uint32_t stack) {
  if (!id || (node_count * 2 >= node_slots && !grow_nodes())) return;
  node *n = find_node(nodes, node_slots, id);
  if (!n->id) node_count++;
  n->id = id;
  if (original)
    n->original = original;
  else
    n->stack = stack;
}

/* A clone is made where its graph is instantiated: what it is a clone of knows
 * the line. */
static uint32_t stack_of_node(uint64_t id) {
  const node *n = node_slots ? find_node(nodes, node_slots, id) : NULL;
  for (int i = 0; i < HOPS && n && n->id && n->original; i++) {
    const node *of = find_node(nodes, node_slots, n->original);
    if (!of->id) break;
    n = of;
  }
  return n && n->id && !n->original ? n->stack : 0;
}

/* Numbers of nodes are those of their graph, and one for each: where the first
 * is known, one that is not is of a graph inside. */
static const char *why_unknown(uint64_t id) {
  const node *first =
      node_slots ? find_node(nodes, node_slots, id >> 32 << 32) : NULL;
  return first && first->id
             ? "lines of kernels in child graphs are not known: CUPTI does not "
               "tell which nodes they are"
             : "lines of kernels in CUDA graphs are not known where the graph "
               "was captured before the recording began";
}

static void (*drain_log)(void); /* the writer's */

void sources_drain_by(void (*drain)(void)) {
  drain_log = drain;
}

uint32_t sources_of_node(uint64_t id) {
  uint32_t stack = stack_of_node(id);
  bool is_on = the_plan.sources == SOURCES_NATIVE || python_now() == PYTHON_ON;
  if (stack || late || !is_on) return stack;
  drain_log(); /* it may have been made this moment */
  stack = stack_of_node(id);
  late = !stack;
  if (late) diagnose(SPOOL_INFO, "sources_late", "%s", why_unknown(id));
  return stack;
}

/* ---- the writer ---- */

uint32_t sources_of_launch(uint32_t correlation) {
  _Atomic uint64_t *all = atomic_load_explicit(&launches, memory_order_acquire);
  uint64_t there =
      all ? atomic_load_explicit(&all[correlation & (LAUNCHES - 1)],
                                 memory_order_relaxed)
          : 0;
  return there >> 32 == correlation ? (uint32_t)there : 0;
}

static uint32_t frames_written, nodes_written, namings_written;
static bool full_told;

static bool write_frame(uint32_t number) {
  stacks_lock();
  const stacks_frame *there = stacks_get_frame(number);
  stacks_frame f = there ? *there : (stacks_frame){0};
  stacks_unlock();
  if (!there) return false;
  char text[32];
  if (native_is(&f) &&
      !native_names(&f, text, sizeof text, &f.file, &f.function))
    f.file = f.function = NULL;
  spool_source_frame record = {.frame = number,
                               .file = names_id(f.file),
                               .function = names_id(f.function),
                               .line = f.line,
                               .module = f.module};
  output_record(SPOOL_SOURCE_FRAME, &record, sizeof record, NULL, 0);
  return true;
}

static bool write_node(uint32_t number) {
  stacks_lock();
  const stacks_node *there = stacks_get_node(number);
  stacks_node n = there ? *there : (stacks_node){0};
  stacks_unlock();
  if (!there) return false;
  spool_source_stack record = {
      .stack = number, .parent = n.parent, .frame = n.frame};
  output_record(SPOOL_SOURCE_STACK, &record, sizeof record, NULL, 0);
  return true;
}

/* Paths that are in the file, by module. */
static const char **module_paths;
#define PATHS_SIZE ((STACKS_MODULES + 1) * sizeof *module_paths)

static bool write_module(uint32_t number) {
  stacks_lock();
  const stacks_module *there = stacks_get_module(number);
  stacks_module m = there ? *there : (stacks_module){0};
  stacks_unlock();
  if (!there) return false;
  const char *key = m.path ? m.path : m.root;
  if (!key || module_paths[number] == key) return true;
  module_paths[number] = key;
  spool_module record = {.module = number,
                         .path = names_id(m.path),
                         .root = names_id(m.root),
                         .known = 1};
  output_record(SPOOL_MODULE, &record, sizeof record, NULL, 0);
  return true;
}

void sources_write(void) {
  if (!atomic_load(&launches)) return;
  if (!module_paths) module_paths = memory_take(PATHS_SIZE);
  while (write_frame(frames_written + 1)) frames_written++;
  while (write_node(nodes_written + 1)) nodes_written++;
  stacks_lock();
  uint32_t namings = stacks_namings();
  bool full = stacks_full();
  stacks_unlock();
  if (module_paths && namings != namings_written) {
    for (uint32_t i = 1; write_module(i); i++) continue;
    namings_written = namings;
  }
  if (full && !full_told) {
    full_told = true;
    diagnose(
        SPOOL_WARNING, "sources_full",
        "there are more stacks than can be kept: later launches have none");
  }
}

void sources_reset(void) {
  frames_written = nodes_written = namings_written = 0;
  if (module_paths) memset(module_paths, 0, PATHS_SIZE);
  full_told = late = false;
}

void sources_forget(void) {
  python_forget();
  native_forget();
  atomic_store(&launches, NULL);
  atomic_store(&told, false);
  nodes = NULL;
  node_slots = node_count = 0;
  module_paths = NULL;
  sources_reset();
}
