/* A table scanned by decoding the records on its pages. Integers take the
 * straight way; what seldom comes up (text where a number is wanted, a number
 * where text is) is converted by SQLite itself, so it comes out as SQL gives
 * it. */
#include <math.h>
#include <string.h>

#include "btree.h"
#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "scan_internal.h"

typedef struct wanted {
  int place; /* in the record */
  int slot;  /* in the spec */
} wanted;

/* What a text column of the current row holds. */
typedef struct text_value {
  llmprof_sql_type type;
  int64_t integer;
  double real;
  llmprof_buffer bytes; /* of TEXT, or what a number reads as */
} text_value;

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
  int rowid_slot; /* -1: none */
  bool real[LLMPROF_SCAN_TEXTS];
  text_value text[LLMPROF_SCAN_TEXTS];
  bool failed; /* a conversion ran out of memory */
};

/* A cell's payload, as far as it is on the leaf. */
typedef struct payload {
  const uint8_t *bytes;
  size_t have, total;
  uint32_t overflow; /* page of the rest */
} payload;

typedef enum verdict {
  DECODED,
  TOO_SHORT, /* a wanted value is beyond the bytes at hand */
  BROKEN,
  FAILED, /* with the error filled in */
} verdict;

/* ---- serial types ---- */

enum {
  SERIAL_NULL,
  SERIAL_REAL = 7,
  SERIAL_RESERVED = 10,
  SERIAL_BYTES = 12,
};

/* Types below SERIAL_BYTES: bytes in the record, and an integer from the eight
 * bytes there: shifted down, masked, with something added. */
static const struct serial {
  uint8_t size, shift;
  int64_t mask, plus;
} serials[SERIAL_BYTES] = {
    {0, 0, 0, LLMPROF_SCAN_NULL},
    {1, 56, -1, 0},
    {2, 48, -1, 0},
    {3, 40, -1, 0},
    {4, 32, -1, 0},
    {6, 16, -1, 0},
    {8, 0, -1, 0},
    {8, 0, 0, 0}, /* a real */
    {0, 0, 0, 0},
    {0, 0, 0, 1},
};

static inline uint64_t serial_size(uint64_t type) {
  return type < SERIAL_BYTES ? serials[type].size : (type - SERIAL_BYTES) / 2;
}

static inline int64_t integer_at(const uint8_t *at, uint64_t type) {
  const struct serial *s = &serials[type];
  return (((int64_t)llmprof_get8(at) >> s->shift) & s->mask) + s->plus;
}

static double real_at(const uint8_t *at) {
  uint64_t bits = llmprof_get8(at);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- SQLite's conversions ---- */

/* A query that stands on a row with the value in column 0. */
static llmprof_query *echo(llmprof_sqlite *db, const text_value *value,
                           llmprof_error *err) {
  llmprof_query *query = llmprof_sqlite_query(db, "SELECT ?1", err);
  if (!query) return NULL;
  bool bound;
  if (value->type == LLMPROF_SQL_TEXT)
    bound = llmprof_query_bind_text(query, 1, value->bytes.bytes,
                                    value->bytes.size);
  else if (value->type == LLMPROF_SQL_INT)
    bound = llmprof_query_bind_int(query, 1, value->integer);
  else
    bound = llmprof_query_bind_double(query, 1, value->real);
  if (!bound) llmprof_fail_nomem(err);
  if (bound && llmprof_query_step(query, err) == 1) return query;
  llmprof_query_free(query);
  return NULL;
}

static bool text_to_integer(llmprof_scan_pages *scan, const uint8_t *at,
                            size_t size, int64_t *integer, llmprof_error *err) {
  text_value value = {.type = LLMPROF_SQL_TEXT};
  llmprof_buffer_add(&value.bytes, at, size);
  llmprof_query *query = value.bytes.failed ? (llmprof_fail_nomem(err), NULL)
                                            : echo(scan->db, &value, err);
  if (query) *integer = llmprof_query_int(query, 0);
  llmprof_query_free(query);
  llmprof_buffer_free(&value.bytes);
  return query != NULL;
}

/* As SQLite does: towards zero, kept in range. */
static int64_t real_to_integer(double real) {
  if (isnan(real)) return LLMPROF_SCAN_NULL; /* stored NaN is NULL */
  if (real <= -9223372036854775808.0) return INT64_MIN;
  if (real >= 9223372036854775808.0) return INT64_MAX;
  return (int64_t)real;
}

/* ---- records ---- */

/* An integer column that is no integer. */
static verdict odd_integer(llmprof_scan_pages *scan, const uint8_t *at,
                           uint64_t type, int64_t *value, llmprof_error *err) {
  if (type == SERIAL_REAL) {
    *value = real_to_integer(real_at(at));
    return DECODED;
  }
  if (type < SERIAL_BYTES) return BROKEN;
  return text_to_integer(scan, at, serial_size(type), value, err) ? DECODED
                                                                  : FAILED;
}

static verdict take_text(llmprof_scan_pages *scan, int i, const uint8_t *at,
                         uint64_t type, llmprof_error *err) {
  text_value *value = &scan->text[i];
  if (type == SERIAL_NULL) return DECODED;
  if (type == SERIAL_RESERVED || type == SERIAL_RESERVED + 1) return BROKEN;
  if (type >= SERIAL_BYTES) {
    llmprof_buffer_add(&value->bytes, at, serial_size(type));
    if (value->bytes.failed) return llmprof_fail_nomem(err), FAILED;
    value->type = LLMPROF_SQL_TEXT;
  } else if (type == SERIAL_REAL) {
    value->real = real_at(at);
    if (!isnan(value->real)) value->type = LLMPROF_SQL_DOUBLE;
  } else {
    value->integer = integer_at(at, type);
    value->real = (double)value->integer;
    value->type = scan->real[i] ? LLMPROF_SQL_DOUBLE : LLMPROF_SQL_INT;
  }
  return DECODED;
}

static inline verdict take(llmprof_scan_pages *scan, int slot,
                           const uint8_t *at, uint64_t type, int64_t *values,
                           llmprof_error *err) {
  if (slot >= scan->ints)
    return take_text(scan, slot - scan->ints, at, type, err);
  if (type < SERIAL_RESERVED && type != SERIAL_REAL) {
    values[slot] = integer_at(at, type);
    return DECODED;
  }
  return odd_integer(scan, at, type, &values[slot], err);
}

/* The serial type at `*at`, and how many bytes it stands for. */
static inline bool next_type(const uint8_t **at, const uint8_t *end,
                             size_t total, uint64_t *type, uint64_t *size) {
  *type = **at;
  if (*type < 0x80) {
    ++*at;
    *size = serial_size(*type);
    return true;
  }
  *at = llmprof_varint(*at, type);
  *size = serial_size(*type);
  return *at <= end && *size <= total;
}

static verdict decode(llmprof_scan_pages *scan, const payload *p,
                      int64_t *values, llmprof_error *err) {
  uint64_t header, type, size;
  const uint8_t *at = llmprof_varint(p->bytes, &header);
  if (header > p->total) return BROKEN;
  if (header > p->have) return TOO_SHORT;
  const uint8_t *end = p->bytes + header;
  if (at > end) return BROKEN;
  uint64_t offset = header;
  int place = 0;
  const wanted *w = scan->wanted, *last = w + scan->wanted_count;
  for (; w < last; w++) {
    for (; place < w->place && at < end; place++) {
      if (!next_type(&at, end, p->total, &type, &size)) return BROKEN;
      offset += size;
    }
    if (at >= end) break;
    if (!next_type(&at, end, p->total, &type, &size)) return BROKEN;
    if (offset + size > p->have)
      return offset + size > p->total ? BROKEN : TOO_SHORT;
    verdict got = take(scan, w->slot, p->bytes + offset, type, values, err);
    if (got != DECODED) return got;
    offset += size;
    place++;
  }
  for (; w < last; w++) { /* the column was added after the row */
    if (w->slot < scan->ints) values[w->slot] = LLMPROF_SCAN_NULL;
  }
  return DECODED;
}

/* ---- cells ---- */

static bool find_payload(llmprof_scan_pages *scan, uint32_t cell, payload *p,
                         int64_t *rowid) {
  const llmprof_leaf *leaf = &scan->leaf;
  uint32_t offset = llmprof_get2(leaf->page + 8 + 2 * cell);
  if (offset < 8 + 2 * leaf->cells || offset > scan->usable - 4) return false;
  uint64_t total, id;
  p->bytes = llmprof_varint(llmprof_varint(leaf->page + offset, &total), &id);
  *rowid = (int64_t)id;
  if (total > INT32_MAX) return false;
  p->total = p->have = total;
  uint32_t tail = 0;
  if (total > scan->max_local) {
    uint32_t part = scan->min_local +
                    (uint32_t)(total - scan->min_local) % (scan->usable - 4);
    p->have = part <= scan->max_local ? part : scan->min_local;
    tail = 4;
  }
  if (p->bytes + p->have + tail > leaf->page + scan->usable) return false;
  if (tail) p->overflow = llmprof_get4(p->bytes + p->have);
  return true;
}

static void clear_texts(llmprof_scan_pages *scan) {
  for (int i = 0; i < scan->texts; i++) {
    scan->text[i].type = LLMPROF_SQL_NULL;
    llmprof_buffer_clear(&scan->text[i].bytes);
  }
}

static verdict decode_whole(llmprof_scan_pages *scan, const payload *p,
                            int64_t *values, llmprof_error *err) {
  payload whole = {.have = p->total, .total = p->total};
  whole.bytes = llmprof_btree_payload(scan->tree, p->bytes, p->have, p->total,
                                      p->overflow, err);
  if (!whole.bytes) return FAILED;
  clear_texts(scan);
  return decode(scan, &whole, values, err);
}

static int fail_cell(llmprof_scan_pages *scan, verdict got,
                     llmprof_error *err) {
  if (got != FAILED)
    llmprof_btree_corrupt(scan->tree, scan->leaf.number,
                          "a row is not where it should be", err);
  scan->cell = scan->leaf.cells = 0;
  return -1;
}

int llmprof_scan_pages_next(llmprof_scan_pages *scan, int64_t *values,
                            llmprof_error *err) {
  if (scan->failed) return llmprof_fail_nomem(err), -1;
  while (scan->cell == scan->leaf.cells) {
    int got = llmprof_btree_next(scan->tree, &scan->leaf, err);
    scan->cell = 0;
    if (got <= 0) {
      scan->leaf.cells = 0;
      return got;
    }
  }
  payload p;
  int64_t rowid;
  if (!find_payload(scan, scan->cell++, &p, &rowid))
    return fail_cell(scan, BROKEN, err);
  if (scan->texts) clear_texts(scan);
  verdict got = decode(scan, &p, values, err);
  if (got == TOO_SHORT) got = decode_whole(scan, &p, values, err);
  if (got != DECODED) return fail_cell(scan, got, err);
  if (scan->rowid_slot >= 0) values[scan->rowid_slot] = rowid;
  for (int i = 0; i < scan->lacking_count; i++)
    values[scan->lacking[i]] = LLMPROF_SCAN_NULL;
  return 1;
}

/* ---- text columns ---- */

const char *llmprof_scan_pages_text(llmprof_scan_pages *scan, int i,
                                    size_t *size) {
  text_value *value = &scan->text[i];
  *size = 0;
  if (value->type == LLMPROF_SQL_NULL) return NULL;
  if (value->type != LLMPROF_SQL_TEXT && !value->bytes.size) {
    llmprof_query *query = echo(scan->db, value, NULL);
    size_t length;
    const char *bytes = query ? llmprof_query_text(query, 0, &length) : NULL;
    if (bytes) llmprof_buffer_add(&value->bytes, bytes, length);
    llmprof_query_free(query);
    scan->failed |= !bytes || value->bytes.failed;
  }
  *size = value->bytes.size;
  return value->bytes.bytes && !value->bytes.failed ? value->bytes.bytes : "";
}

double llmprof_scan_pages_double(llmprof_scan_pages *scan, int i) {
  const text_value *value = &scan->text[i];
  if (value->type == LLMPROF_SQL_NULL) return NAN;
  if (value->type != LLMPROF_SQL_TEXT) return value->real;
  llmprof_query *query = echo(scan->db, value, NULL);
  double real = query ? llmprof_query_double(query, 0) : NAN;
  scan->failed |= !query;
  llmprof_query_free(query);
  return real;
}

/* ---- opening ---- */

/* False when two wanted columns are the same. */
static bool add_wanted(llmprof_scan_pages *scan, int slot, int place) {
  int at = scan->wanted_count;
  for (; at && scan->wanted[at - 1].place >= place; at--) {
    if (scan->wanted[at - 1].place == place) return false;
    scan->wanted[at] = scan->wanted[at - 1];
  }
  scan->wanted[at] = (wanted){place, slot};
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

/* 1: the tree is open, 0: this is for SQL, -1. */
static int start(llmprof_scan_pages *scan, const llmprof_scan_spec *spec,
                 const llmprof_scan_table *table, llmprof_error *err) {
  scan->ints = spec->ints;
  scan->texts = spec->texts;
  scan->rowid_slot = -1;
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (!place_column(scan, i, table->place[i])) return 0;
  }
  for (int i = 0; i < spec->texts; i++)
    scan->real[i] = table->real[spec->ints + i];
  if (!llmprof_btree_open(scan->db, table->root, &scan->tree, err)) return -1;
  return scan->tree != NULL;
}

bool llmprof_scan_pages_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                             const llmprof_scan_table *table,
                             llmprof_scan_pages **scan, llmprof_error *err) {
  *scan = NULL;
  if (!table->plain) return true;
  llmprof_scan_pages *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return llmprof_fail_nomem(err);
  made->db = db;
  int got = start(made, spec, table, err);
  if (got == 1) {
    made->usable = llmprof_btree_usable(made->tree);
    made->max_local = made->usable - 35;
    made->min_local = (made->usable - 12) * 32 / 255 - 23;
    *scan = made;
    return true;
  }
  llmprof_scan_pages_close(made);
  return got == 0;
}

void llmprof_scan_pages_close(llmprof_scan_pages *scan) {
  if (!scan) return;
  llmprof_btree_close(scan->tree);
  for (int i = 0; i < scan->texts; i++)
    llmprof_buffer_free(&scan->text[i].bytes);
  llmprof_free(scan);
}

/* Exporters only append, so the last rowid is the count. A hostile one must
 * not make us reserve more than the file could hold. */
size_t llmprof_scan_pages_hint(llmprof_scan_pages *scan) {
  enum {
    SMALLEST_ROW = 16
  };
  int64_t rows = llmprof_btree_last(scan->tree);
  int64_t most = llmprof_btree_size(scan->tree) / SMALLEST_ROW;
  if (rows > most) rows = most;
  return rows > 0 ? (size_t)rows : 0;
}
