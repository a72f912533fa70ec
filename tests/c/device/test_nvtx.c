/* NVTX looks for a tool once in a process, so each case runs in a child. */
#include "device/nvtx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define TOOL    LIBRARIES "/libfake_nvtx.so"
#define REFUSES LIBRARIES "/libfake_nvtx_refuse.so"
#define NOT_SET "no tool is attached: NVTX_INJECTION64_PATH is not set"
#define NO_NVTX "llmprof was built without NVTX"

#ifdef LLMPROF_HAVE_NVTX
#define WITH_NVTX(with, without) (with)
#else
#define WITH_NVTX(with, without) (without)
#endif

/* True when `body` holds in a child that has the tool in its environment. */
static bool in_child(const char *tool, bool (*body)(void)) {
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    if (tool)
      setenv("NVTX_INJECTION64_PATH", tool, 1);
    else
      unsetenv("NVTX_INJECTION64_PATH");
    bool ok = body();
    fflush(NULL);
    _exit(ok ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is(const char *what, const char *got, const char *expected) {
  if (strcmp(got, expected) == 0) return true;
  print_error("%s:\n%s\nexpected:\n%s\n", what, got, expected);
  return false;
}

static bool available_is(bool expected, const char *reason) {
  char why[LLMPROF_MESSAGE_SIZE];
  bool available = llmprof_nvtx_available(why);
  return is("why", why, reason) && available == expected;
}

/* All the calls there are; false when memory is out. */
static bool call_everything(uint64_t ids[2], llmprof_error *err) {
  llmprof_nvtx_push(NULL, "prefill");
  llmprof_nvtx_mark(NULL, "here");
  llmprof_nvtx_pop(NULL);
  ids[0] = llmprof_nvtx_start(NULL, "decode");
  llmprof_nvtx_stop(NULL, ids[0]);
  llmprof_nvtx_domain *domain = llmprof_nvtx_domain_new("phases", err);
  if (!domain) return false;
  llmprof_nvtx_push(domain, "analyse");
  llmprof_nvtx_mark(domain, "there");
  llmprof_nvtx_pop(domain);
  ids[1] = llmprof_nvtx_start(domain, "render");
  llmprof_nvtx_stop(domain, ids[1]);
  llmprof_nvtx_domain_free(domain);
  return true;
}

static const char *log_of(const char *tool) {
  void *handle = dlopen(tool, RTLD_NOW | RTLD_NOLOAD);
  return handle ? dlsym(handle, "fake_nvtx_log") : "not loaded";
}

static bool with_a_tool(void) {
  uint64_t ids[2];
  if (!call_everything(ids, NULL)) return false;
  return ids[0] == WITH_NVTX(1, 0) && ids[1] == WITH_NVTX(2, 0) &&
         is("log", log_of(TOOL),
            WITH_NVTX("push prefill\n"
                      "mark here\n"
                      "pop\n"
                      "start decode 1\n"
                      "end 1\n"
                      "create phases\n"
                      "phases: push analyse\n"
                      "phases: mark there\n"
                      "phases: pop\n"
                      "phases: start render 2\n"
                      "phases: end 2\n"
                      "destroy phases\n",
                      "not loaded")) &&
         available_is(WITH_NVTX(true, false),
                      WITH_NVTX("recorded by " TOOL, NO_NVTX));
}

static bool without_a_tool(void) {
  uint64_t ids[2];
  return available_is(false, WITH_NVTX(NOT_SET, NO_NVTX)) &&
         call_everything(ids, NULL) && ids[0] == 0 && ids[1] == 0;
}

static bool with_a_tool_that_refuses(void) {
  uint64_t ids[2];
  return available_is(false, WITH_NVTX(REFUSES " does not record", NO_NVTX)) &&
         call_everything(ids, NULL) && ids[0] == 0 && ids[1] == 0;
}

static bool with_a_tool_that_is_not_there(void) {
  uint64_t ids[2];
  return available_is(false,
                      WITH_NVTX("/proc/none.so does not record", NO_NVTX)) &&
         call_everything(ids, NULL) && ids[0] == 0 && ids[1] == 0;
}

static bool with_an_empty_name(void) {
  return available_is(false, WITH_NVTX(NOT_SET, NO_NVTX));
}

static void test_tools(void **state) {
  assert_true(in_child(TOOL, with_a_tool));
  assert_true(in_child(NULL, without_a_tool));
  assert_true(in_child(REFUSES, with_a_tool_that_refuses));
  assert_true(in_child("/proc/none.so", with_a_tool_that_is_not_there));
  assert_true(in_child("", with_an_empty_name));
}

static bool make_domain(void *arg, llmprof_error *err) {
  uint64_t ids[2];
  return call_everything(ids, err);
}

static void test_allocations(void **state) {
  unsetenv("NVTX_INJECTION64_PATH");
  test_every_allocation(make_domain, NULL);
  llmprof_nvtx_domain_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tools),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
