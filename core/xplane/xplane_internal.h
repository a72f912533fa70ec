/* What the files of the reader of XLA's profiles share. */
#ifndef LLMPROF_XPLANE_INTERNAL_H
#define LLMPROF_XPLANE_INTERNAL_H

#include "frame/intern.h"
#include "llmprof/trace_builder.h"
#include "xplane/protobuf.h"

/* Stats that mean something here, of planes and of events. */
typedef enum xplane_stat {
  STAT_CORRELATION,
  STAT_KERNEL, /* "regs:32 grid:8,1,1 block:256,1,1 ..." */
  STAT_COPY,   /* "kind:Unknown size:655360 dest:2 async:1" */
  STAT_SET,
  STAT_HLO_OP,
  STAT_PROGRAM,
  STAT_STEP, /* of StepTraceAnnotation */
  STAT_VENDOR,
  STAT_DEVICE_NAME,
  STAT_CLOCK, /* kHz */
  STAT_CORES,
  STAT_BANDWIDTH,
  STAT_MEMORY,
  STAT_MAJOR,
  STAT_MINOR,
  STAT_PROFILE_START, /* ns since 1970, of the whole profile */
  STATS,
} xplane_stat;

/* A text in the file, or none (NULL). */
typedef struct xplane_text {
  const char *bytes;
  size_t size;
} xplane_text;

/* Stats by what they mean. */
typedef struct xplane_stats {
  int64_t numbers[STATS]; /* or LLMPROF_ABSENT */
  xplane_text texts[STATS];
} xplane_stats;

/* What the events of a plane are called, by ids that may be any numbers. */
typedef struct xplane_name {
  int64_t id;
  xplane_text name;
  protobuf_message about; /* of an event's: the whole message, for its stats */
  xplane_stat stat;       /* STATS: none of them */
} xplane_name;

typedef struct xplane_plane {
  int64_t id;
  xplane_text name;
  protobuf_message all;
  llmprof_intern events, stats; /* of xplane_name, by id */
} xplane_plane;

/* A GPU operation. */
typedef struct xplane_op {
  llmprof_op_row row; /* without its place's row */
  llmprof_place place;
  llmprof_shape shape;
  int64_t program; /* or LLMPROF_ABSENT */
  uint32_t hlo_op; /* string or LLMPROF_NO_STRING */
} xplane_op;

/* A call of the host that launched something. */
typedef struct xplane_call {
  llmprof_call_row row;
  int64_t program;
  uint32_t hlo_op;
} xplane_call;

/* The line of source that an instruction is from. */
typedef struct xplane_source {
  int64_t program, instruction; /* the latter a string */
  llmprof_source_frame frame;
} xplane_source;

typedef struct xplane_trace {
  llmprof_builder *builder;
  const char *path;
  xplane_op *ops;
  size_t op_count, op_cap;
  xplane_call *calls;
  size_t call_count, call_cap;
  llmprof_range_row *ranges;
  size_t range_count, range_cap;
  uint32_t domain; /* string: "TSL" */
  uint32_t process, threads;
  int64_t started;    /* wall clock of the profile's zero, or absent */
  int64_t first;      /* ns: the earliest start of what is kept */
  uint64_t left_out;  /* events without a usable time */
  uint64_t functions; /* of Python */
  uint64_t instants;  /* events without a duration */
  uint64_t other;     /* planes of devices that are no GPU */
  char other_name[64];
  bool is_cut; /* nothing from byte cut_at on could be read */
  size_t cut_at;
  llmprof_intern sources; /* of xplane_source, by program and instruction */
} xplane_trace;

/* Keep what the plane holds: OK, NOMEM, or SYNTAX where its bytes are none:
 * what comes before is kept. */
llmprof_code xplane_read_plane(xplane_trace *t, protobuf_message all);

/* A range of XLA's domain without a name; NULL when out of memory. */
llmprof_range_row *xplane_add_range(xplane_trace *t, int64_t start, int64_t end,
                                    uint32_t thread);

/* Name executions of modules by their programs and, around each launch, the
 * operation that it is of, as XLA's NVTX does; false when out of memory. */
bool xplane_name_launches(xplane_trace *t);

/* Keep the lines of source in the plane of metadata; false when out of memory.
 */
bool xplane_read_sources(xplane_trace *t, protobuf_message plane);

/* Add which line each operation is from; none where no line is known. */
bool xplane_load_stacks(xplane_trace *t, llmprof_error *err);

/* Is this text there, at the beginning? */
bool xplane_begins(xplane_text text, const char *with);

#endif
