#include "os/source.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "base/interrupt.h"
#include "os/fs_open.h"
#include "os/packing.h"

enum {
  PIECE_SIZE = 128 * 1024,
  SMALL = 64 << 20, /* bytes that any file may give */
};

struct llmprof_source {
  char *name;
  int fd;                  /* -1: memory */
  unsigned char *room;     /* PIECE_SIZE bytes read from fd */
  const unsigned char *in; /* the piece of input at hand */
  size_t in_size;
  bool packed;
  bool in_member; /* packed: a gzip member has begun and not ended */
  bool unpacker_ready;
  z_stream unpacker;
  unsigned char *out;           /* packed: PIECE_SIZE unpacked bytes */
  uint64_t bytes_in, bytes_out; /* packed: so far */
  llmprof_watch watch;
};

/* ---- input ---- */

/* Fill the room from the file; in_size 0 at the end. */
static bool read_piece(llmprof_source *s, llmprof_error *err) {
  s->in = s->room;
  s->in_size = 0;
  while (s->in_size < PIECE_SIZE) {
    ssize_t got = read(s->fd, s->room + s->in_size, PIECE_SIZE - s->in_size);
    if (got < 0 && errno == EINTR && !llmprof_interrupted()) continue;
    if (got < 0) return llmprof_fail_errno(err, errno, "%s", s->name);
    if (!got) break;
    s->in_size += (size_t)got;
  }
  return true;
}

static bool next_input(llmprof_source *s, llmprof_error *err) {
  if (s->fd >= 0) return read_piece(s, err);
  s->in_size = 0;
  return true;
}

/* ---- unpacking ---- */

static bool fail_unpacking(const llmprof_source *s, const char *what,
                           llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_SYNTAX, "%s: byte %lu of the gzip file: %s",
                      s->name, s->unpacker.total_in, what);
}

/* Give the unpacker input. False with *end set where there is none left, which
 * is a failure inside a member. */
static bool feed(llmprof_source *s, bool *end, llmprof_error *err) {
  if (s->unpacker.avail_in) return true;
  if (!s->in_size && !next_input(s, err)) return false;
  *end = !s->in_size;
  if (*end)
    return !s->in_member ||
           fail_unpacking(s, "cut short: the end is missing", err);
  /* A piece of memory may be larger than zlib counts. */
  size_t take = s->in_size < PIECE_SIZE ? s->in_size : PIECE_SIZE;
  s->unpacker.next_in = (unsigned char *)s->in;
  s->unpacker.avail_in = (unsigned)take;
  s->in += take;
  s->in_size -= take;
  s->bytes_in += take;
  return true;
}

/* Behind the last member zeros may fill a block, as gzip itself allows. */
static void skip_padding(llmprof_source *s) {
  if (s->in_member || !s->unpacker.total_out) return;
  while (s->unpacker.avail_in && !*s->unpacker.next_in) {
    s->unpacker.next_in++;
    s->unpacker.avail_in--;
  }
}

static bool begin_member(llmprof_source *s) {
  if (s->in_member) return true;
  unsigned long total = s->unpacker.total_in;
  s->in_member = inflateReset(&s->unpacker) == Z_OK;
  s->unpacker.total_in = total;
  return s->in_member;
}

static bool unpack(llmprof_source *s, llmprof_error *err) {
  int got = begin_member(s) ? inflate(&s->unpacker, Z_NO_FLUSH) : Z_MEM_ERROR;
  if (got == Z_STREAM_END) s->in_member = false;
  if (got == Z_OK || got == Z_STREAM_END || got == Z_BUF_ERROR) return true;
  if (got == Z_MEM_ERROR) return llmprof_fail_nomem(err);
  const char *what = s->unpacker.msg;
  return fail_unpacking(s, what ? what : "damaged", err);
}

/* Does far more come out than a trace can give? A small file may. */
static bool swells(const llmprof_source *s) {
  uint64_t most = llmprof_bound_get(LLMPROF_BOUND_RATIO);
  return most && s->bytes_out > SMALL && s->bytes_out / most > s->bytes_in;
}

static bool next_unpacked(llmprof_source *s, const char **bytes, size_t *size,
                          llmprof_error *err) {
  s->unpacker.next_out = s->out;
  s->unpacker.avail_out = PIECE_SIZE;
  bool end = false;
  while (s->unpacker.avail_out == PIECE_SIZE) {
    if (!feed(s, &end, err)) return false;
    if (end) break;
    skip_padding(s);
    if (!s->unpacker.avail_in) continue;
    if (!unpack(s, err)) return false;
  }
  *bytes = (const char *)s->out;
  *size = PIECE_SIZE - s->unpacker.avail_out;
  s->bytes_out += *size;
  return !swells(s) || llmprof_fail_bound(err, s->name, LLMPROF_BOUND_RATIO);
}

bool llmprof_source_next(llmprof_source *s, const char **bytes, size_t *size,
                         llmprof_error *err) {
  if (!llmprof_watch_look(&s->watch, s->name, err)) return false;
  if (s->packed) return next_unpacked(s, bytes, size, err);
  if (!s->in_size && !next_input(s, err)) return false;
  *bytes = (const char *)s->in;
  *size = s->in_size;
  s->in_size = 0;
  return true;
}

/* ---- opening ---- */

static bool prepare_unpacking(llmprof_source *s) {
  s->packed = s->in_size >= 2 && s->in[0] == 0x1F && s->in[1] == 0x8B;
  if (!s->packed) return true;
  s->out = llmprof_alloc(PIECE_SIZE, 1);
  llmprof_packing_hooks(&s->unpacker);
  s->unpacker_ready =
      s->out && inflateInit2(&s->unpacker, LLMPROF_GZIP_WINDOW) == Z_OK;
  return s->unpacker_ready;
}

static llmprof_source *source_new(const char *name) {
  llmprof_source *s = llmprof_zalloc(1, sizeof *s);
  if (!s) return NULL;
  s->fd = -1;
  s->name = llmprof_strdup(name);
  if (s->name) return s;
  llmprof_free(s);
  return NULL;
}

static bool open_file(llmprof_source *s, llmprof_error *err) {
  s->room = llmprof_alloc(PIECE_SIZE, 1);
  if (!s->room) return llmprof_fail_nomem(err);
  s->fd = llmprof_fs_open(s->name, NULL, err);
  return s->fd >= 0 && read_piece(s, err) &&
         (prepare_unpacking(s) || llmprof_fail_nomem(err));
}

llmprof_source *llmprof_source_open(const char *path, llmprof_error *err) {
  llmprof_source *s = source_new(path);
  if (!s) return llmprof_fail_nomem(err), NULL;
  if (open_file(s, err)) return s;
  llmprof_source_close(s);
  return NULL;
}

llmprof_source *llmprof_source_bytes(const char *name, const void *bytes,
                                     size_t size, llmprof_error *err) {
  llmprof_source *s = source_new(name);
  if (s) {
    s->in = bytes;
    s->in_size = size;
    if (prepare_unpacking(s)) return s;
  }
  llmprof_source_close(s);
  return llmprof_fail_nomem(err), NULL;
}

void llmprof_source_close(llmprof_source *s) {
  if (!s) return;
  if (s->fd >= 0) close(s->fd);
  if (s->unpacker_ready) inflateEnd(&s->unpacker);
  llmprof_free(s->room);
  llmprof_free(s->out);
  llmprof_free(s->name);
  llmprof_free(s);
}
