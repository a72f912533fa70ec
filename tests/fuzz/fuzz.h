/* What libFuzzer calls, and a check that stops it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
  FUZZ_PATH = 4096 /* room for a path */
};

/* A template for mkstemp and mkdtemp, in the folder for temporary files. */
static inline void fuzz_scratch(char path[FUZZ_PATH]) {
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  snprintf(path, FUZZ_PATH, "%s/llmprof-fuzz-XXXXXX", folder);
}

/* A file of these bytes, in memory; its path is the same each time. */
static inline const char *fuzz_file(const void *bytes, size_t size) {
  static char path[FUZZ_PATH];
  static int fd = -1;
  if (fd < 0) {
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (fd < 0 || ftruncate(fd, 0) != 0 ||
      pwrite(fd, bytes, size, 0) != (ssize_t)size)
    abort();
  return path;
}

/* Holds in every build, unlike assert. */
#define FUZZ_CHECK(condition)                                             \
  ((condition)                                                            \
       ? (void)0                                                          \
       : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), \
          abort()))

#endif
