/* Drivers are found by name, and a process keeps the first one that it has
 * loaded: what the argument says (none, old or full) is tried in a process of
 * its own. */
#include "device/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

/* The stand-in gives itself the driver's name, so that once it is loaded it is
 * the one found. */
static void *load_driver(const char *variant) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libfake_cuda_%s.so", LIBRARIES, variant);
  void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!driver) fail_msg("%s", dlerror());
  return driver;
}

static void expect_failure(int device, llmprof_code code, const char *message) {
  llmprof_error err = {0};
  assert_false(llmprof_cuda_probe(device, &err));
  assert_int_equal(err.code, code);
  assert_string_equal(err.message, message);
  assert_false(llmprof_cuda_probe(device, NULL));
}

static void test_no_driver(void **state) {
  void *real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (real) skip(); /* this machine has one */
  expect_failure(0, LLMPROF_NOTFOUND, "no CUDA driver (libcuda.so.1) here");
}

static void test_old_driver(void **state) {
  load_driver("old");
  llmprof_error err = {0};
  assert_false(llmprof_cuda_probe(0, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_non_null(strstr(err.message, "libcuda.so.1 is too old: "));
  assert_non_null(strstr(err.message, "cuLaunchKernel"));
}

/* ---- a whole driver ---- */

typedef struct fake {
  const char **failing;
  int *error, *contexts, *launches;
} fake;

static int set_up(void **state) {
  static fake f;
  void *driver = load_driver("full");
  f = (fake){
      dlsym(driver, "fake_cuda_failing"), dlsym(driver, "fake_cuda_error"),
      dlsym(driver, "fake_cuda_contexts"), dlsym(driver, "fake_cuda_launches")};
  *state = &f;
  return !(f.failing && f.error && f.contexts && f.launches);
}

static void test_launch(void **state) {
  const fake *f = *state;
  llmprof_error err = {0};
  assert_true(llmprof_cuda_probe(0, &err));
  assert_true(llmprof_cuda_probe(1, &err));
  assert_int_equal(*f->launches, 2);
  assert_int_equal(*f->contexts, 0); /* all released */
}

static void test_no_such_device(void **state) {
  expect_failure(2, LLMPROF_IO, "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE");
}

static void test_each_call_failing(void **state) {
  const fake *f = *state;
  static const char *const calls[] = {
      "cuInit",          "cuDeviceGet",      "cuDevicePrimaryCtxRetain",
      "cuCtxSetCurrent", "cuModuleLoadData", "cuModuleGetFunction",
      "cuLaunchKernel",  "cuCtxSynchronize",
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    char message[128];
    *f->failing = calls[i];
    *f->error = 719;
    snprintf(message, sizeof message, "%s: CUDA_ERROR_LAUNCH_FAILED", calls[i]);
    expect_failure(0, LLMPROF_IO, message);
    *f->error = 7;
    snprintf(message, sizeof message, "%s: unknown CUDA error", calls[i]);
    expect_failure(0, LLMPROF_IO, message);
    assert_int_equal(*f->contexts, 0);
  }
  *f->failing = NULL;
}

int main(int argc, char **argv) {
  const struct CMUnitTest none[] = {cmocka_unit_test(test_no_driver)};
  const struct CMUnitTest old[] = {cmocka_unit_test(test_old_driver)};
  const struct CMUnitTest full[] = {
      cmocka_unit_test(test_launch),
      cmocka_unit_test(test_no_such_device),
      cmocka_unit_test(test_each_call_failing),
  };
  const char *driver = argc > 1 ? argv[1] : "";
  if (strcmp(driver, "none") == 0)
    return cmocka_run_group_tests(none, NULL, NULL);
  if (strcmp(driver, "old") == 0)
    return cmocka_run_group_tests(old, NULL, NULL);
  return cmocka_run_group_tests(full, set_up, NULL);
}
