/* The machine and this process, as a run's provenance wants them. */
#ifndef LLMPROF_SYS_H
#define LLMPROF_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "llmprof/error.h"

/* Nanoseconds since 1970-01-01 UTC, and on a clock that never jumps (but has
 * no meaning between machines or reboots). */
int64_t llmprof_sys_realtime(void);
int64_t llmprof_sys_monotonic(void);

/* Width and height of the terminal that stdout, stderr or stdin (the first
 * that is one) is connected to; 0 when none is, or it does not know. */
void llmprof_sys_terminal(int *columns, int *lines);

enum {
  LLMPROF_NAME_SIZE = 256
};

typedef struct llmprof_cpu {
  char model[LLMPROF_NAME_SIZE]; /* "" when the kernel names none */
  int cores;                     /* logical, online; 0 when not known */
  uint64_t memory;               /* physical, bytes; 0 when not known */
} llmprof_cpu;

/* Never fails: what cannot be found out stays empty. */
void llmprof_sys_cpu(llmprof_cpu *cpu);

/* Replace what `path` holds by the real path of the running binary. NOTFOUND
 * when there is no /proc, or the file was removed or replaced since. */
bool llmprof_sys_executable(llmprof_buffer *path, llmprof_error *err);

/* Would reading from a descriptor not wait, since bytes or its end are there?
 * Waits up to so long for that, for ever when it is negative; false also when a
 * signal ends the waiting. */
bool llmprof_sys_readable(int fd, int milliseconds);

/* Bytes of a descriptor, `size` at most: waits for the first and takes what is
 * there by then; *count is 0 at the end. INTERRUPTED by llmprof_interrupt(). */
bool llmprof_sys_read(int fd, void *bytes, size_t size, size_t *count,
                      llmprof_error *err);

enum {
  LLMPROF_SIGNAL_SIZE = 16
};

/* "SIGINT", or "SIGRTMIN+1" for a real-time signal; false when there is no
 * signal of that number. */
bool llmprof_sys_signal_name(int number, char name[LLMPROF_SIGNAL_SIZE]);

/* The inverse; 0 when there is no signal of that name. */
int llmprof_sys_signal_number(const char *name);

/* Send a signal to one process, above 1: NOTFOUND when there is none of that
 * number, DENIED when it is not ours to signal. */
bool llmprof_sys_kill(int64_t pid, int number, llmprof_error *err);

#endif
