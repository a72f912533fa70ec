/* Samples of the CPU: COMPOSITE_EVENTS says when and of which thread,
 * SAMPLING_CALLCHAINS has a row for each function on its stack, the innermost
 * first. Stacks are read as they lie in the file where each is in one piece and
 * in order, as nsys writes them; else they are sorted by SQLite. */
#include "nsys/nsys_cpu_samples.h"

#include <string.h>

#include "base/bounds.h"
#include "nsys/nsys_internal.h"
#include "text/text.h"

enum {
  MOST_FRAMES = 512 /* of a stack, from the innermost outwards */
};

typedef struct sample {
  int64_t id; /* of COMPOSITE_EVENTS */
  llmprof_cpu_sample_row row;
  bool done; /* its stack was read */
} sample;

/* A function as the trace names it. */
typedef struct name {
  uint32_t function, module; /* strings */
  bool nameless;             /* the function stands for any of the module */
} name;

/* The same as nsys does. */
typedef struct place {
  uint32_t symbol, module; /* strings */
  uint32_t unresolved;
  name name;
} place;

typedef struct loader {
  nsys_export *export;
  llmprof_builder *builder;
  llmprof_intern samples, places;
  uint32_t
      broken; /* the string that stands for outer frames that are missing */
  /* The stack at hand, the innermost first. */
  uint32_t stack[MOST_FRAMES]; /* places */
  size_t depth;
  sample *of; /* whose it is, NULL: nobody's */
  int64_t id;
  bool cut;
  bool ordered; /* as far as was seen */
} loader;

/* ---- samples ---- */

static bool take_sample(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  (void)scan;
  loader *l = user;
  if (values[0] == LLMPROF_ABSENT || values[1] == LLMPROF_ABSENT) return true;
  sample taken = {.id = values[0],
                  .row = {.time = llmprof_nsys_time(l->export, values[1]),
                          .stack = LLMPROF_NONE,
                          .weight = 1}};
  return llmprof_nsys_thread(l->export, l->builder, values[2],
                             &taken.row.thread) &&
         llmprof_intern_put(&l->samples, &taken);
}

/* ---- functions ---- */

/* Of one without a symbol the module is all there is to say. */
static bool name_unresolved(loader *l, name *made) {
  size_t size = 0;
  made->nameless = true;
  const char *module = llmprof_strings_get(llmprof_builder_strings(l->builder),
                                           made->module, &size);
  llmprof_buffer text = {0};
  if (!module || *module == '[')
    llmprof_buffer_puts(&text, "[unknown]");
  else
    llmprof_buffer_printf(&text, "[%s]", module);
  bool ok = !text.failed && llmprof_builder_text(l->builder, text.bytes,
                                                 text.size, &made->function);
  if (!module || *module == '[') made->module = LLMPROF_NO_STRING;
  llmprof_buffer_free(&text);
  return ok;
}

/* Not where a library lies: that is nobody's business. */
static bool name_module(loader *l, uint32_t string, uint32_t *made) {
  size_t size = 0;
  const char *path =
      llmprof_strings_get(llmprof_builder_strings(l->builder), string, &size);
  const char *slash = path ? strrchr(path, '/') : NULL;
  *made = string;
  if (!slash || !slash[1]) return true;
  return llmprof_builder_text(l->builder, slash + 1,
                              size - (size_t)(slash + 1 - path), made);
}

static bool name_place(loader *l, const place *p, name *made) {
  if (!name_module(l, p->module, &made->module)) return false;
  made->function = p->symbol;
  made->nameless = false;
  return !(p->unresolved || p->symbol == LLMPROF_NO_STRING) ||
         name_unresolved(l, made);
}

static bool add_place(loader *l, place *p, uint32_t *row) {
  *row = llmprof_intern_find(&l->places, p);
  return *row != UINT32_MAX ||
         (name_place(l, p, &p->name) && llmprof_intern_add(&l->places, p, row));
}

static const name *name_at(const loader *l, size_t depth) {
  const place *at = llmprof_intern_get(&l->places, l->stack[depth]);
  return &at->name;
}

/* ---- stacks ---- */

/* Functions without names that call each other are one. */
static bool is_as_outer(const loader *l, size_t i) {
  if (i + 1 == l->depth) return false;
  const name *of = name_at(l, i), *outer = name_at(l, i + 1);
  return of->nameless && outer->nameless && of->function == outer->function;
}

static bool end_stack(loader *l) {
  if (!l->of) return true;
  uint32_t row = LLMPROF_NONE;
  for (size_t i = l->depth; i-- > 0;) {
    const name *of = name_at(l, i);
    const llmprof_stack_frame frame = {row, of->function, of->module};
    if (is_as_outer(l, i)) continue;
    if (!llmprof_builder_add_stack_frame(l->builder, &frame, &row))
      return false;
  }
  l->of->row.stack = row;
  l->of->row.cut = l->cut;
  l->of->done = true;
  l->of = NULL;
  return true;
}

static void begin_stack(loader *l, int64_t id, bool sorted) {
  l->id = id;
  l->of = llmprof_intern_seek(&l->samples, &id);
  l->depth = 0;
  l->cut = false;
  if (!sorted && l->of && l->of->done) l->ordered = false;
}

enum {
  CHAIN_ID,
  CHAIN_DEPTH,
  CHAIN_SYMBOL,
  CHAIN_MODULE,
  CHAIN_UNRESOLVED,
  CHAIN_INTS
};

static const char *const chain_columns[] = {
    [CHAIN_ID] = "id",
    [CHAIN_DEPTH] = "stackDepth",
    [CHAIN_SYMBOL] = "symbol",
    [CHAIN_MODULE] = "module",
    [CHAIN_UNRESOLVED] = "unresolved",
};

static bool push(loader *l, const int64_t *values) {
  place p = {.symbol = llmprof_nsys_string(l->export, values[CHAIN_SYMBOL]),
             .module = llmprof_nsys_string(l->export, values[CHAIN_MODULE]),
             .unresolved = values[CHAIN_UNRESOLVED] != LLMPROF_ABSENT &&
                           values[CHAIN_UNRESOLVED] != 0};
  bool is_broken = p.symbol == l->broken && p.symbol != LLMPROF_NO_STRING;
  if (is_broken || l->depth == MOST_FRAMES) {
    l->cut = true;
    return true;
  }
  return add_place(l, &p, &l->stack[l->depth++]);
}

/* sorted: stacks are in one piece, whatever their depths are. */
static bool take_frame(loader *l, const int64_t *values, bool sorted) {
  if (values[CHAIN_ID] == LLMPROF_ABSENT) return true;
  if (values[CHAIN_ID] != l->id) {
    if (!end_stack(l)) return false;
    begin_stack(l, values[CHAIN_ID], sorted);
  }
  if (!l->of) return true;
  if (!sorted && !l->cut && values[CHAIN_DEPTH] != (int64_t)l->depth)
    l->ordered = false;
  return !l->ordered || push(l, values);
}

static void begin_stacks(loader *l) {
  l->of = NULL;
  l->id = LLMPROF_ABSENT;
  l->ordered = true;
}

/* False without an error where stacks are not in order. */
static bool take_frames(void *user, const int64_t *values, size_t rows,
                        llmprof_error *err) {
  loader *l = user;
  for (; rows && l->ordered; rows--, values += CHAIN_INTS)
    if (!take_frame(l, values, false)) return llmprof_fail_nomem(err);
  return l->ordered;
}

static bool scan_stacks(loader *l, llmprof_scan *scan, llmprof_error *err) {
  llmprof_error why = {0};
  begin_stacks(l);
  if (llmprof_scan_rows(scan, take_frames, l, &why))
    return end_stack(l) || llmprof_fail_nomem(err);
  if (why.code && err) *err = why;
  return !why.code;
}

/* Which of the columns are there was asked before: the sort needs two. */
static bool sort_stacks(loader *l, bool has_flag, llmprof_error *err) {
  llmprof_query *query = llmprof_sqlite_query(
      l->export->db,
      has_flag ? "SELECT id, stackDepth, symbol, module, unresolved FROM "
                 "SAMPLING_CALLCHAINS ORDER BY id, stackDepth"
               : "SELECT id, stackDepth, symbol, module, NULL FROM "
                 "SAMPLING_CALLCHAINS ORDER BY id, stackDepth",
      err);
  if (!query) return false;
  llmprof_watch watch = {0};
  int64_t values[CHAIN_INTS];
  bool ok = true;
  int got = 0;
  begin_stacks(l);
  while (ok && (got = llmprof_query_step(query, err)) == 1) {
    llmprof_query_ints(query, values, CHAIN_INTS);
    ok = llmprof_watch_go_on(&watch, 1, l->export->path, err) &&
         (take_frame(l, values, true) || llmprof_fail_nomem(err));
  }
  llmprof_query_free(query);
  return ok && got == 0 && (end_stack(l) || llmprof_fail_nomem(err));
}

static bool has_all(const llmprof_scan *scan) {
  for (int i = 0; i < CHAIN_UNRESOLVED; i++) {
    if (!llmprof_scan_has(scan, i)) return false;
  }
  return true;
}

static bool load_stacks(loader *l, llmprof_error *err) {
  const llmprof_scan_spec spec = {"SAMPLING_CALLCHAINS", chain_columns,
                                  CHAIN_INTS, 0};
  llmprof_scan *scan;
  if (!llmprof_scan_open(l->export->db, &spec, &scan, err)) return false;
  if (!scan) return true;
  bool whole = has_all(scan),
       has_flag = llmprof_scan_has(scan, CHAIN_UNRESOLVED);
  bool ok = !whole || scan_stacks(l, scan, err);
  llmprof_scan_close(scan);
  return ok && (!whole || l->ordered || sort_stacks(l, has_flag, err));
}

/* ---- together ---- */

static bool add_samples(loader *l, llmprof_error *err) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < l->samples.count; i++) {
    const sample *taken = llmprof_intern_get(&l->samples, i);
    ok = llmprof_builder_add_cpu_sample(l->builder, &taken->row, err);
  }
  return ok;
}

static bool load(loader *l, llmprof_error *err) {
  const llmprof_scan_spec spec = {"COMPOSITE_EVENTS",
                                  COLUMNS("id", "start", "globalTid"), 3, 0};
  bool has = false;
  if (!llmprof_scan_each(l->export->db, &spec, take_sample, l, &has, err))
    return false;
  if (!has) return true;
  llmprof_builder_recorded(l->builder, LLMPROF_TABLE_CPU_SAMPLES);
  l->broken =
      llmprof_strings_find(llmprof_builder_strings(l->builder),
                           NSYS_BROKEN_STACK, strlen(NSYS_BROKEN_STACK));
  return load_stacks(l, err) && add_samples(l, err);
}

bool llmprof_nsys_load_cpu_samples(nsys_export *export,
                                   llmprof_builder *builder,
                                   llmprof_error *err) {
  loader l = {.export = export, .builder = builder};
  llmprof_intern_init_keyed(&l.samples, sizeof(sample), offsetof(sample, row));
  llmprof_intern_init_keyed(&l.places, sizeof(place), offsetof(place, name));
  bool ok = load(&l, err);
  llmprof_intern_free(&l.samples);
  llmprof_intern_free(&l.places);
  return ok;
}
