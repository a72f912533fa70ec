/* Where the library begins and ends: loaded by the driver, by NVTX, or by
 * both, in either order. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/activity.h"
#include "collector/buffers.h"
#include "collector/callbacks.h"
#include "collector/chosen.h"
#include "collector/control.h"
#include "collector/counters.h"
#include "collector/cupti_api.h"
#include "collector/diagnose.h"
#include "collector/exits.h"
#include "collector/files.h"
#include "collector/graphs.h"
#include "collector/guard.h"
#include "collector/log.h"
#include "collector/memory.h"
#include "collector/names.h"
#include "collector/nvtx_tool.h"
#include "collector/output.h"
#include "collector/places.h"
#include "collector/plan.h"
#include "collector/refusal.h"
#include "collector/samples.h"
#include "collector/sources.h"
#include "collector/subscriber.h"
#include "collector/threads.h"
#include "collector/units.h"
#include "collector/wake.h"
#include "collector/writer.h"

#define EXPORT __attribute__((visibility("default")))

int EXPORT InitializeInjection(void);
int EXPORT InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int EXPORT InitializeInjectionNvtxExtension(void *info);

#define FINISH_S 10.0 /* the longest that an exit waits for the writer */
#define SIGNAL_S 2.0  /* the longest that a signal does */
#define TICK_NS  10000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* beginning */
enum {
  FRESH,
  RUNNING,
  OFF
};
static atomic_int state;
static bool has_driver;
static atomic_bool ended;

/* ---- the end ---- */

static void finish(const char *reason, double seconds) {
  if (atomic_exchange(&ended, true)) return;
  nvtx_tool_on(false);
  (void)wake_ask(WAKE_FINISH, reason, seconds);
}

static void at_exit(void) {
  if (state != RUNNING || atomic_load(&ended)) return;
  units_end();
  finish("exit", FINISH_S);
}

/* Signals that end the program unless it has a handler of its own. */
static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

/* The thread that gets it may be anywhere, so units stay open. */
static void on_signal(int number) {
  int error = errno;
  if (state == RUNNING) finish("signal", SIGNAL_S);
  signal(number, SIG_DFL);
  raise(number); /* comes once this handler is left */
  errno = error;
}

static void catch_signals(void) {
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction now;
    if (sigaction(signals[i], NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) ||
        now.sa_handler != SIG_DFL)
      continue;
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(signals[i], &ours, NULL);
  }
}

static bool is_running(void);

/* ---- fork ---- */

static void begin_again(void) {
  pthread_mutex_lock(&lock);
  (void)is_running();
  pthread_mutex_unlock(&lock);
}

/* Nothing of the parent's is the child's: it begins anew when it uses CUDA or
 * NVTX itself. */
static void in_child(void) {
  if (state == FRESH) return;
  pthread_mutex_init(&lock, NULL);
  memory_forget();
  output_forget();
  names_forget();
  log_forget();
  buffers_forget();
  places_forget();
  activity_forget();
  chosen_forget();
  graphs_forget();
  counters_forget();
  samples_forget();
  sources_forget();
  units_forget();
  subscriber_forget();
  callbacks_forget();
  has_driver = false;
  control_forget();
  nvtx_tool_forget(begin_again);
  guard_forget();
  writer_forget();
  cupti_forget();
  atomic_store(&ended, false);
  state = FRESH;
}

/* ---- the socket ---- */

/* A program that opens windows may come, and come back, later. */
static void connect_control(void) {
  const char *socket = getenv("LLMPROF_COLLECTOR_SOCKET");
  char hello[PATH_MAX + 64];
  if (!socket || !*socket) return;
  snprintf(hello, sizeof hello, "hello pid=%d spool=%s", (int)getpid(),
           writer_path());
  if (!control_open(socket, hello) && plan_by() != UNIT_BY_SOCKET)
    diagnose(SPOOL_WARNING, "socket", "no connection to llmprof: %s",
             strerror(errno));
}

/* ---- units that tick ---- */

static void *tick(void *unused) {
  (void)unused;
  while (!atomic_load(&ended) && !wake_is_over()) {
    bool asleep = plan_by() == UNIT_BY_SOCKET && !control_connected();
    nanosleep(&(struct timespec){.tv_nsec = asleep ? 10 * TICK_NS : TICK_NS},
              NULL);
    units_tick();
  }
  return NULL;
}

static void start_ticking(void) {
  if (plan_ticks() && !threads_start(tick, NULL))
    diagnose(SPOOL_ERROR, "memory", "no thread for units that tick");
}

/* ---- the beginning ---- */

static void complain(unsigned line, const char *why) {
  diagnose(SPOOL_WARNING, "plan", "line %u of the plan: expected %s", line,
           why);
}

static void read_plan(void) {
  const char *file = getenv("LLMPROF_COLLECTOR_PLAN");
  if (file && *file && !plan_read(file, complain))
    diagnose(SPOOL_ERROR, "plan", "the plan cannot be read: %s",
             strerror(errno));
  the_plan.begun = true;
  memory_limit(the_plan.memory);
}

static void register_once(void) {
  static bool registered; /* outlives a fork, as the handlers do */
  if (registered) return;
  registered = true;
  exits_set(at_exit);
  exits_register();
  (void)pthread_atfork(NULL, NULL, in_child);
}

/* Without a folder: the program that attaches names one. */
static bool begin_on_demand(void) {
  char own[64], hello[64];
  const char *socket = getenv("LLMPROF_COLLECTOR_SOCKET");
  if (!plan_on_demand() || !files_begin()) return false;
  memory_limit(the_plan.memory);
  nvtx_tool_keep();
  writer_take_rank();
  snprintf(own, sizeof own, "@llmprof-attach-%u", (unsigned)geteuid());
  snprintf(hello, sizeof hello, "hello pid=%d", (int)getpid());
  (void)control_open(socket && *socket ? socket : own, hello);
  if (!writer_begin_on_demand()) return false;
  register_once();
  catch_signals();
  start_ticking();
  return true;
}

static bool begin(void) {
  const char *folder = getenv("LLMPROF_COLLECTOR_DIR");
  wake_init();
  if (!folder || !*folder) return begin_on_demand();
  if (!plan_init()) return false;
  refusal_init();
  if (!writer_open(folder)) return false;
  read_plan();
  connect_control();
  if (!writer_begin()) return false;
  register_once();
  catch_signals();
  start_ticking();
  nvtx_tool_on(true);
  return true;
}

/* With the lock. */
static bool is_running(void) {
  if (state == FRESH) {
    state = begin() ? RUNNING : OFF;
    if (state == RUNNING) units_begin();
  }
  return state == RUNNING;
}

/* The driver loads us while it is initialised, before the first context. */
static void begin_driver(void) {
  if (has_driver) return;
  has_driver = true;
  writer_take_rank();
  if (plan_by() != UNIT_BY_SOCKET) (void)sources_begin();
  callbacks_profiler(units_profiler);
  callbacks_driver(true);
  units_driver();
  callbacks_driver(false);
}

int InitializeInjection(void) {
  pthread_mutex_lock(&lock);
  if (is_running()) begin_driver();
  pthread_mutex_unlock(&lock);
  return 1;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  pthread_mutex_lock(&lock);
  bool on = is_running();
  pthread_mutex_unlock(&lock);
  return on && nvtx_tool_attach(get_table);
}

int InitializeInjectionNvtxExtension(void *info) {
  pthread_mutex_lock(&lock);
  bool on = is_running();
  pthread_mutex_unlock(&lock);
  return on && nvtx_tool_attach_extension(info);
}
