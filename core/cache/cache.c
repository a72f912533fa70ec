/* A trace and its cache: two files, one of columns, which is written anew when
 * much was loaded that is not in it, and one of notes. Columns are two thirds
 * of the file that they are of: they are written from the second time on that a
 * trace is opened, of which the notes, be there none, tell. */
#include "llmprof/cache.h"

#include <string.h>

#include "cache/cache_file.h"
#include "cache/cache_room.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"
#include "llmprof/readers.h"
#include "trace/trace_image.h"

enum {
  MOST_NOTES = 16 << 20, /* bytes of all notes */
  SHARE = 16             /* of the columns that are there already */
};

typedef struct note {
  char key[LLMPROF_NOTE_KEY + 1];
  char *text; /* owned */
  size_t size;
} note;

/* What the shelf of a trace is. */
typedef struct cache {
  char *folder;
  char name[LLMPROF_CACHE_NAME + 1];
  uint64_t most;
  llmprof_cache_key key;
  llmprof_cache_file columns, notes_file;
  note *notes; /* new ones */
  size_t note_count, note_cap, note_bytes;
} cache;

static void cache_free(cache *c) {
  if (!c) return;
  llmprof_cache_file_close(&c->columns);
  llmprof_cache_file_close(&c->notes_file);
  for (size_t i = 0; i < c->note_count; i++) llmprof_free(c->notes[i].text);
  llmprof_free(c->notes);
  llmprof_free(c->folder);
  llmprof_free(c);
}

/* The path of one of its files; NULL when out of memory. */
static char *path_of(const cache *c, const char *suffix) {
  llmprof_buffer path = {0};
  llmprof_buffer_printf(&path, "%s/%s%s", c->folder, c->name, suffix);
  if (!path.failed) return path.bytes;
  llmprof_buffer_free(&path);
  return NULL;
}

/* ---- as a shelf ---- */

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

static llmprof_shelf shelf_of(cache *c) {
  return (llmprof_shelf){
      .user = c, .find = find, .is_sound = is_sound, .close = close_cache};
}

/* NULL: the trace has none. */
static cache *cache_of(const llmprof_trace *trace) {
  const llmprof_shelf *shelf = llmprof_trace_shelf(trace);
  return shelf && shelf->close == close_cache ? shelf->user : NULL;
}

/* ---- opening ---- */

static void open_file(const cache *c, llmprof_cache_file *file,
                      const char *suffix) {
  char *path = path_of(c, suffix);
  if (path) llmprof_cache_file_open(file, path, &c->key);
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
  open_file(c, &c->columns, LLMPROF_CACHE_COLUMNS);
  open_file(c, &c->notes_file, LLMPROF_CACHE_NOTES);
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
  const llmprof_shelf shelf = shelf_of(c);
  llmprof_trace *trace = llmprof_trace_from_shelf(path, shelf, reader_named);
  if (trace) return trace;
  llmprof_cache_file_close(&c->columns);
  trace = llmprof_trace_open(path, err);
  if (trace)
    llmprof_trace_set_shelf(trace, &shelf);
  else
    cache_free(c);
  return trace;
}

bool llmprof_cache_was_used(const llmprof_trace *trace) {
  const cache *c = cache_of(trace);
  return c && c->columns.bytes;
}

/* ---- notes ---- */

bool llmprof_cache_takes_notes(const llmprof_trace *trace) {
  return cache_of(trace) != NULL;
}

static note *find_note(const cache *c, const char *key) {
  for (size_t i = 0; i < c->note_count; i++)
    if (strcmp(c->notes[i].key, key) == 0) return &c->notes[i];
  return NULL;
}

const char *llmprof_cache_note(llmprof_trace *trace, const char *key,
                               size_t *size) {
  size_t unused;
  const cache *c = cache_of(trace);
  const note *made = c ? find_note(c, key) : NULL;
  if (!size) size = &unused;
  if (made) {
    *size = made->size;
    return made->text;
  }
  if (!c || !llmprof_cache_file_is_sound(&c->notes_file, key)) return NULL;
  return llmprof_cache_file_find(&c->notes_file, key, size);
}

static note *new_note(cache *c, const char *key) {
  if (!llmprof_grow(&c->notes, &c->note_cap, c->note_count + 1,
                    sizeof *c->notes))
    return NULL;
  note *made = &c->notes[c->note_count++];
  *made = (note){.size = 0};
  strcpy(made->key, key);
  return made;
}

bool llmprof_cache_add_note(llmprof_trace *trace, const char *key,
                            const char *text, size_t size, llmprof_error *err) {
  cache *c = cache_of(trace);
  if (!c) return true;
  if (!*key || strlen(key) > LLMPROF_NOTE_KEY ||
      size > MOST_NOTES - c->note_bytes)
    return llmprof_fail(err, LLMPROF_LIMIT, "'%.80s': no room for this note",
                        key);
  char *copy = llmprof_memdup(text, size);
  note *made = find_note(c, key);
  if (!made && copy) made = new_note(c, key);
  if (!made || !copy) {
    llmprof_free(copy);
    return llmprof_fail_nomem(err);
  }
  llmprof_free(made->text);
  c->note_bytes += size - made->size;
  made->text = copy;
  made->size = size;
  return true;
}

/* ---- saving ---- */

/* What is written into one of the files. */
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

static bool put_columns(saving *s) {
  return llmprof_trace_put_away(s->trace, put_array, s);
}

static bool put_notes(saving *s) {
  const cache *c = s->cache;
  bool ok = true;
  for (size_t i = 0; ok && i < c->note_count; i++)
    ok = llmprof_cache_writer_put(&s->writer, c->notes[i].key, c->notes[i].text,
                                  c->notes[i].size);
  uint64_t room = MOST_NOTES - c->note_bytes;
  for (size_t i = 0; ok && i < c->notes_file.count; i++) {
    const llmprof_cache_entry *old = &c->notes_file.entries[i];
    if (find_note(c, old->name) || old->size > room ||
        !llmprof_cache_file_is_sound(&c->notes_file, old->name))
      continue;
    room -= old->size;
    ok = llmprof_cache_writer_put(&s->writer, old->name,
                                  c->notes_file.bytes + old->offset,
                                  (size_t)old->size);
  }
  return ok;
}

/* Twice: how large it is is known when it is written. */
static bool save_file(saving *s, const char *path, bool (*put)(saving *s),
                      uint64_t expected, llmprof_error *err) {
  cache *c = s->cache;
  if (!llmprof_cache_room_make(c->folder, path, expected, c->most, err) ||
      !llmprof_cache_writer_open(&s->writer, path, c->most, err))
    return false;
  if (put(s) &&
      llmprof_cache_room_make(c->folder, path, s->writer.at, c->most, err))
    return llmprof_cache_writer_finish(&s->writer, &c->key);
  llmprof_cache_writer_discard(&s->writer);
  return false;
}

static bool save_as(saving *s, const char *suffix, bool (*put)(saving *s),
                    uint64_t expected, llmprof_error *err) {
  char *path = path_of(s->cache, suffix);
  bool ok =
      path ? save_file(s, path, put, expected, err) : llmprof_fail_nomem(err);
  llmprof_free(path);
  return ok;
}

/* A little more is read again each time, rather than all written anew. */
static bool is_worth_it(const cache *c, size_t unshelved) {
  return unshelved > c->columns.size / SHARE;
}

static bool was_opened_before(const cache *c) {
  return c->notes_file.bytes != NULL;
}

bool llmprof_cache_keeps_columns(const llmprof_trace *trace) {
  const cache *c = cache_of(trace);
  return c && was_opened_before(c);
}

static bool save_all(saving *s, size_t unshelved, llmprof_error *err) {
  const cache *c = s->cache;
  bool ok = true;
  if (c->note_count || !was_opened_before(c))
    ok = save_as(s, LLMPROF_CACHE_NOTES, put_notes, c->note_bytes, err);
  if (ok && was_opened_before(c) && is_worth_it(c, unshelved))
    ok = save_as(s, LLMPROF_CACHE_COLUMNS, put_columns,
                 unshelved + c->columns.size, err);
  return ok;
}

bool llmprof_cache_save(llmprof_trace *trace, llmprof_error *err) {
  cache *c = cache_of(trace);
  size_t unshelved = llmprof_trace_unshelved(trace);
  if (!c || (!c->note_count && !is_worth_it(c, unshelved))) return true;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!llmprof_cache_key_holds(llmprof_trace_path(trace), &c->key))
    return llmprof_fail(err, LLMPROF_IO, "%s: changed since it was opened",
                        llmprof_trace_path(trace));
  llmprof_lock *lock = llmprof_cache_room_hold(c->folder, err);
  if (!lock) return false;
  llmprof_error why = {0};
  saving s = {.cache = c, .trace = trace};
  bool ok = save_all(&s, unshelved, &why);
  llmprof_lock_free(lock);
  if (!ok && !why.code) llmprof_fail_nomem(&why);
  if (!ok && err) *err = why;
  return ok;
}
