/* Hardware samples of a spool. */
#include <math.h>
#include <string.h>

#include "spool/spool_internal.h"

/* What a metric stands for, by a part of NVIDIA's name; its values are percents
 * of the most that the GPU can sustain. */
static const struct {
  const char *part;
  llmprof_sampled value;
} sampled[] = {
    {"gr__cycles_active", LLMPROF_SAMPLED_GPU},
    {"sm__cycles_active", LLMPROF_SAMPLED_SM},
    {"sm__pipe_tensor_cycles_active", LLMPROF_SAMPLED_TENSOR},
    {"dramc__read_throughput", LLMPROF_SAMPLED_DRAM_READ},
    {"dramc__write_throughput", LLMPROF_SAMPLED_DRAM_WRITE},
};

#define PERCENT "pct_of_peak_sustained_elapsed"

typedef struct loader {
  spool_trace *trace;
  spool_numbers metrics; /* by {section, metric}: llmprof_sampled */
} loader;

static llmprof_sampled value_of(const char *name) {
  for (size_t i = 0; name && i < sizeof sampled / sizeof *sampled; i++) {
    if (strstr(name, sampled[i].part) && strstr(name, PERCENT))
      return sampled[i].value;
  }
  return LLMPROF_SAMPLED;
}

static bool take_metric(void *user, const spool_item *item,
                        llmprof_error *err) {
  loader *l = user;
  spool_metric metric;
  spool_item_get(item, &metric, sizeof metric);
  const uint32_t key[2] = {item->section, metric.metric};
  uint32_t name =
      spool_file_string(&l->trace->sections.file, item->section, metric.name);
  const char *text = llmprof_strings_get(
      llmprof_builder_strings(l->trace->builder), name, NULL);
  return spool_numbers_set(&l->metrics, key, value_of(text)) ||
         llmprof_fail_nomem(err);
}

static void put_values(const loader *l, const spool_item *item, uint32_t count,
                       llmprof_sample_row *row) {
  size_t size;
  const unsigned char *at = spool_item_rest(item, &size);
  spool_value value;
  for (; count && size >= sizeof value; count--, size -= sizeof value) {
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    const uint32_t key[2] = {item->section, value.metric};
    uint32_t of = spool_numbers_get(&l->metrics, key);
    if (of < LLMPROF_SAMPLED && isfinite(value.value))
      row->values[of] = value.value;
  }
}

/* The first one of a unit reaches from the set-up to the first trigger: what is
 * in no unit for the timeline is left out. */
static bool take_sample(void *user, const spool_item *item,
                        llmprof_error *err) {
  loader *l = user;
  spool_sample s;
  spool_item_get(item, &s, sizeof s);
  const spool_section *section = &l->trace->sections.all[item->section];
  llmprof_sample_row row = {.start = s.start, .end = s.end};
  if (spool_excludes(section, s.start) || spool_excludes(section, s.end) ||
      !spool_shows(section, &row.start, &row.end))
    return true;
  row.device =
      spool_device_number(&l->trace->sections, item->section, s.device);
  for (int i = 0; i < LLMPROF_SAMPLED; i++) row.values[i] = NAN;
  put_values(l, item, s.values, &row);
  llmprof_builder_recorded(l->trace->builder, LLMPROF_TABLE_SAMPLES);
  return llmprof_builder_add_sample(l->trace->builder, &row, err);
}

bool spool_load_samples(spool_trace *trace, llmprof_error *err) {
  loader l = {.trace = trace};
  spool_file *file = &trace->sections.file;
  spool_numbers_init(&l.metrics, 2 * sizeof(uint32_t));
  bool ok =
      spool_file_each(file, SPOOL_BIT(SPOOL_METRIC), take_metric, &l, err) &&
      spool_file_each(file, SPOOL_BIT(SPOOL_SAMPLE), take_sample, &l, err);
  llmprof_intern_free(&l.metrics);
  return ok;
}
