/* What names and properties tell. */
#include <string.h>

#include "formats/json.h"
#include "torch/torch_internal.h"
#include "trace/trace_events.h"

/* ---- copies ---- */

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static llmprof_host_memory memory_of(const char *side) {
  if (begins(side, "Pageable")) return LLMPROF_MEMORY_PAGEABLE;
  if (begins(side, "Pinned")) return LLMPROF_MEMORY_PINNED;
  return begins(side, "Managed") ? LLMPROF_MEMORY_OTHER
                                 : LLMPROF_MEMORY_UNKNOWN;
}

void torch_read_copy(const char *name, torch_op *op) {
  static const struct {
    const char *word;
    llmprof_copy_kind kind;
  } kinds[] = {
      {"Memcpy HtoD", LLMPROF_COPY_HOST_TO_DEVICE},
      {"Memcpy DtoH", LLMPROF_COPY_DEVICE_TO_HOST},
      {"Memcpy HtoA", LLMPROF_COPY_HOST_TO_ARRAY},
      {"Memcpy AtoH", LLMPROF_COPY_ARRAY_TO_HOST},
      {"Memcpy AtoA", LLMPROF_COPY_ARRAY_TO_ARRAY},
      {"Memcpy AtoD", LLMPROF_COPY_ARRAY_TO_DEVICE},
      {"Memcpy DtoA", LLMPROF_COPY_DEVICE_TO_ARRAY},
      {"Memcpy DtoD", LLMPROF_COPY_DEVICE_TO_DEVICE},
      {"Memcpy HtoH", LLMPROF_COPY_HOST_TO_HOST},
      {"Memcpy PtoP", LLMPROF_COPY_PEER_TO_PEER},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (begins(name, kinds[i].word)) op->copy_kind = (uint8_t)kinds[i].kind;
  const char *from = strchr(name, '('), *to = strstr(name, "-> ");
  if (!from || !to) return;
  bool to_host = op->copy_kind == LLMPROF_COPY_DEVICE_TO_HOST ||
                 op->copy_kind == LLMPROF_COPY_ARRAY_TO_HOST;
  op->host_memory = (uint8_t)memory_of(to_host ? to + 3 : from + 1);
}

/* ---- devices and ranks ---- */

static int64_t figure(const llmprof_value *map, const char *key) {
  const llmprof_value *item = llmprof_value_get(map, key, strlen(key));
  int64_t value = item && llmprof_value_type(item) == LLMPROF_INT
                      ? llmprof_value_int(item)
                      : LLMPROF_ABSENT;
  return value >= 0 ? value : LLMPROF_ABSENT;
}

static bool add_device(llmprof_builder *builder, const llmprof_value *from) {
  llmprof_device device = {
      .id = figure(from, "id"),
      .name = LLMPROF_NO_STRING,
      .chip = LLMPROF_NO_STRING,
      .uuid = LLMPROF_NO_STRING,
      .bus = LLMPROF_NO_STRING,
      .memory = figure(from, "totalGlobalMem"),
      .bandwidth = LLMPROF_ABSENT,
      .clock = LLMPROF_ABSENT,
      .sm_count = figure(from, "numSms"),
      .l2_size = LLMPROF_ABSENT,
      .compute_major = figure(from, "computeMajor"),
      .compute_minor = figure(from, "computeMinor"),
  };
  const llmprof_value *text = llmprof_value_get(from, "name", 4);
  const char *name = text && llmprof_value_type(text) == LLMPROF_STRING
                         ? llmprof_value_string(text, NULL)
                         : NULL;
  if (device.id == LLMPROF_ABSENT) return true;
  /* Of AMD's GPUs PyTorch may write no name; waves of 64 are theirs alone. */
  if (name && !*name && figure(from, "warpSize") == 64)
    name = llmprof_amd_name(device.sm_count, device.memory);
  return (!name || !*name ||
          llmprof_builder_text(builder, name, strlen(name), &device.name)) &&
         llmprof_builder_add_device(builder, &device);
}

/* NULL: it is none of JSON, or memory ran out: *ok tells. */
static llmprof_value *parse(const char *json, bool *ok) {
  llmprof_error why = {0};
  llmprof_value *value = llmprof_json_parse(json, strlen(json), "header", &why);
  *ok = value || why.code != LLMPROF_NOMEM;
  return value;
}

bool torch_add_devices(llmprof_builder *builder, const char *json) {
  bool ok;
  llmprof_value *list = parse(json, &ok);
  bool is_list = list && llmprof_value_type(list) == LLMPROF_LIST;
  for (size_t i = 0; ok && is_list && i < llmprof_value_count(list); i++) {
    const llmprof_value *device = llmprof_value_at(list, i);
    if (llmprof_value_type(device) == LLMPROF_MAP)
      ok = add_device(builder, device);
  }
  llmprof_value_free(list);
  return ok;
}

bool torch_rank(const char *json, int64_t *rank, int64_t *world) {
  bool ok;
  llmprof_value *info = parse(json, &ok);
  bool is_map = info && llmprof_value_type(info) == LLMPROF_MAP;
  *rank = is_map ? figure(info, "rank") : LLMPROF_ABSENT;
  *world = is_map ? figure(info, "world_size") : LLMPROF_ABSENT;
  llmprof_value_free(info);
  return ok;
}
