#include "os/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"

typedef struct peer {
  int fd;
  uint32_t number;
  llmprof_buffer in; /* a line that has no end yet */
} peer;

struct llmprof_listener {
  int fd;
  char *path;
  peer *peers;
  size_t count, cap;
  uint32_t last; /* number that was given */
};

/* ---- the socket ---- */

/* An abstract socket lies in no folder. */
static bool is_abstract(const char *path) {
  return path[0] == '@';
}

static void remove_socket(const char *path) {
  if (!is_abstract(path)) unlink(path);
}

static bool bind_to(llmprof_listener *l, const char *path, llmprof_error *err) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t size = strlen(path);
  if (size >= sizeof address.sun_path)
    return llmprof_fail(err, LLMPROF_RANGE, "%s: too long for a socket", path);
  memcpy(address.sun_path, path, size);
  socklen_t length = sizeof address;
  if (is_abstract(path)) { /* every byte of the name counts */
    address.sun_path[0] = '\0';
    length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
  }
  l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (l->fd < 0 || fchmod(l->fd, 0600) != 0 ||
      bind(l->fd, (struct sockaddr *)&address, length) != 0)
    return llmprof_fail_errno(err, errno, "%s", path);
  l->path = llmprof_strdup(path);
  if (!l->path) {
    remove_socket(path);
    return llmprof_fail_nomem(err);
  }
  return listen(l->fd, LLMPROF_LISTEN_PEERS) == 0 ||
         llmprof_fail_errno(err, errno, "%s", path);
}

llmprof_listener *llmprof_listener_open(const char *path, llmprof_error *err) {
  llmprof_listener *l = llmprof_zalloc(1, sizeof *l);
  if (!l) {
    llmprof_fail_nomem(err);
    return NULL;
  }
  l->fd = -1;
  if (bind_to(l, path, err)) return l;
  llmprof_listener_close(l);
  return NULL;
}

static void free_peer(peer *p) {
  close(p->fd);
  llmprof_buffer_free(&p->in);
}

void llmprof_listener_close(llmprof_listener *l) {
  if (!l) return;
  for (size_t i = 0; i < l->count; i++) free_peer(&l->peers[i]);
  if (l->fd >= 0) close(l->fd);
  if (l->path) remove_socket(l->path);
  llmprof_free(l->path);
  llmprof_free(l->peers);
  llmprof_free(l);
}

/* ---- peers ---- */

static bool accept_peers(llmprof_listener *l, llmprof_error *err) {
  while (l->count < LLMPROF_LISTEN_PEERS) {
    if (!llmprof_grow(&l->peers, &l->cap, l->count + 1, sizeof *l->peers))
      return llmprof_fail_nomem(err);
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && (errno == EAGAIN || errno == EMFILE)) return true;
    if (fd < 0) return llmprof_fail_errno(err, errno, "%s", l->path);
    l->peers[l->count++] = (peer){.fd = fd, .number = ++l->last};
  }
  return true;
}

/* What has come from a peer is in its buffer; false: it is gone. */
static bool receive(peer *p) {
  char bytes[16 * 1024];
  for (;;) {
    ssize_t got = recv(p->fd, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    llmprof_buffer_add(&p->in, bytes, (size_t)got);
    if (p->in.failed || p->in.size > LLMPROF_LISTEN_LINE) return false;
  }
}

/* Hand over whole lines; what is left begins the next one. */
static bool hand_over(peer *p, llmprof_heard heard, void *user) {
  size_t done = 0;
  bool go_on = true;
  const char *end;
  while (go_on && p->in.size &&
         (end = memchr(p->in.bytes + done, '\n', p->in.size - done))) {
    size_t size = (size_t)(end - p->in.bytes) - done;
    go_on = heard(user, p->number, p->in.bytes + done, size);
    done += size + 1;
  }
  if (done) {
    memmove(p->in.bytes, p->in.bytes + done, p->in.size - done);
    p->in.size -= done;
  }
  return go_on;
}

bool llmprof_listener_poll(llmprof_listener *l, llmprof_heard heard, void *user,
                           llmprof_error *err) {
  bool go_on = true;
  if (!accept_peers(l, err)) return false;
  for (size_t i = 0; go_on && i < l->count;) {
    bool there = receive(&l->peers[i]);
    go_on = hand_over(&l->peers[i], heard, user);
    if (there || !go_on) {
      i++;
      continue;
    }
    go_on = heard(user, l->peers[i].number, NULL, 0);
    free_peer(&l->peers[i]);
    l->peers[i] = l->peers[--l->count];
  }
  return true;
}

/* ---- sending ---- */

static const peer *find_peer(const llmprof_listener *l, uint32_t number) {
  for (size_t i = 0; i < l->count; i++) {
    if (l->peers[i].number == number) return &l->peers[i];
  }
  return NULL;
}

bool llmprof_listener_peer(const llmprof_listener *l, uint32_t number,
                           uint32_t *pid, uint32_t *uid) {
  struct ucred is;
  socklen_t size = sizeof is;
  const peer *p = find_peer(l, number);
  if (!p || getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &is, &size) != 0)
    return false;
  *pid = (uint32_t)is.pid;
  *uid = (uint32_t)is.uid;
  return true;
}

bool llmprof_listener_send(llmprof_listener *l, uint32_t number,
                           const char *bytes, size_t size, llmprof_error *err) {
  enum {
    PATIENCE_MS = 1000
  };
  const peer *p = find_peer(l, number);
  if (!p)
    return llmprof_fail(err, LLMPROF_NOTFOUND, "%s: the other side is gone",
                        l->path);
  while (size) {
    ssize_t sent = send(p->fd, bytes, size, MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes += sent;
      size -= (size_t)sent;
    } else if (errno == EAGAIN) {
      struct pollfd wait = {.fd = p->fd, .events = POLLOUT};
      if (poll(&wait, 1, PATIENCE_MS) == 0)
        return llmprof_fail(err, LLMPROF_LIMIT,
                            "%s: the other side does not read", l->path);
    } else if (errno != EINTR) {
      return llmprof_fail_errno(err, errno, "%s", l->path);
    }
  }
  return true;
}
