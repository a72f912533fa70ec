/* What the files of the operators module share. */
#ifndef LLMPROF_OPERATORS_INTERNAL_H
#define LLMPROF_OPERATORS_INTERNAL_H

#include "frame/intern.h"
#include "torch/operators.h"

/* "No such row" and "no value". */
#define NO_ROW   UINT32_MAX
#define NO_VALUE LLMPROF_ABSENT

/* An operator or a call. */
typedef struct host_event {
  int64_t start, duration, end; /* ns */
  int64_t self, outer;
  int64_t device_self, device_outer;
  int64_t covered; /* up to here children have taken from self */
  int64_t calls;   /* 1; 0 of one that is counted with the call around it */
  int64_t external_id, correlation;
  size_t event;          /* its place in the file */
  uint32_t name, shapes; /* strings */
  uint32_t process, thread, parent;
  uint32_t mark; /* row: the innermost where it starts */
  bool is_call;
} host_event;

typedef struct gpu_event {
  int64_t start, duration; /* ns */
  int64_t external_id, correlation, device, stream;
  int64_t launched;  /* ns; NO_VALUE: nobody knows */
  size_t event;      /* its place in the file */
  uint32_t name, op; /* strings */
  uint32_t mark;     /* row: the innermost around the launch */
} gpu_event;

/* A range that the program named. */
typedef struct mark_event {
  int64_t start, duration; /* ns */
  uint32_t name;           /* string */
  uint32_t thread, parent;
} mark_event;

/* What PyTorch's allocators said of the memory of a device. */
typedef struct memory_record {
  int64_t type, device; /* as c10 numbers them: type 0 is the CPU */
  int64_t events, allocated, reserved; /* bytes: the most of all events */
} memory_record;

struct llmprof_operators {
  llmprof_strings *strings;
  llmprof_intern processes; /* of { pid, its text } */
  llmprof_intern threads;   /* of { process, tid } */
  size_t events;            /* read so far */
  host_event *host;
  size_t host_count, host_cap;
  gpu_event *gpu;
  size_t gpu_count, gpu_cap;
  mark_event *marks;
  size_t mark_count, mark_cap;
  llmprof_intern memory; /* of memory_record, by type and device */
  bool fractions;        /* some time is no whole number of us */
  llmprof_operators_info info;
};

/* Fill in parent, mark, self, outer and calls of all host events, and parents
 * of all marks. */
bool llmprof_operators_nest(llmprof_operators *o, llmprof_error *err);

/* After that: the operator of each GPU operation, when it was launched and in
 * which mark, device times of each operator. */
bool llmprof_operators_attribute(llmprof_operators *o, llmprof_error *err);

#endif
