/* Opening a spool: processes, threads and GPUs; what else it can tell is loaded
 * when it is asked for. */
#include "trace/built_in_readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "spool/spool.h"
#include "spool/spool_internal.h"
#include "trace/trace_events.h"

/* ---- what is described ---- */

static uint32_t text_of(const spool_trace *trace, uint32_t section,
                        uint32_t id) {
  return spool_file_string(&trace->sections.file, section, id);
}

static bool add_process(const spool_trace *t, uint32_t number) {
  const spool_section *section = &t->sections.all[number];
  uint32_t row;
  if (!spool_process_row(t->builder, section, &row)) return false;
  llmprof_builder_name_process(t->builder, row,
                               text_of(t, number, section->process.name));
  return true;
}

static bool take_thread(void *user, const spool_item *item,
                        llmprof_error *err) {
  const spool_trace *t = user;
  spool_thread thread;
  uint32_t row;
  spool_item_get(item, &thread, sizeof thread);
  if (!spool_thread_row(t->builder, &t->sections.all[item->section], thread.tid,
                        &row))
    return llmprof_fail_nomem(err);
  llmprof_builder_name_thread(t->builder, row,
                              text_of(t, item->section, thread.name));
  return true;
}

static int64_t figure(uint64_t value) {
  return value && value <= INT64_MAX ? (int64_t)value : LLMPROF_ABSENT;
}

/* "GPU-00112233-...", as nvidia-smi has it; no string for all zeros. */
static bool uuid_text(llmprof_builder *builder, const uint8_t *uuid,
                      uint32_t *string) {
  static const uint8_t none[16];
  char text[48];
  int at = snprintf(text, sizeof text, "GPU");
  *string = LLMPROF_NO_STRING;
  if (memcmp(uuid, none, sizeof none) == 0) return true;
  for (int i = 0; i < 16; i++) {
    bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%02x",
                   dash ? "-" : "", uuid[i]);
  }
  return llmprof_builder_text(builder, text, (size_t)at, string);
}

static bool bus_text(llmprof_builder *builder, const spool_device *device,
                     uint32_t *string) {
  char text[64];
  *string = LLMPROF_NO_STRING;
  if (!device->pci_domain && !device->pci_bus && !device->pci_device)
    return true;
  int size =
      snprintf(text, sizeof text, "%08" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".0",
               device->pci_domain, device->pci_bus, device->pci_device);
  return llmprof_builder_text(builder, text, (size_t)size, string);
}

static bool add_device(const spool_trace *t, size_t number) {
  const spool_sections *s = &t->sections;
  const spool_device *from = &s->devices[number];
  uint32_t section = s->device_section[number];
  llmprof_device device = {
      .id = spool_device_number(s, section, from->device),
      .name = text_of(t, section, from->name),
      .chip = text_of(t, section, from->chip),
      .memory = figure(from->memory),
      .bandwidth = figure(from->memory_bandwidth),
      .clock = figure(from->clock),
      .sm_count = figure(from->multiprocessors),
      .l2_size = figure(from->l2_cache),
      .compute_major = figure(from->compute_major),
      .compute_minor =
          from->compute_major ? from->compute_minor : LLMPROF_ABSENT,
  };
  return uuid_text(t->builder, from->uuid, &device.uuid) &&
         bus_text(t->builder, from, &device.bus) &&
         llmprof_builder_add_device(t->builder, &device);
}

static bool add_versions(const spool_trace *t) {
  const spool_section *first = &t->sections.all[0];
  const char *product =
      llmprof_strings_get(llmprof_builder_strings(t->builder),
                          text_of(t, 0, first->process.product), NULL);
  char schema[16];
  snprintf(schema, sizeof schema, "%d", SPOOL_VERSION);
  return llmprof_builder_versions(t->builder, schema, product);
}

static void announce(const spool_trace *t) {
  static const struct {
    spool_kind kind;
    llmprof_trace_table table;
  } tables[] = {
      {SPOOL_KERNEL, LLMPROF_TABLE_KERNELS},
      {SPOOL_MEMCPY, LLMPROF_TABLE_COPIES},
      {SPOOL_MEMSET, LLMPROF_TABLE_SETS},
      {SPOOL_GRAPH, LLMPROF_TABLE_GRAPHS},
      {SPOOL_CALL, LLMPROF_TABLE_CALLS},
  };
  const spool_sections *s = &t->sections;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (s->recorded & SPOOL_BIT(tables[i].kind))
      llmprof_builder_recorded(t->builder, tables[i].table);
  }
  llmprof_builder_recorded(t->builder, LLMPROF_TABLE_RANGES);
  for (int fact = 0; fact < LLMPROF_FACTS; fact++)
    llmprof_builder_knows(t->builder, (llmprof_fact)fact);
  if (s->epoch != LLMPROF_ABSENT) llmprof_builder_epoch(t->builder, s->epoch);
}

static bool describe(spool_trace *t, llmprof_error *err) {
  spool_sections *s = &t->sections;
  bool ok = add_versions(t);
  for (uint32_t i = 0; ok && i < s->file.sections; i++) ok = add_process(t, i);
  for (size_t i = 0; ok && i < s->device_count; i++) ok = add_device(t, i);
  announce(t);
  return ok ? spool_file_each(&s->file, SPOOL_BIT(SPOOL_THREAD), take_thread, t,
                              err)
            : llmprof_fail_nomem(err);
}

/* ---- diagnostics ---- */

/* What was lost, by spool_lost; operations that are not shown, and generated
 * lines whose stacks are too deep. */
typedef struct losses {
  const spool_trace *trace;
  uint64_t lost[SPOOL_LOST_UNKNOWN + 1];
  uint64_t replayed, timeless, wrong, deep;
} losses;

static bool take_said(losses *l, const spool_item *item) {
  spool_diagnostic said;
  spool_item_get(item, &said, sizeof said);
  llmprof_diagnostic diagnostic = {
      .severity = said.severity >= SPOOL_ERROR     ? LLMPROF_PROBLEM
                  : said.severity == SPOOL_WARNING ? LLMPROF_WARNING
                                                   : LLMPROF_INFO,
      .text = text_of(l->trace, item->section, said.text)};
  return diagnostic.text == LLMPROF_NO_STRING ||
         llmprof_builder_add_diagnostic(l->trace->builder, &diagnostic);
}

static void take_drops(losses *l, const spool_item *item) {
  spool_drops drops;
  spool_item_get(item, &drops, sizeof drops);
  uint32_t what =
      drops.what <= SPOOL_LOST_UNKNOWN ? drops.what : SPOOL_LOST_UNKNOWN;
  if (__builtin_add_overflow(l->lost[what], drops.count, &l->lost[what]))
    l->lost[what] = UINT64_MAX;
}

static void take_op(losses *l, const spool_item *item) {
  spool_op op = spool_op_of(item);
  if (op.replayed)
    l->replayed++;
  else if (op.start == 0 || op.end < op.start)
    l->timeless++;
  else if (spool_has_wrong_end(l->trace, item) &&
           spool_shows(&l->trace->sections.all[item->section], &op.start,
                       &op.end))
    l->wrong++;
}

static void take_generated(losses *l, const spool_item *item) {
  spool_generated generated;
  spool_item_get(item, &generated, sizeof generated);
  l->deep += generated.lines > SPOOL_MADE_OF_MOST;
}

static bool take_loss(void *user, const spool_item *item, llmprof_error *err) {
  losses *l = user;
  if (item->kind == SPOOL_DIAGNOSTIC)
    return take_said(l, item) || llmprof_fail_nomem(err);
  if (item->kind == SPOOL_DROPS)
    take_drops(l, item);
  else if (item->kind == SPOOL_GENERATED)
    take_generated(l, item);
  else
    take_op(l, item);
  return true;
}

static bool say(llmprof_builder *builder, llmprof_severity severity,
                uint64_t count, const char *what) {
  return !count ||
         llmprof_builder_say(builder, severity, "%" PRIu64 " %s", count, what);
}

static bool say_losses(const losses *l) {
  static const char *const lost[] = {
      [SPOOL_LOST_ACTIVITY] = "records were dropped by CUPTI",
      [SPOOL_LOST_BUFFERS] = "times CUPTI asked for a buffer and none was free",
      [SPOOL_LOST_NVTX] = "NVTX events were dropped: no buffer was free",
      [SPOOL_LOST_WRITE] = "bytes of the spool could not be written",
      [SPOOL_LOST_SAMPLES] = "hardware samples were lost to overflow",
      [SPOOL_LOST_BROKEN] = "GPU operations came without a time",
      [SPOOL_LOST_UNKNOWN] = "records were of a kind that is not known",
  };
  llmprof_builder *builder = l->trace->builder;
  bool ok = true;
  for (size_t i = SPOOL_LOST_ACTIVITY; ok && i <= SPOOL_LOST_UNKNOWN; i++)
    ok = say(builder, LLMPROF_PROBLEM, l->lost[i], lost[i]);
  return ok &&
         say(builder, LLMPROF_INFO, l->replayed,
             "launches were replayed for counters and are not in the "
             "timeline") &&
         say(builder, LLMPROF_PROBLEM, l->timeless,
             "GPU operations have no time and were left out") &&
         say(builder, LLMPROF_WARNING, l->wrong,
             "copies or memsets were left out: CUPTI has them end behind later "
             "work of their stream") &&
         say(builder, LLMPROF_WARNING, l->deep,
             "generated lines stay as they are: made of more than 1,000 lines");
}

static bool say_ends(const losses *l) {
  const spool_sections *s = &l->trace->sections;
  bool ok = say(l->trace->builder, LLMPROF_PROBLEM, s->file.left,
                "bytes of the spool are in no whole block") &&
            say(l->trace->builder, LLMPROF_WARNING, s->file.repeated,
                "recordings are in the file more than once, and count once");
  for (uint32_t i = 0; ok && i < s->file.sections; i++) {
    if (s->all[i].has_end) continue;
    ok = llmprof_builder_say(l->trace->builder, LLMPROF_WARNING,
                             "process %" PRIu32
                             " did not end in order: its spool stops",
                             s->all[i].process.pid);
  }
  return ok;
}

static bool load_diagnostics(spool_trace *trace, llmprof_error *err) {
  static const uint64_t kinds =
      SPOOL_BIT(SPOOL_DIAGNOSTIC) | SPOOL_BIT(SPOOL_DROPS) |
      SPOOL_BIT(SPOOL_KERNEL) | SPOOL_BIT(SPOOL_MEMCPY) |
      SPOOL_BIT(SPOOL_MEMSET) | SPOOL_BIT(SPOOL_GRAPH) |
      SPOOL_BIT(SPOOL_GENERATED);
  losses l = {.trace = trace};
  return spool_find_wrong_ends(trace, err) &&
         spool_file_each(&trace->sections.file, kinds, take_loss, &l, err) &&
         ((say_losses(&l) && say_ends(&l)) || llmprof_fail_nomem(err));
}

/* ---- the reader ---- */

static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  if (!file->packed && file->size >= SPOOL_MAGIC_SIZE &&
      memcmp(file->bytes, SPOOL_MAGIC, SPOOL_MAGIC_SIZE) == 0)
    return LLMPROF_CLAIM_YES;
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: not a spool", file->path);
  return LLMPROF_CLAIM_NO;
}

static bool keep_text(void *user, const char *bytes, size_t size,
                      uint32_t *string) {
  return llmprof_builder_text(user, bytes, size, string);
}

static bool open_units(const char *path, uint16_t wanted,
                       llmprof_builder *builder, void **state,
                       llmprof_error *err) {
  spool_trace *trace = llmprof_zalloc(1, sizeof *trace);
  *state = trace;
  if (!trace) return llmprof_fail_nomem(err);
  trace->builder = builder;
  return spool_sections_open(&trace->sections, path, wanted, keep_text, builder,
                             err) &&
         describe(trace, err);
}

static bool open_spool(const char *path, llmprof_builder *builder, void **state,
                       llmprof_error *err) {
  return open_units(path, SPOOL_UNIT_TIMELINE, builder, state, err);
}

static bool open_operators(const char *path, llmprof_builder *builder,
                           void **state, llmprof_error *err) {
  return open_units(path, SPOOL_UNIT_OPERATORS, builder, state, err);
}

static void close_spool(void *state) {
  spool_trace *trace = state;
  if (!trace) return;
  spool_sections_close(&trace->sections);
  llmprof_kernel_names_free(&trace->names);
  llmprof_intern_free(&trace->wrong_ends);
  llmprof_free(trace);
}

/* The collector takes no samples of the CPU. */
static bool load(void *state, llmprof_builder *builder, llmprof_part part,
                 llmprof_error *err) {
  static bool (*const parts[LLMPROF_PARTS])(spool_trace *, llmprof_error *) = {
      [LLMPROF_PART_OPS] = spool_load_ops,
      [LLMPROF_PART_DETAILS] = spool_load_details,
      [LLMPROF_PART_CALLS] = spool_load_calls,
      [LLMPROF_PART_RANGES] = spool_load_ranges,
      [LLMPROF_PART_DIAGNOSTICS] = load_diagnostics,
      [LLMPROF_PART_SAMPLES] = spool_load_samples,
      [LLMPROF_PART_STACKS] = spool_load_stacks,
  };
  (void)builder;
  return !parts[part] || parts[part](state, err);
}

const llmprof_reader llmprof_spool_reader = {
    .name = "spool",
    .what = "recording of llmprof's collector (.spool)",
    .probe = probe,
    .open = open_spool,
    .load = load,
    .close = close_spool,
};

llmprof_trace *llmprof_spool_operators(const char *path, llmprof_error *err) {
  static const llmprof_reader reader = {
      .name = "spool",
      .what = "operators of a spool",
      .probe = probe,
      .open = open_operators,
      .load = load,
      .close = close_spool,
  };
  return llmprof_reader_open(&reader, path, err);
}
