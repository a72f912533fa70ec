#include "collector/writer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/activity.h"
#include "collector/callbacks.h"
#include "collector/calls.h"
#include "collector/chosen.h"
#include "collector/clock.h"
#include "collector/control.h"
#include "collector/counters.h"
#include "collector/cupti_api.h"
#include "collector/diagnose.h"
#include "collector/files.h"
#include "collector/guard.h"
#include "collector/log.h"
#include "collector/names.h"
#include "collector/nvtx_entries.h"
#include "collector/nvtx_tool.h"
#include "collector/output.h"
#include "collector/places.h"
#include "collector/plan.h"
#include "collector/python.h"
#include "collector/ranges.h"
#include "collector/samples.h"
#include "collector/sources.h"
#include "collector/threads.h"
#include "collector/units.h"
#include "collector/wake.h"

#define PERIOD_S    0.1 /* how often it looks by itself */
#define RANK_DIGITS 9   /* of a rank's number at most */

static char path[PATH_MAX];
static char rank[sizeof " rank " + RANK_DIGITS];
static uint32_t cupti_told; /* version in the spool's last process record */
static unsigned rest_told;  /* of units, of which the spool says that it is */
static int64_t started;
static bool on_demand; /* files come and go */
static bool recording; /* is there one now? */
static bool ending;
static uint32_t texts_told[64]; /* of diagnostics in the spool: ids of names */
static size_t text_count;

const char *writer_path(void) {
  return path;
}

/* ---- the process ---- */

/* The first line of a small file, without its newline; "" when it is not to
 * be had. */
static void read_line(const char *file, char *out, size_t size) {
  files_text(file, out, size);
  out[strcspn(out, "\n")] = 0;
}

void writer_take_rank(void) {
  const char *told = getenv("RANK");
  bool digits = told && told[0] && told[strspn(told, "0123456789")] == 0;
  bool fits = digits && strlen(told) <= RANK_DIGITS;
  snprintf(rank, sizeof rank, "%s%s", fits ? " rank " : "", fits ? told : "");
}

static uint32_t program_name(void) {
  char text[PATH_MAX + sizeof rank];
  ssize_t size = readlink("/proc/self/exe", text, PATH_MAX - 1);
  if (size <= 0) return 0;
  text[size] = 0;
  memcpy(text + size, rank, sizeof rank);
  const char *slash = strrchr(text, '/');
  return names_id(slash ? slash + 1 : text);
}

static uint32_t text_of(const char *file) {
  char line[256];
  read_line(file, line, sizeof line);
  return line[0] ? names_id(line) : 0;
}

static void write_process(void) {
  int driver_version = 0;
  if (cupti.version && driver_load())
    (void)driver.cuDriverGetVersion(&driver_version);
  spool_process record = {
      .start = started,
      .pid = (uint32_t)getpid(),
      .parent = (uint32_t)getppid(),
      .name = program_name(),
      .host = text_of("/proc/sys/kernel/hostname"),
      .product = names_id(LLMPROF_VERSION),
      .cupti = cupti.version,
      .driver = driver_version > 0 ? (uint32_t)driver_version : 0,
      .boot = text_of("/proc/sys/kernel/random/boot_id"),
  };
  cupti_told = cupti.version;
  output_record(SPOOL_PROCESS, &record, sizeof record, NULL, 0);
}

static void write_clock(void) {
  spool_clock record = {.time = clock_now(),
                        .realtime = clock_read(CLOCK_REALTIME),
                        .monotonic = clock_read(CLOCK_MONOTONIC)};
  output_record(SPOOL_CLOCK, &record, sizeof record, NULL, 0);
}

/* ---- entries ---- */

static void write_diagnostic(const log_entry *entry) {
  const char *code = (const char *)(entry + 1);
  const char *text = code + strlen(code) + 1;
  spool_diagnostic record = {.time = entry->time,
                             .severity = entry->value,
                             .code = names_id(code),
                             .text = names_id(text)};
  for (size_t i = 0; i < text_count; i++)
    if (texts_told[i] == record.text) return;
  if (text_count < sizeof texts_told / sizeof *texts_told)
    texts_told[text_count++] = record.text;
  output_record(SPOOL_DIAGNOSTIC, &record, sizeof record, NULL, 0);
}

static void write_metric(const log_entry *entry) {
  spool_metric record = {.metric = entry->value,
                         .name = names_id((const char *)(entry + 1))};
  output_record(SPOOL_METRIC, &record, sizeof record, NULL, 0);
}

static void write_entry(const log_entry *entry) {
  if (nvtx_write(entry) || units_write(entry) || counters_write(entry) ||
      samples_write(entry) || calls_write(entry) || callbacks_write(entry) ||
      control_write(entry))
    return;
  if (entry->type == LOG_DIAGNOSTIC) write_diagnostic(entry);
  if (entry->type == LOG_METRIC) write_metric(entry);
}

/* Writes what threads have left since. */
static void drain(void) {
  log_drain(write_entry);
}

static void write_lost(void) {
  uint64_t entries = log_dropped();
  if (entries) diagnose_drops(SPOOL_LOST_NVTX, entries);
}

static void write_end(const char *reason) {
  write_clock();
  spool_end record = {.time = clock_now(),
                      .records = output_records(),
                      .reason = names_id(reason ? reason : "asked")};
  record.records = output_records();
  output_record(SPOOL_END, &record, sizeof record, NULL, 0);
}

/* Between units all that was recorded is in the file, whatever becomes of the
 * process: engines kill theirs. A unit that begins meanwhile is not in it. */
static void write_rest(unsigned rest) {
  if (!rest || rest == rest_told || units_rest() != rest) return;
  rest_told = rest;
  write_end("between units");
}

/* Everything that is there now. */
static void write_all(void) {
  unsigned rest = units_rest();
  if (cupti.version != cupti_told) write_process();
  drain();
  sources_write();
  activity_write();
  write_lost();
  write_rest(rest);
  output_flush();
}

/* ---- files on demand ---- */

static bool open_in(const char *folder) {
  started = clock_now();
  int n = snprintf(path, sizeof path, "%s/%d-%lld" SPOOL_SUFFIX, folder,
                   (int)getpid(), (long long)started);
  if (n > 0 && (size_t)n < sizeof path) return output_open(path);
  errno = ENAMETOOLONG;
  return false;
}

static void ignore(const log_entry *entry) {
  if (!control_write(entry)) (void)callbacks_keep(entry);
}

static void begin_file(void) {
  if (recording) return;
  log_drain(ignore); /* of before */
  output_forget();
  names_reset();
  places_forget();
  calls_reset();
  sources_reset();
  rest_told = 0;
  text_count = 0;
  if (!open_in(control_folder())) {
    control_say("refused %s", strerror(errno));
    return;
  }
  write_process();
  write_clock();
  output_flush();
  recording = true;
  units_allow();
  nvtx_tool_on(true);
  diagnose(SPOOL_WARNING, "stays",
           "CUDA graphs of this process stay 4 to 8 %% slower until it ends: "
           "libcupti has been in it");
  control_say("spool %s", path);
}

/* False: not yet. */
static bool end_file(void) {
  if (!units_reset()) return false;
  nvtx_tool_on(false);
  if (nvtx_tool_busy()) return false;
  write_all();
  write_end("asked");
  output_close();
  recording = false;
  chosen_reset();
  counters_reset();
  ranges_reset();
  (void)plan_on_demand(); /* else the one of before */
  control_send("bye");
  control_close();
  return true;
}

static void serve(control_word said) {
  if (said == CONTROL_RECORD) begin_file();
  ending =
      recording && (ending || said == CONTROL_STOP || !control_connected());
  if (ending && end_file()) ending = false;
  if (!recording) log_drain(ignore);
}

/* What is easy to get first: a signal may have stopped a thread inside of
 * CUPTI, which then never gives the rest. */
static void finish(const char *reason) {
  if (on_demand && !recording) {
    control_close();
    files_end();
    return;
  }
  write_all();
  if (activity_running()) activity_flush(true);
  write_all();
  write_end(reason);
  output_close();
  control_send("bye");
  control_close();
  files_end();
}

/* ---- the thread ---- */

static void watch(void) {
  static int64_t told;
  int64_t since = counters_since();
  if (!since || since == told || the_plan.stall_s <= 0 ||
      (double)(clock_now() - since) / 1e9 < the_plan.stall_s)
    return;
  told = since;
  diagnose(SPOOL_ERROR, "stalled",
           "counters of a launch have not come for %g s", the_plan.stall_s);
  control_send("stalled");
}

/* Our threads: this one, that of files, and those of samples, of units that
 * tick and of Python. */
static long own_threads(void) {
  return 2 + (long)samples_threads() + plan_ticks() + (long)python_threads();
}

/* The first thread is gone and only we are left: the process would end but
 * for us. */
static bool is_alone(void) {
  char line[512];
  read_line("/proc/self/stat", line, sizeof line);
  const char *after = strrchr(line, ')');
  long threads = 0;
  if (!after || after[1] != ' ' || after[2] != 'Z') return false;
  if (sscanf(after + 4,
             "%*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
             "%ld",
             &threads) != 1)
    return false;
  return threads == 1 + own_threads(); /* with the first one */
}

/* Operations reach the file from time to time, in case the process is killed.
 */
static void flush_now_and_then(void) {
  static int64_t last;
  int64_t now = clock_now();
  if (!activity_running() || (double)(now - last) / 1e9 < the_plan.flush_s)
    return;
  last = now;
  activity_flush(false);
}

static void *write_until_the_end(void *unused) {
  (void)unused;
  (void)guard_enter();
  sources_drain_by(drain);
  unsigned rounds = 0;
  for (;;) {
    wake_task task = wake_sleep(PERIOD_S);
    control_word said = control_poll(!recording);
    if (on_demand)
      serve(said);
    else if (said == CONTROL_STOP)
      units_end();
    watch();
    if (task == WAKE_FINISH) break;
    if (++rounds % 4 == 0 && is_alone()) {
      units_end(); /* and with it the threads of samples */
      break;
    }
    flush_now_and_then();
    if (!on_demand || recording) write_all();
    wake_done();
  }
  finish(wake_reason() ? wake_reason() : "exit");
  wake_finished();
  return NULL;
}

static void tell_refused(int error) {
  char why[128];
  snprintf(why, sizeof why,
           "this system refuses a thread a descriptor table of its own: %s",
           strerror(error));
  output_tell_loss(path, why);
}

bool writer_open(const char *folder) {
  writer_take_rank();
  if (!files_begin()) {
    tell_refused(errno);
    return false;
  }
  if (open_in(folder)) return true;
  files_end();
  return false;
}

bool writer_begin_on_demand(void) {
  on_demand = true;
  if (threads_start(write_until_the_end, NULL)) return true;
  control_close();
  files_end();
  return false;
}

bool writer_begin(void) {
  write_process();
  write_clock();
  output_flush();
  if (threads_start(write_until_the_end, NULL)) return true;
  control_close();
  output_close();
  files_end();
  return false;
}

void writer_forget(void) {
  on_demand = recording = ending = false;
  cupti_told = 0;
  rest_told = 0;
  text_count = 0;
}
