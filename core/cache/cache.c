/* A reader that wraps the one of a trace's file: parts come from a file of
 * columns where they are there and whole, else from the other reader. That file
 * is rewritten when much was loaded that is not in it. Columns are a quarter
 * of what they were read from: they are written from the second time on that a
 * trace is opened. */
#include "cache/cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "cache/cache_file.h"
#include "cache/cache_folder.h"
#include "llmprof/readers.h"
#include "trace/trace_tables.h"

enum {
  SHARE = 16 /* of the columns that are there already */
};

typedef struct cache {
  llmprof_reader reader;       /* with the name of: */
  const llmprof_reader *inner; /* that of the file */
  void *inner_state;
  bool reading;               /* it has opened the file */
  bool taken[LLMPROF_PIECES]; /* from columns */
  char *folder;
  char name[LLMPROF_CACHE_NAME + 1];
  uint64_t most;
  llmprof_cache_key key;
  llmprof_cache_file columns;
  bool opened_before;
} cache;

static void cache_close(void *state) {
  cache *c = state;
  if (!c) return;
  if (c->reading && c->inner->close) c->inner->close(c->inner_state);
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

/* ---- as a reader ---- */

static const void *find(const void *file, const char *name, size_t *size) {
  return llmprof_cache_file_find(file, name, size);
}

static bool is_sound(const void *file, const char *name) {
  return llmprof_cache_file_is_sound(file, name);
}

static llmprof_arrays arrays_of(const cache *c) {
  return (llmprof_arrays){find, is_sound, &c->columns};
}

static bool open_inner(cache *c, const char *path, llmprof_builder *builder,
                       llmprof_error *err) {
  if (c->reading) return true;
  llmprof_builder_forget_devices(builder);
  c->reading = c->inner->open(path, builder, &c->inner_state, err);
  if (!c->reading && c->inner->close) c->inner->close(c->inner_state);
  if (!c->reading) c->inner_state = NULL;
  return c->reading;
}

static bool cache_open(const char *path, llmprof_builder *builder, void **state,
                       llmprof_error *err) {
  cache *c = *state;
  const llmprof_arrays arrays = arrays_of(c);
  if (!c->columns.bytes) return open_inner(c, path, builder, err);
  return llmprof_trace_take(builder, &arrays) || llmprof_fail_nomem(err);
}

static bool take(void *state, llmprof_trace *trace, int piece) {
  cache *c = state;
  const llmprof_arrays arrays = arrays_of(c);
  c->taken[piece] = llmprof_piece_take(trace, piece, &arrays);
  return c->taken[piece];
}

static bool cache_load(void *state, llmprof_builder *builder, llmprof_part part,
                       llmprof_error *err) {
  cache *c = state;
  llmprof_trace *trace = llmprof_builder_trace(builder);
  if (take(c, trace, (int)part)) return true;
  return open_inner(c, llmprof_trace_path(trace), builder, err) &&
         c->inner->load(c->inner_state, builder, part, err);
}

/* NULL: the trace has none. */
static cache *cache_of(const llmprof_trace *trace) {
  return llmprof_trace_state(trace, cache_load);
}

/* ---- opening ---- */

static void open_file(cache *c) {
  char *path = path_of(c);
  if (path) llmprof_cache_file_open(&c->columns, path, &c->key);
  c->opened_before = c->columns.bytes != NULL;
  llmprof_free(path);
}

/* NULL: the file is no regular one, too small, or memory is out: opening the
 * trace will say. */
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
    cache_close(c);
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

/* The reader of which the columns are; NULL: there are none, or the file is not
 * what it would take now. */
static const llmprof_reader *reader_before(const cache *c, const char *path) {
  size_t size;
  const char *name = llmprof_cache_file_find(&c->columns, "reader", &size);
  if (!name || !size || name[size - 1] || !is_sound(&c->columns, "reader"))
    return NULL;
  const llmprof_reader *reader = reader_named(name);
  return reader && (!reader->check || reader->check(path, NULL)) ? reader
                                                                 : NULL;
}

/* From the columns that were kept, or from the file alone. NULL: there are
 * none, or it cannot be: opening the trace without a cache will say why. A
 * reader that reads all at once is not worth a cache. */
static llmprof_trace *
open_cached(const char *path, const llmprof_cache_options *options, bool kept) {
  cache *c = cache_new(path, options);
  if (!c) return NULL;
  if (!kept) llmprof_cache_file_close(&c->columns);
  c->inner = kept ? reader_before(c, path) : llmprof_reader_of(path, NULL);
  if (!c->inner || !c->inner->open || !c->inner->load) {
    cache_close(c);
    return NULL;
  }
  c->reader = (llmprof_reader){.name = c->inner->name,
                               .what = c->inner->what,
                               .open = cache_open,
                               .load = cache_load,
                               .close = cache_close};
  return llmprof_reader_open_with(&c->reader, c, take, kept, path, NULL);
}

llmprof_trace *llmprof_cache_open(const char *path,
                                  const llmprof_cache_options *options,
                                  llmprof_error *err) {
  llmprof_trace *trace = options ? open_cached(path, options, true) : NULL;
  if (options && !trace) trace = open_cached(path, options, false);
  return trace ? trace : llmprof_trace_open(path, err);
}

bool llmprof_cache_was_used(const llmprof_trace *trace) {
  const cache *c = cache_of(trace);
  return c && c->columns.bytes;
}

/* ---- saving ---- */

/* Of all that is loaded. */
static size_t count_new_bytes(const cache *c, const llmprof_trace *trace) {
  size_t bytes = 0;
  for (int piece = 0; piece < LLMPROF_PIECES; piece++)
    if (!c->taken[piece]) bytes += llmprof_piece_size(trace, piece);
  return bytes;
}

static bool put_array(void *writer, const char *name, const void *data,
                      size_t size) {
  return llmprof_cache_writer_put(writer, name, data, size);
}

/* What was in the file goes into the new one, if it is still good. */
static bool put_trace(const cache *c, llmprof_trace *trace,
                      llmprof_cache_writer *writer) {
  const llmprof_arrays arrays = arrays_of(c);
  for (int piece = 0; piece < LLMPROF_PIECES; piece++)
    if (llmprof_piece_is_there(piece, &arrays))
      llmprof_trace_load(trace, piece, NULL);
  bool ok = llmprof_trace_put(trace, put_array, writer);
  for (int piece = 0; ok && piece < LLMPROF_PIECES; piece++)
    ok = llmprof_piece_put(trace, piece, put_array, writer);
  return ok;
}

/* The first time an empty file, which tells that the trace was opened. Room is
 * made twice: how large the file is is known when it is written. */
static bool save_columns(const cache *c, llmprof_trace *trace, const char *path,
                         uint64_t expected, llmprof_error *err) {
  llmprof_cache_writer writer;
  if (!llmprof_cache_folder_make_space(c->folder, path, expected, c->most,
                                       err) ||
      !llmprof_cache_writer_open(&writer, path, c->most, err))
    return false;
  if ((!c->opened_before || put_trace(c, trace, &writer)) &&
      llmprof_cache_folder_make_space(c->folder, path, writer.at, c->most, err))
    return llmprof_cache_writer_finish(&writer, &c->key);
  llmprof_cache_writer_discard(&writer);
  return false;
}

/* A little more is read again each time, rather than all rewritten. */
static bool is_worth_it(const cache *c, size_t bytes) {
  return !c->opened_before || bytes > c->columns.size / SHARE;
}

bool llmprof_cache_keeps_columns(const llmprof_trace *trace) {
  const cache *c = cache_of(trace);
  return c && c->opened_before;
}

bool llmprof_cache_save(llmprof_trace *trace, llmprof_error *err) {
  const cache *c = cache_of(trace);
  size_t bytes = c ? count_new_bytes(c, trace) : 0;
  if (!c || !is_worth_it(c, bytes)) return true;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!llmprof_cache_key_holds(llmprof_trace_path(trace), &c->key))
    return llmprof_fail(err, LLMPROF_IO, "%s: changed since it was opened",
                        llmprof_trace_path(trace));
  llmprof_lock *lock = llmprof_cache_folder_hold(c->folder, err);
  if (!lock) return false;
  llmprof_error why = {0};
  char *path = path_of(c);
  uint64_t expected = c->opened_before ? bytes + c->columns.size : 0;
  bool ok = path && save_columns(c, trace, path, expected, &why);
  llmprof_free(path);
  llmprof_lock_free(lock);
  if (!ok && !why.code) llmprof_fail_nomem(&why);
  if (!ok && err) *err = why;
  return ok;
}
