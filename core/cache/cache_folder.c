#include "cache/cache_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cache/cache_key.h"

/* ---- the folder ---- */

static bool make_folder(const char *folder, llmprof_error *err) {
  llmprof_fs_info info;
  if (llmprof_fs_stat(folder, &info, NULL)) return true;
  const char *slash = strrchr(folder, '/');
  char *parent = slash && slash > folder ? llmprof_strdup(folder) : NULL;
  if (parent) parent[slash - folder] = '\0';
  bool ok = !parent || llmprof_fs_mkdirs(parent, err);
  llmprof_free(parent);
  if (!ok) return false;
  return mkdir(folder, 0700) == 0 || errno == EEXIST ||
         llmprof_fail_errno(err, errno, "%s", folder);
}

llmprof_lock *llmprof_cache_folder_hold(const char *folder,
                                        llmprof_error *err) {
  if (!make_folder(folder, err)) return NULL;
  return llmprof_lock_take(folder, false, err);
}

/* ---- what lies in it ---- */

typedef struct kept_file {
  char *path; /* owned */
  uint64_t size;
  int64_t used; /* ns since 1970 */
} kept_file;

typedef struct kept_files {
  kept_file *items;
  size_t count, cap;
  uint64_t bytes;
} kept_files;

static void free_files(kept_files *files) {
  for (size_t i = 0; i < files->count; i++) llmprof_free(files->items[i].path);
  llmprof_free(files->items);
}

static bool is_cache(const char *name) {
  size_t size = strspn(name, "0123456789abcdef");
  const char *suffix = name + size;
  return size == LLMPROF_CACHE_NAME &&
         strcmp(suffix, LLMPROF_CACHE_COLUMNS) == 0;
}

/* A file that went away meanwhile is none. */
static bool add_file(kept_files *files, const char *path, llmprof_error *err) {
  llmprof_fs_info info;
  if (!llmprof_fs_lstat(path, &info, NULL) || info.type != LLMPROF_FS_FILE)
    return true;
  if (!llmprof_grow(&files->items, &files->cap, files->count + 1,
                    sizeof *files->items))
    return llmprof_fail_nomem(err);
  kept_file *file = &files->items[files->count];
  *file = (kept_file){llmprof_strdup(path), info.size, info.mtime_ns};
  if (!file->path) return llmprof_fail_nomem(err);
  files->count++;
  files->bytes += info.size;
  return true;
}

static bool list_files(kept_files *files, const char *folder,
                       const char *except, llmprof_error *err) {
  llmprof_fs_names names;
  if (!llmprof_fs_list(folder, &names, err)) return false;
  llmprof_buffer path = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < names.count; i++) {
    if (!is_cache(names.items[i])) continue;
    llmprof_buffer_clear(&path);
    llmprof_buffer_printf(&path, "%s/%s", folder, names.items[i]);
    if (path.failed)
      ok = llmprof_fail_nomem(err);
    else if (strcmp(path.bytes, except) != 0)
      ok = add_file(files, path.bytes, err);
  }
  llmprof_buffer_free(&path);
  llmprof_fs_names_free(&names);
  return ok;
}

static int by_use(const void *left, const void *right) {
  const kept_file *a = left, *b = right;
  if (a->used != b->used) return a->used < b->used ? -1 : 1;
  return strcmp(a->path, b->path);
}

static bool remove_oldest(kept_files *files, uint64_t most,
                          llmprof_error *err) {
  if (files->count)
    qsort(files->items, files->count, sizeof *files->items, by_use);
  for (size_t i = 0; i < files->count && files->bytes > most; i++) {
    if (!llmprof_fs_remove(files->items[i].path, err)) return false;
    files->bytes -= files->items[i].size;
  }
  return true;
}

bool llmprof_cache_folder_make_space(const char *folder, const char *except,
                                     uint64_t bytes, uint64_t most,
                                     llmprof_error *err) {
  if (bytes > most)
    return llmprof_fail(err, LLMPROF_LIMIT, "%s: larger than a cache may be",
                        except);
  kept_files files = {0};
  size_t swept;
  bool ok = llmprof_fs_sweep(folder, &swept, err) &&
            list_files(&files, folder, except, err) &&
            remove_oldest(&files, most - bytes, err);
  free_files(&files);
  return ok;
}
