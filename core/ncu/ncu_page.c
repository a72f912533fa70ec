#include "ncu/ncu_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "formats/csv.h"
#include "frame/intern.h"
#include "frame/row_table.h"
#include "ncu/ncu_details.h"
#include "ncu/ncu_ranges.h"
#include "os/source.h"
#include "text/metric_unit.h"

/* ---- columns ---- */

/* Those of the page that say which launch it is. */
enum {
  ID,
  PROCESS,
  STACK,
  STARTED,
  KERNEL,
  CONTEXT,
  STREAM,
  BLOCK,
  GRID,
  DEVICE,
  TITLES = DEVICE + 4 /* three more are no metrics either */
};

static const char *const titles[TITLES] = {
    [ID] = "ID",
    [PROCESS] = "Process ID",
    [STACK] = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:"
              "Msg_Type:Msg",
    [STARTED] = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:"
                "Msg_Type:Msg",
    [KERNEL] = "Kernel Name",
    [CONTEXT] = "Context",
    [STREAM] = "Stream",
    [BLOCK] = "Block Size",
    [GRID] = "Grid Size",
    [DEVICE] = "Device",
    "Process Name",
    "Host Name",
    "CC",
};

/* Those of a details page, which has a row for each metric of a launch. */
enum {
  LABEL,
  UNIT,
  VALUE,
  DETAILS
};

static const char *const detail_titles[DETAILS] = {
    [LABEL] = "Metric Name",
    [UNIT] = "Metric Unit",
    [VALUE] = "Metric Value",
};

/* Those of the frame. */
static const llmprof_row_column columns[] = {
    {"source", NULL, true},   {"pid", NULL, false},
    {"launch", NULL, false},  {"name", NULL, true},
    {"device", NULL, false},  {"context", NULL, false},
    {"stream", NULL, false},  {"correlation", NULL, false},
    {"tid", NULL, false},     {"grid_x", NULL, false},
    {"grid_y", NULL, false},  {"grid_z", NULL, false},
    {"block_x", NULL, false}, {"block_y", NULL, false},
    {"block_z", NULL, false}, {"ranges", NULL, true},
    {"started", NULL, true},  {"whole", NULL, false},
    {"line", NULL, false},
};

enum {
  QUOTED = 80, /* bytes of a cell, in a message */
  NOWHERE = UINT32_MAX
};

typedef struct metric {
  uint32_t field, name; /* in the header; a string */
  bool is_double;       /* another one has the name */
  llmprof_metric_unit unit;
} metric;

struct llmprof_ncu_page {
  char *path;
  llmprof_csv *csv;
  llmprof_strings *strings;
  uint32_t fields[TITLES]; /* by title; NOWHERE: the page lacks it */
  bool is_details;
  uint32_t details[DETAILS]; /* fields of a details page */
  metric *metrics;
  size_t metric_count, metric_cap;
  uint32_t source;
};

/* ---- what there is where there is no page ---- */

enum {
  WORDS = 64 /* at least the bytes of what is looked for */
};

/* ncu's word that there was nothing to profile; columns parted otherwise. */
static llmprof_code say_what(const char *bytes, size_t size) {
  static const char nothing[] = "==WARNING== No ",
                    profiled[] = "s were profiled";
  const char *at = memmem(bytes, size, nothing, sizeof nothing - 1);
  if (at &&
      memmem(at, size - (size_t)(at - bytes), profiled, sizeof profiled - 1))
    return LLMPROF_EMPTY;
  return memmem(bytes, size, "Kernel Name;", 12) ||
                 memmem(bytes, size, "Kernel Name\";", 13)
             ? LLMPROF_UNSUPPORTED
             : LLMPROF_OK;
}

static llmprof_code look_through(const char *path) {
  llmprof_source *source = llmprof_source_open(path, NULL);
  llmprof_buffer seen = {0};
  llmprof_code found = LLMPROF_OK;
  const char *piece;
  size_t size;
  while (source && !found && llmprof_source_next(source, &piece, &size, NULL) &&
         size) {
    llmprof_buffer_add(&seen, piece, size);
    if (seen.failed) break;
    found = say_what(seen.bytes, seen.size);
    if (seen.size > WORDS) { /* it may lie across two pieces */
      memmove(seen.bytes, seen.bytes + seen.size - WORDS, WORDS);
      seen.size = WORDS;
    }
  }
  llmprof_buffer_free(&seen);
  llmprof_source_close(source);
  return found;
}

static bool nothing_profiled(const llmprof_ncu_page *page, llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_EMPTY, "%s: no kernels were profiled",
                      page->path);
}

/* Say why there is no header, where that is known. */
static void explain(const llmprof_ncu_page *page, llmprof_error *err) {
  llmprof_code what = look_through(page->path);
  if (what == LLMPROF_EMPTY) nothing_profiled(page, err);
  if (what == LLMPROF_UNSUPPORTED)
    llmprof_fail(err, what,
                 "%s: there are semicolons between its columns, where ncu "
                 "--csv prints commas",
                 page->path);
}

/* ---- opening ---- */

static bool equals(const llmprof_csv_field *field, const char *text) {
  return strlen(text) == field->size &&
         memcmp(text, field->bytes, field->size) == 0;
}

/* Which title it is; TITLES: none. */
static uint32_t title_of(const llmprof_csv_field *field) {
  uint32_t title = 0;
  while (title < TITLES && !equals(field, titles[title])) title++;
  return title;
}

/* Its field; NOWHERE: there is none. */
static uint32_t find_title(const llmprof_csv_row *header, const char *title) {
  for (uint32_t field = 0; field < header->count; field++)
    if (equals(&header->fields[field], title)) return field;
  return NOWHERE;
}

/* Finds out which page it is. */
static bool check_page(llmprof_ncu_page *page, llmprof_error *err) {
  const llmprof_csv_row *header = llmprof_csv_header(page->csv);
  int found = 0;
  for (int i = 0; i < DETAILS; i++) {
    page->details[i] = find_title(header, detail_titles[i]);
    found += page->details[i] != NOWHERE;
  }
  page->is_details = found == DETAILS;
  return ((page->is_details ||
           (!found && find_title(header, "Section Name") == NOWHERE)) &&
          find_title(header, titles[ID]) != NOWHERE) ||
         llmprof_fail(err, LLMPROF_UNSUPPORTED, "%s: no page of ncu",
                      page->path);
}

/* Once for each name: there are no other strings yet. */
static bool add_metric(llmprof_ncu_page *page, const char *name, uint32_t field,
                       llmprof_metric_unit unit) {
  metric m = {.field = field, .unit = unit};
  size_t known = llmprof_strings_count(page->strings);
  if (!llmprof_strings_add(page->strings, name, strlen(name), &m.name))
    return false;
  if (m.name < known) return page->metrics[m.name].is_double = true;
  if (!llmprof_grow(&page->metrics, &page->metric_cap, page->metric_count + 1,
                    sizeof *page->metrics))
    return false;
  page->metrics[page->metric_count++] = m;
  return true;
}

/* The same name twice has no one value: its metric is left out. */
static void leave_out_doubles(llmprof_ncu_page *page) {
  size_t kept = 0;
  for (size_t i = 0; i < page->metric_count; i++)
    if (!page->metrics[i].is_double) page->metrics[kept++] = page->metrics[i];
  page->metric_count = kept;
}

static bool read_header(llmprof_ncu_page *page, llmprof_error *err) {
  const llmprof_csv_row *header = llmprof_csv_header(page->csv);
  const llmprof_metric_unit none = {0};
  for (uint32_t i = 0; i < TITLES; i++) page->fields[i] = NOWHERE;
  for (uint32_t i = 0; i < header->count; i++) {
    uint32_t title = title_of(&header->fields[i]);
    if (title == TITLES) {
      if (!page->is_details &&
          !add_metric(page, header->fields[i].bytes, i, none))
        return llmprof_fail_nomem(err);
    } else if (page->fields[title] != NOWHERE) {
      return llmprof_fail(err, LLMPROF_SYNTAX, "%s: column '%s' appears twice",
                          page->path, titles[title]);
    } else {
      page->fields[title] = i;
    }
  }
  leave_out_doubles(page);
  return true;
}

/* A cell as it may stand in a message of one line. */
static const char *quote(const llmprof_csv_field *cell, char *into) {
  size_t size = cell->size < QUOTED ? cell->size : QUOTED;
  for (size_t i = 0; i < size; i++) {
    char c = cell->bytes[i];
    into[i] = '?';
    if ((unsigned char)c >= ' ' && c != 127) into[i] = c;
  }
  strcpy(into + size, cell->size > QUOTED ? "..." : "");
  return into;
}

/* The row after the header. */
static bool read_units(llmprof_ncu_page *page, llmprof_error *err) {
  llmprof_csv_row row;
  char quoted[QUOTED + 4];
  int got = llmprof_csv_next(page->csv, &row, err);
  if (got < 0) return false;
  if (!got) return nothing_profiled(page, err);
  const llmprof_csv_field *id = &row.fields[page->fields[ID]];
  if (id->size)
    return llmprof_fail_at(err, LLMPROF_SYNTAX, page->path, row.line, 0,
                           "units row missing: the row after the header has "
                           "ID %s",
                           quote(id, quoted));
  for (size_t i = 0; i < page->metric_count; i++) {
    metric *m = &page->metrics[i];
    m->unit = llmprof_metric_unit_read(row.fields[m->field].bytes);
  }
  return true;
}

/* ---- a details page ---- */

/* The metric of a row and its unit; NULL: it is none for sure. */
static const char *row_metric(const llmprof_ncu_page *page,
                              const llmprof_csv_row *row,
                              llmprof_metric_unit *unit) {
  *unit = llmprof_metric_unit_read(row->fields[page->details[UNIT]].bytes);
  return ncu_details_metric(row->fields[page->details[LABEL]].bytes,
                            unit->base);
}

/* Rows of a details page lack what the header has for ncu's rules. */
static const llmprof_csv_options options = {.header_has = "Kernel Name",
                                            .may_end_behind = "Metric Value"};

/* Which metrics there are, before the rows are read. */
static bool find_metrics(llmprof_ncu_page *page, llmprof_error *err) {
  llmprof_csv *csv = llmprof_csv_open(page->path, &options, err);
  llmprof_csv_row row;
  int got = csv ? 1 : -1;
  while (got == 1 && (got = llmprof_csv_next(csv, &row, err)) == 1) {
    llmprof_metric_unit unit;
    const char *name = row_metric(page, &row, &unit);
    if (llmprof_interrupted()) got = (llmprof_fail_interrupted(err), -1);
    if (name && !add_metric(page, name, NOWHERE, unit))
      got = (llmprof_fail_nomem(err), -1);
  }
  llmprof_csv_close(csv);
  return got == 0;
}

/* ---- either ---- */

static llmprof_ncu_page *new_page(const char *path, llmprof_error *err) {
  llmprof_ncu_page *page = llmprof_zalloc(1, sizeof *page);
  if (page) page->path = llmprof_strdup(path);
  if (page) page->strings = llmprof_strings_new();
  if (page && page->path && page->strings) return page;
  llmprof_ncu_page_close(page);
  return llmprof_fail_nomem(err), NULL;
}

llmprof_ncu_page *llmprof_ncu_page_open(const char *path, llmprof_error *err) {
  llmprof_error why = {0};
  llmprof_ncu_page *page = new_page(path, err);
  if (!page) return NULL;
  page->csv = llmprof_csv_open(path, &options, &why);
  if (!page->csv && why.code == LLMPROF_EMPTY) explain(page, &why);
  if (page->csv && check_page(page, &why) && read_header(page, &why) &&
      (page->is_details ? find_metrics(page, &why) : read_units(page, &why)))
    return page;
  if (err) *err = why;
  llmprof_ncu_page_close(page);
  return NULL;
}

void llmprof_ncu_page_close(llmprof_ncu_page *page) {
  if (!page) return;
  llmprof_csv_close(page->csv);
  llmprof_strings_free(page->strings);
  llmprof_free(page->metrics);
  llmprof_free(page->path);
  llmprof_free(page);
}

size_t llmprof_ncu_page_metrics(const llmprof_ncu_page *page) {
  return page->metric_count;
}

const char *llmprof_ncu_page_metric(const llmprof_ncu_page *page, size_t number,
                                    const char **unit) {
  const metric *m = &page->metrics[number];
  *unit = m->unit.base;
  return llmprof_strings_get(page->strings, m->name, NULL);
}

/* ---- rows ---- */

/* Where a launch was first. */
typedef struct launch_key {
  int64_t process, id;
} launch_key;

/* The rows while they are read. */
typedef struct reading {
  llmprof_ncu_page *page;
  const uint32_t *metrics; /* by real column: which metric */
  llmprof_row_table table;
  llmprof_intern seen; /* of launch_key */
  llmprof_buffer tags;
  const llmprof_csv_row *row;
  int64_t process, id; /* of the launch at hand */
} reading;

static const llmprof_csv_field *cell_of(const reading *r, uint32_t title) {
  static const llmprof_csv_field none = {"", 0};
  uint32_t field = r->page->fields[title];
  return field == NOWHERE ? &none : &r->row->fields[field];
}

/* A whole number; LLMPROF_ABSENT: none. */
static int64_t whole_of(const llmprof_csv_field *cell) {
  const double most = 9007199254740992.0; /* up to here each is a double */
  double value;
  if (llmprof_csv_number(cell->bytes, cell->size, &value) !=
          LLMPROF_NUMBER_OK ||
      !(value >= -most && value <= most) || value != floor(value))
    return LLMPROF_ABSENT;
  return (int64_t)value;
}

static bool is_present(const llmprof_csv_field *cell) {
  double value;
  return llmprof_csv_number(cell->bytes, cell->size, &value) !=
         LLMPROF_NUMBER_ABSENT;
}

static bool fail_cell(const reading *r, const char *what,
                      const llmprof_csv_field *cell, llmprof_error *err) {
  char quoted[QUOTED + 4];
  return llmprof_fail_at(err, LLMPROF_SYNTAX, r->page->path, r->row->line, 0,
                         "%s: %s", what, quote(cell, quoted));
}

/* "(x, y, z)", or nothing. */
static bool read_size(const reading *r, uint32_t title, int64_t size[3],
                      llmprof_error *err) {
  const llmprof_csv_field *cell = cell_of(r, title);
  unsigned x, y, z;
  int end = 0;
  char what[40];
  size[0] = size[1] = size[2] = LLMPROF_ABSENT;
  if (!is_present(cell)) return true;
  if (cell->size < QUOTED && !strpbrk(cell->bytes, "+-") &&
      sscanf(cell->bytes, " ( %9u , %9u , %9u ) %n", &x, &y, &z, &end) == 3 &&
      (size_t)end == cell->size) {
    size[0] = x, size[1] = y, size[2] = z;
    return true;
  }
  snprintf(what, sizeof what, "%s is not (x, y, z)", titles[title]);
  return fail_cell(r, what, cell, err);
}

static bool add_text(const reading *r, const char *bytes, size_t size,
                     int64_t *cell, llmprof_error *err) {
  uint32_t id;
  if (!llmprof_strings_add(r->page->strings, bytes, size, &id))
    return llmprof_fail_nomem(err);
  *cell = id;
  return true;
}

static bool read_ranges(reading *r, uint32_t title, int64_t *thread,
                        int64_t *tags, llmprof_error *err) {
  const llmprof_csv_field *cell = cell_of(r, title);
  llmprof_buffer_clear(&r->tags);
  size_t count =
      title == STACK
          ? ncu_ranges_stack(cell->bytes, cell->size, &r->tags, thread)
          : ncu_ranges_started(cell->bytes, cell->size, &r->tags);
  if (r->tags.failed) return llmprof_fail_nomem(err);
  const char *bytes = r->tags.bytes ? r->tags.bytes : "";
  return !count || add_text(r, bytes, r->tags.size, tags, err);
}

/* Launches are numbered by process. */
static bool check_launch(reading *r, int64_t id, llmprof_error *err) {
  const llmprof_csv_field *process = cell_of(r, PROCESS);
  launch_key key = {.id = id};
  uint32_t launch;
  if (!add_text(r, process->bytes, process->size, &key.process, err))
    return false;
  if (!llmprof_intern_add(&r->seen, &key, &launch))
    return llmprof_fail_nomem(err);
  if (launch == r->table.rows) return true;
  size_t last = launch * r->table.column_count + r->table.column_count - 1;
  return llmprof_fail_at(err, LLMPROF_SYNTAX, r->page->path, r->row->line, 0,
                         "ID %lld was on line %lld already", (long long)id,
                         (long long)r->table.cells[last]);
}

/* ncu calls a result "range" that is a whole range, and gives it no stream; a
 * kernel of that name has one. */
static bool is_whole_range(const reading *r) {
  return equals(cell_of(r, KERNEL), "range") &&
         r->page->fields[STREAM] != NOWHERE && !is_present(cell_of(r, STREAM));
}

/* A metric's, in a unit, from a cell. */
static bool read_value(const reading *r, const metric *m,
                       const llmprof_metric_unit *unit,
                       const llmprof_csv_field *cell, double *value,
                       llmprof_error *err) {
  double got;
  char what[160];
  switch (llmprof_csv_number(cell->bytes, cell->size, &got)) {
  case LLMPROF_NUMBER_OK:
    *value = llmprof_metric_unit_scale(unit, got);
    return true;
  case LLMPROF_NUMBER_ABSENT:
    return true;
  case LLMPROF_NUMBER_TEXT:
    break;
  }
  snprintf(what, sizeof what, "%.120s is not a number as LC_ALL=C has it",
           llmprof_strings_get(r->page->strings, m->name, NULL));
  return fail_cell(r, what, cell, err);
}

static bool read_row(reading *r, llmprof_error *err) {
  int64_t id = whole_of(cell_of(r, ID)), grid[3], block[3];
  int64_t name = LLMPROF_ABSENT, ranges = LLMPROF_ABSENT;
  int64_t started = LLMPROF_ABSENT, thread = LLMPROF_ABSENT;
  const llmprof_csv_field *kernel = cell_of(r, KERNEL);
  bool whole = is_whole_range(r);
  if (id == LLMPROF_ABSENT)
    return fail_cell(r, "ID is not a number", cell_of(r, ID), err);
  if (!read_size(r, BLOCK, block, err) || !read_size(r, GRID, grid, err) ||
      !check_launch(r, id, err) ||
      !read_ranges(r, STACK, &thread, &ranges, err) ||
      !read_ranges(r, STARTED, NULL, &started, err) ||
      (kernel->size && !add_text(r, kernel->bytes, kernel->size, &name, err)))
    return false;
  const int64_t cells[] = {
      r->page->source,
      whole_of(cell_of(r, PROCESS)),
      id,
      name,
      whole_of(cell_of(r, DEVICE)),
      whole_of(cell_of(r, CONTEXT)),
      whole_of(cell_of(r, STREAM)),
      LLMPROF_ABSENT,
      thread,
      grid[0],
      grid[1],
      grid[2],
      block[0],
      block[1],
      block[2],
      ranges,
      started,
      whole ? 1 : LLMPROF_ABSENT,
      (int64_t)r->row->line,
  };
  double *values = llmprof_row_table_add(&r->table, cells);
  if (!values) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < r->table.real_count && !r->page->is_details; i++) {
    const metric *m = &r->page->metrics[r->metrics[i]];
    if (!read_value(r, m, &m->unit, &r->row->fields[m->field], &values[i], err))
      return false;
  }
  return true;
}

/* Of a details page: the value of a launch, whose rows follow each other. The
 * first of a metric counts. */
static bool read_detail(reading *r, llmprof_error *err) {
  llmprof_metric_unit unit;
  const char *name = row_metric(r->page, r->row, &unit);
  int64_t process = whole_of(cell_of(r, PROCESS)),
          id = whole_of(cell_of(r, ID));
  if ((!r->table.rows || process != r->process || id != r->id) &&
      !read_row(r, err))
    return false;
  r->process = process, r->id = id;
  if (!name) return true;
  double *values = r->table.reals + (r->table.rows - 1) * r->table.real_count;
  uint32_t wanted = llmprof_strings_find(r->page->strings, name, strlen(name));
  for (size_t i = 0; i < r->table.real_count; i++) {
    const metric *m = &r->page->metrics[r->metrics[i]];
    if (m->name == wanted && isnan(values[i]) &&
        strcmp(m->unit.base, unit.base) == 0)
      return read_value(r, m, &unit, &r->row->fields[r->page->details[VALUE]],
                        &values[i], err);
  }
  return true;
}

static bool read_rows(reading *r, llmprof_error *err) {
  for (;;) {
    llmprof_csv_row row;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    int got = llmprof_csv_next(r->page->csv, &row, err);
    if (got < 0) return false;
    if (!got) return r->table.rows || nothing_profiled(r->page, err);
    r->row = &row;
    if (!(r->page->is_details ? read_detail(r, err) : read_row(r, err)))
      return false;
  }
}

static llmprof_frame *make_frame(const reading *r, llmprof_error *err) {
  size_t count = r->table.real_count;
  llmprof_row_column *reals = llmprof_zalloc(count + 1, sizeof *reals);
  if (!reals) return llmprof_fail_nomem(err), NULL;
  for (size_t i = 0; i < count; i++)
    reals[i].name =
        llmprof_ncu_page_metric(r->page, r->metrics[i], &reals[i].unit);
  llmprof_frame *frame =
      llmprof_row_table_frame(&r->table, reals, r->page->strings, err);
  llmprof_free(reals);
  return frame;
}

llmprof_frame *llmprof_ncu_page_counters(llmprof_ncu_page *page,
                                         const uint32_t *metrics, size_t count,
                                         llmprof_error *err) {
  reading r = {.page = page,
               .metrics = metrics,
               .table = {.columns = columns,
                         .column_count = sizeof columns / sizeof *columns,
                         .real_count = count}};
  llmprof_frame *frame = NULL;
  if (!page->csv)
    return llmprof_fail(err, LLMPROF_EMPTY, "%s: was read", page->path), NULL;
  llmprof_intern_init(&r.seen, sizeof(launch_key));
  if (!llmprof_strings_add(page->strings, "ncu", 3, &page->source))
    llmprof_fail_nomem(err);
  else if (read_rows(&r, err))
    frame = make_frame(&r, err);
  llmprof_row_table_free(&r.table);
  llmprof_intern_free(&r.seen);
  llmprof_buffer_free(&r.tags);
  llmprof_csv_close(page->csv);
  page->csv = NULL;
  return frame;
}
