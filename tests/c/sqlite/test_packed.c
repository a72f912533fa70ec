#include "sqlite/packed.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "exports.h"
#include "os/fs.h"
#include "os/gzip.h"
#include "sqlite/sqlite.h"
#include "support.h"

/* A file "a", then a database "d/b" with a table of two rows: (1, NULL) and (3,
 * 'x'). The first column is by differences: 1, 2. The second has a NULL (5) and
 * a text (3). */
static const char packed[] = "\1a\0\2hi"
                             "\3d/b\1"
                             "\23CREATE TABLE t(i,s)"
                             "\1t\2\2"
                             "\2\1\1\2\2\4"
                             "\2\5\3\2\1x"
                             "\0"
                             "\0";

enum {
  PACKED = sizeof packed - 1
};

typedef struct unpacked {
  const char *bytes, *folder;
  size_t size;
} unpacked;

/* A folder that nothing was written to. */
static const char *fresh_folder(void) {
  static char path[4096];
  static unsigned count;
  llmprof_error err = {0};
  snprintf(path, sizeof path, "%s/%u", test_folder(), count++);
  if (!llmprof_fs_mkdir(path, &err)) fail_msg("%s", err.message);
  return path;
}

static bool unpack(void *arg, llmprof_error *err) {
  const unpacked *given = arg;
  llmprof_buffer gzip = {0};
  bool ok = llmprof_gzip(&gzip, given->bytes, given->size, err) &&
            llmprof_unpack_capture("c.packed", gzip.bytes, gzip.size,
                                   given->folder, err);
  llmprof_buffer_free(&gzip);
  return ok;
}

TEST(files) {
  llmprof_error err = {0};
  unpacked given = {packed, fresh_folder(), PACKED};
  if (!unpack(&given, &err)) fail_msg("%s", err.message);
  char path[4096];
  snprintf(path, sizeof path, "%s/d/b", given.folder);
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  assert_non_null(db);
  llmprof_query *query = llmprof_sqlite_query(
      db, "SELECT group_concat(i || coalesce(s, '-')) FROM t", &err);
  assert_int_equal(llmprof_query_step(query, &err), 1);
  size_t size;
  assert_string_equal(llmprof_query_text(query, 0, &size), "1-,3x");
  llmprof_query_free(query);
  llmprof_sqlite_close(db);
}

static void expect_broken(const char *bytes, size_t size) {
  llmprof_error err = {0};
  unpacked given = {bytes, fresh_folder(), size};
  assert_false(unpack(&given, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
}

TEST(cut) {
  for (size_t size = 0; size < PACKED; size++) expect_broken(packed, size);
}

TEST(outside) {
  expect_broken("\4../a\0\2hi\0", 10);
  expect_broken("\2/a\0\2hi\0", 8);
}

static bool unpack_again(void *arg, llmprof_error *err) {
  unpacked given = *(const unpacked *)arg;
  given.folder = fresh_folder();
  return unpack(&given, err);
}

TEST(memory) {
  unpacked given = {packed, NULL, PACKED};
  test_every_allocation(unpack_again, &given);
}
