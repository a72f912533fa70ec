/* What the kinds of things in a trace are called. */
#include <string.h>

#include "trace/trace_events.h"
#include "trace/trace_internal.h"

static const char *const op_kinds[LLMPROF_OP_KINDS + 1] = {
    [LLMPROF_KERNEL] = "kernel",
    [LLMPROF_COPY] = "copy",
    [LLMPROF_SET] = "set",
    [LLMPROF_GRAPH] = "graph",
};

/* NULL: not recorded. */
static const char *const directions[LLMPROF_COPY_KINDS] = {
    [LLMPROF_COPY_HOST_TO_DEVICE] = "host to device",
    [LLMPROF_COPY_DEVICE_TO_HOST] = "device to host",
    [LLMPROF_COPY_HOST_TO_ARRAY] = "other",
    [LLMPROF_COPY_ARRAY_TO_HOST] = "other",
    [LLMPROF_COPY_ARRAY_TO_ARRAY] = "other",
    [LLMPROF_COPY_ARRAY_TO_DEVICE] = "other",
    [LLMPROF_COPY_DEVICE_TO_ARRAY] = "other",
    [LLMPROF_COPY_DEVICE_TO_DEVICE] = "device to device",
    [LLMPROF_COPY_HOST_TO_HOST] = "other",
    [LLMPROF_COPY_PEER_TO_PEER] = "peer to peer",
    [LLMPROF_COPY_UNIFIED_HOST_TO_DEVICE] = "other",
    [LLMPROF_COPY_UNIFIED_DEVICE_TO_HOST] = "other",
    [LLMPROF_COPY_UNIFIED_DEVICE_TO_DEVICE] = "other",
};

static const char *const host_memories[LLMPROF_HOST_MEMORIES] = {
    [LLMPROF_MEMORY_PAGEABLE] = "pageable",
    [LLMPROF_MEMORY_PINNED] = "pinned",
    [LLMPROF_MEMORY_OTHER] = "other",
};

const char *llmprof_op_kind_name(llmprof_op_kind kind) {
  return op_kinds[kind];
}

const char *llmprof_fact_name(llmprof_fact fact) {
  static const char *const names[LLMPROF_FACTS + 1] = {
      [LLMPROF_KNOWS_CALLS] = "calls",
      [LLMPROF_KNOWS_GRAPH_NODES] = "graph_nodes",
      [LLMPROF_KNOWS_HOST_MEMORY] = "host_memory",
      [LLMPROF_KNOWS_PAYLOADS] = "payloads",
      [LLMPROF_KNOWS_ALLOCATIONS] = "allocations",
      [LLMPROF_KNOWS_DIAGNOSTICS] = "diagnostics",
      [LLMPROF_KNOWS_LINES] = "lines",
  };
  return names[fact];
}

static bool add_words(llmprof_strings *strings, const char *const *words,
                      size_t count, uint32_t *ids) {
  for (size_t i = 0; i < count; i++) {
    ids[i] = LLMPROF_NO_STRING;
    if (words[i] &&
        !llmprof_strings_add(strings, words[i], strlen(words[i]), &ids[i]))
      return false;
  }
  return true;
}

bool llmprof_words_add(llmprof_words *words, llmprof_strings *strings) {
  return add_words(strings, op_kinds, LLMPROF_OP_KINDS, words->kind) &&
         add_words(strings, directions, LLMPROF_COPY_KINDS, words->direction) &&
         add_words(strings, host_memories, LLMPROF_HOST_MEMORIES,
                   words->host_memory);
}

const char *llmprof_amd_name(int64_t units, int64_t memory) {
  static const struct {
    const char *name;
    int64_t units, least_gb, most_gb;
  } known[] = {
      {"AMD Instinct MI300X", 304, 190, 210},
      {"AMD Instinct MI325X", 304, 250, 280},
      {"AMD Instinct MI355X", 256, 285, 315},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (units == known[i].units && memory / 1000000000 >= known[i].least_gb &&
        memory / 1000000000 < known[i].most_gb)
      return known[i].name;
  return "AMD GPU";
}
