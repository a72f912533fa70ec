/* What the core's tests share: cmocka with its required headers, a failing
 * allocator, every prefix of an input, and scratch files. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test need not use the state that it gets. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include "base/buffer.h"
#include "frame/statistics.h"
#include "llmprof/alloc.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "llmprof/trace.h"

/* TEST(name) { ... } is a test, of which main.c runs those of a program in the
 * order in which they are written; TEST_WITH is one with its own fixture. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown)                                  \
  static void test_##name(void **state);                                  \
  __attribute__((constructor)) static void register_##name(void) {        \
    test_add_test(                                                        \
        &(struct CMUnitTest){#name, test_##name, setup, teardown, NULL}); \
  }                                                                       \
  static void test_##name(void **state)
void test_add_test(const struct CMUnitTest *test);

/* Run `body` again and again, with the first, the second, ... allocation of
 * the core failing, until it runs through without a failure. body returns
 * true on success; on false the error must be LLMPROF_NOMEM. Fails the test
 * if memory leaks or the body fails although no allocation did. With
 * LLMPROF_TEST_FEW in the environment not every allocation has its turn. */
typedef bool (*test_body)(void *arg, llmprof_error *err);
void test_every_allocation(test_body body, void *arg);

/* Call `body` on every prefix of the input, each in a buffer of exactly its
 * size, so that a read past the end is seen by AddressSanitizer. */
typedef void (*test_prefix_body)(const char *bytes, size_t size);
void test_every_prefix(const char *bytes, size_t size, test_prefix_body body);

/* The error has this code, and its message is the path and `rest`. */
void test_error_of(const llmprof_error *err, llmprof_code code,
                   const char *path, const char *rest);

enum {
  TEST_CANNOT = 77 /* exit status of a child: not possible here, skip */
};

/* Run the body in a process of its own, whose limits, mounts and root are its
 * own affair; it returns an exit status. */
void test_in_child(int (*body)(void));

/* A column whose cells are values or, without these, an array of its type; with
 * an index row r is cell index[r], UINT32_MAX none. All outlive the frame. */
typedef struct test_column {
  const char *name, *unit;
  llmprof_column_type type;
  const void *data;
  const uint32_t *index;
  const llmprof_strings *strings;
  const llmprof_values *values;
} test_column;

bool test_add(llmprof_frame *frame, const test_column *column);

/* A frame of columns; NULL when out of memory. */
llmprof_frame *test_frame(size_t rows, const llmprof_strings *strings,
                          const test_column *columns, size_t count);

/* What llmprof_summarize() says of each group. */
bool test_summarize(llmprof_frame *frame, size_t column,
                    const llmprof_groups *groups, const double *wanted,
                    size_t wanted_count, llmprof_summary *summaries,
                    llmprof_error *err);

/* The cell of a row in the column of that name, which has to be there. */
int64_t test_cell(llmprof_frame *frame, const char *name, size_t row);

/* Its text; "absent" where there is none. */
const char *test_cell_text(llmprof_frame *frame, const char *name, size_t row);

/* A column has these cells, and no more. */
void test_expect_cells(llmprof_frame *frame, const char *name,
                       const int64_t *expected, size_t count);
#define TEST_CELLS(frame, name, ...)                       \
  test_expect_cells(frame, name, (int64_t[]){__VA_ARGS__}, \
                    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Columns of a frame as text: a row a line, its cells apart by |, "-" for what
 * is absent. */
void test_put_rows(llmprof_buffer *out, llmprof_frame *frame,
                   const char *const *names, size_t count);
void test_expect_rows(llmprof_frame *frame, const char *expected,
                      const char *const *names, size_t count);
#define TEST_ROWS(frame, expected, ...)                                 \
  test_expect_rows(frame, expected, (const char *const[]){__VA_ARGS__}, \
                   sizeof((const char *const[]){__VA_ARGS__}) /         \
                       sizeof(const char *))

/* A frame of a trace, and a string of it, "(none)" where there is none. */
llmprof_frame *test_frame_of(llmprof_trace *trace, const char *name);
const char *test_string_of(const llmprof_trace *trace, uint32_t string);

/* Asserts that a trace has so many diagnostics, and that each holds its words.
 */
void test_expect_said(llmprof_trace *trace, const char *const *wanted,
                      size_t count);
#define TEST_SAID(trace, ...)                                   \
  test_expect_said(trace, (const char *const[]){__VA_ARGS__},   \
                   sizeof((const char *const[]){__VA_ARGS__}) / \
                       sizeof(const char *))

/* Blocks that the core holds now. */
size_t test_live_blocks(void);

/* A new folder below the build tree's temporary one; removed at exit. The
 * string lives until exit. */
const char *test_folder(void);

/* The path of `name` in that folder, valid for the next 64 calls. */
const char *test_in_folder(const char *name);

/* Put other bytes into a file that is there. */
void test_write_over(const char *path, const void *bytes, size_t size);

/* Write a file into test_folder() and return test_in_folder(name). */
const char *test_file(const char *name, const void *bytes, size_t size);

#endif
