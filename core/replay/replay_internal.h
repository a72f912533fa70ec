/* The model of a replay: points on threads, operations on streams, and what
 * waits for what. Private to the module. */
#ifndef LLMPROF_REPLAY_INTERNAL_H
#define LLMPROF_REPLAY_INTERNAL_H

#include "frame/intern.h"
#include "llmprof/strings.h"
#include "replay/replay.h"

enum {
  REPLAY_NONE = UINT32_MAX,
  REPLAY_NO_NAME = 0,       /* the name of what has none */
  REPLAY_NAMES = 0x1ffffff, /* most of them */
  REPLAY_QUEUED_NS = 5000,  /* what starts this soon after another waited */
  REPLAY_LONG_GAP =
      100000 /* ns; what ends one may be a wait of another thread */
};

typedef enum replay_point_kind {
  REPLAY_EDGE,    /* where a range begins or ends */
  REPLAY_CALL,    /* takes its own time; the others have a replay_wait: */
  REPLAY_WAIT,    /* waits for operations */
  REPLAY_COPY,    /* a copy that blocks: waits for its own operation */
  REPLAY_BLOCKED, /* was recorded waiting for room in the queue */
} replay_point_kind;

/* What happens on a thread: an API call, or the edge of a range. Points of a
 * thread follow each other in the array, by start. Two in three bytes of a
 * replay are points: what can be worked out from others is not kept. */
typedef struct replay_point {
  int64_t start, end; /* an edge's end: the latest before it on its thread, or
                         its start */
  union {
    uint32_t thread;     /* until points are in order */
    uint32_t operations; /* in replay->by_call, up to those of the next point */
  };
  uint32_t name : 25, kind : 3;
  uint32_t leads : 1; /* is the first of its thread */
} replay_point;

/* What a point that waits takes without that, and how long after the end of
 * what it waits for it returns. */
typedef struct replay_wait {
  uint32_t point;
  int64_t own, after;
} replay_wait;

typedef enum replay_operation_kind {
  REPLAY_KERNEL,
  REPLAY_COPIED,
  REPLAY_SET,
  REPLAY_GRAPH,
  REPLAY_KINDS
} replay_operation_kind;

/* What runs on a stream; operations are ordered by start and end. */
typedef struct replay_operation {
  int64_t start, end;
  uint32_t call; /* point, or REPLAY_NONE */
  uint32_t stream;
  union {
    uint32_t memory; /* until they are linked: see memory_of */
    uint32_t before; /* operation it follows, or REPLAY_NONE */
  };
  uint32_t name : 25, kind : 2;
  uint32_t after_start : 1; /* follows the start of `before`, not its end */
  uint32_t graph : 1;       /* a launch of a graph started it */
  uint32_t in_graph : 1;    /* and it was not the first there */
  uint32_t waits : 1;       /* for operations of other streams */
  uint32_t collective : 1;
} replay_operation;

typedef struct replay_stream {
  uint32_t part, device;
  int64_t pid, id;
  uint32_t first, count; /* in replay->launched: by launch */
  int64_t queued[2]; /* usual ns from one operation to the next that waited in
                        it, for those that did not: not in a graph, in one */
} replay_stream;

typedef struct replay_thread {
  int64_t pid, tid;
  uint32_t part;
  uint32_t first, count; /* its points */
} replay_thread;

/* A range is two points. */
typedef struct replay_range {
  uint32_t begin, end; /* points, REPLAY_NONE: without a start or an end */
} replay_range;

typedef struct replay_part {
  uint32_t ranges, range_count; /* in replay->ranges */
  uint32_t *by_op;              /* op to operation */
  size_t ops, op_room;
} replay_part;

/* A call that synchronises, by its process and correlation. */
typedef struct replay_sync {
  int64_t pid, correlation; /* what it is found by */
  int64_t stream, event;
  int64_t time; /* when its call ended */
  uint32_t point, part;
} replay_sync;

typedef struct replay_syncs {
  replay_sync *items;
  size_t count, room;
} replay_syncs;

/* Values by key: sorted when they are complete. */
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

struct llmprof_replay {
  llmprof_strings *names;
  replay_point *points;
  size_t point_count, point_room;
  replay_operation *operations;
  size_t operation_count, operation_room;
  llmprof_intern known_streams, known_threads;
  replay_stream *streams; /* as the next two, borrowed from these once linked */
  replay_thread *threads;
  size_t stream_count, thread_count;
  replay_range *ranges;
  size_t range_count, range_room;
  replay_part *parts;
  size_t part_count, part_room;
  replay_syncs syncs, records;
  uint32_t *by_call;      /* operations by the call that launched them */
  uint32_t *launched;     /* operations by stream and launch */
  llmprof_intern waiting; /* of replay_wait, by point */
  replay_samples targets; /* point: an operation that it waits for */
  replay_samples waits; /* operation: one of another stream that it waits for */
  replay_samples members;  /* operation: its collective */
  replay_samples released; /* point: the call on another thread whose end it
                            awaits */
  uint32_t *room;     /* by point: the operation whose start leaves room in the
                         queue, or REPLAY_NONE; NULL: no queue was ever full */
  int64_t *latencies; /* by name and kind of operation: see replay_latency */
  uint32_t collective_count;
  int64_t *arrived;   /* by collective: the last start of its operations */
  int64_t room_after; /* ns from the start that leaves room to the return */
  /* by the last run */
  double *new_start, *new_end;       /* of points */
  double *new_op_start, *new_op_end; /* of operations */
  llmprof_replay_basis basis;
};

/* What is overridden; NULL: as recorded. */
struct llmprof_change {
  const llmprof_replay *replay;
  float *work;      /* by operation: factor; negative: it is not there */
  float *lag;       /* by operation: ns, negative: as recorded */
  bool *ignored;    /* by operation: its collective does not wait for it */
  float *own, *gap; /* by point: factor; negative: -1 - ns that it takes */
  uint8_t *flags;   /* by point */
};

enum {
  REPLAY_GONE = 1,    /* the call is not made */
  REPLAY_NO_WAIT = 2, /* it does not wait */
};

/* Loaded columns of a frame by name; of those from number `needed` on one that
 * is not there is NULL. */
bool replay_columns(llmprof_frame *frame, const char *const *names,
                    size_t count, size_t needed, const llmprof_column **found,
                    llmprof_error *err);

/* The steps of llmprof_replay_link, in this order. */
bool replay_order(llmprof_replay *r, llmprof_error *err);
bool replay_link_streams(llmprof_replay *r, llmprof_error *err);
bool replay_link_queues(llmprof_replay *r, llmprof_error *err);
bool replay_link_waits(llmprof_replay *r, llmprof_error *err);
bool replay_link_collectives(llmprof_replay *r, llmprof_error *err);
bool replay_link_threads(llmprof_replay *r, llmprof_error *err);

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

/* How many operations a point launched. */
static inline uint32_t replay_launches(const replay_point *p) {
  return p[1].operations - p->operations;
}

/* From the latest end before a point on its thread. */
static inline int64_t replay_gap(const replay_point *p) {
  return p->leads || p->start < p[-1].end ? 0 : p->start - p[-1].end;
}

const replay_thread *replay_thread_of(const llmprof_replay *r, uint32_t point);
static inline const replay_wait *replay_wait_of(const llmprof_replay *r,
                                                uint32_t point) {
  return llmprof_intern_seek(&r->waiting, &point);
}

/* What a point takes without waiting. */
int64_t replay_own(const llmprof_replay *r, uint32_t point);

/* From the end (or start) of `before` to the operation, and from its call's
 * return (its begin, if that blocks) to the earliest start. */
int64_t replay_lag(const llmprof_replay *r, const replay_operation *o);
int64_t replay_latency(const llmprof_replay *r, const replay_operation *o);

bool replay_wait_add(llmprof_replay *r, uint32_t point, int64_t own);

/* Does a call's name begin so, without "cuda" or "cu"? */
bool replay_call_is(const llmprof_replay *r, const replay_point *p,
                    const char *rest);

/* The first point of a thread that starts at `time` or later. */
uint32_t replay_point_from(const llmprof_replay *r, const replay_thread *thread,
                           int64_t time);

#endif
