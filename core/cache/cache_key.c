#include "cache/cache_key.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/checksum.h"
#include "llmprof/buffer.h"
#include "llmprof/digest.h"
#include "llmprof/fs.h"
#include "os/fs_open.h"

enum {
  PAGE = 4096,
  SAMPLES = 64, /* pages */
};

#define SECOND 1000000000LL

static int64_t ns_of(const struct timespec *time) {
  return time->tv_sec * SECOND + time->tv_nsec;
}

static void put_status(llmprof_cache_key *key, const struct stat *info) {
  *key = (llmprof_cache_key){
      .device = info->st_dev,
      .inode = info->st_ino,
      .size = (uint64_t)info->st_size,
      .changed = ns_of(&info->st_mtim),
      .status_changed = ns_of(&info->st_ctim),
  };
}

/* Whoever writes within one tick of the clock that files get their times from
 * leaves the times as they were. File systems that count seconds tick by two.
 */
static bool has_settled(const struct stat *info) {
  struct timespec now;
  bool coarse = info->st_ctim.tv_nsec == 0 || info->st_mtim.tv_nsec == 0;
  int64_t tick = coarse ? 2 * SECOND : SECOND / 20;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  return ns_of(&now) - ns_of(&info->st_ctim) > tick &&
         ns_of(&now) - ns_of(&info->st_mtim) > tick;
}

static bool sum_page(int fd, uint64_t at, uint64_t *sum) {
  unsigned char page[PAGE];
  ssize_t got = pread(fd, page, sizeof page, (off_t)at);
  if (got < 0) return false;
  *sum = (*sum ^ llmprof_checksum(page, (size_t)got)) * 0x9e3779b185ebca87u;
  return true;
}

static bool sum_pages(int fd, llmprof_cache_key *key) {
  uint64_t pages = (key->size + PAGE - 1) / PAGE;
  bool ok = sum_page(fd, 0, &key->head);
  for (uint64_t i = 1; ok && i <= SAMPLES && i < pages; i++) {
    uint64_t page = pages > SAMPLES ? i * (pages - 1) / SAMPLES : i;
    ok = sum_page(fd, page * PAGE, &key->sample);
  }
  return ok;
}

static bool read_key(int fd, llmprof_cache_key *key) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !has_settled(&info))
    return false;
  put_status(key, &info);
  return sum_pages(fd, key);
}

bool llmprof_cache_key_of(const char *path, llmprof_cache_key *key) {
  int fd = llmprof_fs_open(path, NULL, NULL);
  if (fd < 0) return false;
  bool ok = read_key(fd, key);
  close(fd);
  return ok;
}

bool llmprof_cache_key_holds(const char *path, const llmprof_cache_key *key) {
  struct stat info;
  llmprof_cache_key now;
  if (stat(path, &info) != 0) return false;
  put_status(&now, &info);
  now.head = key->head;
  now.sample = key->sample;
  return memcmp(&now, key, sizeof now) == 0;
}

bool llmprof_cache_name(const char *path, char name[LLMPROF_CACHE_NAME + 1]) {
  llmprof_buffer real = {0};
  unsigned char digest[LLMPROF_SHA256_SIZE];
  bool ok = llmprof_fs_realpath(path, &real, NULL);
  if (ok) llmprof_sha256(real.bytes, real.size, digest);
  for (int i = 0; ok && i < LLMPROF_CACHE_NAME / 2; i++)
    snprintf(name + 2 * i, 3, "%02x", digest[i]);
  llmprof_buffer_free(&real);
  return ok;
}
