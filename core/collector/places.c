#include "collector/places.h"

#include <string.h>

#include "collector/cupti_api.h"
#include "collector/guard.h"
#include "collector/names.h"
#include "collector/output.h"

enum {
  DEVICES = 64
};

static uint64_t devices_seen; /* a bit each */

bool places_sync(void) {
  CUcontext context = NULL;
  if (guard_capturing() || !driver_load()) return false;
  if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
    return false;
  bool entered = guard_enter();
  bool ok = driver.cuCtxSynchronize() == CUDA_SUCCESS;
  if (entered) guard_leave();
  return ok;
}

/* 0 where the driver does not say. */
static uint32_t attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  if (driver.cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS)
    return 0;
  return value < 0 ? 0 : (uint32_t)value;
}

static void fill_attributes(spool_device *d, CUdevice device) {
  d->pci_domain = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  d->pci_bus = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  d->pci_device = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  d->multiprocessors =
      attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  d->compute_major =
      attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  d->compute_minor =
      attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  d->l2_cache = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  d->clock = UINT64_C(1000) * attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  /* kHz, bits, and two transfers per clock */
  d->memory_bandwidth =
      UINT64_C(1000) *
      attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
      attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 * 2;
}

static uint32_t chip_name(uint32_t ordinal) {
  if (!cupti.cuptiDeviceGetChipName) return 0;
  CUPTI_PARAMS(CUpti_Device_GetChipName_Params, p);
  p.deviceIndex = ordinal;
  return cupti.cuptiDeviceGetChipName(&p) == CUPTI_SUCCESS
             ? names_id(p.pChipName)
             : 0;
}

static void write_device(uint32_t ordinal) {
  spool_device record = {.device = ordinal};
  CUdevice device;
  char name[256] = "";
  if (driver_load() &&
      driver.cuDeviceGet(&device, (int)ordinal) == CUDA_SUCCESS) {
    CUuuid uuid;
    size_t memory;
    if (driver.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS)
      record.name = names_id(name);
    if (driver.cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS)
      memcpy(record.uuid, uuid.bytes, sizeof record.uuid);
    if (driver.cuDeviceTotalMem_v2(&memory, device) == CUDA_SUCCESS)
      record.memory = memory;
    fill_attributes(&record, device);
    record.chip = chip_name(ordinal);
  }
  output_record(SPOOL_DEVICE, &record, sizeof record, NULL, 0);
}

void places_seen(uint32_t device) {
  if (device >= DEVICES || devices_seen >> device & 1) return;
  devices_seen |= UINT64_C(1) << device;
  bool entered = guard_enter();
  write_device(device);
  if (entered) guard_leave();
}

void places_forget(void) {
  devices_seen = 0;
}
