/* The model of a replay: points on threads, operations on streams, and what
 * waits for what. Private to the module. */
#ifndef LLMPROF_REPLAY_INTERNAL_H
#define LLMPROF_REPLAY_INTERNAL_H

#include "llmprof/strings.h"
#include "replay/replay.h"

enum {
  REPLAY_NONE = UINT32_MAX
};

typedef enum replay_point_kind {
  REPLAY_EDGE,    /* where a range begins or ends */
  REPLAY_CALL,    /* takes its own time */
  REPLAY_WAIT,    /* waits for operations */
  REPLAY_COPY,    /* a copy that blocks: waits for its own operation */
  REPLAY_BLOCKED, /* was recorded waiting for room in the queue */
} replay_point_kind;

/* What happens on a thread: an API call, or the edge of a range. Points of a
 * thread follow each other in the array, by start. */
typedef struct replay_point {
  int64_t start, end;
  int64_t own;   /* what it takes without waiting */
  int64_t after; /* from the end of what it waits for to its return */
  int64_t gap;   /* from the latest end before it on its thread */
  int64_t tail;  /* from the end of `released`, where there is one */
  uint32_t thread, part, name;
  uint32_t operations, operation_count; /* in replay->by_call */
  uint32_t targets, target_count;       /* in replay->targets */
  uint32_t room;     /* the operation whose start leaves room in the queue */
  uint32_t released; /* the call on another thread whose end this one awaits */
  uint8_t kind;
} replay_point;

typedef enum replay_operation_kind {
  REPLAY_KERNEL,
  REPLAY_COPIED,
  REPLAY_SET,
  REPLAY_GRAPH,
} replay_operation_kind;

/* What runs on a stream; operations are ordered by start and end. */
typedef struct replay_operation {
  int64_t start, end;
  int64_t latency; /* from its call's return (its begin, if that blocks) to the
                      earliest start; LLMPROF_ABSENT: not known */
  int64_t lag;     /* from the end (or start) of `before` */
  int64_t work;    /* of a collective: from the last arrival to the end */
  uint32_t call;   /* point, or REPLAY_NONE */
  uint32_t stream, part, op, name, memory;
  uint32_t before;            /* operation it follows, or REPLAY_NONE */
  uint32_t collective;        /* or REPLAY_NONE */
  uint32_t waits, wait_count; /* for operations of other streams, in
                                 replay->waits */
  uint8_t kind;
  bool after_start; /* follows the start of `before`, not its end */
  bool in_graph;
} replay_operation;

typedef struct replay_stream {
  uint32_t part, device;
  int64_t pid, id;
  uint32_t first, count; /* in replay->launched: by launch */
  size_t depth;          /* operations that fit in its queue; 0: not known */
} replay_stream;

typedef struct replay_thread {
  uint32_t part;
  int64_t pid, tid;
  uint32_t first, count; /* its points */
} replay_thread;

/* A range is two points. */
typedef struct replay_range {
  uint32_t begin, end; /* points, REPLAY_NONE: without a start or an end */
} replay_range;

typedef struct replay_part {
  uint32_t ranges, range_count; /* in replay->ranges */
  uint32_t *by_op;              /* op to operation */
  size_t ops;
} replay_part;

/* A call that synchronises, by its process and correlation. */
typedef struct replay_sync {
  uint32_t point, part;
  int64_t pid, stream, event;
  int64_t time; /* when its call ended */
} replay_sync;

/* A growing list of operations. */
typedef struct replay_list {
  uint32_t *items;
  size_t count, room;
} replay_list;

struct llmprof_replay {
  llmprof_strings *names;
  replay_point *points;
  size_t point_count, point_room;
  replay_operation *operations;
  size_t operation_count, operation_room;
  replay_stream *streams;
  size_t stream_count, stream_room;
  replay_thread *threads;
  size_t thread_count, thread_room;
  replay_range *ranges;
  size_t range_count, range_room;
  replay_part *parts;
  size_t part_count, part_room;
  replay_sync *syncs, *records;
  size_t sync_count, sync_room, record_count, record_room;
  uint32_t *by_call;  /* operations by the call that launched them */
  uint32_t *launched; /* operations by stream and launch */
  replay_list targets, waits;
  uint32_t *events; /* what happens, in recorded order: see replay_run.c */
  size_t event_count;
  uint32_t collective_count;
  int64_t room_after; /* ns from the start that leaves room to the return */
  /* by the last run */
  double *new_start, *new_end;       /* of points */
  double *new_op_start, *new_op_end; /* of operations */
  llmprof_replay_basis basis;
};

/* What is overridden; NULL: as recorded. */
struct llmprof_change {
  const llmprof_replay *replay;
  float *work;    /* by operation: factor; negative: it is not there */
  float *own;     /* by point: factor */
  float *gap;     /* by point: factor */
  uint8_t *flags; /* by point */
  bool *ignored;  /* by operation: its collective does not wait for it; NULL */
  int64_t *set_own; /* by point: ns, or LLMPROF_ABSENT; NULL */
  int64_t *set_gap; /* by point, likewise */
  float *set_lag;   /* by operation: ns, negative: as recorded; NULL */
};

enum {
  REPLAY_GONE = 1,    /* the call is not made */
  REPLAY_NO_WAIT = 2, /* it does not wait */
};

bool replay_push(replay_list *list, uint32_t item);

/* Loaded columns of a frame by name; of those from number `needed` on one that
 * is not there is NULL. */
bool replay_columns(llmprof_frame *frame, const char *const *names,
                    size_t count, size_t needed, const llmprof_column **found,
                    llmprof_error *err);

/* The steps of llmprof_replay_link, in this order. */
bool replay_order(llmprof_replay *r, llmprof_error *err);
bool replay_link_streams(llmprof_replay *r, llmprof_error *err);
bool replay_link_waits(llmprof_replay *r, llmprof_error *err);
bool replay_link_queues(llmprof_replay *r, llmprof_error *err);
bool replay_link_collectives(llmprof_replay *r, llmprof_error *err);
bool replay_link_threads(llmprof_replay *r, llmprof_error *err);
bool replay_make_events(llmprof_replay *r, llmprof_error *err);

/* Values by key, and their quantiles. */
typedef struct replay_sample {
  uint64_t key;
  int64_t value;
} replay_sample;
typedef struct replay_samples {
  replay_sample *items;
  size_t count, room;
} replay_samples;
bool replay_sample_add(replay_samples *samples, uint64_t key, int64_t value);
void replay_samples_sort(replay_samples *samples);
void replay_samples_free(replay_samples *samples);
/* After sorting: how many of a key, and a quantile of them (0 to 1);
 * `otherwise` where there is none. */
size_t replay_samples_of(const replay_samples *samples, uint64_t key,
                         size_t *first);
int64_t replay_quantile(const replay_samples *samples, uint64_t key, double q,
                        int64_t otherwise);

/* How many operations were launched on a stream by `time`, which are the first
 * of them; and the latest of them, or REPLAY_NONE. */
uint32_t replay_count_launched(const llmprof_replay *r,
                               const replay_stream *stream, int64_t time);
uint32_t replay_launched_by(const llmprof_replay *r,
                            const replay_stream *stream, int64_t time);

/* When an operation was launched: its call's end, or its own start. */
static inline int64_t replay_launch_time(const llmprof_replay *r,
                                         const replay_operation *o) {
  return o->call == REPLAY_NONE ? o->start : r->points[o->call].end;
}

/* Does a call's name begin so, without "cuda" or "cu"? */
bool replay_call_is(const llmprof_replay *r, const replay_point *p,
                    const char *rest);

/* The first point of a thread that starts at `time` or later. */
uint32_t replay_point_from(const llmprof_replay *r, const replay_thread *thread,
                           int64_t time);

#endif
