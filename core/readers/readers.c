#include "llmprof/readers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "os/fs_open.h"
#include "os/source.h"
#include "readers/readers.h"
#include "trace/built_in_readers.h"

/* In the order in which they are asked: by a magic number first. */
static const llmprof_reader *const built_in[] = {
    &llmprof_nsys_reader,   &llmprof_spool_reader, &llmprof_torch_reader,
    &llmprof_xplane_reader, &llmprof_ncu_reader,   &llmprof_folded_reader,
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

/* A file that is looked at. */
typedef struct looked_at {
  llmprof_specimen file;
  unsigned char bytes[LLMPROF_PROBE_SIZE];
  llmprof_source *unpacked; /* NULL: they are as they lie */
} looked_at;

static bool read_head(int fd, looked_at *at, llmprof_error *err) {
  ssize_t got = pread(fd, at->bytes, sizeof at->bytes, 0);
  if (got < 0) return llmprof_fail_errno(err, errno, "%s", at->file.path);
  at->file.bytes = at->bytes;
  at->file.size = (size_t)got;
  return true;
}

/* What is damaged stays packed, and is nobody's. */
static void unpack_head(looked_at *at) {
  llmprof_specimen *file = &at->file;
  const char *bytes;
  size_t size;
  if (file->size < 2 || memcmp(file->bytes, "\x1F\x8B", 2) != 0) return;
  at->unpacked =
      llmprof_source_bytes(file->path, file->bytes, file->size, NULL);
  if (!at->unpacked || !llmprof_source_next(at->unpacked, &bytes, &size, NULL))
    return;
  file->bytes = (const unsigned char *)bytes;
  file->size = size < LLMPROF_PROBE_SIZE ? size : LLMPROF_PROBE_SIZE;
  file->packed = true;
}

static bool look_at(const char *path, looked_at *at, llmprof_error *err) {
  at->file = (llmprof_specimen){.path = path};
  at->unpacked = NULL;
  int fd = llmprof_fs_open(path, NULL, err);
  if (fd < 0) return false;
  bool ok = read_head(fd, at, err);
  close(fd);
  if (ok) unpack_head(at);
  return ok;
}

llmprof_claim llmprof_reader_probe(const llmprof_reader *reader,
                                   const char *path, llmprof_error *err) {
  looked_at at;
  if (!look_at(path, &at, err)) return LLMPROF_CLAIM_FAILED;
  llmprof_claim claim = reader->probe(&at.file, err);
  llmprof_source_close(at.unpacked);
  return claim;
}

/* ---- opening ---- */

static bool is_text(const llmprof_specimen *file) {
  for (size_t i = 0; i < file->size; i++) {
    unsigned char c = file->bytes[i];
    if (c == 0x7F || (c < ' ' && !memchr("\t\r\n\f\033", c, 5))) return false;
  }
  return true;
}

/* What a file that no reader claims looks like. */
static const char *file_type(const llmprof_specimen *file) {
  static const struct {
    const char *magic, *what;
  } known[] = {
      {"\x7F"
       "ELF",
       "an ELF program or library"},
      {"PK\x03\x04", "a zip archive"},
      {"\xFD"
       "7zXZ",
       "an xz archive: unpack it first"},
      {"\x28\xB5\x2F\xFD", "a zstd archive: unpack it first"},
      {"BZh", "a bzip2 archive: unpack it first"},
      {"\x1F\x8B", "gzip that is damaged"},
      {"SQLite format 3", "a cut SQLite database"},
      {"\x89PNG", "a picture"},
      {"%PDF", "a PDF document"},
      {"{", "JSON"},
      {"[", "JSON"},
      {"<", "HTML or XML"},
  };
  if (!file->size) return "an empty file";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t size = strlen(known[i].magic);
    if (file->size >= size && memcmp(file->bytes, known[i].magic, size) == 0)
      return known[i].what;
  }
  return is_text(file) ? "text" : "data of no known format";
}

static const llmprof_reader *find_reader(const llmprof_specimen *file,
                                         llmprof_error *err) {
  const llmprof_reader *reader;
  for (size_t i = 0; (reader = llmprof_reader_at(i)); i++) {
    switch (reader->probe(file, err)) {
    case LLMPROF_CLAIM_YES:
      return reader;
    case LLMPROF_CLAIM_FAILED:
      return NULL;
    case LLMPROF_CLAIM_NO:
      break;
    }
  }
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: no trace: %s%s", file->path,
               file->packed ? "within gzip: " : "", file_type(file));
  return NULL;
}

const llmprof_reader *llmprof_reader_of(const char *path, llmprof_error *err) {
  looked_at at;
  if (!look_at(path, &at, err)) return NULL;
  const llmprof_reader *reader = find_reader(&at.file, err);
  llmprof_source_close(at.unpacked);
  return reader;
}

llmprof_trace *llmprof_trace_open(const char *path, llmprof_error *err) {
  const llmprof_reader *reader = llmprof_reader_of(path, err);
  if (!reader) return NULL;
  if (reader->open) return llmprof_reader_open(reader, path, err);
  llmprof_fail(err, LLMPROF_UNSUPPORTED, "%s: no timeline but a %s", path,
               reader->what);
  return NULL;
}

/* ---- what to do instead ---- */

static void put(llmprof_buffer *hint, const char *text, const char *path) {
  const char *at = strstr(text, "%s");
  if (!at) {
    llmprof_buffer_puts(hint, text);
    return;
  }
  llmprof_buffer_add(hint, text, (size_t)(at - text));
  llmprof_buffer_puts(hint, path);
  llmprof_buffer_puts(hint, at + 2);
}

/* NULL: no reader knows the name. */
static const char *hint_by_name(const char *path) {
  const llmprof_reader *reader;
  size_t size = strlen(path);
  for (size_t i = 0; (reader = llmprof_reader_at(i)); i++) {
    const llmprof_reader_hint *hint = reader->hints;
    for (; hint && hint->suffix; hint++) {
      size_t suffix = strlen(hint->suffix);
      if (size > suffix && strcmp(path + size - suffix, hint->suffix) == 0)
        return hint->text;
    }
  }
  return NULL;
}

static void list_readers(llmprof_buffer *hint) {
  const llmprof_reader *reader;
  llmprof_buffer_puts(hint, "llmprof reads: ");
  for (size_t i = 0; (reader = llmprof_reader_at(i)); i++) {
    if (i) llmprof_buffer_puts(hint, "; ");
    llmprof_buffer_puts(hint, reader->what);
  }
}

void llmprof_reader_hint_for(const char *path, llmprof_buffer *hint) {
  const llmprof_reader *reader = llmprof_reader_of(path, NULL);
  const char *text = reader ? reader->instead : hint_by_name(path);
  if (text)
    put(hint, text, path);
  else if (!reader)
    list_readers(hint);
}
