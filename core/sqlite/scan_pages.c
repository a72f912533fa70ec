/* A table scanned by decoding the records on its pages. */
#include <math.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "sqlite/btree.h"
#include "sqlite/scan_internal.h"
#include "sqlite/scan_value.h"

/* A column that is in the record. */
typedef struct wanted {
  int place; /* in the record */
  int skip;  /* columns between the one before and this */
  int slot;  /* in the spec */
} wanted;

/* Serial types of one byte: how many bytes the value has, and how to make an
 * integer of the eight bytes there. */
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

struct llmprof_scan_shapes {
  shape shapes[SHAPES]; /* by a hash of the types */
};

struct llmprof_scan_pages {
  llmprof_sqlite *db;
  llmprof_btree *tree;
  llmprof_leaf leaf;
  uint32_t cell;                         /* next one of the leaf */
  uint32_t usable, max_local, min_local; /* bytes of a page */

  wanted wanted[LLMPROF_SCAN_INTS + LLMPROF_SCAN_TEXTS]; /* by place */
  int wanted_count;
  int lacking[LLMPROF_SCAN_INTS]; /* slots */
  int lacking_count;
  int ints, texts;
  int rowid_slot;        /* -1: none */
  uint8_t within[KINDS]; /* wanted columns in a record of this number */
  int64_t beyond[LLMPROF_SCAN_INTS]; /* by slot: in a record that lacks it */
  int last_place;
  int type_words; /* that the types up to it are in; 0: no shapes */
  uint64_t masks[KINDS][TYPE_WORDS]; /* of them, by the first byte */
  kind kinds[2 * KINDS];

  llmprof_scan_value odd; /* scratch */
  llmprof_scan_value text[LLMPROF_SCAN_TEXTS];
  bool real[LLMPROF_SCAN_TEXTS]; /* whole numbers are reals there */
  llmprof_error failure;         /* of a conversion, for the next row to tell */
};

typedef enum verdict {
  DECODED,
  TOO_SHORT, /* a wanted value is beyond the bytes at hand */
  BROKEN,
  FAILED, /* with the error filled in */
} verdict;

/* ---- values ---- */

static uint64_t size_of_type(uint64_t type) {
  static const uint8_t sizes[LLMPROF_SERIAL_BYTES] = {0, 1, 2, 3, 4, 6, 8, 8};
  return type < LLMPROF_SERIAL_BYTES ? sizes[type]
                                     : (type - LLMPROF_SERIAL_BYTES) / 2;
}

static void fill_kinds(kind *kinds) {
  for (uint8_t type = 0; type < KINDS; type++) {
    kind *k = &kinds[type];
    k->size = (uint8_t)size_of_type(type);
    k->integer = type < LLMPROF_SERIAL_RESERVED && type != LLMPROF_SERIAL_REAL;
    if (!k->integer) continue;
    k->shift = (uint8_t)(k->size ? 64 - 8 * k->size : 0);
    k->mask = k->size ? -1 : 0;
  }
  for (int i = KINDS; i < 2 * KINDS; i++) kinds[i].longer = true;
  kinds[LLMPROF_SERIAL_NULL].plus = LLMPROF_ABSENT;
  kinds[9].plus = 1; /* the integer 1 without a byte; type 8 is 0 */
}

static inline int64_t integer_at(const uint8_t *at, const kind *k) {
  return (((int64_t)llmprof_get8(at) >> k->shift) & k->mask) + k->plus;
}

static verdict take_value(llmprof_scan_pages *scan, llmprof_scan_value *value,
                          bool real, const uint8_t *at, uint64_t type,
                          llmprof_error *err) {
  llmprof_scan_value_clear(value);
  if (type == LLMPROF_SERIAL_NULL) return DECODED;
  if (type >= LLMPROF_SERIAL_BYTES) {
    if (llmprof_scan_value_set_bytes(value, at, size_of_type(type)))
      return DECODED;
    llmprof_fail_nomem(err);
    return FAILED;
  }
  if (type == LLMPROF_SERIAL_REAL) {
    uint64_t bits = llmprof_get8(at);
    double number;
    memcpy(&number, &bits, sizeof number);
    llmprof_scan_value_set_real(value, number);
    return DECODED;
  }
  if (!scan->kinds[type].integer) return BROKEN;
  llmprof_scan_value_set_integer(value, integer_at(at, &scan->kinds[type]),
                                 real);
  return DECODED;
}

static verdict take(llmprof_scan_pages *scan, int slot, const uint8_t *at,
                    uint64_t type, int64_t *values, llmprof_error *err) {
  int i = slot - scan->ints;
  if (i >= 0)
    return take_value(scan, &scan->text[i], scan->real[i], at, type, err);
  if (type < KINDS && scan->kinds[type].integer) {
    values[slot] = integer_at(at, &scan->kinds[type]);
    return DECODED;
  }
  verdict got = take_value(scan, &scan->odd, false, at, type, err);
  if (got == DECODED &&
      !llmprof_scan_value_integer(scan->db, &scan->odd, &values[slot], err))
    return FAILED;
  return got;
}

/* ---- records ---- */

/* Values of columns that were added after the row was written. */
static void take_beyond(llmprof_scan_pages *scan, const wanted *from,
                        const wanted *to, int64_t *values) {
  for (; from < to; from++) {
    if (from->slot < scan->ints)
      values[from->slot] = scan->beyond[from->slot];
    else
      llmprof_scan_value_clear(&scan->text[from->slot - scan->ints]);
  }
}

/* The straight way, for nearly every row of the big tables: the wanted columns
 * that are there are integers, and types have one byte. It reads ahead of its
 * checks, which the slack behind a page allows, and its values count only when
 * it returns true. */
static inline bool decode_integers(const llmprof_scan_pages *scan,
                                   const llmprof_payload *p, int64_t *values) {
  const uint8_t *type = p->bytes + 1, *at = p->bytes + p->bytes[0];
  if (p->bytes[0] == 0 || p->bytes[0] >= KINDS) return false;
  const wanted *w = scan->wanted, *last = w + scan->within[p->bytes[0] - 1];
  const wanted *all = scan->wanted + scan->wanted_count;
  bool odd = false;
  for (; w < last; w++) {
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
  for (; w < all; w++) values[w->slot] = scan->beyond[w->slot];
  return !odd && at <= p->bytes + p->have;
}

/* ---- records of a shape that was seen before ---- */

/* Word i of the types up to that of the last wanted column, as far as the
 * record has them, behind the length of all. */
static inline uint64_t types_at(const llmprof_scan_pages *scan,
                                const uint8_t *record, int i) {
  return llmprof_get8(record + 8 * i) & scan->masks[record[0] % KINDS][i];
}

/* Of this number of words of types. */
static inline size_t hash_types(const llmprof_scan_pages *scan, int words,
                                const uint8_t *record) {
  uint64_t hash = 0;
  for (int i = 0; i < words; i++)
    hash = (hash ^ types_at(scan, record, i)) * 0x9e3779b97f4a7c15u;
  return hash >> (64 - SHAPE_BITS);
}

/* The shape for a record that decode_integers took. */
static void learn_shape(const llmprof_scan_pages *scan, const uint8_t *record,
                        llmprof_scan_shapes *shapes) {
  shape *s = &shapes->shapes[hash_types(scan, scan->type_words, record)];
  const uint8_t *type = record + 1;
  uint32_t at = record[0];
  for (int i = 0; i < scan->type_words; i++)
    s->types[i] = types_at(scan, record, i);
  int there = scan->within[record[0] - 1];
  for (int i = there; i < scan->wanted_count; i++)
    s->spots[i] = (spot){.slot = (uint8_t)scan->wanted[i].slot,
                         .plus = scan->beyond[scan->wanted[i].slot]};
  for (int i = 0; i < there; i++) {
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
  const llmprof_scan_pages *scan;
  const uint8_t *page;
  uint32_t least, most; /* where records may begin */
  uint32_t usable;
  int words, columns;
} terms;

/* Types are read once more where they are compared: kept in an array they were
 * stored one by one and loaded together, which waits for the stores. */
static inline bool decode_shape(const terms *t, const uint8_t *record,
                                uint32_t size,
                                const llmprof_scan_shapes *shapes,
                                int64_t *values) {
  uint64_t differences = 0;
  const shape *s = &shapes->shapes[hash_types(t->scan, t->words, record)];
  for (int i = 0; i < t->words; i++)
    differences |= types_at(t->scan, record, i) ^ s->types[i];
  if (differences || s->end - 1 >= size) return false;
  for (const spot *of = s->spots; of < s->spots + t->columns; of++) {
    int64_t bits = (int64_t)llmprof_get8(record + of->at) >> of->shift;
    values[of->slot] = (bits & of->mask) + of->plus;
  }
  return true;
}

/* A serial type and the size of its value; returns the next type's place, NULL
 * when broken. */
static const uint8_t *read_type(const uint8_t *at, const uint8_t *end,
                                size_t total, uint64_t *type, uint64_t *size) {
  at = llmprof_varint(at, type);
  *size = size_of_type(*type);
  return at <= end && *size <= total ? at : NULL;
}

/* Any record. */
static verdict decode(llmprof_scan_pages *scan, const llmprof_payload *p,
                      int64_t *values, llmprof_error *err) {
  uint64_t offset;
  const uint8_t *at = llmprof_varint(p->bytes, &offset);
  if (offset > p->have) return offset > p->total ? BROKEN : TOO_SHORT;
  const uint8_t *end = p->bytes + offset; /* of the types */
  const wanted *last = scan->wanted + scan->wanted_count;
  for (const wanted *w = scan->wanted; w < last; w++) {
    uint64_t type = 0, size = 0;
    for (int columns = w->skip + 1; columns; columns--) {
      offset += size;
      if (at >= end) {
        take_beyond(scan, w, last, values);
        return DECODED;
      }
      at = read_type(at, end, p->total, &type, &size);
      if (!at) return BROKEN;
    }
    if (offset + size > p->have)
      return offset + size > p->total ? BROKEN : TOO_SHORT;
    verdict got = take(scan, w->slot, p->bytes + offset, type, values, err);
    if (got != DECODED) return got;
    offset += size;
  }
  return DECODED;
}

/* ---- cells ---- */

static inline bool find_payload(const llmprof_scan_pages *scan,
                                const llmprof_leaf *leaf, uint32_t cell,
                                llmprof_payload *p, int64_t *rowid) {
  const uint8_t *page = leaf->page;
  uint32_t offset = llmprof_get2(page + 8 + 2 * cell);
  if (offset < 8 + 2 * leaf->cells || offset > scan->usable - 4) return false;
  uint64_t total, id;
  p->bytes = llmprof_varint(llmprof_varint(page + offset, &total), &id);
  *rowid = (int64_t)id;
  if (total > INT32_MAX) return false;
  p->total = p->have = total;
  size_t tail = 0;
  if (total > scan->max_local) {
    uint32_t part = scan->min_local +
                    (uint32_t)(total - scan->min_local) % (scan->usable - 4);
    p->have = part <= scan->max_local ? part : scan->min_local;
    tail = 4;
  }
  if ((size_t)(p->bytes - page) + p->have + tail > scan->usable) return false;
  p->overflow = tail ? llmprof_get4(p->bytes + p->have) : 0;
  return true;
}

static verdict decode_whole(llmprof_scan_pages *scan, const llmprof_payload *p,
                            int64_t *values, llmprof_error *err) {
  llmprof_payload whole = {.have = p->total, .total = p->total};
  whole.bytes = llmprof_btree_payload(scan->tree, &scan->leaf, p, err);
  verdict got = whole.bytes ? decode(scan, &whole, values, err) : FAILED;
  llmprof_btree_forget(scan->tree);
  return got;
}

static int fail_cell(llmprof_scan_pages *scan, verdict got,
                     llmprof_error *err) {
  if (got != FAILED)
    llmprof_btree_corrupt(scan->tree, scan->leaf.number, "a broken row", err);
  scan->cell = scan->leaf.cells = 0;
  return -1;
}

/* The next leaf that has cells. */
static int next_leaf(llmprof_scan_pages *scan, llmprof_error *err) {
  int got;
  scan->cell = 0;
  do {
    got = llmprof_btree_next(scan->tree, &scan->leaf, err);
  } while (got == 1 && !scan->leaf.cells);
  if (got != 1) scan->leaf.cells = 0;
  return got;
}

static int report(llmprof_scan_pages *scan, llmprof_error *err) {
  if (err) *err = scan->failure;
  return -1;
}

/* What a record does not hold. */
static inline void complete(const llmprof_scan_pages *scan, int64_t rowid,
                            int64_t *values) {
  if (scan->rowid_slot >= 0) values[scan->rowid_slot] = rowid;
  for (int i = 0; i < scan->lacking_count; i++)
    values[scan->lacking[i]] = LLMPROF_ABSENT;
}

static int next_cell(llmprof_scan_pages *scan, int64_t *values,
                     llmprof_error *err) {
  llmprof_payload p;
  int64_t rowid;
  if (!find_payload(scan, &scan->leaf, scan->cell++, &p, &rowid))
    return fail_cell(scan, BROKEN, err);
  verdict got = DECODED;
  if (scan->texts || !decode_integers(scan, &p, values))
    got = decode(scan, &p, values, err);
  if (got == TOO_SHORT) got = decode_whole(scan, &p, values, err);
  if (got != DECODED) return fail_cell(scan, got, err);
  complete(scan, rowid, values);
  return 1;
}

int llmprof_scan_pages_next(llmprof_scan_pages *scan, int64_t *values,
                            llmprof_error *err) {
  if (scan->failure.code) return report(scan, err);
  if (scan->cell == scan->leaf.cells) {
    int got = next_leaf(scan, err);
    if (got != 1) return got;
  }
  return next_cell(scan, values, err);
}

/* ---- pages by number ---- */

llmprof_btree *llmprof_scan_pages_tree(llmprof_scan_pages *scan) {
  return scan->tree;
}

int llmprof_scan_pages_ints(const llmprof_scan_pages *scan) {
  return scan->ints;
}

/* The record of a cell and its size, where that has one byte, as in nearly all
 * cells; else NULL. Such a record lies in its leaf as a whole. */
static inline const uint8_t *short_record(const terms *t, uint32_t cell,
                                          uint32_t *size) {
  static const uint64_t last_bytes = 0x8080808080808080u;
  uint32_t offset = llmprof_get2(t->page + 8 + 2 * cell);
  if (offset < t->least || offset > t->most) return NULL;
  const uint8_t *at = t->page + offset;
  *size = *at++;
  uint64_t rowid;
  memcpy(&rowid, at, sizeof rowid);
  uint64_t ends = ~le64toh(rowid) & last_bytes;
  if (*size >= 0x80 || !ends) return NULL;
  at += __builtin_ctzll(ends) / 8 + 1;
  return (size_t)(at - t->page) + *size <= t->usable ? at : NULL;
}

/* A row by way of each type. Apart, so that the common case saves no
 * registers. */
__attribute__((noinline)) static bool
decode_slowly(const llmprof_scan_pages *scan, llmprof_scan_shapes *shapes,
              const llmprof_leaf *leaf, uint32_t cell, int64_t *values) {
  llmprof_payload p;
  int64_t rowid;
  if (!find_payload(scan, leaf, cell, &p, &rowid) ||
      !decode_integers(scan, &p, values))
    return false;
  if (scan->type_words && p.have < 0x80) learn_shape(scan, p.bytes, shapes);
  complete(scan, rowid, values);
  return true;
}

/* Inlined for the numbers of words that there are mostly. */
__attribute__((always_inline)) static inline bool
decode_rows(const llmprof_scan_pages *scan, llmprof_scan_shapes *shapes,
            const llmprof_leaf *leaf, int words, int64_t *values) {
  const terms t = {.scan = scan,
                   .page = leaf->page,
                   .least = 8 + 2 * leaf->cells,
                   .most = scan->usable - 4,
                   .usable = scan->usable,
                   .words = words,
                   .columns = scan->wanted_count};
  int columns = scan->ints;
  bool lacks = scan->lacking_count > 0, plain = true;
  for (uint32_t cell = 0; plain && cell < leaf->cells;
       cell++, values += columns) {
    uint32_t size;
    const uint8_t *record = words ? short_record(&t, cell, &size) : NULL;
    if (!record || !decode_shape(&t, record, size, shapes, values))
      plain = decode_slowly(scan, shapes, leaf, cell, values);
    else if (lacks)
      complete(scan, 0, values);
  }
  return plain;
}

llmprof_scan_shapes *llmprof_scan_shapes_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_scan_shapes));
}

bool llmprof_scan_pages_plain(const llmprof_scan_pages *scan,
                              llmprof_scan_shapes *shapes,
                              const llmprof_leaf *leaf, int64_t *values) {
  if (scan->type_words == 1) return decode_rows(scan, shapes, leaf, 1, values);
  if (scan->type_words == 2) return decode_rows(scan, shapes, leaf, 2, values);
  return decode_rows(scan, shapes, leaf, scan->type_words, values);
}

bool llmprof_scan_pages_go_to(llmprof_scan_pages *scan, uint32_t number,
                              llmprof_error *err) {
  scan->cell = scan->leaf.cells = 0;
  return llmprof_btree_leaf(scan->tree, number, &scan->leaf, err);
}

int llmprof_scan_pages_next_here(llmprof_scan_pages *scan, int64_t *values,
                                 llmprof_error *err) {
  if (scan->cell == scan->leaf.cells) return 0;
  return next_cell(scan, values, err);
}

const char *llmprof_scan_pages_text(llmprof_scan_pages *scan, int i,
                                    size_t *size) {
  const char *bytes;
  if (llmprof_scan_value_text(scan->db, &scan->text[i], &bytes, size,
                              &scan->failure))
    return bytes;
  *size = 0;
  return "";
}

double llmprof_scan_pages_double(llmprof_scan_pages *scan, int i) {
  double real;
  return llmprof_scan_value_double(scan->db, &scan->text[i], &real,
                                   &scan->failure)
             ? real
             : NAN;
}

/* ---- opening ---- */

/* False when two wanted columns are the same. */
static bool add_wanted(llmprof_scan_pages *scan, int slot, int place) {
  int at = scan->wanted_count;
  for (; at && scan->wanted[at - 1].place >= place; at--) {
    if (scan->wanted[at - 1].place == place) return false;
    scan->wanted[at] = scan->wanted[at - 1];
  }
  scan->wanted[at] = (wanted){.place = place, .slot = slot};
  scan->wanted_count++;
  return true;
}

static bool place_column(llmprof_scan_pages *scan, int slot, int place) {
  if (place == LLMPROF_COLUMN_ROWID) {
    if (slot >= scan->ints || scan->rowid_slot >= 0) return false;
    scan->rowid_slot = slot;
  } else if (place != LLMPROF_COLUMN_LACKING) {
    return add_wanted(scan, slot, place);
  } else if (slot < scan->ints) {
    scan->lacking[scan->lacking_count++] = slot;
  }
  return true;
}

static void plan_short_records(llmprof_scan_pages *scan) {
  int i = 0;
  for (int columns = 0; columns < KINDS; columns++) {
    while (i < scan->wanted_count && scan->wanted[i].place < columns) i++;
    scan->within[columns] = (uint8_t)i;
  }
}

/* The first bytes of a word, this number of them; none or all of them, too. */
static uint64_t first_bytes(int count) {
  if (count <= 0) return 0;
  return count >= 8 ? UINT64_MAX : UINT64_MAX << (64 - 8 * count);
}

/* Rows that are told their numbers take the other way. */
static void plan_shapes(llmprof_scan_pages *scan) {
  int bytes = scan->last_place + 2;
  if (bytes > TYPE_WORDS * 8 || scan->rowid_slot >= 0 || scan->texts) return;
  scan->type_words = (bytes + 7) / 8;
  for (int length = 0; length < KINDS; length++)
    for (int i = 0; i < scan->type_words; i++)
      scan->masks[length][i] =
          first_bytes((length < bytes ? length : bytes) - 8 * i);
}

static bool plan(llmprof_scan_pages *scan, const llmprof_scan_spec *spec,
                 const llmprof_scan_table *table) {
  scan->ints = spec->ints;
  scan->texts = spec->texts;
  scan->rowid_slot = -1;
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (!place_column(scan, i, table->place[i])) return false;
  }
  int place = -1;
  for (int i = 0; i < scan->wanted_count; i++) {
    scan->wanted[i].skip = scan->wanted[i].place - place - 1;
    place = scan->wanted[i].place;
  }
  scan->last_place = place;
  memcpy(scan->beyond, table->beyond, sizeof scan->beyond);
  plan_short_records(scan);
  plan_shapes(scan);
  for (int i = 0; i < spec->texts; i++)
    scan->real[i] = table->real[spec->ints + i];
  return true;
}

static bool start(llmprof_scan_pages *scan, uint32_t root, llmprof_error *err) {
  if (!llmprof_btree_open(scan->db, root, &scan->tree, err)) return false;
  if (!scan->tree) return true;
  scan->usable = llmprof_btree_usable(scan->tree);
  scan->max_local = scan->usable - 35;
  scan->min_local = (scan->usable - 12) * 32 / 255 - 23;
  fill_kinds(scan->kinds);
  return true;
}

bool llmprof_scan_pages_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                             const llmprof_scan_table *table,
                             llmprof_scan_pages **scan, llmprof_error *err) {
  *scan = NULL;
  if (!table->plain) return true;
  llmprof_scan_pages *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return llmprof_fail_nomem(err);
  made->db = db;
  bool ok = !plan(made, spec, table) || start(made, table->root, err);
  if (made->tree) {
    *scan = made;
    return true;
  }
  llmprof_scan_pages_close(made);
  return ok;
}

void llmprof_scan_pages_close(llmprof_scan_pages *scan) {
  if (!scan) return;
  llmprof_btree_close(scan->tree);
  llmprof_scan_value_free(&scan->odd);
  for (int i = 0; i < scan->texts; i++) llmprof_scan_value_free(&scan->text[i]);
  llmprof_free(scan);
}
