#include "collector/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/diagnose.h"
#include "collector/plan.h"
#include "collector/wake.h"

static atomic_int connection = -1;
static atomic_bool may_go;
static atomic_int wish;
static char line[16384];
static size_t line_used;
static bool line_too_long;

bool control_open(const char *path) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof to.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(to.sun_path, path, strlen(path) + 1);
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) return false;
  if (connect(s, (struct sockaddr *)&to, sizeof to) != 0) {
    int error = errno;
    close(s);
    errno = error;
    return false;
  }
  atomic_store(&connection, s);
  return true;
}

void control_close(void) {
  int s = atomic_exchange(&connection, -1);
  if (s >= 0) close(s);
}

bool control_connected(void) {
  return atomic_load(&connection) >= 0;
}

control_wish control_wished(void) {
  return (control_wish)atomic_exchange(&wish, WISH_NONE);
}

void control_say(const char *format, ...) {
  char text[1024];
  int s = atomic_load(&connection);
  if (s < 0) return;
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text, sizeof text - 1, format, arguments);
  va_end(arguments);
  if (n < 0) return;
  size_t size = (size_t)n < sizeof text - 1 ? (size_t)n : sizeof text - 2;
  text[size++] = '\n';
  /* One that does not listen is not waited for. */
  if (send(s, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
    control_close();
}

static bool go_or_gone(void) {
  return atomic_load(&may_go) || atomic_load(&connection) < 0;
}

void control_pause(void) {
  if (atomic_load(&connection) < 0) return;
  atomic_store(&may_go, false);
  control_say("pause");
  if (!wake_pause(the_plan.pause_s, go_or_gone))
    diagnose(SPOOL_WARNING, "pause", "went on without an answer");
}

/* ---- for the writer ---- */

static control_word take_line(char *text) {
  const char *why = NULL;
  if (strcmp(text, "go") == 0)
    atomic_store(&may_go, true);
  else if (strcmp(text, "stop") == 0)
    return CONTROL_STOP;
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
    if (!line_too_long && take_line(line) == CONTROL_STOP) word = CONTROL_STOP;
    line_used = 0;
    line_too_long = false;
  }
  return word;
}

control_word control_poll(void) {
  char bytes[4096];
  control_word word = CONTROL_NONE;
  int s = atomic_load(&connection);
  while (s >= 0) {
    ssize_t n = recv(s, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      if (take_bytes(bytes, (size_t)n) == CONTROL_STOP) word = CONTROL_STOP;
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    control_close();
    break;
  }
  return word;
}

void control_forget(void) {
  control_close();
  atomic_store(&wish, WISH_NONE);
  line_used = 0;
}
