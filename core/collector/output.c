#include "collector/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/files.h"
#include "collector/refusal.h"

enum {
  BLOCK_SIZE = 1 << 20 /* bytes of records that are written together */
};

static struct {
  spool_block head;
  unsigned char records[BLOCK_SIZE];
} block;

static int file = -1;
static char path_of_file[PATH_MAX];
static uint32_t sequence;
static uint64_t record_count;
static uint64_t good_size; /* of the file: whole blocks */

void output_tell_loss(const char *path, const char *why) {
  char link[PATH_MAX + sizeof SPOOL_LOST];
  snprintf(link, sizeof link, "%s" SPOOL_LOST, path);
  if (symlink(why, link) != 0 && errno != EEXIST) refusal_tell(why);
}

bool output_open(const char *path) {
  snprintf(path_of_file, sizeof path_of_file, "%s", path);
  file = files_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
  if (file >= 0) return true;
  int error = errno;
  output_tell_loss(path, strerror(error));
  errno = error;
  return false;
}

/* The recording ends here, at its last whole block: what comes later would
 * use names that are lost with this one. */
static void give_up(int error) {
  output_tell_loss(path_of_file, strerror(error));
  (void)files_truncate(file, (off_t)good_size);
  files_close(file);
  file = -1;
}

static bool write_all(const void *bytes, size_t size) {
  const char *at = bytes;
  size_t left = size;
  while (left > 0) {
    ssize_t n = files_write(file, at, left);
    if (n <= 0) {
      give_up(errno);
      return false;
    }
    at += n;
    left -= (size_t)n;
  }
  good_size += size;
  return true;
}

static void write_block(const void *records) {
  memcpy(block.head.magic, SPOOL_MAGIC, SPOOL_MAGIC_SIZE);
  block.head.version = SPOOL_VERSION;
  block.head.sequence = sequence;
  block.head.checksum = spool_block_checksum(&block.head, records);
  size_t size = sizeof block.head + block.head.length;
  if (file >= 0 && write_all(&block, size)) sequence++;
  memset(&block.head, 0, sizeof block.head);
}

void output_flush(void) {
  if (block.head.length > 0) write_block(block.records);
}

void output_record(spool_kind kind, void *record, size_t fixed,
                   const void *more, size_t more_size) {
  size_t size = (fixed + more_size + SPOOL_ALIGN - 1) & ~(size_t)7;
  if (file < 0 || size > sizeof block.records) return;
  if (block.head.length + size > sizeof block.records) output_flush();
  spool_record *head = record;
  *head = (spool_record){
      .size = (uint32_t)size, .kind = (uint16_t)kind, .fixed = (uint16_t)fixed};
  unsigned char *at = block.records + block.head.length;
  memcpy(at, record, fixed);
  if (more_size > 0) memcpy(at + fixed, more, more_size);
  memset(at + fixed + more_size, 0, size - fixed - more_size);
  block.head.length += (uint32_t)size;
  block.head.records++;
  record_count++;
}

void output_close(void) {
  output_flush();
  if (file >= 0) files_close(file);
  file = -1;
}

uint64_t output_records(void) {
  return record_count;
}

void output_forget(void) {
  file = -1;
  memset(&block.head, 0, sizeof block.head);
  sequence = 0;
  record_count = good_size = 0;
}
