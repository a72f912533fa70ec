/* A trace and its cache: a file of columns, which is written anew when much was
 * loaded that is not in it. Columns are two thirds of the file that they are
 * of: they are written from the second time on that a trace is opened. */
#include "cache/cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "cache/cache_file.h"
#include "cache/cache_folder.h"
#include "llmprof/readers.h"
#include "trace/trace_snapshot.h"

enum {
  SHARE = 16 /* of the columns that are there already */
};

/* The cache store of a trace. */
typedef struct cache {
  char *folder;
  char name[LLMPROF_CACHE_NAME + 1];
  uint64_t most;
  llmprof_cache_key key;
  llmprof_cache_file columns;
  bool opened_before;
} cache;

static void cache_free(cache *c) {
  if (!c) return;
  llmprof_cache_file_close(&c->columns);
  llmprof_free(c->folder);
  llmprof_free(c);
}

/* The path of its file; NULL when out of memory. */
static char *path_of(const cache *c) {
  llmprof_buffer path = {0};
  llmprof_buffer_printf(&path, "%s/%s" LLMPROF_CACHE_COLUMNS, c->folder,
                        c->name);
  if (!path.failed) return path.bytes;
  llmprof_buffer_free(&path);
  return NULL;
}

/* ---- as a cache store ---- */

static const void *find(void *user, const char *name, size_t *size) {
  const cache *c = user;
  return llmprof_cache_file_find(&c->columns, name, size);
}

static bool is_sound(void *user, const char *name) {
  const cache *c = user;
  return llmprof_cache_file_is_sound(&c->columns, name);
}

static void close_cache(void *user) {
  cache_free(user);
}

static llmprof_cache_store store_of(cache *c) {
  return (llmprof_cache_store){
      .user = c, .find = find, .is_sound = is_sound, .close = close_cache};
}

/* NULL: the trace has none. */
static cache *cache_of(const llmprof_trace *trace) {
  const llmprof_cache_store *store = llmprof_trace_cache_store(trace);
  return store && store->close == close_cache ? store->user : NULL;
}

/* ---- opening ---- */

static void open_file(cache *c) {
  char *path = path_of(c);
  if (path) llmprof_cache_file_open(&c->columns, path, &c->key);
  c->opened_before = c->columns.bytes != NULL;
  llmprof_free(path);
}

/* NULL: the file is no regular one, too small, or memory is out; whoever opens
 * the trace will say. */
static cache *cache_new(const char *path,
                        const llmprof_cache_options *options) {
  llmprof_fs_info info;
  if (!llmprof_fs_stat(path, &info, NULL) || info.type != LLMPROF_FS_FILE ||
      info.size < options->least)
    return NULL;
  cache *c = llmprof_zalloc(1, sizeof *c);
  if (!c) return NULL;
  c->most = options->most;
  c->folder = llmprof_strdup(options->folder);
  if (!c->folder || !llmprof_cache_name(path, c->name) ||
      !llmprof_cache_key_of(path, &c->key)) {
    cache_free(c);
    return NULL;
  }
  open_file(c);
  return c;
}

static const llmprof_reader *reader_named(const char *name) {
  const llmprof_reader *reader;
  for (size_t i = 0; (reader = llmprof_reader_at(i)); i++)
    if (strcmp(reader->name, name) == 0) return reader;
  return NULL;
}

llmprof_trace *llmprof_cache_open(const char *path,
                                  const llmprof_cache_options *options,
                                  llmprof_error *err) {
  cache *c = options ? cache_new(path, options) : NULL;
  if (!c) return llmprof_trace_open(path, err);
  const llmprof_cache_store store = store_of(c);
  llmprof_trace *trace = llmprof_trace_from_cache(path, store, reader_named);
  if (trace) return trace;
  llmprof_cache_file_close(&c->columns);
  trace = llmprof_trace_open(path, err);
  if (trace)
    llmprof_trace_set_cache_store(trace, &store);
  else
    cache_free(c);
  return trace;
}

bool llmprof_cache_was_used(const llmprof_trace *trace) {
  const cache *c = cache_of(trace);
  return c && c->columns.bytes;
}

/* ---- saving ---- */

/* What is written. */
typedef struct saving {
  cache *cache;
  llmprof_trace *trace;
  llmprof_cache_writer writer;
} saving;

static bool put_array(void *user, const llmprof_array *array) {
  saving *s = user;
  return llmprof_cache_writer_put(&s->writer, array->name, array->data,
                                  array->size);
}

/* The first time an empty file, which tells that the trace was opened. Room is
 * made twice: how large the file is is known when it is written. */
static bool save_columns(saving *s, const char *path, uint64_t expected,
                         llmprof_error *err) {
  cache *c = s->cache;
  if (!llmprof_cache_folder_make_space(c->folder, path, expected, c->most,
                                       err) ||
      !llmprof_cache_writer_open(&s->writer, path, c->most, err))
    return false;
  if ((!c->opened_before || llmprof_trace_serialise(s->trace, put_array, s)) &&
      llmprof_cache_folder_make_space(c->folder, path, s->writer.at, c->most,
                                      err))
    return llmprof_cache_writer_finish(&s->writer, &c->key);
  llmprof_cache_writer_discard(&s->writer);
  return false;
}

/* A little more is read again each time, rather than all written anew. */
static bool is_worth_it(const cache *c, size_t unshelved) {
  return !c->opened_before || unshelved > c->columns.size / SHARE;
}

bool llmprof_cache_keeps_columns(const llmprof_trace *trace) {
  const cache *c = cache_of(trace);
  return c && c->opened_before;
}

bool llmprof_cache_save(llmprof_trace *trace, llmprof_error *err) {
  cache *c = cache_of(trace);
  size_t unshelved = llmprof_trace_unshelved(trace);
  if (!c || !is_worth_it(c, unshelved)) return true;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!llmprof_cache_key_holds(llmprof_trace_path(trace), &c->key))
    return llmprof_fail(err, LLMPROF_IO, "%s: changed since it was opened",
                        llmprof_trace_path(trace));
  llmprof_lock *lock = llmprof_cache_folder_hold(c->folder, err);
  if (!lock) return false;
  llmprof_error why = {0};
  saving s = {.cache = c, .trace = trace};
  char *path = path_of(c);
  size_t expected = c->opened_before ? unshelved + c->columns.size : 0;
  bool ok = path && save_columns(&s, path, expected, &why);
  llmprof_free(path);
  llmprof_lock_free(lock);
  if (!ok && !why.code) llmprof_fail_nomem(&why);
  if (!ok && err) *err = why;
  return ok;
}
