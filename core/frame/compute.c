/* A block of rows at a time goes through all steps: the stack is a row of
 * blocks, which stay in the cache. */
#include "frame/compute.h"

#include <math.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "llmprof/alloc.h"

enum {
  ROWS = 256 /* of a block */
};

typedef double block[ROWS];

static double least(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
  return b < a ? b : a;
}

static double most(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
  return b > a ? b : a;
}

static double together(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
  return a + b;
}

static double apply(llmprof_step_kind kind, double a, double b) {
  switch (kind) {
  case LLMPROF_STEP_TIMES:
    return a * b;
  case LLMPROF_STEP_OVER:
    return b == 0 ? NAN : a / b;
  case LLMPROF_STEP_PLUS:
    return a + b;
  case LLMPROF_STEP_TOGETHER:
    return together(a, b);
  case LLMPROF_STEP_LEAST:
    return least(a, b);
  case LLMPROF_STEP_MOST:
    return most(a, b);
  case LLMPROF_STEP_OR:
    return isnan(a) ? b : a;
  case LLMPROF_STEP_WHERE:
    return isnan(b) ? NAN : a;
  case LLMPROF_STEP_UNLESS:
    return isnan(b) ? a : NAN;
  case LLMPROF_STEP_ABOVE:
    return a > b ? a : NAN;
  default:
    return NAN;
  }
}

/* A formula over a frame whose columns are loaded. */
typedef struct formula {
  const llmprof_frame *frame;
  const llmprof_step *steps;
  size_t count;
} formula;

static void push_cells(const formula *f, size_t column, double *into,
                       size_t first, size_t rows) {
  const llmprof_column *from = llmprof_frame_peek(f->frame, column);
  int64_t cells[ROWS];
  llmprof_cells(from, first, rows, cells);
  for (size_t i = 0; i < rows; i++)
    into[i] = cells[i] == LLMPROF_ABSENT  ? NAN
              : from->type == LLMPROF_F64 ? llmprof_cell_real(cells[i])
                                          : (double)cells[i];
}

/* The rows from `first` on into stack[0]. */
static void run(const formula *f, block *stack, size_t first, size_t rows) {
  size_t deep = 0;
  for (size_t s = 0; s < f->count; s++) {
    const llmprof_step *step = &f->steps[s];
    if (step->kind == LLMPROF_STEP_NUMBER) {
      for (size_t i = 0; i < rows; i++) stack[deep][i] = step->number;
      deep++;
    } else if (step->kind == LLMPROF_STEP_COLUMN) {
      push_cells(f, step->column, stack[deep++], first, rows);
    } else {
      deep--;
      for (size_t i = 0; i < rows; i++)
        stack[deep - 1][i] =
            apply(step->kind, stack[deep - 1][i], stack[deep][i]);
    }
  }
}

/* Do the steps leave one number? Loads what they need. */
static bool check(llmprof_frame *frame, const llmprof_step *steps, size_t count,
                  llmprof_error *err) {
  size_t deep = 0;
  for (size_t s = 0; s < count; s++) {
    bool pushes = steps[s].kind <= LLMPROF_STEP_COLUMN;
    if (pushes ? deep == LLMPROF_STEPS_DEEP : deep < 2)
      return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                          "step %zu of a formula: the stack has %zu numbers",
                          s + 1, deep);
    if (steps[s].kind == LLMPROF_STEP_COLUMN &&
        !llmprof_frame_column(frame, steps[s].column, err))
      return false;
    deep = pushes ? deep + 1 : deep - 1;
  }
  return deep == 1 || llmprof_fail(err, LLMPROF_UNSUPPORTED,
                                   "a formula leaves %zu numbers", deep);
}

/* The nearest integer, halves up; LLMPROF_ABSENT where there is none. */
static int64_t nearest(double value) {
  const double limit = 9.2e18;
  double floored = floor(value + 0.5);
  if (!(floored > -limit && floored < limit)) return LLMPROF_ABSENT;
  return (int64_t)floored;
}

static bool put(llmprof_values *out, llmprof_column_type type,
                const double *made, size_t rows) {
  bool ok = true;
  for (size_t i = 0; ok && i < rows; i++)
    ok = llmprof_values_append(
        out, type == LLMPROF_I64
                 ? nearest(made[i])
                 : llmprof_real_cell(isfinite(made[i]) ? made[i] : NAN));
  return ok;
}

static bool run_all(const formula *f, llmprof_column_type type,
                    llmprof_values *out, llmprof_error *err) {
  size_t rows = llmprof_frame_rows(f->frame);
  block *stack = llmprof_alloc(LLMPROF_STEPS_DEEP, sizeof *stack);
  bool ok = stack || llmprof_fail_nomem(err);
  for (size_t first = 0; ok && first < rows; first += ROWS) {
    size_t count = rows - first < ROWS ? rows - first : ROWS;
    if (llmprof_interrupted_at(first)) {
      ok = llmprof_fail_interrupted(err);
      break;
    }
    run(f, stack, first, count);
    ok = put(out, type, stack[0], count) || llmprof_fail_nomem(err);
  }
  llmprof_free(stack);
  return ok && (llmprof_values_end(out) || llmprof_fail_nomem(err));
}

bool llmprof_frame_compute(llmprof_frame *frame, const char *name,
                           const char *unit, llmprof_column_type type,
                           const llmprof_step *steps, size_t count,
                           llmprof_error *err) {
  if (!check(frame, steps, count, err)) return false;
  formula f = {frame, steps, count};
  llmprof_values *out = llmprof_values_new();
  if (!out) return llmprof_fail_nomem(err);
  if (!run_all(&f, type, out, err)) return llmprof_values_free(out), false;
  const llmprof_column column = {.name = name,
                                 .unit = unit,
                                 .type = type,
                                 .values = llmprof_frame_keep(frame, out)};
  return (column.values && llmprof_frame_add(frame, &column, NULL, NULL)) ||
         llmprof_fail_nomem(err);
}

/* ---- means ---- */

/* A sum that is exact as long as it is one of integers. */
typedef struct total {
  int64_t whole;
  double real;
  bool is_real;
} total;

static void add(total *t, double value) {
  const double limit = 9.2e18;
  bool fits = value > -limit && value < limit;
  int64_t integer = fits ? (int64_t)value : 0, sum;
  if (!t->is_real && fits && (double)integer == value &&
      !__builtin_add_overflow(t->whole, integer, &sum)) {
    t->whole = sum;
    return;
  }
  if (!t->is_real) t->real = (double)t->whole;
  t->is_real = true;
  t->real += value;
}

static double value_of(const total *t) {
  return t->is_real ? t->real : (double)t->whole;
}

static bool weigh(const llmprof_column *column, const llmprof_column *weight,
                  size_t rows, llmprof_weighed *made, llmprof_error *err) {
  total sum = {0}, weights = {0};
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    double value = llmprof_real_at(column, row);
    if (isnan(value)) continue;
    double by = weight ? llmprof_real_at(weight, row) : 1;
    if (isnan(by)) by = 1;
    add(&sum, value * by);
    add(&weights, by);
  }
  made->sum = value_of(&sum);
  made->weight = value_of(&weights);
  return true;
}

bool llmprof_frame_weigh(llmprof_frame *frame, const size_t *columns,
                         size_t count, size_t weight, llmprof_weighed *weighed,
                         llmprof_error *err) {
  const llmprof_column *by = NULL;
  for (size_t i = 0; i < count; i++) {
    if (!llmprof_frame_column(frame, columns[i], err)) return false;
  }
  if (weight != SIZE_MAX && !llmprof_frame_column(frame, weight, err))
    return false;
  if (weight != SIZE_MAX) by = llmprof_frame_peek(frame, weight);
  for (size_t i = 0; i < count; i++) {
    if (!weigh(llmprof_frame_peek(frame, columns[i]), by,
               llmprof_frame_rows(frame), &weighed[i], err))
      return false;
  }
  return true;
}
