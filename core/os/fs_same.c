#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "llmprof/alloc.h"
#include "os/fs.h"
#include "os/fs_open.h"

enum {
  PIECE = 256 * 1024
};

typedef struct side {
  const char *path;
  int fd;
  char *piece;
  size_t size; /* of the piece */
} side;

static bool open_side(side *s, const char *path, struct stat *info,
                      llmprof_error *err) {
  *s = (side){.path = path, .fd = llmprof_fs_open(path, info, err)};
  if (s->fd < 0) return false;
  s->piece = llmprof_alloc(PIECE, 1);
  return s->piece || llmprof_fail_nomem(err);
}

static void close_side(side *s) {
  if (s->fd >= 0) close(s->fd);
  llmprof_free(s->piece);
}

/* A whole piece, or what is left of the file. */
static bool read_piece(side *s, llmprof_error *err) {
  ssize_t got = 1;
  for (s->size = 0; s->size < PIECE && got > 0; s->size += (size_t)got) {
    do {
      got = read(s->fd, s->piece + s->size, PIECE - s->size);
    } while (got < 0 && errno == EINTR && !llmprof_interrupted());
    if (got < 0) return llmprof_fail_errno(err, errno, "%s", s->path);
  }
  return true;
}

static bool compare(side *a, side *b, bool *same, llmprof_error *err) {
  do {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    if (!read_piece(a, err) || !read_piece(b, err)) return false;
    *same = a->size == b->size && memcmp(a->piece, b->piece, a->size) == 0;
  } while (*same && a->size);
  return true;
}

bool llmprof_fs_same(const char *one, const char *other, bool *same,
                     llmprof_error *err) {
  side a = {.fd = -1}, b = {.fd = -1};
  struct stat first, second;
  bool ok =
      open_side(&a, one, &first, err) && open_side(&b, other, &second, err);
  if (ok) {
    *same = first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    if (!*same && first.st_size == second.st_size)
      ok = compare(&a, &b, same, err);
  }
  close_side(&a);
  close_side(&b);
  return ok;
}
