/* Units, counters and diagnostics of a spool as frames. */
#include "spool/spool.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "frame/row_table.h"
#include "spool/spool_sections.h"
#include "text/demangle.h"
#include "text/metric_unit.h"
#include "trace/trace_events.h"

enum {
  MOST_METRICS = 256
};

struct llmprof_spool {
  char *path;
  spool_sections sections;
  llmprof_strings *strings;
  spool_numbers columns;        /* by {section, metric}: number in `names` */
  uint32_t names[MOST_METRICS]; /* strings: of the columns */
  llmprof_metric_unit units[MOST_METRICS];
  size_t metric_count;
};

/* ---- opening ---- */

static bool keep_text(void *pool, const char *bytes, size_t size,
                      uint32_t *string) {
  return llmprof_strings_add_sound(pool, bytes, size, string);
}

/* Metrics of one name are one column, whichever process measured them. */
static uint32_t column_of(llmprof_spool *spool, uint32_t name, uint32_t unit) {
  for (size_t i = 0; i < spool->metric_count; i++) {
    if (spool->names[i] == name) return (uint32_t)i;
  }
  if (spool->metric_count == MOST_METRICS) return UINT32_MAX;
  spool->names[spool->metric_count] = name;
  spool->units[spool->metric_count] = llmprof_metric_unit_read(
      unit == LLMPROF_NO_STRING
          ? llmprof_metric_unit_of(
                llmprof_strings_get(spool->strings, name, NULL))
          : llmprof_strings_get(spool->strings, unit, NULL));
  return (uint32_t)spool->metric_count++;
}

static bool take_metric(void *user, const spool_item *item,
                        llmprof_error *err) {
  llmprof_spool *spool = user;
  spool_metric metric;
  spool_item_get(item, &metric, sizeof metric);
  const uint32_t key[2] = {item->section, metric.metric};
  const spool_file *file = &spool->sections.file;
  uint32_t name = spool_file_string(file, item->section, metric.name);
  uint32_t unit = spool_file_string(file, item->section, metric.unit);
  return name == LLMPROF_NO_STRING ||
         spool_numbers_set(&spool->columns, key,
                           column_of(spool, name, unit)) ||
         llmprof_fail_nomem(err);
}

static bool open_into(llmprof_spool *spool, const char *path,
                      llmprof_error *err) {
  spool->sections.file.fd = -1;
  spool_numbers_init(&spool->columns, 2 * sizeof(uint32_t));
  spool->path = llmprof_strdup(path);
  spool->strings = llmprof_strings_new();
  if (!spool->path || !spool->strings) return llmprof_fail_nomem(err);
  return spool_sections_open(&spool->sections, spool->path, SPOOL_UNIT_TIMELINE,
                             keep_text, spool->strings, err) &&
         spool_file_each(&spool->sections.file, SPOOL_BIT(SPOOL_METRIC),
                         take_metric, spool, err);
}

llmprof_spool *llmprof_spool_open(const char *path, llmprof_error *err) {
  llmprof_spool *spool = llmprof_zalloc(1, sizeof *spool);
  if (!spool) {
    llmprof_fail_nomem(err);
    return NULL;
  }
  if (open_into(spool, path, err)) return spool;
  llmprof_spool_close(spool);
  return NULL;
}

void llmprof_spool_close(llmprof_spool *spool) {
  if (!spool) return;
  spool_sections_close(&spool->sections);
  llmprof_intern_free(&spool->columns);
  llmprof_strings_free(spool->strings);
  llmprof_free(spool->path);
  llmprof_free(spool);
}

/* ---- rows ---- */

/* A frame in the making, with a real column for each metric where it has
 * metrics. */
typedef struct table {
  llmprof_spool *spool;
  llmprof_row_table rows;
} table;

static bool add_row(table *t, const int64_t *cells) {
  return llmprof_row_table_add(&t->rows, cells) != NULL;
}

/* The values that follow a record, into the last row. */
static void put_values(table *t, const spool_item *item, uint32_t count) {
  size_t size;
  const unsigned char *at = spool_item_rest(item, &size);
  llmprof_row_table *rows = &t->rows;
  double *row = rows->reals + (rows->rows - 1) * rows->real_count;
  spool_value value;
  for (; count && size >= sizeof value; count--, size -= sizeof value) {
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    const uint32_t key[2] = {item->section, value.metric};
    uint32_t column = spool_numbers_get(&t->spool->columns, key);
    if (column < rows->real_count && isfinite(value.value))
      row[column] =
          llmprof_metric_unit_scale(&t->spool->units[column], value.value);
  }
}

static int64_t known(uint32_t id) {
  return id == SPOOL_NO_ID ? LLMPROF_ABSENT : (int64_t)id;
}

static int64_t text(const table *t, const spool_item *item, uint32_t id) {
  return known(spool_file_string(&t->spool->sections.file, item->section, id));
}

static const spool_section *section_of(const table *t, const spool_item *item) {
  return &t->spool->sections.all[item->section];
}

/* ---- units ---- */

static const llmprof_row_column unit_columns[] = {
    {"pid", NULL, false}, {"unit", NULL, false}, {"type", NULL, true},
    {"name", NULL, true}, {"tid", NULL, false},  {"start", "ns", false},
    {"end", "ns", false},
};

enum {
  UNIT_PID,
  UNIT_NUMBER,
  UNIT_END = 6
};

static bool unit_type(const table *t, uint16_t type, int64_t *cell) {
  static const char *const names[] = {[SPOOL_UNIT_PLAIN] = "plain",
                                      [SPOOL_UNIT_TIMELINE] = "timeline",
                                      [SPOOL_UNIT_COUNTERS] = "counters",
                                      [SPOOL_UNIT_OTHER] = "other",
                                      [SPOOL_UNIT_OPERATORS] = "operators"};
  const char *name = type < sizeof names / sizeof *names ? names[type] : NULL;
  uint32_t string;
  *cell = LLMPROF_ABSENT;
  if (!name) return true;
  if (!llmprof_strings_add(t->spool->strings, name, strlen(name), &string))
    return false;
  *cell = string;
  return true;
}

/* The end goes into the row of its begin. */
static void end_unit(table *t, int64_t pid, int64_t number, int64_t time) {
  for (size_t row = t->rows.rows; row-- > 0;) {
    int64_t *cells = t->rows.cells + row * t->rows.column_count;
    if (cells[UNIT_PID] != pid || cells[UNIT_NUMBER] != number) continue;
    if (cells[UNIT_END] == LLMPROF_ABSENT) cells[UNIT_END] = time;
    return;
  }
}

static bool take_unit(void *user, const spool_item *item, llmprof_error *err) {
  table *t = user;
  spool_unit unit;
  int64_t type;
  const spool_section *section = section_of(t, item);
  spool_item_get(item, &unit, sizeof unit);
  int64_t time = spool_time(section, unit.time);
  if (unit.end) {
    end_unit(t, section->process.pid, unit.unit, time);
    return true;
  }
  if (!unit_type(t, unit.type, &type)) return llmprof_fail_nomem(err);
  const int64_t cells[] = {section->process.pid,
                           unit.unit,
                           type,
                           text(t, item, unit.name),
                           unit.tid ? unit.tid : LLMPROF_ABSENT,
                           time,
                           LLMPROF_ABSENT};
  return add_row(t, cells) || llmprof_fail_nomem(err);
}

/* ---- counters ---- */

/* What the driver calls a kernel, in full; ncu's name for a whole range. */
static bool read_name(table *t, int64_t kernel, bool whole, int64_t *name) {
  llmprof_strings *strings = t->spool->strings;
  llmprof_buffer full = {0}, base = {0};
  size_t size;
  uint32_t id;
  bool ok = true;
  *name = LLMPROF_ABSENT;
  if (!whole && kernel == LLMPROF_ABSENT) return true;
  if (whole) {
    llmprof_buffer_puts(&full, "range");
  } else {
    const char *bytes = llmprof_strings_get(strings, (uint32_t)kernel, &size);
    ok = llmprof_demangle(bytes, size, &full, &base);
  }
  ok = ok && !full.failed &&
       llmprof_strings_add(strings, full.bytes, full.size, &id);
  if (ok) *name = id;
  llmprof_buffer_free(&full);
  llmprof_buffer_free(&base);
  return ok;
}

/* The open ranges one a line; the launch of a graph is the innermost. */
static bool read_ranges(table *t, const spool_item *item,
                        const spool_counters *c, int64_t *ranges) {
  llmprof_strings *strings = t->spool->strings;
  int64_t path = text(t, item, c->ranges ? c->ranges : c->stage);
  const char *names = path == LLMPROF_ABSENT
                          ? ""
                          : llmprof_strings_get(strings, (uint32_t)path, NULL);
  llmprof_buffer lines = {0};
  uint32_t id;
  for (; *names; names++) {
    bool parts = *names == '/';
    if (parts && (!lines.size || !names[1] || names[1] == '/')) continue;
    llmprof_buffer_putc(&lines, parts ? '\n' : *names);
  }
  if (c->graph)
    llmprof_buffer_printf(&lines, "%sCUDA graph %u", lines.size ? "\n" : "",
                          c->graph);
  *ranges = LLMPROF_ABSENT;
  bool ok = !lines.failed &&
            (!lines.size ||
             llmprof_strings_add(strings, lines.bytes, lines.size, &id));
  if (ok && lines.size) *ranges = id;
  llmprof_buffer_free(&lines);
  return ok;
}

static const llmprof_row_column counter_columns[] = {
    {"pid", NULL, false},     {"launch", NULL, false},
    {"device", NULL, false},  {"context", NULL, false},
    {"stream", NULL, false},  {"correlation", NULL, false},
    {"tid", NULL, false},     {"grid_x", NULL, false},
    {"grid_y", NULL, false},  {"grid_z", NULL, false},
    {"block_x", NULL, false}, {"block_y", NULL, false},
    {"block_z", NULL, false}, {"ranges", NULL, true},
    {"passes", NULL, false},  {"error", NULL, false},
    {"source", NULL, true},   {"name", NULL, true},
    {"whole", NULL, false},
};

static bool take_counters(void *user, const spool_item *item,
                          llmprof_error *err) {
  table *t = user;
  spool_counters c;
  const spool_section *section = section_of(t, item);
  spool_item_get(item, &c, sizeof c);
  int64_t kernel = text(t, item, c.name), name, ranges;
  uint32_t source;
  if (!llmprof_strings_add(t->spool->strings, "collector", 9, &source) ||
      !read_name(t, kernel, c.graph, &name) ||
      !read_ranges(t, item, &c, &ranges))
    return llmprof_fail_nomem(err);
  const int64_t cells[] = {
      section->process.pid,
      c.launch,
      c.device == SPOOL_NO_ID
          ? LLMPROF_ABSENT
          : (int64_t)spool_device_number(&t->spool->sections, item->section,
                                         c.device),
      known(c.context),
      known(c.stream),
      c.correlation,
      c.tid,
      c.grid[0],
      c.grid[1],
      c.grid[2],
      c.block[0],
      c.block[1],
      c.block[2],
      ranges,
      c.passes,
      c.error,
      source,
      name,
      c.graph ? 1 : LLMPROF_ABSENT,
  };
  if (!add_row(t, cells)) return llmprof_fail_nomem(err);
  put_values(t, item, c.values);
  return true;
}

/* ---- diagnostics ---- */

static const llmprof_row_column diagnostic_columns[] = {{"code", NULL, true},
                                                        {"text", NULL, true}};

static bool take_diagnostic(void *user, const spool_item *item,
                            llmprof_error *err) {
  spool_diagnostic said;
  spool_item_get(item, &said, sizeof said);
  const int64_t cells[] = {text(user, item, said.code),
                           text(user, item, said.text)};
  return add_row(user, cells) || llmprof_fail_nomem(err);
}

/* ---- frames ---- */

static const llmprof_row_column metric_columns[] = {{"name", NULL, true}};

static bool list_metrics(table *t) {
  const llmprof_spool *spool = t->spool;
  for (size_t i = 0; i < spool->metric_count; i++) {
    const int64_t cells[] = {spool->names[i]};
    if (!add_row(t, cells)) return false;
  }
  return true;
}

#define COLUMNS(list) list, sizeof(list) / sizeof *(list)

static const struct {
  const char *name;
  spool_kind kind;
  spool_take take; /* NULL: the list of metrics */
  const llmprof_row_column *specs;
  size_t count;
  bool has_metrics;
} frames[] = {
    {"units", SPOOL_UNIT, take_unit, COLUMNS(unit_columns), false},
    {"counters", SPOOL_COUNTERS, take_counters, COLUMNS(counter_columns), true},
    {"metrics", 0, NULL, COLUMNS(metric_columns), false},
    {"diagnostics", SPOOL_DIAGNOSTIC, take_diagnostic,
     COLUMNS(diagnostic_columns), false},
};

static llmprof_frame *make_frame(const table *t, llmprof_error *err) {
  const llmprof_spool *spool = t->spool;
  llmprof_row_column metrics[MOST_METRICS];
  for (size_t i = 0; i < t->rows.real_count; i++)
    metrics[i] = (llmprof_row_column){
        .name = llmprof_strings_get(spool->strings, spool->names[i], NULL),
        .unit = spool->units[i].base};
  return llmprof_row_table_frame(&t->rows, metrics, spool->strings, err);
}

static llmprof_frame *fill(table *t, size_t which, llmprof_error *err) {
  bool ok = frames[which].take ? spool_file_each(&t->spool->sections.file,
                                                 SPOOL_BIT(frames[which].kind),
                                                 frames[which].take, t, err)
                               : list_metrics(t) || llmprof_fail_nomem(err);
  llmprof_frame *frame = ok ? make_frame(t, err) : NULL;
  llmprof_row_table_free(&t->rows);
  return frame;
}

llmprof_frame *llmprof_spool_frame(llmprof_spool *spool, const char *name,
                                   llmprof_error *err) {
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    if (strcmp(frames[i].name, name) != 0) continue;
    table t = {.spool = spool,
               .rows = {.columns = frames[i].specs,
                        .column_count = frames[i].count,
                        .real_count =
                            frames[i].has_metrics ? spool->metric_count : 0}};
    return fill(&t, i, err);
  }
  llmprof_fail(err, LLMPROF_NOTFOUND, "%s: a spool has no '%s'", spool->path,
               name);
  return NULL;
}
