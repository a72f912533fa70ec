/* A stand-in for a program under the collector: make_spool FILE... writes a
 * spool of a small model for each, or, without a file, one into
 * $LLMPROF_COLLECTOR_DIR, as the collector would. Where llmprof listens on
 * $LLMPROF_COLLECTOR_SOCKET it is asked, after two repeats, for the launches to
 * measure, which then have counters. The first of the two is plain where
 * STANDIN_PLAIN is set; launches are measured in a range `eager` with
 * STANDIN_EAGER, and have STANDIN_CORRELATION as correlation id; with
 * STANDIN_GRAPH there is a kernel of a graph, with STANDIN_STALLS the last
 * measurement never ends. A unit of operators follows where it is asked for.
 * With STANDIN_NO_CUPTI there are ranges alone, and why.
 * Where the folder is not there for it, it says so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/files.h"
#include "collector/refusal.h"
#include "spools.h"

static void put_model(spool_maker *m, uint32_t pid, uint32_t repeats) {
  const spool_model model = {{pid, "small_model", "boot-1", 1000000,
                              INT64_C(1800000000000000000), 2000000},
                             repeats,
                             4};
  spool_put_model(m, &model);
}

static int save(const spool_maker *m, const char *path) {
  if (spool_save(m, path)) return 0;
  perror(path);
  return 1;
}

static int write_model(const char *path, uint32_t pid) {
  spool_maker m = {0};
  put_model(&m, pid, 3);
  spool_put_end(&m);
  int failed = save(&m, path);
  spool_free(&m);
  return failed;
}

/* ---- counters ---- */

static const char *const metrics[] = {
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
};

enum {
  METRICS = sizeof metrics / sizeof *metrics,
  FIRST_REPEAT = 2000000,
  REPEAT = 92000,
  COUNTED_FROM = 9000000, /* ns, when the unit for counters begins */
};

static void put_metrics(spool_maker *m) {
  for (uint32_t i = 0; i < METRICS; i++) {
    spool_metric metric = {.metric = i + 1,
                           .name = spool_put_string(m, metrics[i])};
    SPOOL_PUT(m, SPOOL_METRIC, metric);
  }
}

/* Of "NAME|GRID|BLOCK|SHARED|STAGE|ORDINAL"; the second kernel that is asked
 * for cannot be measured. */
static void put_counters(spool_maker *m, char *line, uint32_t number) {
  static const double values[METRICS] = {4000, 1e6, 5e5, 62.5};
  spool_value pairs[METRICS] = {0};
  char *name = strtok(line, "|"), *grid = strtok(NULL, "|");
  char *block = strtok(NULL, "|"), *shared = strtok(NULL, "|");
  char *stage = strtok(NULL, "|"), *ordinal = strtok(NULL, "|\n");
  if (!ordinal || !shared) return;
  const char *correlation = getenv("STANDIN_CORRELATION");
  char path[128];
  snprintf(path, sizeof path, "%s%s", getenv("STANDIN_EAGER") ? "eager/" : "",
           stage);
  spool_counters c = {.start = COUNTED_FROM + number * 1000,
                      .end = COUNTED_FROM + number * 1000 + 500,
                      .launch = number,
                      .unit = 3,
                      .name = spool_put_string(m, name),
                      .context = 1,
                      .stream = 7,
                      .correlation =
                          correlation ? (uint32_t)atoi(correlation) : 0,
                      .tid = (uint32_t)getpid(),
                      .ordinal = (uint32_t)atoi(ordinal),
                      .stage = spool_put_string(m, stage),
                      .ranges = spool_put_string(m, path),
                      .passes = 2,
                      .flushed = 1,
                      .error = number == 2 ? SPOOL_ERROR_NO_DATA : 0,
                      .values = number == 2 ? 0 : METRICS};
  sscanf(grid, "%u,%u,%u", &c.grid[0], &c.grid[1], &c.grid[2]);
  sscanf(block, "%u,%u,%u", &c.block[0], &c.block[1], &c.block[2]);
  for (uint32_t i = 0; i < METRICS; i++)
    pairs[i] = (spool_value){.metric = i + 1, .value = values[i]};
  spool_put(m, SPOOL_COUNTERS, &c, sizeof c, pairs, c.values * sizeof *pairs);
}

/* Of "*|STAGE|ORDINALS": one launch of graph 3. */
static void put_graph(spool_maker *m, char *line, uint32_t number) {
  const spool_value pairs[] = {{1, 0, 9000}, {2, 0, 2e6}, {3, 0, 1e6}};
  const char *graph = strtok(line, "|"), *stage = strtok(NULL, "|");
  if (!graph || !stage) return;
  spool_counters c = {.start = COUNTED_FROM + number * 1000,
                      .end = COUNTED_FROM + number * 1000 + 500,
                      .launch = number,
                      .unit = 3,
                      .context = 1,
                      .stream = SPOOL_NO_ID,
                      .tid = (uint32_t)getpid(),
                      .ranges = spool_put_string(m, stage),
                      .passes = 1,
                      .graph = 3,
                      .values = sizeof pairs / sizeof *pairs};
  spool_put(m, SPOOL_COUNTERS, &c, sizeof c, pairs, sizeof pairs);
}

static FILE *call(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
    return NULL;
  return fdopen(fd, "r+");
}

/* A measurement hangs, which only the parent can end; what came before lies in
 * the file. */
static void hang(spool_maker *m, FILE *parent, const char *path) {
  spool_end_block(m);
  if (save(m, path) != 0) return;
  fputs("stalled\n", parent);
  fflush(parent);
  for (;;) pause();
}

/* The launches that llmprof asks for, until it lets us go on. */
static int be_measured(spool_maker *m, const char *socket_path,
                       const char *path) {
  FILE *parent = call(socket_path);
  if (!parent) return 1;
  fprintf(parent, "hello pid=%d\npause\n", getpid());
  fflush(parent);
  put_metrics(m);
  for (uint32_t i = 0; i < 2; i++) {
    int64_t begin = FIRST_REPEAT + i * REPEAT;
    spool_unit_type type = i == 0 && getenv("STANDIN_PLAIN")
                               ? SPOOL_UNIT_PLAIN
                               : SPOOL_UNIT_TIMELINE;
    spool_put_unit(m, i + 1, type, false, begin);
    spool_put_unit(m, i + 1, type, true, begin + REPEAT - 1);
  }
  spool_put_unit(m, 3, SPOOL_UNIT_COUNTERS, false, COUNTED_FROM);
  static const char launch[] = "launch = ", graph[] = "graph = ";
  char line[4096];
  uint32_t number = 0;
  while (fgets(line, sizeof line, parent) && strcmp(line, "go\n") != 0) {
    if (strncmp(line, launch, sizeof launch - 1) == 0)
      put_counters(m, line + sizeof launch - 1, ++number);
    if (strncmp(line, graph, sizeof graph - 1) == 0)
      put_graph(m, line + sizeof graph - 1, ++number);
  }
  if (getenv("STANDIN_STALLS")) hang(m, parent, path);
  return fclose(parent);
}

static void put_node(spool_maker *m) {
  spool_kernel kernel = {.start = FIRST_REPEAT + 90000,
                         .end = FIRST_REPEAT + 90500,
                         .name = spool_put_string(m, "_Z4nodev"),
                         .context = 1,
                         .stream = 7,
                         .correlation = 9999,
                         .grid = {1, 1, 1},
                         .block = {32, 1, 1},
                         .graph_node = 301,
                         .graph = 3};
  SPOOL_PUT(m, SPOOL_KERNEL, kernel);
  spool_end_block(m);
}

/* ---- operators ---- */

static void put_range(spool_maker *m, const char *text, int64_t begin) {
  uint32_t tid = (uint32_t)getpid();
  if (text)
    spool_put_nvtx(m, SPOOL_NVTX_PUSH, begin, tid, spool_put_string(m, text),
                   0);
  else
    spool_put_nvtx(m, SPOOL_NVTX_POP, begin, tid, 0, 0);
}

/* As torch's emit_nvtx has them; kernels of the model. */
static void put_operators(spool_maker *m) {
  enum {
    BEGIN = 9500000
  };
  static const char *const ranges[] = {
      "operators",
      "prefill",
      "aten::linear, op_id = 1, sizes = [[8, 4], [2, 4]]",
      "aten::mm, op_id = 2, sizes = [[8, 4], [4, 2]]",
  };
  spool_launch launch = {.call = spool_put_string(m, "cudaLaunchKernel_v7000"),
                         .kernel = spool_put_string(m, "_Z4gemmILi4EEvPfS0_"),
                         .tid = (uint32_t)getpid(),
                         .correlation = 9001,
                         .start = BEGIN + 4100,
                         .duration = 700};
  spool_put_unit(m, 4, SPOOL_UNIT_OPERATORS, false, BEGIN);
  for (int i = 0; i < 4; i++) put_range(m, ranges[i], BEGIN + i * 1000);
  spool_put_launch(m, &launch);
  put_range(m, NULL, BEGIN + 5000);
  put_range(m, NULL, BEGIN + 6000);
  launch.start += 3000;
  launch.correlation++;
  launch.kernel = spool_put_string(m, "_Z3addPf");
  put_range(m, "aten::add, op_id = 3, sizes = [[8, 2], []]", BEGIN + 7000);
  spool_put_launch(m, &launch);
  put_range(m, NULL, BEGIN + 8000);
  launch.start += 1500;
  launch.correlation++;
  spool_put_launch(m, &launch); /* of no operator */
  put_range(m, NULL, BEGIN + 9000);
  put_range(m, NULL, BEGIN + 10000);
  spool_put_unit(m, 4, SPOOL_UNIT_OPERATORS, true, BEGIN + 10000);
}

static void put_no_cupti(spool_maker *m) {
  const spool_who who = {(uint32_t)getpid(), "small_model", "boot-1", 1, 1, 1};
  spool_put_process(m, &who);
  put_range(m, "prefill", 1000);
  put_range(m, NULL, 2000);
  spool_diagnostic said = {
      .severity = SPOOL_ERROR,
      .code = spool_put_string(m, "cupti"),
      .text = spool_put_string(m, "no timeline, no counters: refused")};
  SPOOL_PUT(m, SPOOL_DIAGNOSTIC, said);
  spool_end_block(m);
}

static int be_collected(const char *folder, const char *socket_path) {
  char path[4096];
  spool_maker m = {0};
  if (access(folder, W_OK) != 0) {
    const char *why = strerror(errno);
    refusal_init();
    if (files_begin()) refusal_tell(why);
    return 0;
  }
  snprintf(path, sizeof path, "%s/%d-1%s", folder, getpid(), SPOOL_SUFFIX);
  if (getenv("STANDIN_NO_CUPTI")) {
    put_no_cupti(&m);
    socket_path = NULL;
  } else {
    put_model(&m, (uint32_t)getpid(), socket_path ? 2 : 3);
  }
  if (getenv("STANDIN_GRAPH")) put_node(&m);
  int failed = save(&m, path);
  if (socket_path) failed |= be_measured(&m, socket_path, path);
  if (getenv("LLMPROF_OPERATOR_RANGES")) put_operators(&m);
  spool_put_end(&m);
  failed |= save(&m, path);
  spool_free(&m);
  return failed;
}

int main(int count, char **words) {
  int failed = 0;
  const char *folder = getenv("LLMPROF_COLLECTOR_DIR");
  for (int i = 1; i < count; i++)
    failed |= write_model(words[i], 500 + (uint32_t)i);
  if (count == 1 && folder)
    failed = be_collected(folder, getenv("STANDIN_WHOLE")
                                      ? NULL
                                      : getenv("LLMPROF_COLLECTOR_SOCKET"));
  return failed;
}
