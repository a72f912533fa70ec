/* Lines through a Unix socket: whole ones, parts of one, peers that go, paths
 * that cannot be. */
#include "os/listen.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"

static int connect_to(const char *to) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", to);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void say(int fd, const char *text) {
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* "1:line 2:other 1! ": what was heard of whom, and who is gone. */
typedef struct heard {
  char text[512];
  int most; /* stop after so many; 0: never */
} heard;

static bool hear(void *user, uint32_t peer, const char *bytes, size_t size) {
  heard *h = user;
  size_t at = strlen(h->text);
  if (bytes)
    snprintf(h->text + at, sizeof h->text - at, "%u:%.*s ", peer, (int)size,
             bytes);
  else
    snprintf(h->text + at, sizeof h->text - at, "%u! ", peer);
  return --h->most != 0;
}

static void assert_heard(llmprof_listener *l, int most, const char *wanted) {
  heard h = {.most = most};
  llmprof_error err = {0};
  if (!llmprof_listener_poll(l, hear, &h, &err)) fail_msg("%s", err.message);
  assert_string_equal(h.text, wanted);
}

TEST(lines) {
  llmprof_error err = {0};
  struct stat info;
  llmprof_listener *l = llmprof_listener_open(test_in_folder("socket"), &err);
  assert_non_null(l);
  assert_int_equal(stat(test_in_folder("socket"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700 & info.st_mode);
  assert_heard(l, 0, "");
  int one = connect_to(test_in_folder("socket")),
      two = connect_to(test_in_folder("socket"));
  say(one, "hello\nhal");
  say(two, "\n\n");
  assert_heard(l, 0, "1:hello 2: 2: ");
  say(one, "f\nthree\n");
  assert_heard(l, 1, "1:half ");
  assert_heard(l, 0, "1:three ");
  assert_true(llmprof_listener_send(l, 2, "go\n", 3, &err));
  char answer[8];
  assert_int_equal(read(two, answer, sizeof answer), 3);
  say(one, "last\nnot whole");
  close(one);
  assert_heard(l, 0, "1:last 1! ");
  assert_false(llmprof_listener_send(l, 1, "go\n", 3, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  close(two);
  llmprof_listener_close(l);
  assert_int_equal(access(test_in_folder("socket"), F_OK), -1);
}

/* Of no folder, by its very name, and gone with its owner. */
TEST(abstract) {
  llmprof_error err = {0};
  char name[64];
  snprintf(name, sizeof name, "@llmprof-test-%d", (int)getpid());
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t size =
      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
  memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
  llmprof_listener *l = llmprof_listener_open(name, &err);
  assert_non_null(l);
  assert_null(llmprof_listener_open(name, &err));
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
  say(fd, "a line\n");
  close(fd);
  assert_heard(l, 0, "1:a line 1! ");
  llmprof_listener_close(l);
  fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, size), -1);
  close(fd);
}

TEST(a_flood) {
  llmprof_error err = {0};
  llmprof_listener *l = llmprof_listener_open(test_in_folder("socket"), &err);
  int fd = connect_to(test_in_folder("socket"));
  static char bytes[64 * 1024];
  memset(bytes, 'x', sizeof bytes);
  heard h = {.most = 0};
  for (int i = 0; i < 64 && !strchr(h.text, '!'); i++) {
    (void)!send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_true(llmprof_listener_poll(l, hear, &h, &err));
  }
  assert_string_equal(h.text, "1! ");
  close(fd);
  llmprof_listener_close(l);
}

TEST(refusals) {
  llmprof_error err = {0};
  char text[400];
  snprintf(text, sizeof text, "%s/%0200d", test_folder(), 0);
  assert_null(llmprof_listener_open(text, &err));
  test_error_of(&err, LLMPROF_RANGE, text, ": too long for a socket");
  assert_null(llmprof_listener_open("/proc/none/socket", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  const char *there = test_file("there", "x", 1);
  assert_null(llmprof_listener_open(there, &err));
  assert_int_equal(access(there, F_OK), 0);
}

static bool listen_once(void *arg, llmprof_error *err) {
  heard h = {.most = 0};
  llmprof_listener *l = llmprof_listener_open(test_in_folder("socket"), err);
  if (!l) return false;
  int fd = connect_to(test_in_folder("socket"));
  say(fd, "a line\n");
  bool ok = llmprof_listener_poll(l, hear, &h, err);
  if (ok && strcmp(h.text, "1:a line ") != 0) { /* the buffer had no memory */
    assert_string_equal(h.text, "1! ");
    ok = llmprof_fail_nomem(err);
  }
  close(fd);
  llmprof_listener_close(l);
  return ok;
}

TEST(allocations) {
  test_every_allocation(listen_once, NULL);
}
