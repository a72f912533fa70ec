/* Layout: "llmprof frame 1\n", then numbers: rows, columns; then the columns.
 * A column is its type, name and unit, for strings how many different ones
 * there are and they themselves, and then one number per row. Texts are a
 * number, their size, and their bytes. Numbers are little-endian groups of
 * seven bits, the top bit set in all but the last; those of rows are
 * differences, zigzag. */
#include "ranks/pack.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/intern.h"
#include "ranks/timeline.h"

static const char magic[] = "llmprof frame 1\n";

enum {
  MAGIC_SIZE = sizeof magic - 1
};

/* ---- writing ---- */

static void put_number(llmprof_buffer *out, uint64_t value) {
  unsigned char bytes[10];
  size_t size = 0;
  do {
    bytes[size] = (unsigned char)(value & 0x7f);
    value >>= 7;
    bytes[size++] |= value ? 0x80 : 0;
  } while (value);
  llmprof_buffer_add(out, bytes, size);
}

static void put_text(llmprof_buffer *out, const char *text, size_t size) {
  put_number(out, size);
  llmprof_buffer_add(out, text, size);
}

static uint64_t zigzag(uint64_t difference) {
  return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static void put_cells(llmprof_buffer *out, const int64_t *cells, size_t rows) {
  uint64_t before = 0;
  for (size_t row = 0; row < rows; row++) {
    put_number(out, zigzag((uint64_t)cells[row] - before));
    before = (uint64_t)cells[row];
  }
}

/* String ids become numbers from 1 in order of appearance, absent ones 0; the
 * strings go out first. */
static bool put_strings(llmprof_buffer *out, llmprof_frame *frame,
                        const llmprof_column *column, int64_t *cells) {
  llmprof_intern seen;
  llmprof_intern_init(&seen, sizeof(int64_t));
  bool ok = true;
  for (size_t row = 0; ok && row < llmprof_frame_rows(frame); row++) {
    uint32_t number = 0;
    bool absent = cells[row] == LLMPROF_ABSENT;
    ok = absent || llmprof_intern_add(&seen, &cells[row], &number);
    cells[row] = absent ? 0 : (int64_t)number + 1;
  }
  const llmprof_strings *pool = llmprof_column_strings(frame, column);
  put_number(out, seen.count);
  for (size_t i = 0; ok && i < seen.count; i++) {
    int64_t id;
    size_t size;
    memcpy(&id, llmprof_intern_get(&seen, (uint32_t)i), sizeof id);
    const char *text = llmprof_strings_get(pool, (uint32_t)id, &size);
    put_text(out, text, size);
  }
  llmprof_intern_free(&seen);
  return ok;
}

static bool put_column(llmprof_buffer *out, llmprof_frame *frame, size_t number,
                       int64_t *cells, llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column || !timeline_cells(frame, column, cells, err)) return false;
  size_t rows = llmprof_frame_rows(frame);
  const char *unit = column->unit ? column->unit : "";
  put_number(out, column->type == LLMPROF_STRING_ID);
  put_text(out, column->name, strlen(column->name));
  put_text(out, unit, strlen(unit));
  if (column->type == LLMPROF_STRING_ID &&
      !put_strings(out, frame, column, cells))
    return llmprof_fail_nomem(err);
  put_cells(out, cells, rows);
  return !out->failed || llmprof_fail_nomem(err);
}

bool llmprof_frame_pack(llmprof_frame *frame, llmprof_buffer *out,
                        llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame),
         columns = llmprof_frame_columns(frame);
  int64_t *cells = llmprof_alloc(rows, sizeof *cells);
  if (!cells) return llmprof_fail_nomem(err);
  llmprof_buffer_add(out, magic, MAGIC_SIZE);
  put_number(out, rows);
  put_number(out, columns);
  bool ok = true;
  for (size_t c = 0; ok && c < columns; c++)
    ok = put_column(out, frame, c, cells, err);
  llmprof_free(cells);
  return ok;
}

/* ---- reading ---- */

typedef struct reader {
  const unsigned char *at, *end;
  bool broken;
} reader;

static uint64_t get_number(reader *r) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
    unsigned char byte = *r->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  r->broken = true;
  return 0;
}

/* A text within the bytes; nothing and `broken` when it does not fit. */
static const char *get_text(reader *r, size_t *size) {
  uint64_t wanted = get_number(r);
  const char *text = (const char *)r->at;
  if (r->broken || wanted > (size_t)(r->end - r->at)) {
    r->broken = true;
    *size = 0;
    return "";
  }
  *size = (size_t)wanted;
  r->at += wanted;
  return text;
}

static bool get_cells(reader *r, int64_t *cells, size_t rows) {
  uint64_t value = 0;
  for (size_t row = 0; row < rows && !r->broken; row++) {
    uint64_t coded = get_number(r);
    value += coded >> 1 ^ (uint64_t) - (int64_t)(coded & 1);
    memcpy(&cells[row], &value, sizeof value);
  }
  return !r->broken;
}

static bool fail_broken(llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_SYNTAX, "these are no packed frames");
}

/* The texts of a column of strings into the pool; ids by number from 1. */
static uint32_t *get_strings(reader *r, llmprof_strings *pool, size_t *count,
                             llmprof_error *err) {
  uint64_t wanted = get_number(r);
  if (r->broken || wanted > (size_t)(r->end - r->at))
    return fail_broken(err), NULL;
  *count = (size_t)wanted;
  uint32_t *ids = llmprof_alloc(*count, sizeof *ids);
  bool ok = ids || llmprof_fail_nomem(err);
  for (size_t i = 0; ok && i < *count; i++) {
    size_t size;
    const char *text = get_text(r, &size);
    ok = (!r->broken || fail_broken(err)) &&
         (llmprof_strings_add(pool, text, size, &ids[i]) ||
          llmprof_fail_nomem(err));
  }
  if (ok) return ids;
  llmprof_free(ids);
  return NULL;
}

/* Numbers of strings into ids of the pool, 0 into absent. */
static bool name_cells(int64_t *cells, size_t rows, reader *r,
                       const uint32_t *ids, size_t count) {
  for (size_t row = 0; row < rows; row++) {
    if (cells[row] < 0 || (uint64_t)cells[row] > count) r->broken = true;
    if (r->broken) return false;
    cells[row] = cells[row] ? ids[cells[row] - 1] : LLMPROF_ABSENT;
  }
  return true;
}

/* A column's cells, its strings as ids of the pool. */
static bool get_values(reader *r, int64_t *cells, size_t rows, bool strings,
                       llmprof_strings *pool, llmprof_error *err) {
  size_t count = 0;
  uint32_t *ids = strings ? get_strings(r, pool, &count, err) : NULL;
  if (strings && !ids) return false;
  bool ok = get_cells(r, cells, rows) &&
            (!strings || name_cells(cells, rows, r, ids, count));
  llmprof_free(ids);
  return ok || fail_broken(err);
}

static bool get_column(reader *r, llmprof_frame *frame, int64_t *cells,
                       llmprof_strings *pool, llmprof_error *err) {
  size_t name_size, unit_size;
  bool strings = get_number(r) == 1;
  const char *name = get_text(r, &name_size), *unit = get_text(r, &unit_size);
  char *named = llmprof_memdup(name, name_size);
  char *measured = llmprof_memdup(unit, unit_size);
  bool ok = (named && measured) || llmprof_fail_nomem(err);
  ok = ok &&
       get_values(r, cells, llmprof_frame_rows(frame), strings, pool, err) &&
       timeline_keep(frame, named, measured, strings, cells, err);
  llmprof_free(named);
  llmprof_free(measured);
  return ok;
}

static llmprof_frame *get_frame(reader *r, llmprof_strings *pool,
                                llmprof_error *err) {
  uint64_t rows = get_number(r), columns = get_number(r);
  size_t left = (size_t)(r->end - r->at);
  if (r->broken || columns > left) return fail_broken(err), NULL;
  if (rows > left || rows >= UINT32_MAX) /* each row has a byte, or more */
    return llmprof_fail(err, LLMPROF_LIMIT, "more rows than bytes"), NULL;
  llmprof_frame *frame = llmprof_frame_new((size_t)rows, pool);
  int64_t *cells = llmprof_alloc((size_t)rows, sizeof *cells);
  bool ok = (frame && cells) || llmprof_fail_nomem(err);
  for (uint64_t c = 0; ok && c < columns; c++)
    ok = get_column(r, frame, cells, pool, err);
  llmprof_free(cells);
  if (ok) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

llmprof_frame *llmprof_frame_unpack(const void *bytes, size_t size,
                                    llmprof_strings *pool, llmprof_error *err) {
  const unsigned char *from = bytes;
  if (size < MAGIC_SIZE || memcmp(from, magic, MAGIC_SIZE) != 0)
    return fail_broken(err), NULL;
  reader r = {.at = from + MAGIC_SIZE, .end = from + size};
  llmprof_frame *frame = get_frame(&r, pool, err);
  if (!frame || r.at == r.end) return frame;
  llmprof_frame_free(frame);
  return fail_broken(err), NULL;
}

/* ---- joining ---- */

/* The column of a frame into `cells`, strings as ids of the pool. */
static bool copy_cells(llmprof_frame *frame, size_t number, bool strings,
                       int64_t *cells, llmprof_strings *pool,
                       llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column || !timeline_cells(frame, column, cells, err)) return false;
  if ((column->type == LLMPROF_STRING_ID) != strings)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "column '%s' holds strings here and numbers there",
                        column->name);
  const llmprof_strings *from = llmprof_column_strings(frame, column);
  for (size_t row = 0; strings && row < llmprof_frame_rows(frame); row++) {
    if (cells[row] == LLMPROF_ABSENT) continue;
    size_t size;
    uint32_t id;
    const char *text = llmprof_strings_get(from, (uint32_t)cells[row], &size);
    if (!llmprof_strings_add(pool, text, size, &id))
      return llmprof_fail_nomem(err);
    cells[row] = id;
  }
  return true;
}

/* What is joined. */
typedef struct request {
  llmprof_frame *const *frames;
  size_t count;
  const llmprof_clock *clocks; /* or NULL */
  const char *const *times;
} request;

static void move_times(int64_t *cells, size_t rows,
                       const llmprof_clock *clock) {
  for (size_t row = 0; row < rows; row++) {
    if (cells[row] == LLMPROF_ABSENT || cells[row] == INT64_MAX) continue;
    double since = (double)llmprof_time_between(clock->at, cells[row]);
    double drift = clock->drift * since;
    int64_t moved = llmprof_time_between(clock->offset, cells[row]);
    bool small = fabs(drift) < 1e18;
    cells[row] = small ? llmprof_time_between(llround(drift), moved) : moved;
  }
}

static bool is_time(const request *r, const char *name) {
  for (const char *const *time = r->times; r->clocks && *time; time++) {
    if (strcmp(*time, name) == 0) return true;
  }
  return false;
}

/* The column of one frame, absent where it has none of that name. */
static bool take_column(const request *r, size_t f, const llmprof_column *like,
                        int64_t *cells, llmprof_strings *pool,
                        llmprof_error *err) {
  llmprof_frame *frame = r->frames[f];
  size_t rows = llmprof_frame_rows(frame);
  size_t there = llmprof_frame_find(frame, like->name);
  for (size_t row = 0; there == SIZE_MAX && row < rows; row++)
    cells[row] = LLMPROF_ABSENT;
  if (there == SIZE_MAX) return true;
  if (!copy_cells(frame, there, like->type == LLMPROF_STRING_ID, cells, pool,
                  err))
    return false;
  if (is_time(r, like->name)) move_times(cells, rows, &r->clocks[f]);
  return true;
}

/* Column `number` of the first frame, from all of them. */
static bool join_column(llmprof_frame *joined, const request *r, size_t number,
                        int64_t *cells, llmprof_strings *pool,
                        llmprof_error *err) {
  const llmprof_column *like = llmprof_frame_peek(r->frames[0], number);
  size_t done = 0;
  for (size_t f = 0; f < r->count; f++) {
    if (!take_column(r, f, like, cells + done, pool, err)) return false;
    done += llmprof_frame_rows(r->frames[f]);
  }
  return timeline_keep(joined, like->name, like->unit,
                       like->type == LLMPROF_STRING_ID, cells, err);
}

static bool count_rows(llmprof_frame *const *frames, size_t count, size_t *rows,
                       llmprof_error *err) {
  *rows = 0;
  for (size_t f = 0; f < count; f++) {
    *rows += llmprof_frame_rows(frames[f]);
    if (*rows >= UINT32_MAX)
      return llmprof_fail(err, LLMPROF_RANGE, "too many rows together");
  }
  return true;
}

llmprof_frame *llmprof_frames_join(llmprof_frame *const *frames, size_t count,
                                   const llmprof_clock *clocks,
                                   const char *const *times,
                                   llmprof_strings *pool, llmprof_error *err) {
  request r = {frames, count, clocks, times};
  size_t rows;
  if (!count_rows(frames, count, &rows, err)) return NULL;
  llmprof_frame *joined = llmprof_frame_new(rows, pool);
  int64_t *cells = llmprof_alloc(rows, sizeof *cells);
  bool ok = (joined && cells) || llmprof_fail_nomem(err);
  size_t columns = count ? llmprof_frame_columns(frames[0]) : 0;
  for (size_t c = 0; ok && c < columns; c++)
    ok = join_column(joined, &r, c, cells, pool, err);
  llmprof_free(cells);
  if (ok) return joined;
  llmprof_frame_free(joined);
  return NULL;
}
