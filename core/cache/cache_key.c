#include "cache/cache_key.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cache/checksum.h"
#include "os/fs.h"
#include "os/fs_open.h"
#include "sqlite/scan.h"
#include "sqlite/sqlite.h"
#include "text/digest.h"

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

/* ---- names ---- */

static void add(uint64_t *sum, const void *bytes, size_t size) {
  *sum = (*sum ^ llmprof_checksum(bytes, size)) * 0x9e3779b185ebca87u;
}

static bool add_text(void *sum, const llmprof_scan *scan,
                     const int64_t *values) {
  size_t size = 0;
  const char *text = llmprof_scan_text(scan, 0, &size);
  add(sum, values, sizeof *values);
  if (text) add(sum, text, size);
  return true;
}

static bool sum_strings(llmprof_sqlite *db, uint64_t *sum) {
  static const char *const columns[] = {"id", "value"};
  static const llmprof_scan_spec spec = {"StringIds", columns, 1, 1};
  return llmprof_scan_each(db, &spec, add_text, sum, NULL, NULL);
}

static bool sum_schema(llmprof_sqlite *db, uint64_t *sum) {
  llmprof_query *query = llmprof_sqlite_query(
      db, "SELECT type, name, rootpage, sql FROM sqlite_master", NULL);
  int got = query ? 1 : -1;
  while (got == 1 && (got = llmprof_query_step(query, NULL)) == 1) {
    for (int i = 0; i < 4; i++) {
      size_t size;
      const char *text = llmprof_query_text(query, i, &size);
      add(sum, text, size);
    }
  }
  llmprof_query_free(query);
  return got == 0;
}

/* A program that has the file mapped can change it without a trace of that in
 * its times: of a database, what everything is called by is read as a whole. */
static bool sum_names(const char *path, llmprof_cache_key *key) {
  llmprof_sqlite *db = llmprof_sqlite_open(path, NULL);
  bool ok = db && sum_schema(db, &key->names) && sum_strings(db, &key->names);
  llmprof_sqlite_close(db);
  return ok;
}

/* ---- the key ---- */

static bool is_database(int fd) {
  static const char magic[] = "SQLite format 3"; /* with its NUL */
  char head[sizeof magic];
  return pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
         memcmp(head, magic, sizeof head) == 0;
}

bool llmprof_cache_key_of(const char *path, llmprof_cache_key *key) {
  struct stat info;
  int fd = llmprof_fs_open(path, &info, NULL);
  if (fd < 0) return false;
  put_status(key, &info);
  bool ok = has_settled(&info) && sum_pages(fd, key) &&
            (!is_database(fd) || sum_names(path, key));
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
  now.names = key->names;
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
