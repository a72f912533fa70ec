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

#include "llmprof/alloc.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

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

/* A frame of columns that are there; NULL when out of memory. */
llmprof_frame *test_frame(size_t rows, const llmprof_strings *strings,
                          const llmprof_column *columns, size_t count);

/* Blocks that the core holds now. */
size_t test_live_blocks(void);

/* A new folder below the build tree's temporary one; removed at exit. The
 * string lives until exit. */
const char *test_folder(void);

/* Put other bytes into a file that is there. */
void test_write_over(const char *path, const void *bytes, size_t size);

/* Write a file into test_folder() and return its path, valid until exit. */
const char *test_file(const char *name, const void *bytes, size_t size);

#endif
