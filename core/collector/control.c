#include "collector/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/diagnose.h"
#include "collector/files.h"
#include "collector/plan.h"
#include "collector/wake.h"

#define AGAIN_NS 250000000 /* between two tries to connect */

static int connection = -1; /* the writer's */
static atomic_bool connected;
static char socket_path[256], greeting[1024];
static int64_t tried;
static atomic_bool may_go;
static atomic_int wish;
static char folder[4096];
static char line[16384];
static size_t line_used;
static bool line_too_long;

bool control_connected(void) {
  return atomic_load(&connected);
}

control_wish control_wished(void) {
  return (control_wish)atomic_exchange(&wish, WISH_NONE);
}

/* An entry's text follows it, with its NUL. */
bool control_say(const char *format, ...) {
  char text[1024];
  if (!control_connected()) return false;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log_entry *entry = log_reserve(LOG_LINE, sizeof *entry + strlen(text) + 1);
  if (!entry) return false;
  memcpy(entry + 1, text, strlen(text) + 1);
  log_commit();
  return true;
}

static bool go_or_gone(void) {
  return atomic_load(&may_go) || !control_connected();
}

void control_pause(void) {
  atomic_store(&may_go, false);
  if (!control_say("pause")) return;
  wake_writer();
  if (!wake_pause(the_plan.pause_s, go_or_gone))
    diagnose(SPOOL_WARNING, "pause", "went on without an answer");
}

/* ---- for the writer ---- */

void control_close(void) {
  atomic_store(&connected, false);
  if (connection >= 0) files_close(connection);
  connection = -1;
}

/* One that does not listen is not waited for. */
void control_send(const char *text) {
  char bytes[1024];
  int n = snprintf(bytes, sizeof bytes, "%s\n", text);
  if (connection < 0 || n < 0) return;
  size_t size = (size_t)n < sizeof bytes ? (size_t)n : sizeof bytes - 1;
  bytes[size - 1] = '\n';
  if (files_write(connection, bytes, size) != (ssize_t)size) control_close();
}

bool control_write(const log_entry *entry) {
  if (entry->type != LOG_LINE) return false;
  control_send((const char *)(entry + 1));
  return true;
}

/* Anybody may listen at an abstract name. */
static bool is_ours(int file) {
  unsigned uid;
  return socket_path[0] != '@' ||
         (files_peer(file, &uid) && (uid == geteuid() || uid == 0));
}

/* Half a line of the last connection does not belong to this one. */
static bool connect_now(void) {
  tried = clock_now();
  connection = files_connect(socket_path);
  if (connection < 0) return false;
  if (!is_ours(connection)) {
    control_close();
    errno = EPERM;
    return false;
  }
  line_used = 0;
  line_too_long = false;
  atomic_store(&connected, true);
  control_send(greeting);
  return true;
}

bool control_open(const char *path, const char *hello) {
  if (strlen(path) >= sizeof socket_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  snprintf(socket_path, sizeof socket_path, "%s", path);
  snprintf(greeting, sizeof greeting, "%s", hello);
  return connect_now();
}

static void connect_again(void) {
  if (plan_by() == UNIT_BY_SOCKET && connection < 0 && socket_path[0] &&
      clock_now() - tried >= AGAIN_NS)
    (void)connect_now();
}

const char *control_folder(void) {
  return folder;
}

static control_word take_folder(const char *path) {
  size_t size = strlen(path) + 1;
  if (size > sizeof folder) return CONTROL_NONE;
  memcpy(folder, path, size);
  return CONTROL_RECORD;
}

static control_word take_line(char *text) {
  const char *why = NULL;
  if (strcmp(text, "go") == 0)
    atomic_store(&may_go, true);
  else if (strcmp(text, "stop") == 0)
    return CONTROL_STOP;
  else if (strncmp(text, "record ", 7) == 0)
    return take_folder(text + 7);
  else if (strcmp(text, "begin") == 0)
    atomic_store(&wish, WISH_BEGIN);
  else if (strcmp(text, "end") == 0)
    atomic_store(&wish, WISH_END);
  else if (!plan_line(text, &why))
    diagnose(SPOOL_WARNING, "plan", "from the socket: expected %s", why);
  return CONTROL_NONE;
}

static control_word take_bytes(const char *bytes, size_t size) {
  control_word word = CONTROL_NONE;
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != '\n') {
      line_too_long |= line_used + 1 >= sizeof line;
      if (!line_too_long) line[line_used++] = bytes[i];
      continue;
    }
    line[line_used] = 0;
    control_word said = line_too_long ? CONTROL_NONE : take_line(line);
    if (said != CONTROL_NONE) word = said;
    line_used = 0;
    line_too_long = false;
  }
  return word;
}

control_word control_poll(bool again) {
  char bytes[4096];
  control_word word = CONTROL_NONE;
  if (again) connect_again();
  while (connection >= 0) {
    ssize_t n = files_read(connection, bytes, sizeof bytes);
    if (n > 0) {
      control_word said = take_bytes(bytes, (size_t)n);
      if (said != CONTROL_NONE) word = said;
      continue;
    }
    if (n < 0 && errno == EAGAIN) break;
    control_close();
  }
  return word;
}

void control_forget(void) {
  connection = -1;
  atomic_store(&connected, false);
  socket_path[0] = 0;
  atomic_store(&wish, WISH_NONE);
}
