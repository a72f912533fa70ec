#include "cache/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "llmprof/version.h"
#include "os/fs.h"

#define MAGIC "llmprof\n"

enum {
  FORMAT = 5,
  ALIGN = 64,
  BUILD_SIZE = 80,
};

/* The sum is of the header with a sum of 0, and of the directory. */
typedef struct header {
  char magic[8];
  uint32_t format, entries;
  uint64_t size, directory;
  llmprof_cache_key key;
  char build[BUILD_SIZE];
  uint64_t sum;
} header;

/* ---- this build ---- */

/* By its version, and by size and time of the program. */
static void put_build(char build[BUILD_SIZE]) {
  struct stat program = {0};
  (void)stat("/proc/self/exe", &program);
  memset(build, 0, BUILD_SIZE);
  snprintf(build, BUILD_SIZE, "%s %lld %lld.%09ld", LLMPROF_VERSION,
           (long long)program.st_size, (long long)program.st_mtim.tv_sec,
           program.st_mtim.tv_nsec);
}

/* ---- checksums ---- */

/* As fast as memory: they find damage, they keep nobody out. */
#define PRIME_1 0x9e3779b185ebca87u
#define PRIME_2 0xc2b2ae3d27d4eb4fu

enum {
  LANES = 4 /* multiplications under way at once */
};

static inline uint64_t turn(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

/* Each step can be undone, so that no change of one word is ever lost. */
static inline uint64_t mix(uint64_t lane, uint64_t word) {
  return turn((lane ^ word) * PRIME_1, 29);
}

static uint64_t checksum(const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  uint64_t lanes[LANES] = {PRIME_1, PRIME_2, ~PRIME_1, ~PRIME_2};
  uint64_t words[LANES], sum = size;
  for (; size >= sizeof words; at += sizeof words, size -= sizeof words) {
    memcpy(words, at, sizeof words);
    for (int i = 0; i < LANES; i++) lanes[i] = mix(lanes[i], words[i]);
  }
  memset(words, 0, sizeof words);
  if (size) memcpy(words, at, size);
  for (int i = 0; i < LANES; i++) sum = mix(sum, mix(lanes[i], words[i]));
  sum = (sum ^ sum >> 32) * PRIME_2;
  return sum ^ sum >> 29;
}

/* ---- reading ---- */

static uint64_t sum_of(const header *head, const void *entries) {
  header bare = *head;
  bare.sum = 0;
  uint64_t sums[2] = {
      checksum(&bare, sizeof bare),
      checksum(entries, head->entries * sizeof(llmprof_cache_entry)),
  };
  return checksum(sums, sizeof sums);
}

static bool is_own(const struct stat *info) {
  return S_ISREG(info->st_mode) && info->st_uid == geteuid() &&
         (info->st_mode & 077) == 0 && info->st_nlink == 1;
}

static bool map(llmprof_cache_file *file, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !is_own(&info) ||
      info.st_size < (off_t)sizeof(header) || (uint64_t)info.st_size > SIZE_MAX)
    return false;
  void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) return false;
  file->bytes = bytes;
  file->size = (size_t)info.st_size;
  return true;
}

static bool is_of(const header *head, const llmprof_cache_file *file,
                  const llmprof_cache_key *key) {
  char build[BUILD_SIZE];
  put_build(build);
  return memcmp(head->magic, MAGIC, sizeof head->magic) == 0 &&
         head->format == FORMAT && head->size == file->size &&
         memcmp(head->build, build, sizeof build) == 0 &&
         memcmp(&head->key, key, sizeof *key) == 0;
}

static bool lies_within(const llmprof_cache_entry *entry, uint64_t end) {
  return entry->offset % ALIGN == 0 && entry->offset >= sizeof(header) &&
         entry->offset <= end && entry->size <= end - entry->offset &&
         memchr(entry->name, '\0', sizeof entry->name);
}

/* The directory is the last thing in the file. */
static bool take_directory(llmprof_cache_file *file, const header *head) {
  uint64_t size = head->entries * sizeof(llmprof_cache_entry);
  if (head->entries > LLMPROF_CACHE_ENTRIES || head->directory % ALIGN ||
      head->directory > file->size || file->size - head->directory != size)
    return false;
  file->entries = (const void *)(file->bytes + head->directory);
  file->count = head->entries;
  if (sum_of(head, file->entries) != head->sum) return false;
  bool ok = true;
  for (size_t i = 0; i < file->count; i++)
    ok &= lies_within(&file->entries[i], head->directory);
  return ok;
}

static bool take(llmprof_cache_file *file, int fd,
                 const llmprof_cache_key *key) {
  if (!map(file, fd)) return false;
  header head;
  memcpy(&head, file->bytes, sizeof head);
  return is_of(&head, file, key) && take_directory(file, &head);
}

bool llmprof_cache_file_open(llmprof_cache_file *file, const char *path,
                             const llmprof_cache_key *key) {
  *file = (llmprof_cache_file){0};
  int fd =
      open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return false;
  bool ok = take(file, fd, key);
  if (ok)
    futimens(fd, NULL); /* the least used go first; no harm if it fails */
  else
    llmprof_cache_file_close(file);
  close(fd);
  return ok;
}

void llmprof_cache_file_close(llmprof_cache_file *file) {
  if (file->bytes) munmap((void *)(uintptr_t)file->bytes, file->size);
  *file = (llmprof_cache_file){0};
}

static const llmprof_cache_entry *find(const llmprof_cache_file *file,
                                       const char *name) {
  for (size_t i = 0; i < file->count; i++)
    if (strcmp(file->entries[i].name, name) == 0) return &file->entries[i];
  return NULL;
}

const void *llmprof_cache_file_find(const llmprof_cache_file *file,
                                    const char *name, size_t *size) {
  const llmprof_cache_entry *entry = find(file, name);
  if (!entry) return NULL;
  *size = (size_t)entry->size;
  return file->bytes + entry->offset;
}

bool llmprof_cache_file_is_sound(const llmprof_cache_file *file,
                                 const char *name) {
  const llmprof_cache_entry *entry = find(file, name);
  return entry && checksum(file->bytes + entry->offset, (size_t)entry->size) ==
                      entry->sum;
}

/* ---- writing ---- */

static bool write_aligned(llmprof_cache_writer *w, const void *data,
                          size_t size) {
  static const unsigned char zeros[ALIGN];
  size_t gap = (ALIGN - w->at % ALIGN) % ALIGN;
  const char *path = w->temp_file.path;
  if (w->at + gap + size > w->most)
    return llmprof_fail(w->err, LLMPROF_LIMIT, "%s: larger than a cache may be",
                        path);
  if (!llmprof_fs_write_fd(w->temp_file.fd, path, zeros, gap, w->err) ||
      !llmprof_fs_write_fd(w->temp_file.fd, path, data, size, w->err))
    return false;
  w->at += gap + size;
  return true;
}

bool llmprof_cache_writer_open(llmprof_cache_writer *w, const char *path,
                               uint64_t most, llmprof_error *err) {
  static const header none;
  const mode_t mode = 0600;
  *w = (llmprof_cache_writer){.most = most, .err = err};
  if (!llmprof_fs_temp_file_open(&w->temp_file, path, &mode, err)) return false;
  w->temp_file.soon = true; /* after a crash it is seen to be damaged */
  if (write_aligned(w, &none, sizeof none)) return true;
  llmprof_cache_writer_discard(w);
  return false;
}

bool llmprof_cache_writer_put(llmprof_cache_writer *w, const char *name,
                              const void *data, size_t size) {
  llmprof_cache_entry entry = {.size = size};
  if (llmprof_interrupted()) return llmprof_fail_interrupted(w->err);
  if (w->count == LLMPROF_CACHE_ENTRIES || strlen(name) >= sizeof entry.name)
    return llmprof_fail(w->err, LLMPROF_LIMIT, "%s: '%s' has no room in it",
                        w->temp_file.path, name);
  if (!llmprof_grow(&w->entries, &w->cap, w->count + 1, sizeof *w->entries))
    return llmprof_fail_nomem(w->err);
  strcpy(entry.name, name);
  if (!write_aligned(w, data, size)) return false;
  entry.offset = w->at - size;
  entry.sum = checksum(data, size);
  w->entries[w->count++] = entry;
  return true;
}

static bool write_header(const llmprof_cache_writer *w,
                         const llmprof_cache_key *key) {
  header head = {
      .magic = MAGIC,
      .format = FORMAT,
      .entries = (uint32_t)w->count,
      .size = w->at,
      .directory = w->at - w->count * sizeof *w->entries,
      .key = *key,
  };
  put_build(head.build);
  head.sum = sum_of(&head, w->entries);
  ssize_t wrote = pwrite(w->temp_file.fd, &head, sizeof head, 0);
  return wrote == (ssize_t)sizeof head ||
         llmprof_fail_errno(w->err, wrote < 0 ? errno : ENOSPC, "%s",
                            w->temp_file.path);
}

static void free_entries(llmprof_cache_writer *w) {
  llmprof_free(w->entries);
  w->entries = NULL;
}

bool llmprof_cache_writer_finish(llmprof_cache_writer *w,
                                 const llmprof_cache_key *key) {
  if (!write_aligned(w, w->entries, w->count * sizeof *w->entries) ||
      !write_header(w, key)) {
    llmprof_cache_writer_discard(w);
    return false;
  }
  free_entries(w);
  return llmprof_fs_temp_file_commit(&w->temp_file, w->err);
}

void llmprof_cache_writer_discard(llmprof_cache_writer *w) {
  free_entries(w);
  llmprof_fs_temp_file_discard(&w->temp_file);
}
