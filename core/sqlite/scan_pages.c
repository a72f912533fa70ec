/* A table of integers, by decoding the records on its pages on several threads:
 * each takes some leaves, and what it made of them is handed on in their order.
 * At the first record that is not plain the reader stops. */
#include "base/alloc.h"
#include "base/thread_pool.h"
#include "sqlite/btree.h"
#include "sqlite/scan_internal.h"

/* A column that is in the record. */
typedef struct wanted {
  int place; /* in the record */
  int skip;  /* columns between the one before and this */
  int slot;  /* in the spec */
} wanted;

/* Serial types of one byte, what a record's header says of a value: how many
 * bytes the value has, and how to make an integer of the eight bytes there. */
typedef struct kind {
  uint8_t size, shift;
  bool integer; /* or NULL */
  bool longer;  /* the type goes on in the next byte */
  int64_t mask, plus;
} kind;

enum {
  KINDS = 128,    /* types of one byte */
  TYPE_WORDS = 4, /* of eight types each; what lies further on has no shape */
  SHAPE_BITS = 6,
  SHAPES = 1 << SHAPE_BITS, /* as a table's records have a few each */
  PART_SIZE = 256 * 1024, /* bytes of leaves: stays in the second-level cache */
  PARTS_EACH = 2,         /* fewer are not worth a thread */
};

/* Where the value of a wanted column lies in a record, and how to make an
 * integer of the eight bytes there. */
typedef struct spot {
  uint32_t at;
  uint8_t shift, slot;
  int64_t mask, plus;
} spot;

/* Where wanted values lie in all records that begin with the same types. */
typedef struct shape {
  uint64_t types[TYPE_WORDS];
  uint32_t end; /* behind the last of them; 0: there is no such shape */
  spot spots[LLMPROF_SCAN_INTS]; /* in the order of scan->wanted */
} shape;

/* What of a scan all threads share. */
typedef struct pages_scan {
  llmprof_btree tree;
  wanted wanted[LLMPROF_SCAN_INTS]; /* by place */
  int wanted_count;
  int lacking[LLMPROF_SCAN_INTS]; /* slots */
  int lacking_count;
  int ints;
  int rowid_slot; /* -1: none */
  int bytes;      /* of a record, up to the type of the last wanted column */
  int type_words; /* that these are in; 0: no shapes */
  uint64_t masks[TYPE_WORDS]; /* of them */
  kind kinds[2 * KINDS];

  llmprof_scan_take_rows take;
  void *user;
  uint32_t *leaves;
  size_t count;
  uint32_t part; /* leaves of a part */
  struct reader *readers;
} pages_scan;

/* A worker's own, with the rows of its part until they are taken. */
typedef struct reader {
  uint8_t *pages;
  shape *shapes; /* by a hash of the types */
  int64_t *values;
  size_t values_cap, rows;
} reader;

/* ---- records ---- */

static void fill_kinds(kind *kinds) {
  static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  enum {
    TYPE_NULL,
    TYPE_REAL = 7,
    TYPE_ONE = 9, /* the integer 1 without a byte; type 8 is 0 */
    RESERVED = 10,
    BYTES = 12, /* and up: blobs even, texts odd */
  };
  for (uint8_t type = 0; type < KINDS; type++) {
    kind *k = &kinds[type];
    k->size = (uint8_t)(type < BYTES ? sizes[type] : (type - BYTES) / 2);
    k->integer = type < RESERVED && type != TYPE_REAL;
    if (!k->integer) continue;
    k->shift = (uint8_t)(k->size ? 64 - 8 * k->size : 0);
    k->mask = k->size ? -1 : 0;
  }
  for (int i = KINDS; i < 2 * KINDS; i++) kinds[i].longer = true;
  kinds[TYPE_NULL].plus = LLMPROF_ABSENT;
  kinds[TYPE_ONE].plus = 1;
}

static inline int64_t integer_at(const uint8_t *at, const kind *k) {
  return (((int64_t)llmprof_get8(at) >> k->shift) & k->mask) + k->plus;
}

/* The straight way: all wanted columns are there and integers, and types have
 * one byte. It reads ahead of its checks, which the slack behind a page allows,
 * and its values count only when it returns true. */
static inline bool decode_integers(const pages_scan *scan,
                                   const uint8_t *record, size_t size,
                                   int64_t *values) {
  const uint8_t *type = record + 1, *at = record + record[0];
  if (record[0] < scan->bytes || record[0] >= KINDS) return false;
  const wanted *last = scan->wanted + scan->wanted_count;
  bool odd = false;
  for (const wanted *w = scan->wanted; w < last; w++) {
    for (int skip = w->skip; skip; skip--) {
      const kind *k = &scan->kinds[*type++];
      odd |= k->longer;
      at += k->size;
    }
    const kind *k = &scan->kinds[*type++];
    values[w->slot] = integer_at(at, k);
    odd |= !k->integer;
    at += k->size;
  }
  return !odd && at <= record + size;
}

/* ---- records of a shape that was seen before ---- */

/* Word i of the types up to that of the last wanted column, behind the length
 * of all. */
static inline uint64_t types_at(const pages_scan *scan, const uint8_t *record,
                                int i) {
  return llmprof_get8(record + 8 * i) & scan->masks[i];
}

/* Of this number of words of types. */
static inline size_t hash_types(const pages_scan *scan, int words,
                                const uint8_t *record) {
  uint64_t hash = 0;
  for (int i = 0; i < words; i++)
    hash = (hash ^ types_at(scan, record, i)) * 0x9e3779b97f4a7c15u;
  return hash >> (64 - SHAPE_BITS);
}

/* The shape for a record that decode_integers took. */
static void learn_shape(const pages_scan *scan, const uint8_t *record,
                        shape *shapes) {
  shape *s = &shapes[hash_types(scan, scan->type_words, record)];
  const uint8_t *type = record + 1;
  uint32_t at = record[0];
  for (int i = 0; i < scan->type_words; i++)
    s->types[i] = types_at(scan, record, i);
  for (int i = 0; i < scan->wanted_count; i++) {
    for (int skip = scan->wanted[i].skip; skip; skip--)
      at += scan->kinds[*type++].size;
    const kind *k = &scan->kinds[*type++];
    s->spots[i] =
        (spot){at, k->shift, (uint8_t)scan->wanted[i].slot, k->mask, k->plus};
    at += k->size;
  }
  s->end = at;
}

/* What of a scan is asked for with each row. */
typedef struct terms {
  const pages_scan *scan;
  const uint8_t *page;
  uint32_t least, most; /* where records may begin */
  uint32_t usable, max_local;
  int words, columns;
} terms;

/* Types are read once more where they are compared: kept in an array they were
 * stored one by one and loaded together, which waits for the stores. */
static inline bool decode_shape(const terms *t, const uint8_t *record,
                                uint32_t size, const shape *shapes,
                                int64_t *values) {
  uint64_t differences = 0;
  const shape *s = &shapes[hash_types(t->scan, t->words, record)];
  for (int i = 0; i < t->words; i++)
    differences |= types_at(t->scan, record, i) ^ s->types[i];
  if (differences || s->end - 1 >= size) return false;
  for (const spot *of = s->spots; of < s->spots + t->columns; of++) {
    int64_t bits = (int64_t)llmprof_get8(record + of->at) >> of->shift;
    values[of->slot] = (bits & of->mask) + of->plus;
  }
  return true;
}

/* ---- leaves ---- */

/* The record of a cell, where it lies in its leaf as a whole; else NULL. */
static inline const uint8_t *find_record(const terms *t, uint32_t cell,
                                         uint32_t *size, int64_t *rowid) {
  uint32_t offset = llmprof_get2(t->page + 8 + 2 * cell);
  uint64_t total, id;
  if (offset < t->least || offset > t->most) return NULL;
  const uint8_t *at =
      llmprof_varint(llmprof_varint(t->page + offset, &total), &id);
  if (total > t->max_local || (size_t)(at - t->page) + total > t->usable)
    return NULL;
  *size = (uint32_t)total;
  *rowid = (int64_t)id;
  return at;
}

/* A row by way of each type. Apart, so that the common case saves no
 * registers. */
__attribute__((noinline)) static bool
decode_slowly(const pages_scan *scan, shape *shapes, const uint8_t *record,
              uint32_t size, int64_t *values) {
  if (!decode_integers(scan, record, size, values)) return false;
  if (scan->type_words && size < 0x80) learn_shape(scan, record, shapes);
  return true;
}

/* What a record does not hold. */
static inline void complete(const pages_scan *scan, int64_t rowid,
                            int64_t *values) {
  if (scan->rowid_slot >= 0) values[scan->rowid_slot] = rowid;
  for (int i = 0; i < scan->lacking_count; i++)
    values[scan->lacking[i]] = LLMPROF_ABSENT;
}

/* Inlined for the numbers of words that there are mostly. */
__attribute__((always_inline)) static inline bool
decode_rows(const pages_scan *scan, shape *shapes, const uint8_t *page,
            uint32_t cells, int words, int64_t *values) {
  const terms t = {.scan = scan,
                   .page = page,
                   .least = 8 + 2 * cells,
                   .most = scan->tree.usable - 4,
                   .usable = scan->tree.usable,
                   .max_local = scan->tree.usable - 35,
                   .words = words,
                   .columns = scan->wanted_count};
  int columns = scan->ints;
  bool lacks = scan->lacking_count > 0 || scan->rowid_slot >= 0;
  for (uint32_t cell = 0; cell < cells; cell++, values += columns) {
    uint32_t size;
    int64_t rowid;
    const uint8_t *record = find_record(&t, cell, &size, &rowid);
    if (!record) return false;
    bool is_known = words && decode_shape(&t, record, size, shapes, values);
    if (!is_known && !decode_slowly(scan, shapes, record, size, values))
      return false;
    if (lacks) complete(scan, rowid, values);
  }
  return true;
}

static bool decode_leaf(const pages_scan *scan, reader *r,
                        const uint8_t *page) {
  int32_t got = llmprof_btree_cells(&scan->tree, page);
  uint32_t cells = (uint32_t)got;
  if (got <= 0) return got == 0; /* there may be no buffer yet to point to */
  if (!llmprof_grow(&r->values, &r->values_cap,
                    (r->rows + cells) * (size_t)scan->ints, sizeof *r->values))
    return false;
  int64_t *values = r->values + r->rows * (size_t)scan->ints;
  r->rows += cells;
  switch (scan->type_words) {
  case 1:
    return decode_rows(scan, r->shapes, page, cells, 1, values);
  case 2:
    return decode_rows(scan, r->shapes, page, cells, 2, values);
  default:
    return decode_rows(scan, r->shapes, page, cells, scan->type_words, values);
  }
}

/* ---- parts ---- */

static bool read_leaves(const pages_scan *scan, const reader *to, size_t first,
                        size_t end, llmprof_error *err) {
  const uint32_t *leaves = scan->leaves;
  for (size_t i = first, run; i < end; i += run) {
    for (run = 1; i + run < end && leaves[i + run] == leaves[i] + run;) run++;
    if (!llmprof_btree_read(&scan->tree, leaves[i], (uint32_t)run,
                            to->pages + (i - first) * scan->tree.page_size,
                            err))
      return false;
  }
  return true;
}

/* False without an error where a row is not plain, and where there is no memory
 * for the rows. */
static bool decode_part(void *user, size_t worker, size_t part,
                        llmprof_error *err) {
  const pages_scan *scan = user;
  reader *r = &scan->readers[worker];
  size_t first = part * scan->part, left = scan->count - first;
  size_t count = left < scan->part ? left : scan->part;
  r->rows = 0;
  bool ok = read_leaves(scan, r, first, first + count, err);
  for (size_t i = 0; ok && i < count; i++)
    ok = decode_leaf(scan, r, r->pages + i * scan->tree.page_size);
  return ok;
}

static bool take_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const pages_scan *scan = user;
  const reader *r = &scan->readers[worker];
  (void)part;
  return !r->rows || scan->take(scan->user, r->values, r->rows, err);
}

/* ---- all ---- */

static void reader_free(reader *r) {
  llmprof_free(r->pages);
  llmprof_free(r->shapes);
  llmprof_free(r->values);
}

static bool reader_init(reader *r, size_t size) {
  r->pages = llmprof_zalloc(size + LLMPROF_BTREE_SLACK, 1);
  r->shapes = llmprof_zalloc(SHAPES, sizeof *r->shapes);
  if (r->pages && r->shapes) return true;
  reader_free(r);
  return false;
}

/* As many readers as there is memory for. */
static int run(pages_scan *scan, llmprof_error *err) {
  size_t parts = (scan->count + scan->part - 1) / scan->part, made = 0;
  size_t workers = llmprof_thread_pool_size(parts / PARTS_EACH);
  size_t size = (size_t)scan->part * scan->tree.page_size;
  const llmprof_parallel_loop loop = {parts, decode_part, take_part, scan};
  llmprof_error why = {0};
  scan->readers = llmprof_zalloc(workers, sizeof *scan->readers);
  while (scan->readers && made < workers &&
         reader_init(&scan->readers[made], size))
    made++;
  bool ok = made && llmprof_parallel_for(&loop, made, &why);
  for (size_t i = 0; i < made; i++) reader_free(&scan->readers[i]);
  llmprof_free(scan->readers);
  if (why.code && err) *err = why;
  return ok ? 1 : why.code ? -1 : 0;
}

/* False when two wanted columns are the same. */
static bool add_wanted(pages_scan *scan, int slot, int place) {
  int at = scan->wanted_count++;
  for (; at && scan->wanted[at - 1].place >= place; at--) {
    if (scan->wanted[at - 1].place == place) return false;
    scan->wanted[at] = scan->wanted[at - 1];
  }
  scan->wanted[at] = (wanted){.place = place, .slot = slot};
  return true;
}

static bool place_column(pages_scan *scan, int slot, int place) {
  if (place == LLMPROF_COLUMN_LACKING)
    scan->lacking[scan->lacking_count++] = slot;
  else if (place != LLMPROF_COLUMN_ROWID)
    return add_wanted(scan, slot, place);
  else if (scan->rowid_slot >= 0)
    return false;
  else
    scan->rowid_slot = slot;
  return true;
}

/* The first bytes of a word, this number of them; all, if it has no more. */
static uint64_t first_bytes(int count) {
  return count >= 8 ? UINT64_MAX : UINT64_MAX << (64 - 8 * count);
}

static bool plan(pages_scan *scan, const int *places) {
  int place = -1;
  for (int i = 0; i < scan->ints; i++)
    if (!place_column(scan, i, places[i])) return false;
  for (int i = 0; i < scan->wanted_count; i++) {
    scan->wanted[i].skip = scan->wanted[i].place - place - 1;
    place = scan->wanted[i].place;
  }
  scan->bytes = place + 2;
  if (scan->bytes <= TYPE_WORDS * 8) scan->type_words = (scan->bytes + 7) / 8;
  for (int i = 0; i < scan->type_words; i++)
    scan->masks[i] = first_bytes(scan->bytes - 8 * i);
  fill_kinds(scan->kinds);
  return true;
}

int llmprof_scan_pages(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       const llmprof_scan_table *table,
                       llmprof_scan_take_rows take, void *user,
                       llmprof_error *err) {
  pages_scan scan = {
      .ints = spec->ints, .rowid_slot = -1, .take = take, .user = user};
  if (!table->plain || !plan(&scan, table->place) ||
      !llmprof_btree_open(&scan.tree, db, table->root) ||
      !llmprof_btree_leaves(&scan.tree, &scan.leaves, &scan.count))
    return 0;
  uint32_t most = PART_SIZE / scan.tree.page_size;
  scan.part = most < scan.count ? most : (uint32_t)scan.count;
  int got = run(&scan, err);
  llmprof_free(scan.leaves);
  return got;
}
