/* The two ends of a collector's socket, each told any bytes: lines of a plan,
 * `go` and `stop` for the collector, any lines for llmprof. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/control.h"
#include "collector/diagnose.h"
#include "collector/files.h"
#include "collector/plan.h"
#include "collector/wake.h"
#include "fuzz.h"
#include "os/listen.h"

static char folder[FUZZ_PATH], path[FUZZ_PATH + 16];

/* What the collector keeps in its spool. */
void diagnose(spool_severity severity, const char *code, const char *format,
              ...) {
  FUZZ_CHECK(severity && *code && *format);
}

static void remove_folder(void) {
  unlink(path);
  rmdir(folder);
}

static void start(void) {
  fuzz_scratch(folder);
  FUZZ_CHECK(mkdtemp(folder) && atexit(remove_folder) == 0);
  snprintf(path, sizeof path, "%s/socket", folder);
  wake_init();
  FUZZ_CHECK(files_begin());
}

static struct sockaddr_un address(void) {
  struct sockaddr_un made = {.sun_family = AF_UNIX};
  FUZZ_CHECK(strlen(path) < sizeof made.sun_path);
  memcpy(made.sun_path, path, strlen(path) + 1);
  return made;
}

/* As much as fits without anybody reading. */
static void say(int fd, const uint8_t *data, size_t size) {
  while (size) {
    ssize_t sent = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return;
    data += sent;
    size -= (size_t)sent;
  }
}

/* ---- the collector's end ---- */

static bool at_once(void) {
  return true;
}

/* All that the collector does with numbers of a plan. */
static void use_plan(void) {
  const double seconds[] = {the_plan.unit_seconds, the_plan.budget_s,
                            the_plan.pause_s, the_plan.stall_s,
                            the_plan.flush_s};
  for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
    FUZZ_CHECK(wake_pause(seconds[i], at_once));
  FUZZ_CHECK(the_plan.item_count <= PLAN_ITEMS);
  FUZZ_CHECK(the_plan.launch_count <= PLAN_LAUNCHES);
  FUZZ_CHECK(the_plan.metric_count <= PLAN_METRICS);
  for (size_t i = 0; i < the_plan.launch_count; i++)
    FUZZ_CHECK(the_plan.launches[i].from <= the_plan.launches[i].to);
}

static void tell_collector(const uint8_t *data, size_t size) {
  struct sockaddr_un to = address();
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  FUZZ_CHECK(listener >= 0 &&
             bind(listener, (struct sockaddr *)&to, sizeof to) == 0 &&
             listen(listener, 1) == 0 && control_open(path, "hello"));
  int fd = accept(listener, NULL, NULL);
  FUZZ_CHECK(fd >= 0 && plan_init());
  say(fd, data, size / 2);
  control_poll(true);
  say(fd, data + size / 2, size - size / 2);
  control_poll(true);
  use_plan();
  close(fd);
  control_poll(true);
  control_forget();
  close(listener);
  unlink(path);
}

/* ---- llmprof's end ---- */

static bool hear(void *user, uint32_t peer, const char *bytes, size_t size) {
  size_t *heard = user;
  FUZZ_CHECK(peer > 0 && size <= LLMPROF_LISTEN_LINE + (16 << 10));
  if (bytes) FUZZ_CHECK(!memchr(bytes, '\n', size));
  *heard += bytes ? size + 1 : 0;
  return true;
}

static void tell_llmprof(const uint8_t *data, size_t size) {
  llmprof_error err;
  size_t heard = 0;
  struct sockaddr_un to = address();
  llmprof_listener *listener = llmprof_listener_open(path, &err);
  FUZZ_CHECK(listener);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  FUZZ_CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
  for (int part = 0; part < 2; part++) {
    size_t half = part ? size - size / 2 : size / 2;
    say(fd, data + (part ? size / 2 : 0), half);
    FUZZ_CHECK(llmprof_listener_poll(listener, hear, &heard, &err));
  }
  llmprof_listener_send(listener, 1, "go\n", 3, &err);
  close(fd);
  FUZZ_CHECK(llmprof_listener_poll(listener, hear, &heard, &err));
  FUZZ_CHECK(heard <= size);
  llmprof_listener_close(listener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!*path) start();
  tell_collector(data, size);
  tell_llmprof(data, size);
  return 0;
}
