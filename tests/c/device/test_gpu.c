#include "device/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static const char *library(const char *variant) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/libfake_nvml_%s.so", LIBRARIES, variant);
  return path;
}

static llmprof_gpus *open_variant(const char *variant) {
  llmprof_gpus *gpus = llmprof_gpus_open(library(variant), NULL);
  assert_non_null(gpus);
  return gpus;
}

static void assert_value(const llmprof_gpu_values *now, llmprof_gpu_field field,
                         double value) {
  assert_true(now->known[field]);
  assert_true(now->values[field] == value);
}

static void assert_sampled(const llmprof_gpu_values *now) {
  assert_value(now, LLMPROF_GPU_SM_CLOCK, 345);
  assert_value(now, LLMPROF_GPU_MEMORY_CLOCK, 3201);
  assert_value(now, LLMPROF_GPU_POWER, 76.543);
  assert_value(now, LLMPROF_GPU_ENERGY, 5000000.25);
  assert_value(now, LLMPROF_GPU_TEMPERATURE, 51);
  assert_value(now, LLMPROF_GPU_UTILIZATION, 97);
  assert_value(now, LLMPROF_GPU_MEMORY_BUSY, 0);
  assert_value(now, LLMPROF_GPU_MEMORY_TOTAL, 150754820096);
  assert_true(now->throttle_known);
}

TEST(full) {
  llmprof_gpus *gpus = open_variant("full");
  const char *reason = "";
  assert_int_equal(llmprof_gpus_count(gpus, &reason), 3);
  assert_null(reason);
  llmprof_gpu_info info;
  llmprof_error err;
  assert_true(llmprof_gpu_describe(gpus, 0, &info, &err));
  assert_int_equal(info.index, 0);
  assert_string_equal(info.name, "NVIDIA H200");
  assert_string_equal(info.uuid, "GPU-00000000-0000-0000-0000-000000000000");
  assert_string_equal(info.pci_bus_id, "00000000:41:00.0");
  assert_string_equal(info.compute_capability, "9.0");
  assert_string_equal(info.driver_version, "580.159.04");
  assert_string_equal(info.cuda_version, "12.8");
  assert_sampled(&info.now);
  assert_value(&info.now, LLMPROF_GPU_MEMORY_USED, 1073741824);
  assert_value(&info.now, LLMPROF_GPU_SM_CLOCK_MAX, 1980);
  assert_value(&info.now, LLMPROF_GPU_MEMORY_CLOCK_MAX, 3202);
  assert_value(&info.now, LLMPROF_GPU_POWER_LIMIT, 700);
  assert_value(&info.now, LLMPROF_GPU_MIG, 0);
  assert_value(&info.now, LLMPROF_GPU_PERSISTENCE, 1);
  assert_int_equal(info.now.throttle, 0);
  llmprof_gpus_close(gpus);
}

TEST(sample) {
  llmprof_gpus *gpus = open_variant("full");
  llmprof_gpu_values now;
  llmprof_error err;
  assert_true(llmprof_gpu_sample(gpus, 2, &now, &err));
  assert_sampled(&now);
  assert_true(now.throttle == (1ull << 40 | 0x84));
  for (int i = LLMPROF_GPU_SAMPLED; i < LLMPROF_GPU_FIELDS; i++)
    assert_false(now.known[i]);
  llmprof_gpus_close(gpus);
}

static void assert_unusable(llmprof_gpus *gpus, unsigned index,
                            llmprof_code code, const char *message) {
  llmprof_gpu_info info;
  llmprof_gpu_values now;
  llmprof_error err;
  assert_false(llmprof_gpu_describe(gpus, index, &info, &err));
  assert_int_equal(err.code, code);
  assert_string_equal(err.message, message);
  assert_false(llmprof_gpu_sample(gpus, index, &now, &err));
  assert_int_equal(err.code, code);
  assert_string_equal(err.message, message);
  assert_false(llmprof_gpu_sample(gpus, index, &now, NULL));
}

TEST(unusable_devices) {
  llmprof_gpus *gpus = open_variant("full");
  assert_unusable(gpus, 1, LLMPROF_DENIED, "GPU 1: Insufficient Permissions");
  assert_unusable(gpus, 3, LLMPROF_NOTFOUND,
                  "no GPU 3: there are 3, counted from 0");
  llmprof_gpus_close(gpus);
  gpus = open_variant("lost");
  assert_unusable(gpus, 0, LLMPROF_IO, "GPU 0: GPU is lost");
  llmprof_gpus_close(gpus);
}

TEST(old_driver) {
  llmprof_gpus *gpus = open_variant("old");
  llmprof_gpu_info info;
  assert_true(llmprof_gpu_describe(gpus, 0, &info, NULL));
  assert_string_equal(info.pci_bus_id, "0000:41:00.0");
  assert_string_equal(info.cuda_version, "12.8");
  assert_sampled(&info.now);
  assert_value(&info.now, LLMPROF_GPU_MEMORY_USED, 2147483648);
  assert_value(&info.now, LLMPROF_GPU_POWER_LIMIT, 700);
  assert_false(info.now.known[LLMPROF_GPU_MIG]);
  llmprof_gpus_close(gpus);
}

TEST(what_is_not_supported_is_absent) {
  llmprof_gpus *gpus = open_variant("mute");
  llmprof_gpu_info info;
  assert_true(llmprof_gpu_describe(gpus, 0, &info, NULL));
  assert_string_equal(info.name, "");
  assert_string_equal(info.uuid, "");
  assert_string_equal(info.pci_bus_id, "");
  assert_string_equal(info.compute_capability, "");
  assert_string_equal(info.driver_version, "");
  assert_string_equal(info.cuda_version, "");
  for (int i = 0; i < LLMPROF_GPU_FIELDS; i++) assert_false(info.now.known[i]);
  assert_false(info.now.throttle_known);
  llmprof_gpus_close(gpus);
}

static void assert_none(const char *path, const char *expected) {
  llmprof_gpus *gpus = llmprof_gpus_open(path, NULL);
  assert_non_null(gpus);
  const char *reason = NULL;
  assert_int_equal(llmprof_gpus_count(gpus, &reason), 0);
  assert_string_equal(reason, expected);
  char message[8192];
  snprintf(message, sizeof message, "no GPU 0: %s", expected);
  assert_unusable(gpus, 0, LLMPROF_NOTFOUND, message);
  llmprof_gpus_close(gpus);
}

TEST(no_devices) {
  assert_none("/proc/none/libnvidia-ml.so.1",
              "no NVML: /proc/none/libnvidia-ml.so.1: cannot open shared "
              "object file: No such file or directory");
  assert_none(library("nodriver"), "NVML: Driver Not Loaded");
  assert_none(library("nocount"), "NVML: unknown error");
  assert_none(library("empty"), "NVML: no device");
  char expected[8192];
  snprintf(expected, sizeof expected, "no NVML: %s has no nvmlInit_v2",
           library("hollow"));
  assert_none(library("hollow"), expected);
}

/* Whatever this machine has, asking is no error. */
TEST(this_machine) {
  llmprof_gpus *gpus = llmprof_gpus_open(NULL, NULL);
  assert_non_null(gpus);
  const char *reason;
  unsigned count = llmprof_gpus_count(gpus, &reason);
  print_message("%u devices: %s\n", count, reason ? reason : "");
  assert_true((count == 0) == (reason != NULL));
  llmprof_gpus_close(gpus);
}

TEST(shutting_down) {
  static const char *const variants[] = {"full", "nodriver", "nocount",
                                         "empty"};
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    void *held = dlopen(library(variants[i]), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(held);
    const int *running = dlsym(held, "fake_nvml_running");
    assert_non_null(running);
    llmprof_gpus *gpus = open_variant(variants[i]);
    assert_int_equal(*running, strcmp(variants[i], "nodriver") != 0);
    llmprof_gpus_close(gpus);
    assert_int_equal(*running, 0);
    dlclose(held);
  }
  llmprof_gpus_close(NULL);
}

TEST(throttle_names) {
  assert_string_equal(llmprof_gpu_throttle_name(0), "gpu_idle");
  assert_string_equal(llmprof_gpu_throttle_name(2), "sw_power_cap");
  assert_string_equal(llmprof_gpu_throttle_name(8), "display_clock_setting");
  assert_null(llmprof_gpu_throttle_name(9));
  assert_null(llmprof_gpu_throttle_name(63));
}

static bool open_and_describe(void *arg, llmprof_error *err) {
  llmprof_gpus *gpus = llmprof_gpus_open(library("full"), err);
  if (!gpus) return false;
  llmprof_gpu_info info;
  bool ok = llmprof_gpu_describe(gpus, 0, &info, err);
  llmprof_gpus_close(gpus);
  return ok;
}

TEST(allocations) {
  test_every_allocation(open_and_describe, NULL);
}
