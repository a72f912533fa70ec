#include "text/metric_unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* One side of a "/". */
typedef struct part {
  const char *base;
  int power;
} part;

static bool is(const char *text, size_t size, const char *name) {
  return strlen(name) == size && memcmp(text, name, size) == 0;
}

/* What is counted: no prefix, nothing to convert. */
static const char *find_plain(const char *text, size_t size) {
  static const char *const names[] = {
      "%",      "SM",     "block", "cluster",  "cycle",
      "inst",   "op",     "pass",  "register", "request",
      "sector", "thread", "tile",  "warp",     "wavefront",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (is(text, size, names[i])) return names[i];
  }
  return NULL;
}

static const char *find_scaled(const char *text, size_t size) {
  if (is(text, size, "bit")) return "bit";
  if (is(text, size, "byte")) return "byte";
  return is(text, size, "hz") || is(text, size, "Hz") ? "Hz" : NULL;
}

static bool is_time(const char *text, size_t size) {
  return is(text, size, "s") || is(text, size, "second");
}

/* The power of a prefix; 0: none. */
static int power_of(char prefix, const char *prefixes, const int *powers) {
  const char *at = prefix ? strchr(prefixes, prefix) : NULL;
  return at ? powers[at - prefixes] : 0;
}

/* False: not known. */
static bool read_part(const char *text, size_t size, part *found) {
  static const int above[] = {3, 3, 6, 9, 12, 15}, below[] = {-3, -6, -9, -12};
  if (!size) return false;
  const char *base = find_plain(text, size);
  if (!base) base = find_scaled(text, size);
  if (!base && is_time(text, size)) base = "s";
  *found = (part){base, 0};
  if (base) return true;
  base = find_scaled(text + 1, size - 1);
  *found = (part){base, power_of(*text, "KkMGTP", above)};
  if (base) return found->power != 0;
  if (!is_time(text + 1, size - 1)) return false;
  *found = (part){"s", power_of(*text, "munp", below)};
  return found->power != 0;
}

llmprof_metric_unit llmprof_metric_unit_read(const char *text) {
  llmprof_metric_unit unit = {.power = 0};
  const char *slash = strchr(text, '/');
  size_t size = strlen(text);
  size_t first = slash ? (size_t)(slash - text) : size;
  part over, under = {"", 0};
  snprintf(unit.base, sizeof unit.base, "%s", text);
  if (!read_part(text, first, &over)) return unit;
  if (slash && !read_part(slash + 1, size - first - 1, &under)) return unit;
  snprintf(unit.base, sizeof unit.base, "%s%s%s", over.base, slash ? "/" : "",
           under.base);
  if (strcmp(unit.base, "cycle/s") == 0) strcpy(unit.base, "Hz");
  unit.power = over.power - under.power;
  return unit;
}

/* Does a name hold one word, and behind it the other? */
static bool has(const char *name, const char *word, const char *behind) {
  const char *at = strstr(name, word);
  return at && (!behind || strstr(at + strlen(word), behind));
}

static bool ends(const char *name, const char *word) {
  size_t size = strlen(name), tail = strlen(word);
  return size >= tail && strcmp(name + size - tail, word) == 0;
}

const char *llmprof_metric_unit_of(const char *metric) {
  if (has(metric, ".pct", NULL)) return "%";
  if (has(metric, "__time_duration", NULL)) return "ns";
  if (has(metric, "bytes", ".per_second")) return "byte/s";
  if (has(metric, "bytes", NULL))
    return ends(metric, ".peak_sustained") ? "byte/cycle" : "byte";
  if (has(metric, "cycles", ".per_second")) return "hz";
  if (has(metric, "cycles", NULL)) return "cycle";
  if (has(metric, "inst", NULL)) return "inst";
  return has(metric, "warps", NULL) ? "warp" : "";
}

/* Divides for negative powers: 10^-6 is not exact, and 10^6 is. */
double llmprof_metric_unit_scale(const llmprof_metric_unit *unit,
                                 double value) {
  double scaled = unit->power < 0 ? value / pow(10, -unit->power)
                                  : value * pow(10, unit->power);
  return isfinite(scaled) ? scaled : NAN;
}
