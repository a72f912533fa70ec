/* The lines of Python that the calling thread is in, told without the lock of
 * the interpreter (GIL): CUDA's calls are mostly made without it, and waiting
 * for it in a callback of CUPTI would end in a deadlock. CPython 3.11 to 3.13,
 * by the layout of their frames, which a thread of ours checks with the lock
 * before any stack is told. */
#ifndef LLMPROF_COLLECTOR_PYTHON_H
#define LLMPROF_COLLECTOR_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

typedef enum python_state {
  PYTHON_NONE,  /* no interpreter in this process, or not yet */
  PYTHON_BEGUN, /* a moment, and it is on or off */
  PYTHON_ON,
  PYTHON_OFF, /* python_why says why */
} python_state;

/* Looks for the interpreter, and starts. Any thread, again and again. */
python_state python_begin(void);
python_state python_now(void); /* without looking */
const char *python_why(void);

/* The number in `stacks` of the calling thread's stack; 0: none is known. A
 * launch that has been seen before takes a fraction of a microsecond. */
uint32_t python_walk(void);

/* Threads of ours that run. */
unsigned python_threads(void);

/* In the child of a fork. */
void python_forget(void);

#endif
