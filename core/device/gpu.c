/* NVML's few functions and structures are declared here by hand: its ABI is
 * stable, a newer layout gets a newer symbol, and nvml.h is not always there.
 * Every function that may be missing is asked for by name and tried. */
#include "device/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "llmprof/alloc.h"

#define DEFAULT_LIBRARY "libnvidia-ml.so.1"

enum { /* nvmlReturn_t */
  NVML_SUCCESS = 0,
  NVML_NO_PERMISSION = 4,
  NVML_GPU_IS_LOST = 15,
};

enum { /* nvmlClockType_t */
  NVML_CLOCK_SM = 1,
  NVML_CLOCK_MEM = 2,
};

typedef struct nvmlDevice_st *nvml_device;
typedef int plain_function(void);
typedef int text_function(nvml_device device, char *text, unsigned size);
typedef int number_function(nvml_device device, unsigned *value);
typedef int kind_function(nvml_device device, int kind, unsigned *value);

typedef struct nvml_memory {
  unsigned long long total, free, used;
} nvml_memory;

typedef struct nvml_memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
} nvml_memory_v2;

typedef struct nvml_utilization {
  unsigned gpu, memory;
} nvml_utilization;

/* As of nvmlDeviceGetPciInfo_v3. In _v2 `legacy` is the only bus id; what
 * follows it there is no longer than this. */
typedef struct nvml_pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
} nvml_pci;

typedef struct nvml_temperature {
  unsigned version;
  int sensor;
  int celsius;
} nvml_temperature;

/* NVML's rule for the version field of its newer structures. */
#define VERSION(type, number) ((unsigned)sizeof(type) | (number) << 24)

typedef struct nvml_api {
  plain_function *init, *shutdown;
  const char *(*error_string)(int code);
  int (*driver_version)(char *text, unsigned size);
  int (*cuda_version)(int *version);
  int (*count)(unsigned *count);
  int (*handle)(unsigned index, nvml_device *device);
  text_function *name, *uuid;
  int (*capability)(nvml_device device, int *major, int *minor);
  int (*pci)(nvml_device device, nvml_pci *pci);
  int (*memory)(nvml_device device, nvml_memory *memory);
  int (*memory_v2)(nvml_device device, nvml_memory_v2 *memory);
  kind_function *clock, *clock_max, *temperature;
  int (*temperature_v)(nvml_device device, nvml_temperature *temperature);
  number_function *power, *power_limit, *persistence;
  int (*throttle)(nvml_device device, unsigned long long *reasons);
  int (*energy)(nvml_device device, unsigned long long *millijoules);
  int (*utilization)(nvml_device device, nvml_utilization *utilization);
  int (*mig)(nvml_device device, unsigned *current, unsigned *pending);
} nvml_api;

struct llmprof_gpus {
  void *library;
  nvml_api nvml;
  bool started;
  unsigned count;
  char reason[LLMPROF_MESSAGE_SIZE]; /* why count is 0 */
};

/* One function, under its newest name and an older one that works as well. */
#define MEMBER(name) offsetof(nvml_api, name)
static const struct symbol {
  size_t member;
  const char *name, *older;
  bool needed;
} symbols[] = {
    {MEMBER(init), "nvmlInit_v2", "nvmlInit", true},
    {MEMBER(shutdown), "nvmlShutdown", NULL, true},
    {MEMBER(error_string), "nvmlErrorString", NULL, false},
    {MEMBER(driver_version), "nvmlSystemGetDriverVersion", NULL, false},
    {MEMBER(cuda_version), "nvmlSystemGetCudaDriverVersion_v2",
     "nvmlSystemGetCudaDriverVersion", false},
    {MEMBER(count), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", true},
    {MEMBER(handle), "nvmlDeviceGetHandleByIndex_v2",
     "nvmlDeviceGetHandleByIndex", true},
    {MEMBER(name), "nvmlDeviceGetName", NULL, false},
    {MEMBER(uuid), "nvmlDeviceGetUUID", NULL, false},
    {MEMBER(capability), "nvmlDeviceGetCudaComputeCapability", NULL, false},
    {MEMBER(pci), "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", false},
    {MEMBER(memory), "nvmlDeviceGetMemoryInfo", NULL, false},
    {MEMBER(memory_v2), "nvmlDeviceGetMemoryInfo_v2", NULL, false},
    {MEMBER(clock), "nvmlDeviceGetClockInfo", NULL, false},
    {MEMBER(clock_max), "nvmlDeviceGetMaxClockInfo", NULL, false},
    {MEMBER(temperature), "nvmlDeviceGetTemperature", NULL, false},
    {MEMBER(temperature_v), "nvmlDeviceGetTemperatureV", NULL, false},
    {MEMBER(power), "nvmlDeviceGetPowerUsage", NULL, false},
    {MEMBER(energy), "nvmlDeviceGetTotalEnergyConsumption", NULL, false},
    {MEMBER(power_limit), "nvmlDeviceGetEnforcedPowerLimit",
     "nvmlDeviceGetPowerManagementLimit", false},
    {MEMBER(persistence), "nvmlDeviceGetPersistenceMode", NULL, false},
    {MEMBER(throttle), "nvmlDeviceGetCurrentClocksEventReasons",
     "nvmlDeviceGetCurrentClocksThrottleReasons", false},
    {MEMBER(utilization), "nvmlDeviceGetUtilizationRates", NULL, false},
    {MEMBER(mig), "nvmlDeviceGetMigMode", NULL, false},
};

/* ---- starting NVML ---- */

static const char *nvml_text(const llmprof_gpus *gpus, int code) {
  const char *text =
      gpus->nvml.error_string ? gpus->nvml.error_string(code) : NULL;
  return text ? text : "unknown error";
}

static bool give_up(llmprof_gpus *gpus, const char *what, const char *why) {
  snprintf(gpus->reason, sizeof gpus->reason, "%s: %s", what, why);
  return false;
}

static bool load(llmprof_gpus *gpus, const char *library) {
  gpus->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!gpus->library) return give_up(gpus, "no NVML", dlerror());
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    const struct symbol *symbol = &symbols[i];
    void *found = dlsym(gpus->library, symbol->name);
    if (!found && symbol->older) found = dlsym(gpus->library, symbol->older);
    if (!found && symbol->needed) {
      snprintf(gpus->reason, sizeof gpus->reason, "no NVML: %s has no %s",
               library, symbol->name);
      return false;
    }
    memcpy((char *)&gpus->nvml + symbol->member, &found, sizeof found);
  }
  return true;
}

static bool start(llmprof_gpus *gpus) {
  int got = gpus->nvml.init();
  if (got != NVML_SUCCESS) return give_up(gpus, "NVML", nvml_text(gpus, got));
  gpus->started = true;
  got = gpus->nvml.count(&gpus->count);
  if (got != NVML_SUCCESS) {
    gpus->count = 0;
    return give_up(gpus, "NVML", nvml_text(gpus, got));
  }
  return gpus->count || give_up(gpus, "NVML", "no device");
}

llmprof_gpus *llmprof_gpus_open(const char *library, llmprof_error *err) {
  llmprof_gpus *gpus = llmprof_zalloc(1, sizeof *gpus);
  if (!gpus) return llmprof_fail_nomem(err), NULL;
  if (load(gpus, library ? library : DEFAULT_LIBRARY)) start(gpus);
  return gpus;
}

void llmprof_gpus_close(llmprof_gpus *gpus) {
  if (!gpus) return;
  if (gpus->started) gpus->nvml.shutdown();
  if (gpus->library) dlclose(gpus->library);
  llmprof_free(gpus);
}

unsigned llmprof_gpus_count(const llmprof_gpus *gpus, const char **reason) {
  *reason = gpus->count ? NULL : gpus->reason;
  return gpus->count;
}

/* ---- asking a device ---- */

/* One device being asked; remembers when it turns out to be gone. */
typedef struct query {
  const nvml_api *nvml;
  nvml_device device;
  llmprof_gpu_values *now;
  bool lost;
} query;

static bool succeeded(query *q, int code) {
  q->lost |= code == NVML_GPU_IS_LOST;
  return code == NVML_SUCCESS;
}

static void set(query *q, llmprof_gpu_field field, double value) {
  q->now->values[field] = value;
  q->now->known[field] = true;
}

static void ask_number(query *q, llmprof_gpu_field field,
                       number_function *function, double divisor) {
  unsigned value;
  if (function && succeeded(q, function(q->device, &value)))
    set(q, field, value / divisor);
}

static void ask_kind(query *q, llmprof_gpu_field field, kind_function *function,
                     int kind) {
  unsigned value;
  if (function && succeeded(q, function(q->device, kind, &value)))
    set(q, field, value);
}

/* Newer drivers may drop the plain function. */
static void ask_temperature(query *q) {
  ask_kind(q, LLMPROF_GPU_TEMPERATURE, q->nvml->temperature, 0);
  if (q->now->known[LLMPROF_GPU_TEMPERATURE] || !q->nvml->temperature_v) return;
  nvml_temperature got = {.version = VERSION(nvml_temperature, 1u)};
  if (succeeded(q, q->nvml->temperature_v(q->device, &got)))
    set(q, LLMPROF_GPU_TEMPERATURE, got.celsius);
}

static void ask_memory(query *q) {
  nvml_memory_v2 newer = {.version = VERSION(nvml_memory_v2, 2u)};
  nvml_memory older;
  if (q->nvml->memory_v2 &&
      succeeded(q, q->nvml->memory_v2(q->device, &newer))) {
    set(q, LLMPROF_GPU_MEMORY_USED, (double)newer.used);
    set(q, LLMPROF_GPU_MEMORY_TOTAL, (double)newer.total);
  } else if (q->nvml->memory &&
             succeeded(q, q->nvml->memory(q->device, &older))) {
    set(q, LLMPROF_GPU_MEMORY_USED, (double)older.used);
    set(q, LLMPROF_GPU_MEMORY_TOTAL, (double)older.total);
  }
}

static void ask_utilization(query *q) {
  nvml_utilization got;
  if (!q->nvml->utilization ||
      !succeeded(q, q->nvml->utilization(q->device, &got)))
    return;
  set(q, LLMPROF_GPU_UTILIZATION, got.gpu);
  set(q, LLMPROF_GPU_MEMORY_BUSY, got.memory);
}

static void ask_energy(query *q) {
  unsigned long long millijoules;
  if (q->nvml->energy && succeeded(q, q->nvml->energy(q->device, &millijoules)))
    set(q, LLMPROF_GPU_ENERGY, (double)millijoules / 1000);
}

static void ask_throttle(query *q) {
  unsigned long long reasons;
  if (!q->nvml->throttle ||
      !succeeded(q, q->nvml->throttle(q->device, &reasons)))
    return;
  q->now->throttle = reasons;
  q->now->throttle_known = true;
}

static void ask_sampled(query *q) {
  const nvml_api *nvml = q->nvml;
  ask_kind(q, LLMPROF_GPU_SM_CLOCK, nvml->clock, NVML_CLOCK_SM);
  ask_kind(q, LLMPROF_GPU_MEMORY_CLOCK, nvml->clock, NVML_CLOCK_MEM);
  ask_number(q, LLMPROF_GPU_POWER, nvml->power, 1000);
  ask_energy(q);
  ask_temperature(q);
  ask_utilization(q);
  ask_memory(q);
  ask_throttle(q);
}

static void ask_settings(query *q) {
  const nvml_api *nvml = q->nvml;
  ask_kind(q, LLMPROF_GPU_SM_CLOCK_MAX, nvml->clock_max, NVML_CLOCK_SM);
  ask_kind(q, LLMPROF_GPU_MEMORY_CLOCK_MAX, nvml->clock_max, NVML_CLOCK_MEM);
  ask_number(q, LLMPROF_GPU_POWER_LIMIT, nvml->power_limit, 1000);
  ask_number(q, LLMPROF_GPU_PERSISTENCE, nvml->persistence, 1);
  unsigned current, pending;
  if (nvml->mig && succeeded(q, nvml->mig(q->device, &current, &pending)))
    set(q, LLMPROF_GPU_MIG, current);
}

static void ask_text(query *q, text_function *function, char *text) {
  if (!function ||
      !succeeded(q, function(q->device, text, LLMPROF_GPU_TEXT_SIZE)))
    text[0] = '\0';
  text[LLMPROF_GPU_TEXT_SIZE - 1] = '\0';
}

static void ask_identity(query *q, llmprof_gpu_info *info) {
  ask_text(q, q->nvml->name, info->name);
  ask_text(q, q->nvml->uuid, info->uuid);
  int major, minor;
  if (q->nvml->capability &&
      succeeded(q, q->nvml->capability(q->device, &major, &minor)))
    snprintf(info->compute_capability, sizeof info->compute_capability, "%d.%d",
             major, minor);
  nvml_pci pci;
  memset(&pci, 0, sizeof pci);
  if (q->nvml->pci && succeeded(q, q->nvml->pci(q->device, &pci)))
    snprintf(info->pci_bus_id, sizeof info->pci_bus_id, "%.*s",
             (int)sizeof pci.bus_id, pci.bus_id[0] ? pci.bus_id : pci.legacy);
}

static void ask_driver(const nvml_api *nvml, llmprof_gpu_info *info) {
  if (!nvml->driver_version ||
      nvml->driver_version(info->driver_version, sizeof info->driver_version) !=
          NVML_SUCCESS)
    info->driver_version[0] = '\0';
  info->driver_version[sizeof info->driver_version - 1] = '\0';
  int version; /* 1000 * major + 10 * minor */
  if (nvml->cuda_version && nvml->cuda_version(&version) == NVML_SUCCESS)
    snprintf(info->cuda_version, sizeof info->cuda_version, "%d.%d",
             version / 1000, version % 1000 / 10);
}

static bool fail_query(const llmprof_gpus *gpus, unsigned index, int code,
                       llmprof_error *err) {
  return llmprof_fail(err,
                      code == NVML_NO_PERMISSION ? LLMPROF_DENIED : LLMPROF_IO,
                      "GPU %u: %s", index, nvml_text(gpus, code));
}

static bool find_device(llmprof_gpus *gpus, unsigned index, query *q,
                        llmprof_error *err) {
  if (!gpus->count)
    return llmprof_fail(err, LLMPROF_NOTFOUND, "no GPU %u: %s", index,
                        gpus->reason);
  if (index >= gpus->count)
    return llmprof_fail(err, LLMPROF_NOTFOUND,
                        "no GPU %u: there are %u, counted from 0", index,
                        gpus->count);
  q->nvml = &gpus->nvml;
  int got = gpus->nvml.handle(index, &q->device);
  return got == NVML_SUCCESS || fail_query(gpus, index, got, err);
}

bool llmprof_gpu_describe(llmprof_gpus *gpus, unsigned index,
                          llmprof_gpu_info *info, llmprof_error *err) {
  memset(info, 0, sizeof *info);
  info->index = index;
  query q = {.now = &info->now};
  if (!find_device(gpus, index, &q, err)) return false;
  ask_identity(&q, info);
  ask_driver(q.nvml, info);
  ask_settings(&q);
  ask_sampled(&q);
  return !q.lost || fail_query(gpus, index, NVML_GPU_IS_LOST, err);
}

bool llmprof_gpu_sample(llmprof_gpus *gpus, unsigned index,
                        llmprof_gpu_values *now, llmprof_error *err) {
  memset(now, 0, sizeof *now);
  query q = {.now = now};
  if (!find_device(gpus, index, &q, err)) return false;
  ask_sampled(&q);
  return !q.lost || fail_query(gpus, index, NVML_GPU_IS_LOST, err);
}

const char *llmprof_gpu_throttle_name(unsigned bit) {
  static const char *const names[] = {
      "gpu_idle",
      "applications_clocks_setting",
      "sw_power_cap",
      "hw_slowdown",
      "sync_boost",
      "sw_thermal_slowdown",
      "hw_thermal_slowdown",
      "hw_power_brake_slowdown",
      "display_clock_setting",
  };
  return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}
