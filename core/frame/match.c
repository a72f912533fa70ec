/* Rows of another frame by equal keys: that frame's are interned, which gives
 * each a number, and this one's are looked up. */
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/intern.h"
#include "frame/relate.h"
#include "llmprof/alloc.h"

/* A pair of key columns. */
typedef struct key {
  const llmprof_column *here, *there;
  uint32_t *translated; /* by string id there: here; NULL: the same pool */
} key;

typedef struct matching {
  key *keys;
  size_t count;
  llmprof_intern table;
  int64_t *record; /* of a row: its keys, and the row there */
  uint32_t *found; /* by row here */
} matching;

static void matching_free(matching *m) {
  for (size_t k = 0; m->keys && k < m->count; k++)
    llmprof_free(m->keys[k].translated);
  llmprof_free(m->keys);
  llmprof_intern_free(&m->table);
  llmprof_free(m->record);
}

/* ---- keys ---- */

static bool translate(key *k, const llmprof_strings *here,
                      const llmprof_strings *there, llmprof_error *err) {
  if (here == there) return true;
  size_t count = llmprof_strings_count(there);
  k->translated = llmprof_alloc(count, sizeof *k->translated);
  if (!k->translated) return llmprof_fail_nomem(err);
  for (uint32_t id = 0; id < count; id++) {
    size_t size;
    if (llmprof_interrupted_at(id)) return llmprof_fail_interrupted(err);
    const char *text = llmprof_strings_get(there, id, &size);
    k->translated[id] = llmprof_strings_find(here, text, size);
  }
  return true;
}

static bool key_init(key *k, llmprof_frame *frame, size_t here,
                     llmprof_frame *other, size_t there, llmprof_error *err) {
  k->here = llmprof_frame_column(frame, here, err);
  k->there = k->here ? llmprof_frame_column(other, there, err) : NULL;
  if (!k->there) return false;
  bool is_text = k->here->type == LLMPROF_STRING_ID;
  if (is_text != (k->there->type == LLMPROF_STRING_ID))
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "column '%s' holds text in one frame and numbers in "
                        "the other",
                        k->here->name);
  return !is_text || translate(k, llmprof_column_strings(frame, k->here),
                               llmprof_column_strings(other, k->there), err);
}

/* A cell as it is compared: reals where either side has them. */
static int64_t comparable(const key *k, const llmprof_column *column,
                          size_t row) {
  int64_t cell = llmprof_cell(column, row);
  if (cell == LLMPROF_ABSENT || k->here->type == k->there->type) {
    bool is_there = column == k->there && k->translated;
    if (!is_there || cell == LLMPROF_ABSENT) return cell;
    uint32_t id = k->translated[cell];
    return id == LLMPROF_NO_STRING ? LLMPROF_ABSENT : (int64_t)id;
  }
  bool is_real = column->type == LLMPROF_F64;
  bool any_real = k->here->type == LLMPROF_F64 || k->there->type == LLMPROF_F64;
  return any_real && !is_real ? llmprof_real_cell((double)cell) : cell;
}

/* The keys of a row; false where one is absent. */
static bool read_record(matching *m, bool there, size_t row) {
  for (size_t k = 0; k < m->count; k++) {
    const key *one = &m->keys[k];
    m->record[k] = comparable(one, there ? one->there : one->here, row);
    if (m->record[k] == LLMPROF_ABSENT) return false;
  }
  return true;
}

/* ---- rows ---- */

static bool index_rows(matching *m, size_t rows, llmprof_error *err) {
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (!read_record(m, true, row)) continue;
    m->record[m->count] = (int64_t)row;
    const int64_t *first = llmprof_intern_put(&m->table, m->record);
    if (!first) return llmprof_fail_nomem(err);
    if (first[m->count] != (int64_t)row)
      return llmprof_fail(err, LLMPROF_RANGE,
                          "several rows of the other frame have the same key");
  }
  return true;
}

static bool find_rows(matching *m, size_t rows, llmprof_error *err) {
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    const int64_t *there = read_record(m, false, row)
                               ? llmprof_intern_seek(&m->table, m->record)
                               : NULL;
    m->found[row] = there ? (uint32_t)there[m->count] : UINT32_MAX;
  }
  return true;
}

static bool matching_init(matching *m, llmprof_frame *frame,
                          llmprof_error *err) {
  m->keys = llmprof_zalloc(m->count, sizeof *m->keys);
  m->record = llmprof_alloc(m->count + 1, sizeof *m->record);
  m->found = llmprof_alloc(llmprof_frame_rows(frame), sizeof *m->found);
  llmprof_intern_init_keyed(&m->table, (m->count + 1) * sizeof *m->record,
                            m->count * sizeof *m->record);
  return (m->keys && m->record && m->found) || llmprof_fail_nomem(err);
}

bool llmprof_frame_match(llmprof_frame *frame, const size_t *keys,
                         llmprof_frame *other, const size_t *other_keys,
                         size_t key_count, const char *name,
                         llmprof_error *err) {
  matching m = {.count = key_count};
  bool ok = matching_init(&m, frame, err);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = key_init(&m.keys[k], frame, keys[k], other, other_keys[k], err);
  ok = ok && index_rows(&m, llmprof_frame_rows(other), err) &&
       find_rows(&m, llmprof_frame_rows(frame), err);
  matching_free(&m);
  if (ok)
    return llmprof_frame_give(frame, name, NULL, LLMPROF_U32, m.found, err);
  llmprof_free(m.found);
  return false;
}
