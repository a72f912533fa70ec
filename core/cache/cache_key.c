#include "cache/cache_key.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "os/fs.h"
#include "os/fs_open.h"
#include "text/digest.h"

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

/* A program that writes within one tick of the clock that files get their times
 * from leaves the times as they were. File systems that count seconds tick by
 * two.
 */
static bool has_settled(const struct stat *info) {
  struct timespec now;
  bool coarse = info->st_ctim.tv_nsec == 0 || info->st_mtim.tv_nsec == 0;
  int64_t tick = coarse ? 2 * SECOND : SECOND / 20;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  return ns_of(&now) - ns_of(&info->st_ctim) > tick &&
         ns_of(&now) - ns_of(&info->st_mtim) > tick;
}

bool llmprof_cache_key_of(const char *path, llmprof_cache_key *key) {
  struct stat info;
  int fd = llmprof_fs_open(path, &info, NULL);
  if (fd < 0) return false;
  close(fd);
  put_status(key, &info);
  return has_settled(&info);
}

bool llmprof_cache_key_holds(const char *path, const llmprof_cache_key *key) {
  struct stat info;
  llmprof_cache_key now;
  if (stat(path, &info) != 0) return false;
  put_status(&now, &info);
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
