/* A stand-in for libnvidia-ml.so.1, built once for each FAKE_* variant:
 * FULL     three devices: one that tells everything, one that may not be
 *          used, one whose driver lowers its clocks for an unknown reason
 * OLD      the names and structures of old drivers only
 * MUTE     a device that supports nothing
 * LOST     a device that falls off the bus after its handle was got
 * NODRIVER initialisation fails;  NOCOUNT  counting fails
 * EMPTY    no device;  HOLLOW  a library that is not NVML */
#include <stdio.h>
#include <string.h>

enum {
  OK = 0,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NO_PERMISSION = 4,
  INSUFFICIENT_SIZE = 7,
  DRIVER_NOT_LOADED = 9,
  GPU_IS_LOST = 15,
  VERSION_MISMATCH = 25,
};

typedef struct nvmlDevice_st {
  int index;
} device;

/* How often NVML was initialised and not yet shut down. */
int fake_nvml_running;

#ifndef FAKE_HOLLOW

#if defined FAKE_MUTE
#define ANSWER NOT_SUPPORTED
#elif defined FAKE_LOST
#define ANSWER GPU_IS_LOST
#else
#define ANSWER OK
#endif

#if defined FAKE_FULL
#define COUNT 3
#elif defined FAKE_EMPTY
#define COUNT 0
#else
#define COUNT 1
#endif

#ifdef FAKE_OLD
#define INIT   nvmlInit
#define COUNTS nvmlDeviceGetCount
#define HANDLE nvmlDeviceGetHandleByIndex
#define REASON nvmlDeviceGetCurrentClocksThrottleReasons
#define LIMIT  nvmlDeviceGetPowerManagementLimit
#define CUDA   nvmlSystemGetCudaDriverVersion
#define PCI    nvmlDeviceGetPciInfo_v2
#else
#define INIT   nvmlInit_v2
#define COUNTS nvmlDeviceGetCount_v2
#define HANDLE nvmlDeviceGetHandleByIndex_v2
#define REASON nvmlDeviceGetCurrentClocksEventReasons
#define LIMIT  nvmlDeviceGetEnforcedPowerLimit
#define CUDA   nvmlSystemGetCudaDriverVersion_v2
#define PCI    nvmlDeviceGetPciInfo_v3
#endif

static device devices[3];

/* ---- the library ---- */

int INIT(void) {
#ifdef FAKE_NODRIVER
  return DRIVER_NOT_LOADED;
#else
  fake_nvml_running++;
  return OK;
#endif
}

int nvmlShutdown(void) {
  fake_nvml_running--;
  return OK;
}

const char *nvmlErrorString(int code) {
  switch (code) {
  case NO_PERMISSION:
    return "Insufficient Permissions";
  case DRIVER_NOT_LOADED:
    return "Driver Not Loaded";
  case GPU_IS_LOST:
    return "GPU is lost";
  default:
    return NULL;
  }
}

static int copy(char *text, unsigned size, const char *from) {
  if (strlen(from) >= size) return INSUFFICIENT_SIZE;
  memcpy(text, from, strlen(from) + 1);
  return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
  return ANSWER ? ANSWER : copy(text, size, "580.159.04");
}

int CUDA(int *version) {
  *version = 12080;
  return ANSWER;
}

int COUNTS(unsigned *count) {
#ifdef FAKE_NOCOUNT
  *count = 7; /* not to be believed */
  return 999;
#else
  *count = COUNT;
  return OK;
#endif
}

int HANDLE(unsigned index, device **got) {
  if (index > 2 || index + 1 > COUNT) return INVALID_ARGUMENT;
  if (index == 1) return NO_PERMISSION;
  devices[index].index = (int)index;
  *got = &devices[index];
  return OK;
}

/* ---- a device ---- */

int nvmlDeviceGetName(device *d, char *text, unsigned size) {
  return ANSWER ? ANSWER : copy(text, size, "NVIDIA H200");
}

int nvmlDeviceGetUUID(device *d, char *text, unsigned size) {
  char uuid[64];
  snprintf(uuid, sizeof uuid, "GPU-00000000-0000-0000-0000-%012d", d->index);
  return ANSWER ? ANSWER : copy(text, size, uuid);
}

int nvmlDeviceGetCudaComputeCapability(device *d, int *major, int *minor) {
  *major = 9, *minor = 0;
  return ANSWER;
}

int PCI(device *d, void *pci) {
  if (ANSWER) return ANSWER;
#ifdef FAKE_OLD
  memset(pci, 0, 52);
  memcpy(pci, "0000:41:00.0", 13);
#else
  memset(pci, 0, 68);
  memcpy(pci, "0000:41:00.0", 13);
  memcpy((char *)pci + 36, "00000000:41:00.0", 17);
#endif
  return OK;
}

#ifdef FAKE_OLD
int nvmlDeviceGetMemoryInfo(device *d, unsigned long long *memory) {
  memory[0] = 150754820096, memory[1] = 0, memory[2] = 2147483648;
  return ANSWER;
}

int nvmlDeviceGetTemperatureV(device *d, int *temperature) {
  if (temperature[0] != (int)(3 * sizeof(int) | 1 << 24) || temperature[1])
    return VERSION_MISMATCH;
  temperature[2] = 51;
  return OK;
}
#else
int nvmlDeviceGetMemoryInfo_v2(device *d, void *memory) {
  unsigned version;
  memcpy(&version, memory, sizeof version);
  if (version != (40 | 2u << 24)) return VERSION_MISMATCH;
  const unsigned long long values[] = {150754820096, 1, 0, 1073741824};
  if (!ANSWER) memcpy((char *)memory + 8, values, sizeof values);
  return ANSWER;
}

int nvmlDeviceGetTemperature(device *d, int sensor, unsigned *celsius) {
  *celsius = 51;
  return sensor ? INVALID_ARGUMENT : ANSWER;
}

int nvmlDeviceGetMigMode(device *d, unsigned *current, unsigned *pending) {
  *current = 0, *pending = 1;
  return ANSWER;
}
#endif

static int clock_of(int kind, unsigned sm, unsigned memory, unsigned *mhz) {
  if (kind != 1 && kind != 2) return INVALID_ARGUMENT;
  *mhz = kind == 1 ? sm : memory;
  return ANSWER;
}

int nvmlDeviceGetClockInfo(device *d, int kind, unsigned *mhz) {
  return clock_of(kind, 345, 3201, mhz);
}

int nvmlDeviceGetMaxClockInfo(device *d, int kind, unsigned *mhz) {
  return clock_of(kind, 1980, 3202, mhz);
}

int nvmlDeviceGetPowerUsage(device *d, unsigned *milliwatts) {
  *milliwatts = 76543;
  return ANSWER;
}

int nvmlDeviceGetTotalEnergyConsumption(device *d,
                                        unsigned long long *millijoules) {
  *millijoules = 5000000250;
  return ANSWER;
}

int LIMIT(device *d, unsigned *milliwatts) {
  *milliwatts = 700000;
  return ANSWER;
}

int nvmlDeviceGetPersistenceMode(device *d, unsigned *mode) {
  *mode = 1;
  return ANSWER;
}

int REASON(device *d, unsigned long long *reasons) {
  *reasons = d->index ? 1ull << 40 | 0x80 | 0x4 : 0;
  return ANSWER;
}

int nvmlDeviceGetUtilizationRates(device *d, unsigned *rates) {
  rates[0] = 97, rates[1] = 0;
  return ANSWER;
}

#endif
