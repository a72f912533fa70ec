/* What names and properties tell. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "formats/cjson_hooks.h"
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

/* ---- devices ---- */

static int64_t figure(const cJSON *map, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(map, key);
  double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
  return value >= 0 && value < 9e15 && value == floor(value) ? (int64_t)value
                                                             : LLMPROF_ABSENT;
}

static bool add_device(llmprof_builder *builder, const cJSON *from) {
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
  const char *name =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, "name"));
  if (device.id == LLMPROF_ABSENT) return true;
  /* Of AMD's GPUs PyTorch may write no name; waves of 64 are theirs alone. */
  if (name && !*name && figure(from, "warpSize") == 64)
    name = llmprof_amd_name(device.sm_count, device.memory);
  return (!name || !*name ||
          llmprof_builder_text(builder, name, strlen(name), &device.name)) &&
         llmprof_builder_add_device(builder, &device);
}

bool torch_add_devices(llmprof_builder *builder, const char *json) {
  llmprof_cjson_hooks();
  cJSON *list = cJSON_Parse(json);
  const cJSON *device;
  bool ok = true;
  cJSON_ArrayForEach(device, list) ok = ok && add_device(builder, device);
  cJSON_Delete(list);
  return ok;
}
