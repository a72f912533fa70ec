#include "llmprof/csv_frame.h"

#include <math.h>

#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

/* Columns while they grow, all alike. */
typedef struct growing {
  const llmprof_csv_column *columns;
  size_t count;
  llmprof_strings *strings;
  uint32_t *wanted; /* fields, each once, and by column which of them */
  size_t *slots, wanted_count;
  void **data;    /* by column; owned until they are the frame's */
  int64_t *lines; /* the same */
  size_t rows, cap;
} growing;

static size_t size_of(llmprof_column_type type) {
  return type == LLMPROF_STRING_ID ? sizeof(uint32_t) : sizeof(int64_t);
}

static void growing_free(growing *g) {
  for (size_t i = 0; g->data && i < g->count; i++) llmprof_free(g->data[i]);
  llmprof_free(g->data);
  llmprof_free(g->lines);
  llmprof_free(g->wanted);
  llmprof_free(g->slots);
}

static bool resize(void **block, size_t count, size_t size) {
  void *bigger = llmprof_resize(*block, count, size);
  if (bigger) *block = bigger;
  return bigger != NULL;
}

static bool make_room(growing *g, llmprof_error *err) {
  enum {
    FIRST = 256
  };
  size_t cap = g->cap ? g->cap * 2 : FIRST;
  if (g->rows < g->cap) return true;
  if (g->rows >= UINT32_MAX / 2)
    return llmprof_fail(err, LLMPROF_LIMIT, "too many rows");
  void *lines = g->lines;
  bool ok = resize(&lines, cap, sizeof *g->lines);
  g->lines = lines;
  for (size_t i = 0; ok && i < g->count; i++)
    ok = resize(&g->data[i], cap, size_of(g->columns[i].type));
  if (!ok) return llmprof_fail_nomem(err);
  g->cap = cap;
  return true;
}

static bool start(growing *g, llmprof_error *err) {
  g->data = llmprof_zalloc(g->count, sizeof *g->data);
  g->wanted = llmprof_alloc(g->count, sizeof *g->wanted);
  g->slots = llmprof_alloc(g->count, sizeof *g->slots);
  if (!g->data || !g->wanted || !g->slots) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < g->count; i++) {
    uint32_t field = g->columns[i].field;
    if (i == 0 || field != g->columns[i - 1].field)
      g->wanted[g->wanted_count++] = field;
    g->slots[i] = g->wanted_count - 1;
  }
  return make_room(g, err);
}

/* The integer that a real is, or LLMPROF_ABSENT. */
static int64_t whole(double value) {
  const double limit = 9007199254740992.0; /* up to here each is a double */
  if (!(value >= -limit && value <= limit)) return LLMPROF_ABSENT;
  int64_t integer = (int64_t)value;
  return (double)integer == value ? integer : LLMPROF_ABSENT;
}

static bool store(growing *g, size_t i, const llmprof_csv_field *field) {
  if (g->columns[i].type == LLMPROF_STRING_ID) {
    uint32_t *id = (uint32_t *)g->data[i] + g->rows;
    *id = LLMPROF_NO_STRING;
    return !field->size ||
           llmprof_strings_add(g->strings, field->bytes, field->size, id);
  }
  double value;
  if (llmprof_csv_number(field->bytes, field->size, &value) !=
      LLMPROF_NUMBER_OK)
    value = NAN;
  if (g->columns[i].type == LLMPROF_F64)
    ((double *)g->data[i])[g->rows] = value;
  else
    ((int64_t *)g->data[i])[g->rows] = whole(value);
  return true;
}

static bool add_row(growing *g, const llmprof_csv_row *row,
                    llmprof_error *err) {
  if (!make_room(g, err)) return false;
  for (size_t i = 0; i < g->count; i++) {
    if (!store(g, i, &row->fields[g->slots[i]])) return llmprof_fail_nomem(err);
  }
  g->lines[g->rows++] = (int64_t)row->line;
  return true;
}

static bool read_rows(growing *g, llmprof_csv *csv, llmprof_error *err) {
  for (;;) {
    llmprof_csv_row row;
    if (llmprof_interrupted())
      return llmprof_fail_interrupted(err); /* a row is long */
    int got = llmprof_csv_next_of(csv, g->wanted, g->wanted_count, &row, err);
    if (got <= 0) return got == 0;
    if (!add_row(g, &row, err)) return false;
  }
}

/* A frame of what there is; NULL when out of memory. */
static llmprof_frame *finish(growing *g) {
  llmprof_frame *frame = llmprof_frame_new(g->rows, g->strings);
  bool ok = frame != NULL;
  for (size_t i = 0; ok && i < g->count; i++) {
    void *data = g->data[i];
    g->data[i] = NULL;
    ok = llmprof_frame_give(frame, g->columns[i].name, NULL, g->columns[i].type,
                            data, NULL);
  }
  int64_t *lines = g->lines;
  if (ok) g->lines = NULL;
  ok = ok && llmprof_frame_give(frame, "line", NULL, LLMPROF_I64, lines, NULL);
  if (ok) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

bool llmprof_csv_frame(llmprof_csv *csv, const llmprof_csv_column *columns,
                       size_t count, llmprof_strings *strings,
                       llmprof_frame **frame, llmprof_error *err) {
  growing g = {.columns = columns, .count = count, .strings = strings};
  *frame = NULL;
  bool ok = start(&g, err);
  if (ok) {
    ok = read_rows(&g, csv, err);
    *frame = finish(&g);
    if (!*frame) ok = llmprof_fail_nomem(err);
  }
  growing_free(&g);
  return ok;
}
