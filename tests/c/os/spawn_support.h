/* What the process tests share. */
#ifndef TEST_SPAWN_SUPPORT_H
#define TEST_SPAWN_SUPPORT_H

#include "os/spawn.h"
#include "support.h"

#define ARGV(...)         \
  (const char *const[]) { \
    __VA_ARGS__, NULL     \
  }

/* A test that is checked to leave no child, descriptor, signal handler or
 * blocked signal behind. */
#define CHILD_TEST(name) TEST_WITH(name, test_before_child, test_after_child)
int test_before_child(void **state);
int test_after_child(void **state);
void test_no_child_is_left(void);

/* Run to the end. The second fails the test instead. */
bool test_try_run(const char *const *argv, const llmprof_spawn_options *options,
                  llmprof_spawn_result *result, llmprof_error *err);
llmprof_spawn_result test_run(const char *const *argv,
                              const llmprof_spawn_options *options);

/* A line callback; user is an llmprof_buffer, which gets lines as text:
 * "out a\\n|err b\\r|piece...|". */
bool test_collect(void *user, const llmprof_line *line);

/* Neither gone nor a zombie. */
bool test_is_alive(pid_t pid);

#endif
