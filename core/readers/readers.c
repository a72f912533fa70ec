#include "llmprof/readers.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "nsys/nsys_reader.h"
#include "os/fs_open.h"
#include "spool/spool_reader.h"

/* By priority. */
static const llmprof_reader *const built_in[] = {
    &llmprof_nsys_reader,
    &llmprof_spool_reader,
};

enum {
  BUILT_IN = sizeof built_in / sizeof *built_in,
  FURTHER = 8
};

/* Filled in order, from any thread; nothing is ever taken out. */
static _Atomic(const llmprof_reader *) further[FURTHER];

const llmprof_reader *llmprof_reader_at(size_t number) {
  if (number < BUILT_IN) return built_in[number];
  return number < BUILT_IN + FURTHER ? further[number - BUILT_IN] : NULL;
}

bool llmprof_reader_add(const llmprof_reader *reader, llmprof_error *err) {
  for (size_t i = 0; i < FURTHER; i++) {
    const llmprof_reader *there = NULL;
    if (atomic_compare_exchange_strong(&further[i], &there, reader) ||
        there == reader)
      return true;
  }
  return llmprof_fail(err, LLMPROF_LIMIT, "%s: too many readers", reader->name);
}

/* ---- a file's first bytes ---- */

static bool read_head(int fd, llmprof_specimen *file, unsigned char *bytes,
                      llmprof_error *err) {
  ssize_t got = pread(fd, bytes, LLMPROF_PROBE_SIZE, 0);
  if (got < 0) return llmprof_fail_errno(err, errno, "%s", file->path);
  file->bytes = bytes;
  file->size = (size_t)got;
  return true;
}

static bool take_specimen(const char *path, llmprof_specimen *file,
                          unsigned char *bytes, llmprof_error *err) {
  file->path = path;
  int fd = llmprof_fs_open(path, NULL, err);
  if (fd < 0) return false;
  bool ok = read_head(fd, file, bytes, err);
  close(fd);
  return ok;
}

llmprof_claim llmprof_reader_probe(const llmprof_reader *reader,
                                   const char *path, llmprof_error *err) {
  unsigned char bytes[LLMPROF_PROBE_SIZE];
  llmprof_specimen file;
  if (!take_specimen(path, &file, bytes, err)) return LLMPROF_CLAIM_FAILED;
  return reader->probe(&file, err);
}

/* ---- opening ---- */

/* NULL: err says what the first reader had to say against the file. */
static const llmprof_reader *find_reader(const llmprof_specimen *file,
                                         llmprof_error *err) {
  llmprof_error unused;
  const llmprof_reader *reader;
  for (size_t i = 0; (reader = llmprof_reader_at(i)); i++) {
    switch (reader->probe(file, i ? &unused : err)) {
    case LLMPROF_CLAIM_YES:
      return reader;
    case LLMPROF_CLAIM_FAILED:
      if (i && err) *err = unused;
      return NULL;
    case LLMPROF_CLAIM_NO:
      break;
    }
  }
  return NULL;
}

llmprof_trace *llmprof_trace_open(const char *path, llmprof_error *err) {
  unsigned char bytes[LLMPROF_PROBE_SIZE];
  llmprof_specimen file;
  if (!take_specimen(path, &file, bytes, err)) return NULL;
  const llmprof_reader *reader = find_reader(&file, err);
  return reader ? llmprof_reader_open(reader, path, err) : NULL;
}
