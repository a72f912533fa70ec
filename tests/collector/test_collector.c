/* The library inside of programs: what they do, how they end, and what is in
 * the spool then. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/spool.h"
#include "llmprof/readers.h"
#include "os/listen.h"
#include "spool_counts.h"
#include "support.h"
#include "trace/trace_events.h"

enum {
  FILES = 8
};

/* What a program left behind. */
typedef struct outcome {
  int status; /* of wait */
  char output[4096];
  size_t count;
  spool_counts spools[FILES];
  char lost[64]; /* why a spool has not all, "" when each has */
  size_t calls;  /* that llmprof shows of the first */
} outcome;

typedef struct setting {
  const char *program;            /* NULL: VICTIM */
  const char *how;                /* NULL: "exit" */
  const char *launches, *threads; /* NULL: one thread */
  const char *plan;               /* NULL: none */
  const char *variable, *value;
  unsigned kill_after_us; /* 0: it ends itself */
  bool kill_at_rest;      /* once it is between units */
  uint64_t quits_after;   /* kernels, by a file named in `value`; 0: not */
  const char *socket;
  bool on_demand; /* it is told neither folder nor plan */
} setting;

static char folder[4096];

/* Of the last run, and its first spool. */
static outcome out;
static const spool_counts *const t = &out.spools[0];

static void make_folder(void) {
  snprintf(folder, sizeof folder, "%s/spoolsXXXXXX", test_folder());
  assert_non_null(mkdtemp(folder));
}

static void empty_folder(void) {
  DIR *d = opendir(folder);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (e->d_name[0] != '.') unlink(path);
  }
  if (d) closedir(d);
  rmdir(folder);
}

static void set_environment(const setting *s) {
  char plan[8192];
  snprintf(plan, sizeof plan, "%s/plan", folder);
  FILE *f = fopen(plan, "w");
  if (!f) _exit(120);
  fprintf(f, "cupti = %s\n%s", CUPTI, s->plan ? s->plan : "");
  fclose(f);
  setenv("CUDA_INJECTION64_PATH", COLLECTOR, 1);
  setenv("NVTX_INJECTION64_PATH", COLLECTOR, 1);
  if (!s->on_demand) setenv("LLMPROF_COLLECTOR_DIR", folder, 1);
  if (!s->on_demand) setenv("LLMPROF_COLLECTOR_PLAN", plan, 1);
  if (s->socket) setenv("LLMPROF_COLLECTOR_SOCKET", s->socket, 1);
  if (s->variable) setenv(s->variable, s->value, 1);
  /* LeakSanitizer prints that it cannot stop a thread of ours. */
  if (s->program) setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
}

static pid_t start(const setting *s, int *output) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    set_environment(s);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    const char *program = s->program ? s->program : VICTIM;
    execl(program, program, s->how ? s->how : "exit", s->launches,
          s->threads ? s->threads : "1", (char *)NULL);
    _exit(121);
  }
  close(ends[1]);
  *output = ends[0];
  return pid;
}

/* When a spool of that name, PID-TIME, began. */
static long long begin_of(const char *name) {
  const char *time = strchr(name, '-');
  return time ? atoll(time + 1) : 0;
}

/* Not by name: process numbers get longer, and wrap. */
static int by_begin(const void *a, const void *b) {
  long long x = begin_of(*(char *const *)a), y = begin_of(*(char *const *)b);
  return (x > y) - (x < y);
}

/* As reports have them; 0 when it cannot be read. */
static size_t calls_shown(const char *path) {
  llmprof_error err;
  llmprof_trace *trace = llmprof_trace_open(path, &err);
  const llmprof_calls *calls = trace ? llmprof_trace_calls(trace, &err) : NULL;
  size_t count = calls ? calls->count : 0;
  llmprof_trace_close(trace);
  return count;
}

static void read_spools(void) {
  char *names[FILES];
  size_t count = 0;
  DIR *d = opendir(folder);
  assert_non_null(d);
  for (struct dirent *e = readdir(d); e; e = readdir(d)) {
    const char *suffix = strstr(e->d_name, SPOOL_SUFFIX);
    if (suffix && strcmp(suffix, SPOOL_SUFFIX SPOOL_LOST) == 0)
      (void)!readlinkat(dirfd(d), e->d_name, out.lost, sizeof out.lost - 1);
    else if (suffix && count < FILES)
      names[count++] = strdup(e->d_name);
  }
  closedir(d);
  qsort(names, count, sizeof *names, by_begin);
  for (size_t i = 0; i < count; i++) {
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_true(spool_counts_read(path, &out.spools[i]));
    if (i == 0) out.calls = calls_shown(path);
    free(names[i]);
  }
  out.count = count;
}

static void forget(void) {
  for (size_t i = 0; i < out.count; i++) spool_counts_free(&out.spools[i]);
  out = (outcome){0};
}

/* Until its spool says that the process is between units, or has that number
 * of kernels. */
static void await_spool(uint64_t kernels) {
  for (int tries = 0; tries < 10000; tries++) {
    read_spools();
    bool there = out.count && (kernels ? t->kinds[SPOOL_KERNEL] >= kernels
                                       : strcmp(t->end, "between units") == 0);
    forget();
    if (there) return;
    usleep(5000);
  }
}

/* What the program prints, to its end or until there is no room; closes it. */
static void read_output(int output) {
  size_t used = 0;
  ssize_t got = 1;
  while (got > 0 && used < sizeof out.output - 1) {
    got = read(output, out.output + used, sizeof out.output - 1 - used);
    if (got > 0) used += (size_t)got;
  }
  close(output);
}

static void run(setting s) {
  int output;
  forget();
  make_folder();
  pid_t pid = start(&s, &output);
  if (s.kill_after_us) usleep(s.kill_after_us);
  if (s.kill_at_rest || s.quits_after) await_spool(s.quits_after);
  if (s.quits_after) fclose(fopen(s.value, "w"));
  if (s.kill_after_us || s.kill_at_rest) kill(pid, SIGKILL);
  read_output(output);
  assert_int_equal(waitpid(pid, &out.status, 0), pid);
  read_spools();
  empty_folder();
}

/* The program is none the wiser: it printed what it prints, and no more. */
static void expect_exit(int status) {
  if (!WIFEXITED(out.status))
    fail_msg("ended by signal %d: %s", WTERMSIG(out.status), out.output);
  assert_int_equal(WEXITSTATUS(out.status), status);
  assert_string_equal(out.output, "done\n");
  assert_int_equal(out.count, 1);
}

/* To its end, which is a good one. */
static void run_to_end(setting s) {
  run(s);
  expect_exit(4);
}

/* ---- the timeline ---- */

/* 4 repeats of prefill and 100 launches with 7 of communication. */
enum {
  KERNELS = 4 * (1 + 100 + 7)
};

TEST(timeline) {
  run_to_end((setting){.launches = "100", .threads = "3"});
  assert_string_equal(t->end, "exit");
  assert_int_equal(t->torn, 0);
  assert_int_equal(t->kinds[SPOOL_KERNEL], 3 * KERNELS);
  assert_int_equal(t->driver_calls, 3 * KERNELS / 2);
  assert_int_equal(t->runtime_calls, 3 * KERNELS / 2);
  assert_int_equal(out.calls, 3 * KERNELS); /* one of each launch */
  assert_int_equal(t->kinds[SPOOL_DEVICE], 1);
  assert_true(spool_counts_has(t, "Stand-in GPU"));
  assert_true(spool_counts_has(t, "_Z4gemmPf"));
  assert_true(spool_counts_has(t, "cudaLaunchKernel_v7000"));
  assert_int_equal(t->kinds[SPOOL_DROPS], 0);
  assert_int_equal(t->kinds[SPOOL_CLOCK], 2);
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][0], 1);
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 1);
}

TEST(kernels_alone) {
  run_to_end((setting){
      .launches = "100", .threads = "3", .plan = "timeline = kernels\n"});
  assert_int_equal(t->kinds[SPOOL_KERNEL], 3 * KERNELS);
  assert_int_equal(t->kinds[SPOOL_CALL], 0);
}

/* Which rank a process is stands behind its program's name, where it is told.
 */
TEST(rank) {
  static const struct {
    const char *rank, *name;
  } told[] = {{"12", " rank 12"}, {"", ""}, {"1x", ""}, {"1234567890", ""}};
  const char *program = strrchr(VICTIM, '/') + 1;
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    run((setting){.launches = "1", .variable = "RANK", .value = told[i].rank});
    char name[256];
    snprintf(name, sizeof name, "%s%s", program, told[i].name);
    expect_exit(4);
    assert_true(spool_counts_has(t, name));
  }
}

/* No CUDA at all: what NVTX says is there. */
TEST(nvtx) {
  run_to_end((setting){.how = "nvtx", .launches = "0", .threads = "8"});
  assert_int_equal(t->events[SPOOL_NVTX_PUSH], 1 + 1 + 2 + 8 * 4 * 2);
  assert_int_equal(t->events[SPOOL_NVTX_POP], t->events[SPOOL_NVTX_PUSH]);
  assert_int_equal(t->events[SPOOL_NVTX_START], 1);
  assert_int_equal(t->events[SPOOL_NVTX_END], 1);
  assert_int_equal(t->events[SPOOL_NVTX_MARK], 1);
  assert_true(t->in_order);
  assert_int_equal(t->kinds[SPOOL_NVTX_DOMAIN], 1);
  assert_int_equal(t->kinds[SPOOL_NVTX_CATEGORY], 1);
  assert_int_equal(t->kinds[SPOOL_NVTX_SCHEMA], 1);
  assert_int_equal(t->kinds[SPOOL_THREAD], 1);
  assert_true(spool_counts_has(t, "w\xc3\xaf"
                                  "de"));
  assert_true(spool_counts_has(t, "ncclAllReduce"));
  assert_int_equal(t->blob[0], 0x1234);
  assert_int_equal(t->blob[1], 4096);
  assert_true(t->payload == 2.5);
  assert_int_equal(t->kinds[SPOOL_KERNEL], 0);
}

/* Each domain has a number of its own, and one record. */
TEST(domains) {
  run_to_end((setting){.how = "nvtx",
                       .launches = "0",
                       .variable = "VICTIM_DOMAINS",
                       .value = "3000"});
  assert_int_equal(t->kinds[SPOOL_NVTX_DOMAIN], 1 + 3000);
  assert_int_equal(t->domains, 1 + 3000);
  assert_true(spool_counts_has(t, "domain 0"));
  assert_true(spool_counts_has(t, "domain 2999"));
  assert_int_equal(t->events[SPOOL_NVTX_MARK], 1 + 30);
}

/* It stays, whoever closes it. */
TEST(closed) {
  run_to_end((setting){.how = "nvtx",
                       .launches = "0",
                       .threads = "2",
                       .variable = "VICTIM_CLOSES",
                       .value = COLLECTOR});
  assert_int_equal(t->events[SPOOL_NVTX_PUSH], 1 + 1 + 2 + 2 * 4 * 2);
  assert_string_equal(t->end, "exit");
}

/* Too little memory: what is lost is counted, and the program does not notice.
 */
TEST(memory) {
  run_to_end((setting){.launches = "20000",
                       .threads = "2",
                       .plan = "memory = 2M\nflush_s = 100\n"});
  uint64_t wanted = 2 * 4 * (1 + 20000 + 1250);
  uint64_t lost = t->drops[SPOOL_LOST_ACTIVITY];
  assert_true(t->kinds[SPOOL_KERNEL] <= wanted);
  assert_true(t->kinds[SPOOL_KERNEL] == wanted || lost > 0);
  assert_string_equal(t->end, "exit");
}

/* ---- how programs end ---- */

TEST(signal) {
  run((setting){.how = "term", .launches = "10"});
  assert_true(WIFSIGNALED(out.status));
  assert_int_equal(WTERMSIG(out.status), SIGTERM);
  assert_string_equal(t->end, "signal");
  assert_int_equal(t->kinds[SPOOL_KERNEL], 4 * 12);
}

TEST(quick_exit) {
  char until[64];
  snprintf(until, sizeof until, "/tmp/llmprof-quits-%d", (int)getpid());
  unlink(until);
  run((setting){.how = "quick",
                .launches = "10",
                .plan = "flush_s = 0.01\n",
                .variable = "VICTIM_QUITS",
                .value = until,
                .quits_after = 4 * 12});
  unlink(until);
  expect_exit(3);
  assert_string_equal(t->end, "");
  assert_int_equal(t->torn, 0);
  assert_int_equal(t->kinds[SPOOL_KERNEL], 4 * 12);
}

/* A thread is in a call that never returns: its window ends without it. */
TEST(exit_in_call) {
  run_to_end((setting){.how = "waiting", .launches = "10"});
  assert_string_equal(t->end, "exit");
  assert_int_equal(t->kinds[SPOOL_KERNEL], 4 * 12);
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 1);
}

TEST(abort) {
  run((setting){.how = "abort", .launches = "10"});
  assert_true(WIFSIGNALED(out.status));
  assert_int_equal(WTERMSIG(out.status), SIGABRT);
  assert_int_equal(out.count, 1);
}

/* The first thread leaves: the library does not keep the process alive. */
/* Not where ThreadSanitizer has a thread of its own, which never ends: the
 * collector keeps a program for whatever threads are left. */
TEST(last_thread) {
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  /* nor do its threads for units by time and for samples */
  static const char *const plans[] = {"", "unit.by = time\n",
                                      "samples.hz = 1000\n"};
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    run((setting){.how = "thread", .launches = "10", .plan = plans[i]});
    expect_exit(0);
    assert_string_equal(t->end, "exit");
  }
}

TEST(fork) {
  run((setting){.how = "fork", .launches = "10", .threads = "2"});
  assert_true(WIFEXITED(out.status));
  assert_int_equal(WEXITSTATUS(out.status), 4);
  assert_int_equal(out.count, 2);
  for (size_t i = 0; i < 2; i++) assert_string_equal(out.spools[i].end, "exit");
  const spool_counts *child = &out.spools[t->kinds[SPOOL_KERNEL] != 0];
  assert_int_equal(child->events[SPOOL_NVTX_PUSH], 1);
  assert_int_equal(child->kinds[SPOOL_KERNEL], 0);
}

/* A parent that has used up its memory leaves the child its own. */
TEST(fork_memory) {
  run((setting){.how = "fork",
                .launches = "10",
                .threads = "2",
                .plan = "memory = 400K\n"});
  assert_int_equal(out.count, 2);
  const spool_counts *child =
      &out.spools[t->events[SPOOL_NVTX_PUSH] >
                  out.spools[1].events[SPOOL_NVTX_PUSH]];
  assert_int_equal(child->events[SPOOL_NVTX_PUSH], 1);
  assert_int_equal(child->events[SPOOL_NVTX_POP], 1);
}

TEST(exec) {
  run((setting){.how = "exec", .launches = "10"});
  expect_exit(0);
}

/* Killed at any moment: all blocks but the last are good. */
TEST(kill) {
  unsigned after = 1;
  for (int i = 0; i < 12; i++) {
    after = after * 1103515245u + 12345u;
    run((setting){.how = "wait",
                  .launches = "3000",
                  .threads = "2",
                  .plan = "flush_s = 0.01\n",
                  .kill_after_us = 1000 + after % 150000});
    assert_true(WIFSIGNALED(out.status));
  }
}

/* ---- processes without a spool ---- */

typedef struct refusals {
  unsigned count; /* of lines as they should be */
  unsigned others;
} refusals;

/* Of this process: others may run the same test. */
static const char *refusal_key(void) {
  static char key[33];
  unsigned half = (unsigned)getpid();
  snprintf(key, sizeof key, "%016x%016x", half, half);
  return key;
}

static bool hear_refusal(void *user, uint32_t peer, const char *bytes,
                         size_t size) {
  refusals *r = user;
  char line[256], wanted[256];
  if (!bytes) return true;
  unsigned pid = 0;
  snprintf(line, sizeof line, "%.*s", (int)size, bytes);
  sscanf(line, "%*s refused pid=%u", &pid);
  snprintf(wanted, sizeof wanted,
           "%s refused pid=%u uid=%d why=No such file or directory",
           refusal_key(), pid, (int)geteuid());
  r->count += pid > 0 && strcmp(line, wanted) == 0;
  r->others += pid == 0 || strcmp(line, wanted) != 0;
  return true;
}

/* The folder is not there for it: it says so once, and runs as it does without
 * us. */
TEST(refused) {
  llmprof_error err = {0};
  refusals heard = {0};
  char name[64];
  snprintf(name, sizeof name, "@llmprof-%.16s", refusal_key());
  llmprof_listener *l = llmprof_listener_open(name, &err);
  assert_non_null(l);
  setenv("LLMPROF_COLLECTOR_REFUSALS", refusal_key(), 1);
  setenv("VICTIM_UNSEEN", "", 1);
  run((setting){.launches = "10",
                .threads = "2",
                .variable = "LLMPROF_COLLECTOR_DIR",
                .value = "/proc/none"});
  unsetenv("LLMPROF_COLLECTOR_REFUSALS");
  unsetenv("VICTIM_UNSEEN");
  assert_true(WIFEXITED(out.status));
  assert_int_equal(WEXITSTATUS(out.status), 4);
  assert_string_equal(out.output, "done\n");
  assert_int_equal(out.count, 0);
  assert_true(llmprof_listener_poll(l, hear_refusal, &heard, &err));
  llmprof_listener_close(l);
  assert_int_equal(heard.count, 1);
  assert_int_equal(heard.others, 0);
}

/* ---- units and counters ---- */

#define BY_RANGE \
  "unit.by = range\nunit.range = prefill\nunit.within = measured\n"

TEST(units) {
  run_to_end((setting){.launches = "100",
                       .plan = BY_RANGE "units = plain:2 timeline:1 skip:1\n"});
  assert_int_equal(t->units[SPOOL_UNIT_PLAIN][0], 2);
  assert_int_equal(t->units[SPOOL_UNIT_PLAIN][1], 2);
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 1);
  assert_int_equal(t->units[SPOOL_UNIT_OTHER][1], 1);
  assert_int_equal(t->kinds[SPOOL_KERNEL], KERNELS / 4);
}

/* Nothing of CUPTI is there in plain units; the first unit that records comes
 * long after the first context, and has all the same. */
TEST(late) {
  run_to_end((setting){.launches = "100",
                       .plan = BY_RANGE
                       "units = plain:2 timeline:1 counters:1\n"
                       "metric = one\nlaunch = _Z4gemmPf|*|*|*|decode|3\n",
                       .variable = "VICTIM_UNLOADED",
                       .value = CUPTI});
  assert_int_equal(t->units[SPOOL_UNIT_PLAIN][1], 2);
  assert_int_equal(t->kinds[SPOOL_KERNEL], KERNELS / 4);
  assert_int_equal(t->runtime_calls + t->driver_calls, KERNELS / 4);
  assert_int_equal(t->measured, 1);
}

/* Another client comes while we record, and gets CUPTI. */
TEST(yield) {
  run_to_end((setting){.launches = "10",
                       .plan = "yield = on\n",
                       .variable = "VICTIM_CLIENT",
                       .value = CUPTI});
  assert_true(spool_counts_has(t, "yielded"));
  assert_true(t->kinds[SPOOL_KERNEL] > 0);
}

TEST(profiler) {
  run_to_end((setting){.launches = "10", .plan = "unit.by = profiler\n"});
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 1);
  assert_int_equal(t->kinds[SPOOL_KERNEL], 4 * 12);
}

/* The process is killed some time after the window: its spool says that
 * nothing is missing. */
TEST(killed_after_the_window) {
  run((setting){.how = "wait",
                .launches = "10",
                .plan = "unit.by = profiler\n",
                .kill_at_rest = true});
  assert_true(WIFSIGNALED(out.status));
  assert_string_equal(t->end, "between units");
  assert_int_equal(t->kinds[SPOOL_KERNEL], 4 * 12);
}

/* As soon as the window has closed, as vLLM does with its engines. */
TEST(killed_with_the_window) {
  run((setting){
      .how = "kill", .launches = "10", .plan = "unit.by = profiler\n"});
  assert_true(WIFSIGNALED(out.status));
  assert_string_equal(t->end, "between units");
  assert_int_equal(t->kinds[SPOOL_KERNEL], 4 * 12);
}

/* Ranges of any such name, in the profiler's window alone, which ends the
 * last one. */
TEST(steps) {
  run_to_end((setting){
      .launches = "10",
      .plan = "unit.by = range\nunit.range = *e*od*\nunit.profiler = on\n"
              "units = timeline:2 skip:1 plain\n"});
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 2);
  assert_int_equal(t->units[SPOOL_UNIT_OTHER][1], 1);
  assert_int_equal(t->units[SPOOL_UNIT_PLAIN][1], 1);
  /* from the first decode to the third, with the prefills between */
  assert_int_equal(t->kinds[SPOOL_KERNEL], 2 * 12);
}

/* "measured" is open before the window is. */
TEST(before_the_window) {
  run_to_end((setting){
      .launches = "10",
      .plan = "unit.by = range\nunit.range = meas*\nunit.profiler = on\n"});
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][0], 0);
}

/* A unit that the order of the plan knows nothing of; what comes after it is in
 * none. */
TEST(operators) {
  run_to_end((setting){.launches = "10",
                       .variable = "VICTIM_OPERATORS",
                       .value = "1",
                       .plan = BY_RANGE "unit.operators = operators\n"
                                        "units = plain:1 timeline:1 skip\n"});
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 1);
  assert_int_equal(t->units[SPOOL_UNIT_OTHER][1], 2);
  assert_int_equal(t->units[SPOOL_UNIT_OPERATORS][0], 1);
  assert_int_equal(t->units[SPOOL_UNIT_OPERATORS][1], 1);
  assert_int_equal(t->kinds[SPOOL_KERNEL], 12 + 4);
}

/* CUPTI is there for a capture after plain units, where lines are wanted. */
TEST(capture) {
  enum {
    UNLOADED = 4,
    LOADED = 93
  };
  static const struct {
    const char *plan;
    int status;
  } cases[] = {
      {BY_RANGE "unit.capture = operators\nunits = plain:4 timeline\n", LOADED},
      {BY_RANGE "unit.capture = operators\nunits = plain:4 timeline\n"
                "sources = off\n",
       UNLOADED},
      {BY_RANGE "units = plain:4 timeline\n", UNLOADED},
      {BY_RANGE "units = plain:4 timeline\nsources = python\n", LOADED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run((setting){.launches = "10",
                  .variable = "VICTIM_OPERATORS",
                  .value = CUPTI,
                  .plan = cases[i].plan});
    assert_int_equal(WEXITSTATUS(out.status), cases[i].status);
  }
}

/* Functions of C by the unwinder, where they are asked for. */
TEST(native) {
  run_to_end((setting){.launches = "10", .plan = "sources = native\n"});
  assert_true(spool_counts_has(t, "work"));
  assert_true(spool_counts_has(t, VICTIM));
  assert_in_range(t->kinds[SPOOL_SOURCE_STACK], 3, 200);
  run_to_end((setting){.launches = "10"});
  assert_int_equal(t->kinds[SPOOL_SOURCE_STACK], 0);
}

TEST(counters) {
  run_to_end((setting){.launches = "100",
                       .plan = BY_RANGE
                       "units = timeline:2 counters:1 plain:1\n"
                       "metric = one\nmetric = missing|missing_too\n"
                       "metric = missing|two|three\n"
                       "launch = _Z4gemmPf|4,1,1|128,1,1|64|decode|5\n"
                       "launch = _Z4gemmPf|4,1,1|*|*|decode|20-22\n"
                       "launch = _Z4gemmPf|9,1,1|*|*|decode|*\n"
                       "launch = ncclDevKernel_AllReduce\n"});
  assert_int_equal(t->kinds[SPOOL_KERNEL], KERNELS / 2);
  assert_int_equal(t->kinds[SPOOL_METRIC], 2);
  assert_int_equal(t->kinds[SPOOL_COUNTERS], 4);
  assert_int_equal(t->measured + t->failed, 4);
  assert_int_equal(t->measured, 4);
  assert_int_equal(t->ordinals[0], 5);
  assert_int_equal(t->ordinals[3], 22);
  assert_true(t->values[0] == 1002.0 && t->values[1] == 2002.0);
  assert_true(spool_counts_has(t, "measured/decode"));
  assert_true(spool_counts_has(t, "metric_missing"));
  assert_true(spool_counts_has(t, "communication"));
}

/* Each set is taken in a unit of its own, the second without what the first
 * has; a launch that is measured in both is one. What was not measured is not
 * there. */
TEST(passes) {
  run_to_end((setting){.launches = "20",
                       .plan = BY_RANGE
                       "units = timeline:1 counters:2 plain:1\n"
                       "counters.flush = on\n"
                       "pass = 1\nmetric = one\nmetric = two\n"
                       "pass = 2\nmetric = two\nmetric = missing|\n"
                       "metric = three\nmetric = four\n"
                       "launch = _Z4gemmPf|8,1,1|*|*|prefill\n"
                       "launch = _Z4gemmPf|4,1,1|*|*|decode|2-3|1\n"
                       "launch = _Z4gemmPf|4,1,1|*|*|decode|10\n"});
  assert_int_equal(t->measured, 4);
  assert_int_equal(t->failed, 0);
  assert_int_equal(t->flushed, 4);
  for (int i = 0; i < 4; i++) {
    static const uint32_t ordinals[] = {0, 2, 3, 10}, counts[] = {4, 2, 2, 4};
    assert_int_equal(t->ordinals[i], ordinals[i]);
    assert_int_equal(t->value_counts[i], counts[i]);
  }
  assert_true(t->values[1] == 2000.0 && t->values[2] == 1000.0);
  assert_true(spool_counts_has(t, "metric_missing"));
}

#define PCT ".avg.pct_of_peak_sustained_elapsed"

/* Passes of the second set are spread over the launches that are like one of
 * the first unit. What is of a range's length is put to the kernel's; of a
 * launch that comes once there is what its pass measures. */
TEST(spread) {
  run_to_end(
      (setting){.launches = "20",
                .plan = BY_RANGE
                "units = timeline:1 counters:2 plain:1\n"
                "counters.flush = on\n"
                "pass = 1\nmetric = one\nmetric = sm__cycles_elapsed.avg\n"
                "pass = 2\nmetric = one\nmetric = two\n"
                "metric = three_pass1\nmetric = four_pass3\n"
                "metric = sm__five_pass2" PCT "\n"
                "metric = lts__six_pass2" PCT "\n"
                "launch = _Z4gemmPf|4,1,1|*|*|decode|2\n"
                "launch = _Z4gemmPf|8,1,1|*|*|prefill\n"});
  assert_int_equal(t->measured, 2);
  assert_int_equal(t->failed, 0);
  assert_int_equal(t->flushed, 2);
  assert_int_equal(t->ordinals[1], 2);
  assert_int_equal(t->value_counts[0], 3);
  assert_int_equal(t->value_counts[1], 6);
  assert_true(t->values[5] == 100 * 1001 / (2 * 100.0));
}

/* What fails once is said once, and not tried again. */
TEST(spread_that_fails) {
  static const char *const fail[] = {"cuptiRangeProfilerPushRange=999",
                                     "cuptiRangeProfilerPopRange=7"};
  for (int i = 0; i < 2; i++) {
    run_to_end((setting){.launches = "200",
                         .variable = "STANDIN_FAIL",
                         .value = fail[i],
                         .plan = BY_RANGE
                         "units = timeline:1 counters:2 plain:1\n"
                         "pass = 1\nmetric = one\n"
                         "pass = 2\nmetric = two\nmetric = three_pass1\n"
                         "launch = _Z4gemmPf|4,1,1|*|*|decode|2\n"});
    assert_int_equal(t->measured, 1);
    assert_int_equal(t->value_counts[0], 1);
    assert_in_range(t->kinds[SPOOL_DIAGNOSTIC], 1, 8);
    assert_true(spool_counts_has(t, "cupti"));
  }
}

/* Units apart from each other, as windows are, are of one measurement, also
 * where the last of them do not come. */
TEST(counted_windows) {
  static const char *const plans[] = {"units = timeline:1 counters:2\n",
                                      "units = timeline:3 counters:2\n"};
  for (int i = 0; i < 2; i++) {
    char plan[512];
    snprintf(plan, sizeof plan,
             "unit.by = range\nunit.range = decode\nunit.within = decode\n"
             "%spass = 1\nmetric = one\n"
             "pass = 2\nmetric = two\nmetric = three_pass1\n"
             "launch = _Z4gemmPf|4,1,1|*|*|*|2\n"
             "launch = _Z4gemmPf|8,1,1|*|*|*\n",
             plans[i]);
    run_to_end((setting){.launches = "20", .plan = plan});
    assert_int_equal(t->units[SPOOL_UNIT_COUNTERS][1], 2 - i);
    assert_int_equal(t->measured, 1);
    assert_int_equal(t->failed, 0);
    assert_int_equal(t->value_counts[0], i == 0 ? 3 : 1);
  }
}

/* More passes than are spread are replayed. */
TEST(many_passes) {
  run_to_end((setting){.launches = "5",
                       .plan =
                           BY_RANGE "units = timeline:1 counters:2 plain:1\n"
                                    "pass = 1\nmetric = one\n"
                                    "pass = 2\nmetric = two_pass70\n"
                                    "launch = _Z4gemmPf|4,1,1|*|*|decode|2\n"});
  assert_int_equal(t->measured, 1);
  assert_int_equal(t->value_counts[0], 2);
}

/* What the budget leaves out is told: of a launch all, or its later passes. */
TEST(budget) {
  static const char *const launches[] = {"2-4", "2"};
  for (int i = 0; i < 2; i++) {
    char plan[512];
    snprintf(plan, sizeof plan,
             BY_RANGE "units = timeline:1 counters:2 plain:1\n"
                      "counters.budget_s = 1e-9\n"
                      "pass = 1\nmetric = one\n"
                      "pass = 2\nmetric = two\nmetric = three_pass1\n"
                      "launch = _Z4gemmPf|4,1,1|*|*|decode|%s\n",
             launches[i]);
    run_to_end((setting){.launches = "20", .plan = plan});
    assert_int_equal(t->measured, 1);
    assert_int_equal(t->failed, i == 0 ? 2 : 0);
    assert_int_equal(t->value_counts[0], 1);
    assert_true(spool_counts_has(t, "budget"));
  }
}

/* A unit whose pass fails leaves what the others give; where none gives
 * anything, the launch says so. */
TEST(passes_that_fail) {
  for (int both = 0; both < 2; both++) {
    run_to_end((setting){
        .launches = "20",
        .plan = both ? BY_RANGE "units = timeline:1 counters:2 plain:1\n"
                                "pass = 1\nmetric = fails\n"
                                "pass = 2\nmetric = fails_too\n"
                                "launch = _Z4gemmPf|4,1,1|*|*|decode|2\n"
                     : BY_RANGE "units = timeline:1 counters:2 plain:1\n"
                                "pass = 1\nmetric = one\n"
                                "pass = 2\nmetric = fails\n"
                                "launch = _Z4gemmPf|4,1,1|*|*|decode|2\n"});
    assert_int_equal(t->measured, both ? 0 : 1);
    assert_int_equal(t->failed, both);
    if (!both) assert_int_equal(t->value_counts[0], 1);
    assert_int_equal(t->kinds[SPOOL_KERNEL], 23);
    assert_true(spool_counts_has(t, "cupti"));
  }
}

TEST(passes_of_graphs) {
  run_to_end((setting){.launches = "20",
                       .plan =
                           BY_RANGE "units = timeline:1 counters:2 plain:1\n"
                                    "pass = 1\nmetric = one\nmetric = two\n"
                                    "pass = 2\nmetric = three\n"
                                    "graph = *|decode|0\n",
                       .variable = "VICTIM_GRAPHS",
                       .value = "1"});
  assert_int_equal(t->measured, 1);
  assert_int_equal(t->waiting, 2);
  assert_int_equal(t->value_counts[0], 3);
}

/* In a repeat without graphs launches are counted on: what was measured before
 * is not measured again. */
TEST(eager) {
  run_to_end((setting){.launches = "20",
                       .plan = BY_RANGE
                       "units = timeline:3 counters:1\nmetric = one\n"
                       "unit.eager = eager\n"
                       "launch = _Z4gemmPf|8,1,1|*|*|prefill|0\n"
                       "launch = _Z4gemmPf|4,1,1|*|*|decode|0-1\n"
                       "launch = _Z4gemmPf|16,1,1|*|*|decode|1-2\n",
                       .variable = "VICTIM_EAGER",
                       .value = "1"});
  assert_int_equal(t->units[SPOOL_UNIT_COUNTERS][0], 2);
  assert_int_equal(t->units[SPOOL_UNIT_COUNTERS][1], 2);
  assert_int_equal(t->measured, 1 + 2 + 2);
  assert_int_equal(t->ordinals[3], 1);
  assert_int_equal(t->ordinals[4], 2);
  assert_true(spool_counts_has(t, "eager/decode"));
}

/* The second time the work begins in it, passes are spread. */
TEST(eager_passes) {
  run_to_end((setting){.launches = "20",
                       .plan = BY_RANGE
                       "units = timeline:2 counters:2\n"
                       "unit.eager = eager\n"
                       "pass = 1\nmetric = one\n"
                       "pass = 2\nmetric = two\nmetric = three_pass1\n"
                       "launch = _Z4gemmPf|4,1,1|*|*|decode|0\n"
                       "launch = _Z4gemmPf|16,1,1|*|*|decode|0\n",
                       .variable = "VICTIM_EAGER",
                       .value = "2"});
  assert_int_equal(t->measured, 2);
  assert_int_equal(t->failed, 0);
  assert_int_equal(t->value_counts[0], 3);
  assert_int_equal(t->value_counts[1], 3);
  assert_true(spool_counts_has(t, "eager/decode"));
}

TEST(empty_cache) {
  setting s = {.launches = "20",
               .plan = BY_RANGE "units = timeline:1 counters:1\nmetric = one\n"
                                "counters.flush = on\n"
                                "launch = _Z4gemmPf|4,1,1|*|*|decode|3-5\n",
               .value = "1"};
  for (int i = 0; i < 2; i++) {
    s.variable = i == 1 ? "STANDIN_NO_COMPILER" : NULL;
    run_to_end(s);
    assert_int_equal(t->measured, 3);
    assert_int_equal(t->flushed, 3);
    assert_int_equal(spool_counts_has(t, "cache"), i == 1);
  }
}

/* What takes longer than it may is told; a session that is open for launches
 * that do not come is none of that. */
TEST(stalled) {
  setting s = {.how = "quick",
               .launches = "1",
               .plan = BY_RANGE "units = timeline:3 counters:1\nmetric = one\n"
                                "stall_s = 1\nlaunch = _Z4gemmPf|4,1,1\n",
               .variable = "STANDIN_SLOW_STOP",
               .value = "2500"};
  run(s);
  assert_true(spool_counts_has(t, "stalled"));
  s.plan = BY_RANGE "units = timeline:3 counters:1\nmetric = one\n"
                    "stall_s = 1\nlaunch = _Z4gemmPf|8,1,1\n";
  s.value = "0";
  s.launches = "0";
  run(s);
  assert_false(spool_counts_has(t, "stalled"));
}

#define COUNT_GRAPHS                                      \
  "units = timeline:2 counters:1 plain:1\nmetric = one\n" \
  "launch = _Z4gemmPf|4,1,1|*|*|decode|0-4\n"             \
  "graph = *|decode|1-2\ngraph = *|prefill\n"

/* Launches of a graph are measured as one, those that wait for others never. */
TEST(graphs) {
  run_to_end((setting){.launches = "20",
                       .plan = BY_RANGE COUNT_GRAPHS,
                       .variable = "VICTIM_GRAPHS",
                       .value = "1"});
  assert_int_equal(t->measured, 5 + 2);
  assert_int_equal(t->graphs, 2);
  assert_int_equal(t->failed, 0);
  assert_int_equal(t->ordinals[5], 1);
  assert_int_equal(t->ordinals[6], 2);
  assert_false(spool_counts_has(t, "graph_refused"));
}

/* Kernels and graphs take turns, in more units than one. */
TEST(graphs_and_kernels) {
  run_to_end((setting){.launches = "20",
                       .plan = BY_RANGE "units = timeline:1 counters:3\n"
                                        "metric = one\n"
                                        "launch = _Z4gemmPf|8,1,1|*|*|prefill\n"
                                        "graph = *|decode|0-1\n",
                       .variable = "VICTIM_GRAPHS",
                       .value = "1"});
  assert_int_equal(t->measured, 3 * (1 + 2));
  assert_int_equal(t->graphs, 3 * (2 + 1) + 1); /* with those that wait */
  assert_int_equal(t->waiting, 3 + 1);
  assert_false(spool_counts_has(t, "graph_refused"));
}

/* Graph 6 has a collective, 7 comes in a process with some and was never seen.
 */
TEST(graphs_that_wait) {
  run_to_end((setting){.launches = "20",
                       .plan = BY_RANGE "units = timeline:3 counters:1\n"
                                        "metric = one\ngraph = *|decode|0\n",
                       .variable = "VICTIM_GRAPHS",
                       .value = "1"});
  assert_int_equal(t->measured, 1);
  assert_int_equal(t->graphs, 3);
  assert_int_equal(t->waiting, 2);
}

/* What refuses ranges around graphs does so once, and kernels are measured as
 * ever. */
TEST(graphs_refused) {
  static const struct {
    const char *variable, *value;
    unsigned graphs;
  } cases[] = {
      {"STANDIN_FAIL", "cuptiRangeProfilerPushRange=999", 0},
      {"STANDIN_FAIL", "cuptiRangeProfilerPopRange=999", 1},
      {"STANDIN_NO_DATA", "1", 1},
      {"STANDIN_PASSES", "2", 0},
  };
  setenv("VICTIM_GRAPHS", "1", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_to_end((setting){.launches = "20",
                         .plan = BY_RANGE COUNT_GRAPHS,
                         .variable = cases[i].variable,
                         .value = cases[i].value});
    assert_int_equal(t->measured, 5);
    assert_int_equal(t->graphs, cases[i].graphs);
    assert_int_equal(t->failed, cases[i].graphs);
    assert_true(spool_counts_has(t, "graph_refused"));
  }
  unsetenv("VICTIM_GRAPHS");
}

/* Two threads with a GPU each: both are measured, by their own profilers. */
TEST(contexts) {
  run_to_end((setting){.launches = "40",
                       .threads = "2",
                       .plan = "units = counters\nmetric = one\n"
                               "launch = _Z4gemmPf|4,1,1|*|*|decode|*\n",
                       .variable = "VICTIM_GPUS",
                       .value = "1"});
  assert_int_equal(t->failed, 0);
  assert_int_equal(t->measured_on[0], 4 * 40);
  assert_int_equal(t->measured_on[1], 4 * 40);
}

/* Whatever of CUPTI fails: a diagnostic, a whole spool, and the program goes
 * its way. */
TEST(failures) {
  static const char *const functions[] = {
      "cuptiSubscribe_v2=39",
      "cuptiActivityRegisterCallbacks=1",
      "cuptiActivityEnable=1",
      "cuptiProfilerInitialize=35",
      "cuptiDeviceGetChipName=999",
      "cuptiProfilerHostInitialize=999",
      "cuptiProfilerHostConfigAddMetrics=999",
      "cuptiProfilerHostGetConfigImageSize=999",
      "cuptiProfilerHostGetConfigImage=999",
      "cuptiProfilerHostGetNumOfPasses=999",
      "cuptiProfilerHostEvaluateToGpuValues=999",
      "cuptiRangeProfilerEnable=35",
      "cuptiRangeProfilerGetCounterDataSize=999",
      "cuptiRangeProfilerCounterDataImageInitialize=999",
      "cuptiRangeProfilerSetConfig=999",
      "cuptiRangeProfilerStart=999",
      "cuptiRangeProfilerStop=999",
      "cuptiRangeProfilerDecodeData=999",
      "cuptiRangeProfilerGetCounterDataInfo=999",
      "cuptiPmSamplingEnable=35",
      "cuptiPmSamplingSetConfig=999",
      "cuptiPmSamplingStart=999",
      "cuptiPmSamplingDecodeData=999",
      "cuptiPmSamplingGetCounterDataInfo=999",
      "cuptiPmSamplingCounterDataGetSampleInfo=999",
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    run_to_end((setting){.launches = "20",
                         .plan = BY_RANGE
                         "units = timeline:2 counters\nsamples.hz = 1000\n"
                         "metric = one\nlaunch = _Z4gemmPf|*|*|*|decode|3\n",
                         .variable = "STANDIN_FAIL",
                         .value = functions[i]});
    assert_string_equal(t->end, "exit");
    assert_true(t->kinds[SPOOL_DIAGNOSTIC] > 0);
    assert_int_equal(
        t->measured,
        strstr(functions[i], "Pm") || strstr(functions[i], "Activity") ? 2 : 0);
    if (strstr(functions[i], "=35"))
      assert_true(spool_counts_has(t, "no_permission"));
  }
}

/* Who or what shuts the counters is named; the timeline stands. */
TEST(no_counters) {
  static const struct {
    const char *fails, *word, *said;
  } cases[] = {
      {"cuptiRangeProfilerEnable=35", "no_permission", "as root"},
      {"cuptiRangeProfilerEnable=40", "no_permission", "virtual GPU"},
      {"cuptiRangeProfilerStart=26", "counters_busy", "DCGM"},
      {"cuptiRangeProfilerEnable=43", "no_counters", "MIG"},
      {"cuptiRangeProfilerEnable=33", "no_counters", "virtual GPU"},
      {"cuptiRangeProfilerEnable=41", "no_counters", "confidential"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run((setting){.launches = "20",
                  .plan = BY_RANGE "units = timeline:2 counters\n"
                                   "pass = 1\nmetric = one\n"
                                   "pass = 2\nmetric = one\nmetric = two\n"
                                   "launch = _Z4gemmPf|*|*|*|decode|3\n",
                  .variable = "STANDIN_FAIL",
                  .value = cases[i].fails});
    bool said = false;
    expect_exit(4);
    assert_true(spool_counts_has(t, cases[i].word));
    for (size_t j = 0; j < SPOOL_COUNTS_STRINGS; j++)
      said = said || (t->strings[j] && strstr(t->strings[j], cases[i].said));
    assert_true(said);
    assert_int_equal(t->measured, 0);
    assert_int_equal(t->kinds[SPOOL_KERNEL], 2 * 23);
  }
}

TEST(other_client) {
  run_to_end((setting){.launches = "10",
                       .variable = "STANDIN_FAIL",
                       .value = "cuptiSubscribe_v2=39"});
  assert_true(spool_counts_has(t, "cupti_busy"));
  assert_true(spool_counts_has(
      t, "no timeline, no counters: CUPTI_ERROR_STANDIN, CUPTI "
         "belongs to CUPTI-SUB-other"));
  assert_true(t->events[SPOOL_NVTX_PUSH] > 0);
}

TEST(samples) {
  run((setting){.launches = "10",
                .plan = BY_RANGE "samples.hz = 1000\nsamples.metric = dram\n"});
  expect_exit(4);
  assert_true(t->kinds[SPOOL_SAMPLE] >= 10);
  assert_int_equal(t->kinds[SPOOL_SAMPLE] % 10, 0);
  assert_int_equal(t->kinds[SPOOL_METRIC], 1);
}

/* A unit that begins before there is a context is sampled from that on. */
TEST(samples_of_a_process) {
  run_to_end((setting){.launches = "10",
                       .plan = "samples.hz = 1000\n"
                               "samples.metric = dram\n"});
  assert_false(spool_counts_has(t, "no_samples"));
  assert_int_equal(t->kinds[SPOOL_SAMPLE] % 10, 0);
}

/* Each GPU that has a context is sampled. */
TEST(samples_of_two_gpus) {
  run_to_end((setting){.launches = "10",
                       .threads = "2",
                       .plan = "samples.hz = 1000\nsamples.metric = dram\n"
                               "unit.by = profiler\n",
                       .variable = "VICTIM_GPUS",
                       .value = "1"});
  assert_true(t->samples_on[0] >= 10);
  assert_true(t->samples_on[1] >= 10);
}

/* ---- the program's own descriptors ---- */

static void run_closer(const char *how, const char *number) {
  run((setting){.program = CLOSER,
                .how = how,
                .launches = test_folder(),
                .threads = number});
}

/* Whatever a program does with its descriptors: no file of its gets a byte of
 * ours, no number is taken, and the recording is whole. Not under
 * ThreadSanitizer, for which a process has one table of descriptors. */
TEST(descriptors) {
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  static const struct {
    const char *how;
    size_t spools;  /* of the program and its children */
    uint64_t after; /* ranges in the last one */
  } programs[] = {{"close", 1, 1 + 5000},       {"close_range", 1, 1 + 5000},
                  {"dup2", 1, 1 + 5000 + 5000}, {"fork", 2, 5000},
                  {"spawn", 1, 1 + 5000},       {"hand", 2, 1 + 5000},
                  {"daemon", 3, 1 + 5000}};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    run_closer(programs[i].how, "0");
    const spool_counts *last = &out.spools[out.count - 1];
    print_message("%s\n", programs[i].how);
    assert_string_equal(out.output, "done\n");
    assert_int_equal(WEXITSTATUS(out.status), 4);
    assert_int_equal(out.count, programs[i].spools);
    assert_int_equal(last->events[SPOOL_NVTX_PUSH], programs[i].after);
    assert_string_equal(last->end, "exit");
    assert_string_equal(out.lost, "");
  }
  run_closer("random", "7");
  assert_string_equal(out.output, "done\n");
  assert_int_equal(WEXITSTATUS(out.status), 4);
}

/* A limit for files ends no program, and what is lost is said beside it. */
TEST(file_limits) {
  static const char *const limits[] = {"0", "1", "65536"};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    run_closer("limit", limits[i]);
    expect_exit(4);
    assert_string_equal(out.lost, "File too large");
    assert_string_equal(t->end, "");
    assert_int_equal(t->torn, 0);
    assert_int_equal(t->blocks > 0, i == 2);
  }
}

/* ---- the socket ---- */

/* It has its name once it listens. */
static int listen_at(const char *path) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path, sizeof at.sun_path, "%.90s.new", path);
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(s, (struct sockaddr *)&at, sizeof at) != 0) _exit(1);
  listen(s, 1);
  if (rename(at.sun_path, path) != 0) _exit(1);
  return s;
}

/* A path for a socket of this test, where nothing is. */
static const char *socket_path(void) {
  static char path[100];
  snprintf(path, sizeof path, "/tmp/llmprof-test-%d", (int)getpid());
  unlink(path);
  return path;
}

/* Runs the program, connected to a process with that body. */
static void run_beside(void (*listener)(const char *path), setting s) {
  struct stat info;
  int status = -1;
  s.socket = socket_path();
  pid_t parent = fork();
  if (parent == 0) listener(s.socket);
  for (int i = 0; i < 10000 && stat(s.socket, &info) != 0; i++) usleep(1000);
  run(s);
  waitpid(parent, &status, 0);
  unlink(s.socket);
  expect_exit(4);
  assert_int_equal(status, 0);
}

/* A parent that answers a pause with what it wants counters of. */
static void serve(const char *path) {
  static const char answer[] =
      "metric = one\nlaunch = _Z4gemmPf|4,1,1|*|*|decode|7\ngo\n";
  int c = accept(listen_at(path), NULL, NULL);
  FILE *in = fdopen(c, "r");
  char line[1024];
  int paused = 0, bye = 0;
  while (in && fgets(line, sizeof line, in)) {
    if (strcmp(line, "pause\n") == 0) {
      paused++;
      if (write(c, answer, strlen(answer)) < 0) _exit(2);
    }
    bye += strcmp(line, "bye\n") == 0;
  }
  _exit(paused == 1 && bye == 1 ? 0 : 3);
}

static char spool[1024]; /* the last that a line named */

static void hear(FILE *in, const char *wanted) {
  char line[1024];
  while (fgets(line, sizeof line, in)) {
    (void)sscanf(line, "spool %1023s", spool);
    (void)sscanf(line, "hello pid=%*d spool=%1023s", spool);
    if (strncmp(line, wanted, strlen(wanted)) == 0) return;
  }
  _exit(2);
}

/* Until the program has launched something, as its spool says. */
static void await_kernel(void) {
  for (int tries = 0; tries < 10000; tries++) {
    spool_counts now;
    bool read = spool_counts_read(spool, &now);
    bool there = read && now.kinds[SPOOL_KERNEL] > 0;
    if (read) spool_counts_free(&now);
    if (there) return;
    usleep(5000);
  }
  _exit(4);
}

static FILE *caller(int s) {
  FILE *in = fdopen(accept(s, NULL, NULL), "r+");
  if (!in) _exit(3);
  setvbuf(in, NULL, _IONBF, 0);
  hear(in, "hello pid=");
  return in;
}

/* Somebody who comes when the program runs, opens a window and closes it, and
 * comes again, but goes in the middle of the second one; then the program may
 * end. */
static void open_windows(const char *path, const char *until,
                         const char *unused) {
  (void)unused;
  int s = listen_at(path);
  FILE *in = caller(s);
  fputs("begin\n", in);
  hear(in, "unit 1 timeline begin");
  fputs("end\n", in);
  hear(in, "unit 1 timeline end");
  fclose(in);
  in = caller(s);
  fputs("begin\n", in);
  hear(in, "unit 2 timeline begin");
  fputs("half a li", in);
  fclose(in);
  in = caller(s);
  fputs("end\n", in);
  fclose(in);
  fclose(fopen(until, "w"));
  _exit(0);
}

/* One window, with that line before it. */
static void open_window(const char *path, const char *until, const char *line) {
  FILE *in = caller(listen_at(path));
  fprintf(in, "flush_s = 0.01\n%s", line);
  fputs("begin\n", in);
  hear(in, "unit 1 timeline begin");
  await_kernel();
  fputs("end\n", in);
  hear(in, "unit 1 timeline end");
  fclose(in);
  fclose(fopen(until, "w"));
  _exit(0);
}

/* Runs the program with somebody who opens windows. */
static void run_windows(void (*open)(const char *, const char *, const char *),
                        const char *line) {
  const char *path = socket_path();
  char until[108];
  int status = -1;
  snprintf(until, sizeof until, "%s.until", path);
  unlink(until);
  pid_t parent = fork();
  if (parent == 0) open(path, until, line);
  run((setting){.launches = "10",
                .plan = "unit.by = socket\n",
                .variable = "VICTIM_UNTIL",
                .value = until,
                .socket = path});
  waitpid(parent, &status, 0);
  unlink(path);
  unlink(until);
  expect_exit(4);
  assert_int_equal(status, 0);
}

static int listen_abstract(const char *name) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  size_t size = strlen(name);
  memcpy(at.sun_path + 1, name, size);
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(s, (struct sockaddr *)&at,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) != 0)
    _exit(1);
  listen(s, 4);
  return s;
}

/* Three recordings, the last of which loses its listener. */
static void attach_thrice(const char *name, const char *until) {
  int s = listen_abstract(name);
  for (int i = 0; i < 3; i++) {
    FILE *in = caller(s);
    fprintf(in, "cupti = %s\nflush_s = 0.01\nrecord %s\n", CUPTI, folder);
    hear(in, "spool ");
    fputs("begin\n", in);
    hear(in, "unit 1 timeline begin");
    await_kernel();
    if (i < 2) {
      fputs("end\n", in);
      hear(in, "unit 1 timeline end");
      fputs("stop\n", in);
      hear(in, "bye");
    }
    fclose(in);
  }
  fclose(caller(s)); /* the last one has ended */
  fclose(fopen(until, "w"));
  _exit(0);
}

/* A process that is told nothing but the library: idle, with nothing of CUPTI,
 * until somebody attaches; each recording is a file of its own, and whole. It
 * is in a call most of the time, whose end CUPTI must see: the stand-in aborts
 * where it does not. Nothing is there of what it launches after the end. */
TEST(on_demand) {
  char name[64], until[108];
  int status = -1, output;
  snprintf(name, sizeof name, "@llmprof-test-%d", (int)getpid());
  snprintf(until, sizeof until, "/tmp/llmprof-until-%d", (int)getpid());
  unlink(until);
  make_folder();
  pid_t parent = fork();
  if (parent == 0) attach_thrice(name + 1, until);
  setting s = {.launches = "10",
               .variable = "VICTIM_UNTIL",
               .value = until,
               .socket = name,
               .on_demand = true};
  forget();
  setenv("VICTIM_UNSEEN", "1", 1);
  setenv("VICTIM_WAITS", "10000", 1);
  setenv("STANDIN_LATE", "1", 1);
  pid_t pid = start(&s, &output);
  unsetenv("STANDIN_LATE");
  unsetenv("VICTIM_UNSEEN");
  unsetenv("VICTIM_WAITS");
  read_output(output);
  assert_int_equal(waitpid(pid, &out.status, 0), pid);
  assert_int_equal(waitpid(parent, &status, 0), parent);
  read_spools();
  empty_folder();
  unlink(until);
  assert_int_equal(status, 0);
  assert_string_equal(out.output, "done\n");
  assert_int_equal(WEXITSTATUS(out.status), 4);
  assert_int_equal(out.count, 3);
  for (size_t i = 0; i < out.count; i++) {
    const spool_counts *one = &out.spools[i];
    assert_int_equal(one->units[SPOOL_UNIT_TIMELINE][1], 1);
    assert_true(one->kinds[SPOOL_KERNEL] > 0);
    assert_int_equal(one->kinds[SPOOL_NVTX_SCHEMA], 1);
    assert_true(spool_counts_has(one, "NCCL"));
    assert_true(spool_counts_has(one, "_Z4gemmPf"));
    assert_false(spool_counts_has(one, "_Z4latev"));
    assert_string_equal(one->end, "asked");
  }
}

/* Whole graphs in a process with older ones: the stand-in aborts as the real
 * library does, so they are not asked for. */
TEST(older_graphs) {
  setenv("VICTIM_GRAPHS", "1", 1);
  run_windows(open_window, "graphs = graph\n");
  unsetenv("VICTIM_GRAPHS");
  assert_true(spool_counts_has(t, "plan"));
  assert_true(t->kinds[SPOOL_KERNEL] > 0);
}

/* Between windows CUPTI is free for a profiler of the program's own. */
TEST(client_between) {
  setenv("VICTIM_CLIENT", CUPTI, 1);
  run_windows(open_window, "");
  unsetenv("VICTIM_CLIENT");
  assert_true(t->kinds[SPOOL_KERNEL] > 0);
}

TEST(windows) {
  run_windows(open_windows, NULL);
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][0], 2);
  assert_int_equal(t->units[SPOOL_UNIT_TIMELINE][1], 2);
  assert_false(spool_counts_has(t, "socket"));
  assert_false(spool_counts_has(t, "plan")); /* no line is made of two halves */
}

/* Until the other end is gone; 0 where hello came first and bye last. */
static void hear_out(const char *path) {
  int s = listen_at(path), lines = 0;
  char line[1024];
  FILE *in = fdopen(accept(s, NULL, NULL), "r");
  bool greeted = false, bye = false;
  while (in && fgets(line, sizeof line, in)) {
    if (lines++ == 0) greeted = strncmp(line, "hello pid=", 10) == 0;
    bye = strcmp(line, "bye\n") == 0;
  }
  _exit(greeted && bye ? 0 : 1);
}

/* The program closes its descriptors, and opens sockets of its own: ours is
 * there to the end, and theirs get nothing (which the program looks at). */
TEST(socket_of_ours) {
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  run_beside(hear_out, (setting){.program = CLOSER,
                                 .how = "close",
                                 .launches = test_folder(),
                                 .threads = "0"});
}

/* Others wait already, and nobody accepts them: the program does not. */
TEST(busy_socket) {
  const char *path = socket_path();
  int s = listen_at(path), waiting[3];
  for (int i = 0; i < 3; i++) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)!connect(waiting[i], (struct sockaddr *)&at, sizeof at);
  }
  run((setting){.launches = "20", .socket = path});
  for (int i = 0; i < 3; i++) close(waiting[i]);
  close(s);
  unlink(path);
  expect_exit(4);
  assert_true(spool_counts_has(t, "socket"));
}

TEST(socket) {
  run_beside(serve, (setting){.launches = "20",
                              .plan = BY_RANGE
                              "units = timeline:1 pause counters:1 plain\n"});
  assert_int_equal(t->measured, 1);
  assert_int_equal(t->ordinals[0], 7);
}
