/* What to do, when: read from LLMPROF_COLLECTOR_PLAN and, line by line, from
 * the socket. */
#ifndef LLMPROF_COLLECTOR_PLAN_H
#define LLMPROF_COLLECTOR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PLAN_ITEMS = 16,
  PLAN_METRICS = 160,
  PLAN_PASSES = 32,
  PLAN_LAUNCHES = 4096,
  PLAN_GRAPHS = 64,
  PLAN_NAME = 128, /* bytes of a range's name, with its NUL */
};

typedef enum unit_by {
  UNIT_BY_PROCESS,
  UNIT_BY_RANGE,
  UNIT_BY_PROFILER,
  UNIT_BY_TIME,
  UNIT_BY_SOCKET, /* `begin` and `end` of the program that listens */
} unit_by;

typedef enum plan_step {
  STEP_END, /* nothing more */
  STEP_PLAIN,
  STEP_TIMELINE,
  STEP_COUNTERS,
  STEP_SKIP,
  STEP_PAUSE,
  STEP_OPERATORS, /* begun by its own range alone */
} plan_step;

typedef struct plan_item {
  plan_step step;
  uint32_t count; /* units; UINT32_MAX: all the rest */
} plan_item;

/* A range's name, with its domain ("" is the default one). */
typedef struct plan_range {
  char domain[PLAN_NAME];
  char name[PLAN_NAME]; /* "": none */
} plan_range;

/* A launch whose counters are wanted. */
typedef struct plan_launch {
  char *kernel; /* mangled */
  uint32_t grid[3], block[3];
  uint32_t shared; /* dynamic */
  bool any_shape, any_block, any_shared;
  plan_range stage;  /* name "": any */
  uint32_t from, to; /* ordinals */
  uint32_t passes;   /* of the metrics, at most */
} plan_launch;

/* Launches of a graph whose counters, as one, are wanted. */
typedef struct plan_graph {
  uint32_t graph;    /* CUPTI's number of the executable graph; 0: any */
  plan_range stage;  /* name "": any */
  uint32_t from, to; /* ordinals of each graph */
} plan_graph;

/* Lines of source of launches. */
typedef enum plan_sources {
  SOURCES_AUTO,   /* of Python, as far as no plain unit is slower for it */
  SOURCES_PYTHON, /* of graphs, too: CUPTI is there before they are captured */
  SOURCES_NATIVE, /* functions of C and C++, likewise */
  SOURCES_OFF,
} plan_sources;

typedef struct plan {
  plan_sources sources;
  size_t memory;
  bool graph_nodes;
  bool calls;        /* timeline units record calls and waits, too */
  bool yield;        /* without a subscription: another client may take CUPTI */
  bool begun;        /* the file has been read: too late for some lines */
  plan_range range;  /* begins units; '*' in its name stands for any text */
  plan_range within; /* around them, as above; its end ends the last */
  bool in_profiler;  /* only inside of the profiler's window, likewise */
  plan_range operators; /* begins a unit of its own, wherever it is */
  plan_range eager;     /* so does this one, for counters */
  plan_range capture;   /* ends the unit before it: graphs are captured in it,
                         * which lines are wanted of */
  double unit_seconds;
  plan_item items[PLAN_ITEMS];
  size_t item_count;
  uint32_t samples_hz;
  double budget_s;
  double pause_s; /* the longest wait for the socket */
  double stall_s; /* without progress in one measurement */
  double flush_s; /* operations reach the file at least so often */
  bool flush_cache;
  char *cupti; /* path or NULL */
  char *metrics[PLAN_METRICS];
  size_t metric_count;
  size_t passes[PLAN_PASSES]; /* where each begins among the metrics */
  size_t pass_count;          /* 0: the metrics are one */
  char *sample_metrics[PLAN_METRICS];
  size_t sample_metric_count;
  plan_launch *launches;
  size_t launch_count;
  plan_graph graphs[PLAN_GRAPHS];
  size_t graph_count;
} plan;

extern plan the_plan;

/* The defaults. False: no memory. */
bool plan_init(void);

/* The defaults of a process that records on demand. Nothing may be recorded. */
bool plan_on_demand(void);

/* One line, which is changed. On failure *why is what is wrong with it. */
bool plan_line(char *line, const char **why);

/* The lines of a file; complain(line number, why) for each bad one. */
bool plan_read(const char *path, void (*complain)(unsigned, const char *));

/* Do units begin and end while nothing happens in the program? */
bool plan_ticks(void);

/* What a unit is. Any thread, at any time. */
unit_by plan_by(void);

/* Must CUPTI be there before the first context? Yes if units follow
 * cudaProfilerStart and Stop, since CUPTI reports those calls; for whole
 * graphs: recording them kills a program that created graphs before; and for
 * lines of graphs, which are known when these are captured. */
bool plan_early(void);

/* Is this a range of that name, in which '*' stands for any text? domain "":
 * the default one. */
bool plan_range_is(const plan_range *range, const char *domain,
                   const char *name, size_t name_size);

#endif
