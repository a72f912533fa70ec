#include "spool/spool_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "llmprof/strings.h"
#include "os/fs_open.h"
#include "spool/spool.h"

/* ---- bytes ---- */

/* As many as there are, at most `size`. */
static bool read_at(const spool_file *f, int64_t offset, void *into,
                    size_t size, size_t *got, llmprof_error *err) {
  *got = 0;
  while (*got < size) {
    ssize_t more = pread(f->fd, (char *)into + *got, size - *got,
                         (off_t)(offset + (int64_t)*got));
    if (more == 0) return true;
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return llmprof_fail_errno(err, errno, "%s", f->path);
    *got += (size_t)more;
  }
  return true;
}

static bool make_room(spool_file *f, size_t size, llmprof_error *err) {
  return llmprof_grow(&f->bytes, &f->bytes_cap, size ? size : 1, 1) ||
         llmprof_fail_nomem(err);
}

/* ---- records ---- */

typedef struct cursor {
  const unsigned char *at, *end;
} cursor;

/* The next record of a block; false at its end, or where the rest is no
 * record. */
static bool next_record(cursor *c, spool_item *item) {
  spool_record record;
  if ((size_t)(c->end - c->at) < sizeof record) return false;
  memcpy(&record, c->at, sizeof record);
  if (record.size < sizeof record || record.size % SPOOL_ALIGN ||
      record.size > (size_t)(c->end - c->at) || record.fixed < sizeof record ||
      record.fixed > record.size)
    return false;
  item->kind = record.kind;
  item->fixed = record.fixed;
  item->size = record.size;
  item->bytes = c->at;
  c->at += record.size;
  return true;
}

void spool_item_get(const spool_item *item, void *into, size_t size) {
  size_t have = item->fixed < size ? item->fixed : size;
  memset(into, 0, size);
  memcpy(into, item->bytes, have);
}

/* ---- numbers and strings ---- */

void spool_numbers_init(spool_numbers *n, size_t key_size) {
  llmprof_intern_init_keyed(n, key_size + sizeof(uint32_t), key_size);
}

bool spool_numbers_set(spool_numbers *n, const void *key, uint32_t value) {
  unsigned char record[SPOOL_MOST_KEY + sizeof value] = {0};
  memcpy(record, key, n->key_size);
  unsigned char *kept = llmprof_intern_put(n, record);
  if (kept) memcpy(kept + n->key_size, &value, sizeof value);
  return kept;
}

uint32_t spool_numbers_get(const spool_numbers *n, const void *key) {
  const unsigned char *found = llmprof_intern_seek(n, key);
  uint32_t value = UINT32_MAX;
  if (found) memcpy(&value, found + n->key_size, sizeof value);
  return value;
}

static bool keep_string(spool_file *f, const spool_item *item,
                        spool_keep_text keep, void *user) {
  spool_string string;
  size_t size;
  spool_item_get(item, &string, sizeof string);
  const unsigned char *bytes = spool_item_rest(item, &size);
  if (string.length < size) size = string.length;
  const uint32_t key[2] = {item->section, string.id};
  uint32_t kept;
  return !string.id || (keep(user, (const char *)bytes, size, &kept) &&
                        spool_numbers_set(&f->strings, key, kept));
}

uint32_t spool_file_string(const spool_file *f, uint32_t section, uint32_t id) {
  const uint32_t key[2] = {section, id};
  return id ? spool_numbers_get(&f->strings, key) : LLMPROF_NO_STRING;
}

/* ---- blocks ---- */

/* While a file is opened. */
typedef struct opening {
  spool_file *file;
  int64_t size, offset;
  uint32_t section;  /* at hand */
  uint32_t sequence; /* of its next block */
  bool lost;         /* after a torn block: only a new section counts */
  spool_keep_text keep;
  void *user;
} opening;

typedef enum block_state {
  BLOCK_FAILED,
  BLOCK_WHOLE,
  BLOCK_TORN,
} block_state;

static bool is_head(const spool_block *head) {
  return memcmp(head->magic, SPOOL_MAGIC, SPOOL_MAGIC_SIZE) == 0 &&
         head->length % SPOOL_ALIGN == 0 && head->length <= SPOOL_BLOCK_MAX;
}

/* The block at an offset; its records are in file->bytes. */
static block_state read_block(const opening *o, spool_block *head,
                              llmprof_error *err) {
  spool_file *f = o->file;
  size_t got;
  if (!read_at(f, o->offset, head, sizeof *head, &got, err))
    return BLOCK_FAILED;
  if (got < sizeof *head || !is_head(head) ||
      (int64_t)head->length > o->size - o->offset - (int64_t)sizeof *head)
    return BLOCK_TORN;
  if (head->version != SPOOL_VERSION && o->offset) return BLOCK_TORN;
  if (head->version != SPOOL_VERSION) {
    llmprof_fail(err, LLMPROF_UNSUPPORTED,
                 "%s: a spool of version %u; this llmprof reads version %d",
                 f->path, head->version, SPOOL_VERSION);
    return BLOCK_FAILED;
  }
  if (!llmprof_watch_go_on(&f->watch, head->length, f->path, err) ||
      !make_room(f, head->length, err) ||
      !read_at(f, o->offset + (int64_t)sizeof *head, f->bytes, head->length,
               &got, err))
    return BLOCK_FAILED;
  return got == head->length &&
                 spool_block_checksum(head, f->bytes) == head->checksum
             ? BLOCK_WHOLE
             : BLOCK_TORN;
}

static bool note_block(opening *o, const spool_block *head,
                       llmprof_error *err) {
  spool_file *f = o->file;
  spool_chunk chunk = {o->offset + (int64_t)sizeof *head, head->length,
                       o->section, 0};
  cursor records = {f->bytes, f->bytes + head->length};
  spool_item item = {.section = chunk.section};
  while (next_record(&records, &item)) {
    if (item.kind < 64) chunk.kinds |= SPOOL_BIT(item.kind);
    if (item.kind == SPOOL_STRING && !keep_string(f, &item, o->keep, o->user))
      return llmprof_fail_nomem(err);
  }
  f->left += (uint64_t)(records.end - records.at);
  if (!llmprof_grow(&f->chunks, &f->chunk_cap, f->chunk_count + 1,
                    sizeof *f->chunks))
    return llmprof_fail_nomem(err);
  f->chunks[f->chunk_count++] = chunk;
  return true;
}

/* After what is no block: to where the next may begin. */
static bool skip_torn(opening *o, llmprof_error *err) {
  enum {
    WINDOW = 64 * 1024
  };
  spool_file *f = o->file;
  int64_t from = o->offset;
  o->lost = true;
  if (!make_room(f, WINDOW, err)) return false;
  for (o->offset++; o->offset < o->size;) {
    size_t got;
    if (!read_at(f, o->offset, f->bytes, WINDOW, &got, err) ||
        !llmprof_watch_go_on(&f->watch, got, f->path, err))
      return false;
    const unsigned char *found =
        memmem(f->bytes, got, SPOOL_MAGIC, SPOOL_MAGIC_SIZE);
    if (found) {
      o->offset += found - f->bytes;
      break;
    }
    if (got < WINDOW)
      o->offset = o->size;
    else
      o->offset += WINDOW - SPOOL_MAGIC_SIZE;
  }
  f->left += (uint64_t)(o->offset - from);
  return true;
}

/* The section that begins with this block: a new one, unless the same
 * recording was in the file before. The first block has the process, when it
 * began and its clocks. */
static bool begin_section(opening *o, const spool_block *head) {
  spool_file *f = o->file;
  if (!llmprof_intern_add(&f->firsts, &head->checksum, &o->section))
    return false;
  if (o->section < f->sections) {
    f->repeated++;
    return true;
  }
  f->sections++;
  if (!llmprof_grow(&f->blocks, &f->blocks_cap, f->sections, sizeof *f->blocks))
    return false;
  f->blocks[o->section] = 0;
  return true;
}

/* A block of no process may lie anywhere; of its records only those of
 * generated lines are read. */
static bool take_of_all(opening *o, const spool_block *head,
                        llmprof_error *err) {
  spool_file *f = o->file;
  uint32_t section = o->section;
  o->section = UINT32_MAX - f->of_all++;
  bool ok = note_block(o, head, err);
  o->section = section;
  o->offset += (int64_t)sizeof *head + head->length;
  if (ok) f->chunks[f->chunk_count - 1].kinds &= SPOOL_BIT(SPOOL_GENERATED);
  return ok;
}

static bool take_block(opening *o, const spool_block *head,
                       llmprof_error *err) {
  spool_file *f = o->file;
  if (head->sequence == SPOOL_OF_ALL) return take_of_all(o, head, err);
  bool begins = head->sequence == 0;
  if (!begins && (o->lost || head->sequence != o->sequence))
    return skip_torn(o, err);
  if (begins && !begin_section(o, head)) return llmprof_fail_nomem(err);
  if (head->sequence == f->blocks[o->section]) { /* else it was there before */
    if (!note_block(o, head, err)) return false;
    f->blocks[o->section]++;
  }
  o->lost = false;
  o->sequence = head->sequence + 1;
  o->offset += (int64_t)sizeof *head + head->length;
  return true;
}

static bool read_blocks(opening *o, llmprof_error *err) {
  while (o->offset < o->size) {
    spool_block head;
    switch (read_block(o, &head, err)) {
    case BLOCK_FAILED:
      return false;
    case BLOCK_TORN:
      if (!skip_torn(o, err)) return false;
      break;
    case BLOCK_WHOLE:
      if (!take_block(o, &head, err)) return false;
      break;
    }
  }
  return true;
}

bool spool_file_open(spool_file *f, const char *path, spool_keep_text keep,
                     void *user, llmprof_error *err) {
  struct stat info;
  *f = (spool_file){.path = path};
  spool_numbers_init(&f->strings, 2 * sizeof(uint32_t));
  llmprof_intern_init(&f->firsts, sizeof(uint64_t));
  f->fd = llmprof_fs_open(path, &info, err);
  if (f->fd < 0) return false;
  opening o = {.file = f,
               .size = info.st_size,
               .lost = true,
               .keep = keep,
               .user = user};
  return read_blocks(&o, err) &&
         (f->sections ||
          llmprof_fail(err, LLMPROF_TRUNCATED,
                       "%s: a spool without a whole block", path));
}

void spool_file_close(spool_file *f) {
  if (f->fd >= 0) close(f->fd);
  llmprof_free(f->chunks);
  llmprof_free(f->bytes);
  llmprof_intern_free(&f->firsts);
  llmprof_free(f->blocks);
  llmprof_intern_free(&f->strings);
  *f = (spool_file){.fd = -1};
}

/* ---- again ---- */

static bool each_of_chunk(spool_file *f, const spool_chunk *chunk,
                          uint64_t kinds, spool_take take, void *user,
                          llmprof_error *err) {
  size_t got;
  if (!make_room(f, chunk->length, err) ||
      !read_at(f, chunk->offset, f->bytes, chunk->length, &got, err) ||
      !llmprof_watch_go_on(&f->watch, chunk->length, f->path, err))
    return false;
  cursor records = {f->bytes, f->bytes + got};
  spool_item item = {.section = chunk->section};
  while (next_record(&records, &item)) {
    if (item.kind < 64 && (kinds & SPOOL_BIT(item.kind)) &&
        !take(user, &item, err))
      return false;
  }
  return true;
}

bool spool_file_each(spool_file *f, uint64_t kinds, spool_take take, void *user,
                     llmprof_error *err) {
  for (size_t i = 0; i < f->chunk_count; i++) {
    uint64_t there = f->chunks[i].kinds & kinds;
    if (there && !each_of_chunk(f, &f->chunks[i], there, take, user, err))
      return false;
  }
  return true;
}

/* ---- what generated lines were made of ---- */

struct llmprof_spool_generated {
  llmprof_strings *strings;
  llmprof_buffer lines; /* records that refer to them */
  llmprof_buffer block;
  uint32_t count;
};

llmprof_spool_generated *llmprof_spool_generated_new(void) {
  llmprof_spool_generated *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return NULL;
  made->strings = llmprof_strings_new();
  if (made->strings) return made;
  llmprof_free(made);
  return NULL;
}

void llmprof_spool_generated_free(llmprof_spool_generated *made) {
  if (!made) return;
  llmprof_strings_free(made->strings);
  llmprof_buffer_free(&made->lines);
  llmprof_buffer_free(&made->block);
  llmprof_free(made);
}

static bool number_of(llmprof_spool_generated *made, const char *text,
                      uint32_t *number) {
  *number = 0;
  if (!text) return true;
  if (!llmprof_strings_add(made->strings, text, strlen(text), number))
    return false;
  (*number)++;
  return true;
}

/* A record with `rest` bytes behind its struct, a multiple of 8. */
static spool_record record_of(spool_kind kind, size_t fixed, size_t rest) {
  return (spool_record){(uint32_t)(fixed + rest), (uint16_t)kind,
                        (uint16_t)fixed};
}

bool llmprof_spool_generated_add(llmprof_spool_generated *made,
                                 const llmprof_spool_line *lines,
                                 size_t count) {
  spool_generated head = {.line = lines->line, .lines = (uint32_t)count - 1};
  head.record =
      record_of(SPOOL_GENERATED, sizeof head, head.lines * sizeof(spool_line));
  if (!number_of(made, lines->file, &head.file)) return false;
  llmprof_buffer_add(&made->lines, &head, sizeof head);
  for (size_t i = 1; i < count; i++) {
    spool_line line = {.line = lines[i].line};
    if (!number_of(made, lines[i].file, &line.file) ||
        !number_of(made, lines[i].function, &line.function) ||
        !number_of(made, lines[i].module, &line.module))
      return false;
    llmprof_buffer_add(&made->lines, &line, sizeof line);
  }
  made->count++;
  return !made->lines.failed;
}

static void add_string(llmprof_buffer *block, uint32_t id, const char *text,
                       size_t size) {
  size_t padded = (size + SPOOL_ALIGN - 1) / SPOOL_ALIGN * SPOOL_ALIGN;
  spool_string string = {.id = id, .length = (uint32_t)size};
  string.record = record_of(SPOOL_STRING, sizeof string, padded);
  llmprof_buffer_add(block, &string, sizeof string);
  llmprof_buffer_add(block, text, size);
  llmprof_buffer_fill(block, 0, padded - size);
}

const void *llmprof_spool_generated_block(llmprof_spool_generated *made,
                                          size_t *size, llmprof_error *err) {
  size_t strings = llmprof_strings_count(made->strings), length;
  spool_block head = {.version = SPOOL_VERSION, .sequence = SPOOL_OF_ALL};
  llmprof_buffer *block = &made->block;
  memcpy(head.magic, SPOOL_MAGIC, SPOOL_MAGIC_SIZE);
  llmprof_buffer_add(block, &head, sizeof head);
  for (uint32_t i = 0; i < strings; i++) {
    const char *text = llmprof_strings_get(made->strings, i, &length);
    add_string(block, i + 1, text, length);
  }
  llmprof_buffer_add(block, made->lines.bytes, made->lines.size);
  if (block->failed) return llmprof_fail_nomem(err), NULL;
  length = block->size - sizeof head;
  if (length > SPOOL_BLOCK_MAX)
    return llmprof_fail(err, LLMPROF_LIMIT,
                        "%u lines take %zu bytes, and a block of a spool holds "
                        "%d",
                        (unsigned)made->count, length, SPOOL_BLOCK_MAX),
           NULL;
  head.length = (uint32_t)length;
  head.records = made->count + (uint32_t)strings;
  head.checksum = spool_block_checksum(&head, block->bytes + sizeof head);
  memcpy(block->bytes, &head, sizeof head);
  *size = block->size;
  return block->bytes;
}
