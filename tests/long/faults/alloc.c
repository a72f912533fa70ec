/* Preloaded into a command: its N-th allocation fails (FAULT_ALLOC=N), with
 * FAULT_ALLOC_ON=1 all from there on. How many there were goes into the file
 * FAULT_REPORT. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *(*real_malloc)(size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_calloc)(size_t, size_t);

static atomic_ulong count;
static unsigned long wanted; /* 0: none fails */
static bool all_after, ready;

/* For what dlsym allocates itself; never given back. */
static _Alignas(max_align_t) char early[4096];
static size_t early_used;

static void *take_early(size_t size) {
  size_t aligned = (size + 15) & ~(size_t)15;
  if (aligned < size || aligned > sizeof early - early_used) return NULL;
  void *block = early + early_used;
  early_used += aligned;
  return block;
}

__attribute__((constructor)) static void begin(void) {
  *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
  *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
  *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
  const char *number = getenv("FAULT_ALLOC"), *on = getenv("FAULT_ALLOC_ON");
  if (number) wanted = strtoul(number, NULL, 10);
  all_after = on && *on == '1';
  /* the command's own children are let alone */
  unsetenv("LD_PRELOAD");
  ready = true;
}

static bool fails(void) {
  if (!ready) return false;
  unsigned long now = atomic_fetch_add(&count, 1) + 1;
  if (!wanted || (all_after ? now < wanted : now != wanted)) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) {
  if (!real_malloc) return take_early(size);
  return fails() ? NULL : real_malloc(size);
}

void *calloc(size_t number, size_t size) {
  if (!real_calloc) return take_early(number * size); /* zero, as statics are */
  return fails() ? NULL : real_calloc(number, size);
}

void *realloc(void *block, size_t size) {
  if (!real_realloc) return take_early(size);
  return fails() ? NULL : real_realloc(block, size);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FAULT_REPORT");
  ready = false;
  int fd =
      path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  char text[32];
  int size = snprintf(text, sizeof text, "%lu\n", atomic_load(&count));
  if (write(fd, text, (size_t)size) != size) abort();
  close(fd);
}
