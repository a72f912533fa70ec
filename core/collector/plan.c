#include "collector/plan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/files.h"

/* Of any number: seconds of which ns fit into 64 bits, and ids. */
#define MOST 4294967295.0

plan the_plan;
static atomic_int by_now;

static void forget_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
}

/* What the child of a fork has of its parent's plan. */
static void forget(void) {
  for (size_t i = 0; i < the_plan.launch_count; i++)
    free(the_plan.launches[i].kernel);
  free(the_plan.launches);
  forget_names(the_plan.metrics, the_plan.metric_count);
  forget_names(the_plan.sample_metrics, the_plan.sample_metric_count);
  free(the_plan.cupti);
}

unit_by plan_by(void) {
  return (unit_by)atomic_load(&by_now);
}

/* False: out of memory, and the plan is the one of before. */
static bool make_anew(unit_by by) {
  plan_launch *launches = calloc(PLAN_LAUNCHES, sizeof *launches);
  if (!launches) return false;
  forget();
  the_plan = (plan){
      .memory = (size_t)256 << 20,
      .graph_nodes = true,
      .calls = true,
      .unit_seconds = 1,
      .items = {{STEP_TIMELINE, UINT32_MAX}},
      .item_count = 1,
      .budget_s = 60,
      .pause_s = 600,
      .stall_s = 60,
      .flush_s = 0.5,
      .launches = launches,
  };
  atomic_store(&by_now, by);
  return true;
}

bool plan_init(void) {
  return make_anew(UNIT_BY_PROCESS);
}

bool plan_on_demand(void) {
  if (!make_anew(UNIT_BY_SOCKET)) return false;
  the_plan.begun = true;
  return true;
}

/* ---- values: false when the text is none ---- */

static bool as_number(const char *text, void *out) {
  char *end;
  errno = 0;
  double value = strtod(text, &end);
  if (end == text || *end || errno || !(value >= 0 && value <= MOST))
    return false;
  *(double *)out = value;
  return true;
}

static bool as_size(const char *text, void *out) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || !(value >= 1)) return false;
  double factor = *end == 'K'   ? 1024.0
                  : *end == 'M' ? 1048576.0
                  : *end == 'G' ? 1073741824.0
                  : *end        ? 0
                                : 1;
  if (factor == 0 || (*end && end[1]) || value * factor > 1e15) return false;
  *(size_t *)out = (size_t)(value * factor);
  return true;
}

static bool as_u32(const char *text, uint32_t *out) {
  double value;
  if (!as_number(text, &value) || value > 4294967294.0) return false;
  *out = (uint32_t)value;
  return value == (double)*out;
}

static bool as_switch(const char *text, void *out) {
  bool on = strcmp(text, "on") == 0;
  *(bool *)out = on;
  return on || strcmp(text, "off") == 0;
}

/* The place of the text among the words; `count` when it is none of them. */
static size_t as_word(const char *text, const char *const *words,
                      size_t count) {
  size_t i = 0;
  while (i < count && strcmp(words[i], text) != 0) i++;
  return i;
}

/* "x,y,z" */
static bool as_shape(const char *text, uint32_t out[3]) {
  char after;
  return sscanf(text, "%u,%u,%u%c", &out[0], &out[1], &out[2], &after) == 3;
}

/* "NAME" or "DOMAIN@NAME" */
static bool as_range(const char *text, void *to) {
  plan_range *out = to;
  const char *at = strchr(text, '@');
  size_t domain = at ? (size_t)(at - text) : 0;
  const char *name = at ? at + 1 : text;
  if (domain >= PLAN_NAME || strlen(name) >= PLAN_NAME) return false;
  memcpy(out->domain, text, domain);
  out->domain[domain] = 0;
  memcpy(out->name, name, strlen(name) + 1);
  return true;
}

/* Text that has no NUL. After a '*' the pattern is tried again one byte on,
 * until it fits; an earlier '*' need not be tried again. */
static bool is_like(const char *pattern, const char *text, size_t size) {
  const char *again = NULL; /* of the pattern, after its last '*' */
  size_t at = 0, from = 0;
  while (at < size) {
    if (*pattern == '*') {
      again = ++pattern;
      from = at;
    } else if (*pattern && *pattern == text[at]) {
      pattern++;
      at++;
    } else if (again) {
      pattern = again;
      at = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

bool plan_range_is(const plan_range *range, const char *domain,
                   const char *name, size_t name_size) {
  return range->name[0] && strcmp(range->domain, domain) == 0 &&
         is_like(range->name, name, name_size);
}

/* ---- keys ---- */

static const char *set_graphs(const char *value) {
  bool nodes = strcmp(value, "node") == 0;
  if (!nodes && strcmp(value, "graph") != 0) return "node or graph";
  if (!nodes && the_plan.begun && !plan_early())
    return "graphs = graph from the start: libcupti ends a program whose "
           "graphs "
           "are older than whole graphs' records";
  the_plan.graph_nodes = nodes;
  return NULL;
}

static const char *set_timeline(const char *value) {
  the_plan.calls = strcmp(value, "calls") == 0;
  return the_plan.calls || strcmp(value, "kernels") == 0 ? NULL
                                                         : "calls or kernels";
}

static const char *set_sources(const char *value) {
  static const char *const words[] = {[SOURCES_AUTO] = "auto",
                                      [SOURCES_PYTHON] = "python",
                                      [SOURCES_NATIVE] = "native",
                                      [SOURCES_OFF] = "off"};
  size_t count = sizeof words / sizeof *words, i = as_word(value, words, count);
  if (i == count) return "auto, python, native or off";
  if ((i == SOURCES_PYTHON || i == SOURCES_NATIVE) && the_plan.begun &&
      !plan_early())
    return "sources = python or native from the start";
  the_plan.sources = (plan_sources)i;
  return NULL;
}

static const char *set_by(const char *value) {
  static const char *const words[] = {"process", "range", "profiler", "time",
                                      "socket"};
  size_t count = sizeof words / sizeof *words, i = as_word(value, words, count);
  if (i == count) return "process, range, profiler, time or socket";
  atomic_store(&by_now, (int)i);
  return NULL;
}

/* "TYPE" or "TYPE:COUNT" */
static bool as_item(char *word, plan_item *out) {
  static const char *const words[] = {"",         "plain", "timeline",
                                      "counters", "skip",  "pause"};
  char *colon = strchr(word, ':');
  if (colon) *colon++ = 0;
  out->count = UINT32_MAX;
  if (colon && !as_u32(colon, &out->count)) return false;
  size_t count = sizeof words / sizeof *words;
  out->step = (plan_step)as_word(word, words, count);
  return out->step > 0 && out->step < count;
}

static const char *set_units(const char *value) {
  plan_item items[PLAN_ITEMS];
  char word[64];
  size_t count = 0;
  int used;
  for (; sscanf(value, " %63s%n", word, &used) == 1; value += used)
    if (count == PLAN_ITEMS || !as_item(word, &items[count++]))
      return "words such as plain:2 timeline:1 pause counters:2";
  memcpy(the_plan.items, items, sizeof items);
  the_plan.item_count = count;
  return NULL;
}

static const char *set_samples(const char *value) {
  uint32_t hz;
  if (!as_u32(value, &hz) || hz > 200000) return "a number up to 200000";
  the_plan.samples_hz = hz;
  return NULL;
}

static const char *add_name(const char *value, char **names, size_t *count) {
  if (!*value) return "the name of a metric";
  if (*count == PLAN_METRICS) return "fewer metrics";
  names[*count] = strdup(value);
  if (!names[*count]) return "more memory";
  ++*count;
  return NULL;
}

static const char *add_metric(const char *value) {
  return add_name(value, the_plan.metrics, &the_plan.metric_count);
}

/* Metrics that follow are taken from a launch of their own. */
static const char *begin_pass(const char *value) {
  uint32_t number;
  if (!as_u32(value, &number) || number != the_plan.pass_count + 1 ||
      number > PLAN_PASSES)
    return "the number of the next pass, of 32 at most";
  the_plan.passes[the_plan.pass_count] =
      the_plan.pass_count ? the_plan.metric_count : 0;
  the_plan.pass_count++;
  return NULL;
}

static const char *add_sample_metric(const char *value) {
  return add_name(value, the_plan.sample_metrics,
                  &the_plan.sample_metric_count);
}

static const char *set_cupti(const char *value) {
  free(the_plan.cupti);
  the_plan.cupti = strdup(value);
  return the_plan.cupti ? NULL : "more memory";
}

/* "N", "N-M" or "*" */
static bool as_ordinals(const char *text, uint32_t *from, uint32_t *to) {
  char after;
  *from = 0;
  *to = UINT32_MAX;
  if (strcmp(text, "*") == 0) return true;
  if (sscanf(text, "%u-%u%c", from, to, &after) == 2) return *from <= *to;
  return as_u32(text, from) && as_u32(text, to);
}

/* "N" or "*" */
static bool as_passes(const char *text, uint32_t *out) {
  *out = UINT32_MAX;
  return strcmp(text, "*") == 0 || (as_u32(text, out) && *out > 0);
}

/* KERNEL|GRID|BLOCK|SHARED|STAGE|ORDINAL|PASSES, of which all but the first may
 * be missing. */
static bool parse_launch(char *value, plan_launch *out) {
  char *parts[7] = {"*", "*", "*", "*", "*", "*", "*"};
  char any[] = "*";
  size_t count = 0;
  for (char *rest = value; rest && count < 7;) {
    char *part = strsep(&rest, "|");
    parts[count++] = *part ? part : any;
  }
  *out = (plan_launch){0};
  out->any_shape = strcmp(parts[1], "*") == 0;
  out->any_block = strcmp(parts[2], "*") == 0;
  out->any_shared = strcmp(parts[3], "*") == 0;
  bool ok = (out->any_shape || as_shape(parts[1], out->grid)) &&
            (out->any_block || as_shape(parts[2], out->block)) &&
            (out->any_shared || as_u32(parts[3], &out->shared)) &&
            (strcmp(parts[4], "*") == 0 || as_range(parts[4], &out->stage)) &&
            as_ordinals(parts[5], &out->from, &out->to) &&
            as_passes(parts[6], &out->passes);
  out->kernel = ok ? strdup(parts[0]) : NULL;
  return out->kernel != NULL;
}

static const char *add_launch(const char *value) {
  char copy[8192];
  size_t size = strlen(value) + 1;
  if (the_plan.launch_count == PLAN_LAUNCHES || size > sizeof copy)
    return "fewer and shorter launches";
  memcpy(copy, value, size);
  if (!parse_launch(copy, &the_plan.launches[the_plan.launch_count]))
    return "KERNEL|X,Y,Z|X,Y,Z|SHARED|STAGE|ORDINAL|PASSES";
  the_plan.launch_count++;
  return NULL;
}

/* GRAPH|STAGE|ORDINAL, of which all but the first may be missing. */
static bool parse_graph(char *value, plan_graph *out) {
  const char *graph = strsep(&value, "|");
  const char *stage = value ? strsep(&value, "|") : "*";
  const char *ordinals = value ? value : "*";
  *out = (plan_graph){0};
  return (strcmp(graph, "*") == 0 || as_u32(graph, &out->graph)) &&
         (strcmp(stage, "*") == 0 || as_range(stage, &out->stage)) &&
         as_ordinals(ordinals, &out->from, &out->to);
}

static const char *add_graph(const char *value) {
  char copy[1024];
  size_t size = strlen(value) + 1;
  if (the_plan.graph_count == PLAN_GRAPHS || size > sizeof copy)
    return "fewer and shorter graphs";
  memcpy(copy, value, size);
  if (!parse_graph(copy, &the_plan.graphs[the_plan.graph_count]))
    return "GRAPH|STAGE|ORDINAL";
  the_plan.graph_count++;
  return NULL;
}

/* A value goes where it says, or to a function, which returns what is wanted
 * instead, or NULL. */
static const struct {
  const char *key, *wanted;
  bool (*as)(const char *text, void *out);
  void *to;
  const char *(*set)(const char *value);
} keys[] = {
    {"memory", "a size such as 256M", as_size, &the_plan.memory, NULL},
    {"yield", "on or off", as_switch, &the_plan.yield, NULL},
    {"unit.range", "a shorter name", as_range, &the_plan.range, NULL},
    {"unit.within", "a shorter name", as_range, &the_plan.within, NULL},
    {"unit.operators", "a shorter name", as_range, &the_plan.operators, NULL},
    {"unit.eager", "a shorter name", as_range, &the_plan.eager, NULL},
    {"unit.capture", "a shorter name", as_range, &the_plan.capture, NULL},
    {"unit.profiler", "on or off", as_switch, &the_plan.in_profiler, NULL},
    {"unit.seconds", "seconds", as_number, &the_plan.unit_seconds, NULL},
    {"counters.budget_s", "seconds", as_number, &the_plan.budget_s, NULL},
    {"counters.flush", "on or off", as_switch, &the_plan.flush_cache, NULL},
    {"pause_s", "seconds", as_number, &the_plan.pause_s, NULL},
    {"stall_s", "seconds", as_number, &the_plan.stall_s, NULL},
    {"flush_s", "seconds", as_number, &the_plan.flush_s, NULL},
    {"graphs", .set = set_graphs},
    {"timeline", .set = set_timeline},
    {"sources", .set = set_sources},
    {"unit.by", .set = set_by},
    {"units", .set = set_units},
    {"samples.hz", .set = set_samples},
    {"samples.metric", .set = add_sample_metric},
    {"metric", .set = add_metric},
    {"pass", .set = begin_pass},
    {"launch", .set = add_launch},
    {"graph", .set = add_graph},
    {"cupti", .set = set_cupti},
};

static char *trim(char *text) {
  while (isspace((unsigned char)*text)) text++;
  char *end = text + strlen(text);
  while (end > text && isspace((unsigned char)end[-1])) *--end = 0;
  return text;
}

bool plan_line(char *line, const char **why) {
  line = trim(line);
  if (!*line || *line == '#') return true;
  char *equals = strchr(line, '=');
  *why = "KEY = VALUE";
  if (!equals) return false;
  *equals = 0;
  const char *key = trim(line), *value = trim(equals + 1);
  *why = "a key of docs/collector.md";
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(keys[i].key, key) == 0) {
      *why = keys[i].set                     ? keys[i].set(value)
             : keys[i].as(value, keys[i].to) ? NULL
                                             : keys[i].wanted;
      return *why == NULL;
    }
  return false;
}

/* The whole file, NUL-terminated; freed by the caller. NULL: errno says why. */
static char *read_file(const char *path) {
  int file = files_open(path, O_RDONLY, 0);
  if (file < 0) return NULL;
  size_t used = 0, size = 4096;
  char *text = malloc(size);
  ssize_t n = 0;
  while (text && (n = files_read(file, text + used, size - used - 1)) > 0) {
    used += (size_t)n;
    if (used + 1 < size) continue;
    char *more = realloc(text, size *= 2);
    if (!more) free(text);
    text = more;
  }
  int error = text ? errno : ENOMEM;
  files_close(file);
  if (text && n == 0) {
    text[used] = 0;
    return text;
  }
  free(text);
  errno = error;
  return NULL;
}

bool plan_read(const char *path, void (*complain)(unsigned, const char *)) {
  char *text = read_file(path);
  if (!text) return false;
  unsigned number = 0;
  for (char *rest = text; rest;) {
    const char *why = NULL;
    number++;
    if (!plan_line(strsep(&rest, "\n"), &why)) complain(number, why);
  }
  free(text);
  return true;
}

bool plan_early(void) {
  return plan_by() == UNIT_BY_PROFILER || the_plan.in_profiler ||
         !the_plan.graph_nodes || the_plan.sources == SOURCES_PYTHON ||
         the_plan.sources == SOURCES_NATIVE;
}

bool plan_ticks(void) {
  return plan_by() == UNIT_BY_TIME || plan_by() == UNIT_BY_SOCKET;
}
