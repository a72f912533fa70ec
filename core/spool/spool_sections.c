#include "spool/spool_sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "frame/sort.h"

/* ---- names ---- */

uint32_t spool_scope_name(const spool_sections *s, uint32_t section,
                          uint32_t domain, uint32_t category) {
  const spool_name name = {section,
                           category ? SPOOL_NVTX_CATEGORY : SPOOL_NVTX_DOMAIN,
                           domain, category};
  return spool_numbers_get(&s->names, &name);
}

uint32_t spool_device_number(const spool_sections *s, uint32_t section,
                             uint32_t device) {
  const spool_name name = {section, SPOOL_DEVICE, device, 0};
  uint32_t number = spool_numbers_get(&s->names, &name);
  return number == UINT32_MAX ? device : number;
}

/* ---- time ---- */

static int64_t plus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

int64_t spool_time(const spool_section *section, int64_t time) {
  int64_t moved;
  if (time == 0 || __builtin_add_overflow(time, section->shift, &moved))
    return LLMPROF_ABSENT;
  return moved;
}

static int64_t start_of(const spool_section *section) {
  return section->process.start ? section->process.start : section->clock.time;
}

/* Since the epoch. */
static int64_t wall_start(const spool_section *section) {
  return plus(start_of(section),
              minus(section->clock.realtime, section->clock.time));
}

/* The one that began first is where times count from. */
static const spool_section *first_section(const spool_sections *s) {
  const spool_section *first = NULL;
  for (uint32_t i = 0; i < s->file.sections; i++) {
    const spool_section *it = &s->all[i];
    if (it->has_clock && (!first || wall_start(it) < wall_start(first)))
      first = it;
  }
  return first ? first : &s->all[0];
}

static bool same_host(const spool_sections *s, const spool_section *a,
                      const spool_section *b) {
  uint32_t here =
      spool_file_string(&s->file, (uint32_t)(a - s->all), a->process.boot);
  uint32_t there =
      spool_file_string(&s->file, (uint32_t)(b - s->all), b->process.boot);
  return here != LLMPROF_NO_STRING && here == there;
}

/* Of one host the monotonic clock, which nobody sets, ties processes; else the
 * wall clock does. */
static void set_clocks(spool_sections *s) {
  const spool_section *first = first_section(s);
  const spool_clock *base = &first->clock;
  for (uint32_t i = 0; i < s->file.sections; i++) {
    spool_section *it = &s->all[i];
    const spool_clock *clock = &it->clock;
    it->shift = minus(0, start_of(first));
    if (!it->has_clock) continue;
    int64_t apart = same_host(s, it, first)
                        ? minus(minus(clock->monotonic, clock->time),
                                minus(base->monotonic, base->time))
                        : minus(minus(clock->realtime, clock->time),
                                minus(base->realtime, base->time));
    it->shift = plus(it->shift, apart);
  }
  s->epoch = first->has_clock ? wall_start(first) : LLMPROF_ABSENT;
}

/* ---- units ---- */

typedef enum unit_kind {
  NO_UNIT,
  WANTED_UNIT,
  OTHER_UNIT
} unit_kind;

/* What there is from a time on. Of units that record operations, the others are
 * as none. */
typedef struct spool_edge {
  int64_t time;
  size_t place; /* in the file */
  unit_kind kind;
} spool_edge;

static unit_kind kind_at(const spool_section *section, int64_t time) {
  size_t low = 0, high = section->edge_count;
  /* the first that comes after it */
  LLMPROF_BISECT(low, high, at, section->edges[at].time <= time);
  return low ? section->edges[low - 1].kind : NO_UNIT;
}

bool spool_excludes(const spool_section *section, int64_t time) {
  return section->edge_count && kind_at(section, time) != WANTED_UNIT;
}

bool spool_hides(const spool_section *section, int64_t time) {
  return kind_at(section, time) == OTHER_UNIT;
}

bool spool_is_after(const spool_section *section, int64_t time) {
  return time > section->last;
}

static int compare_edges(const void *a, const void *b) {
  const spool_edge *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* What two threads told is in the file in any order. */
static void sort_units(spool_section *section) {
  size_t count = section->edge_count;
  section->last = INT64_MAX;
  if (count)
    qsort(section->edges, count, sizeof *section->edges, compare_edges);
  for (size_t i = 0; i < count; i++)
    if (section->edges[i].kind == WANTED_UNIT)
      section->last = i + 1 < count ? section->edges[i + 1].time : INT64_MAX;
}

/* ---- devices ---- */

static bool keep_device(spool_sections *s, uint32_t section,
                        const spool_device *device) {
  if (!llmprof_grow(&s->devices, &s->device_cap, s->device_count + 1,
                    sizeof *s->devices) ||
      !llmprof_grow(&s->device_section, &s->device_section_cap,
                    s->device_count + 1, sizeof *s->device_section))
    return false;
  s->devices[s->device_count] = *device;
  s->device_section[s->device_count++] = section;
  return true;
}

/* Which GPU it is, on whatever machine. */
static int compare_gpus(const spool_device *a, const spool_device *b) {
  if (a->pci_domain != b->pci_domain)
    return a->pci_domain < b->pci_domain ? -1 : 1;
  if (a->pci_bus != b->pci_bus) return a->pci_bus < b->pci_bus ? -1 : 1;
  if (a->pci_device != b->pci_device)
    return a->pci_device < b->pci_device ? -1 : 1;
  return memcmp(a->uuid, b->uuid, sizeof a->uuid);
}

/* Do all processes mean the same by their numbers? */
static bool numbers_agree(const spool_sections *s) {
  for (size_t i = 0; i < s->device_count; i++) {
    for (size_t k = 0; k < i; k++) {
      bool same = compare_gpus(&s->devices[i], &s->devices[k]) == 0;
      if (same != (s->devices[i].device == s->devices[k].device)) return false;
    }
  }
  return true;
}

/* GPUs that come before it: its number where processes do not agree. */
static uint32_t rank_of(const spool_sections *s, size_t device) {
  uint32_t rank = 0;
  for (size_t i = 0; i < s->device_count; i++) {
    bool first = true; /* of the records of this GPU */
    for (size_t k = 0; first && k < i; k++)
      first = compare_gpus(&s->devices[i], &s->devices[k]) != 0;
    rank += first && compare_gpus(&s->devices[i], &s->devices[device]) < 0;
  }
  return rank;
}

enum {
  MOST_DEVICES = 512 /* records of them in a file */
};

static bool number_devices(spool_sections *s) {
  bool agree = numbers_agree(s);
  for (size_t i = 0; i < s->device_count; i++) {
    const spool_name name = {s->device_section[i], SPOOL_DEVICE,
                             s->devices[i].device, 0};
    if (!spool_numbers_set(&s->names, &name,
                           agree ? s->devices[i].device : rank_of(s, i)))
      return false;
  }
  return true;
}

/* ---- records ---- */

static bool take_name(spool_sections *s, const spool_item *item) {
  spool_name name = {.section = item->section, .kind = item->kind};
  uint32_t text;
  if (item->kind == SPOOL_NVTX_DOMAIN) {
    spool_nvtx_domain domain;
    spool_item_get(item, &domain, sizeof domain);
    name.a = domain.domain;
    text = domain.name;
  } else {
    spool_nvtx_category category;
    spool_item_get(item, &category, sizeof category);
    name.a = category.domain;
    name.b = category.category;
    text = category.name;
  }
  return spool_numbers_set(&s->names, &name,
                           spool_file_string(&s->file, item->section, text));
}

static bool take_device(spool_sections *s, const spool_item *item) {
  spool_device device;
  spool_item_get(item, &device, sizeof device);
  for (size_t i = 0; i < s->device_count; i++) { /* the last record counts */
    if (s->device_section[i] != item->section ||
        s->devices[i].device != device.device)
      continue;
    s->devices[i] = device;
    return true;
  }
  return s->device_count >= MOST_DEVICES ||
         keep_device(s, item->section, &device);
}

static bool take_unit(const spool_sections *s, spool_section *section,
                      const spool_item *item) {
  spool_unit unit;
  spool_item_get(item, &unit, sizeof unit);
  unit_kind kind =
      unit.type == s->wanted ? WANTED_UNIT
      : unit.type == SPOOL_UNIT_TIMELINE || unit.type == SPOOL_UNIT_OPERATORS
          ? OTHER_UNIT
          : NO_UNIT;
  if (!unit.end) section->has_end = false;
  if (!llmprof_grow(&section->edges, &section->edge_cap,
                    section->edge_count + 1, sizeof *section->edges))
    return false;
  section->edges[section->edge_count] =
      (spool_edge){unit.time, section->edge_count, unit.end ? NO_UNIT : kind};
  section->edge_count++;
  return true;
}

static bool take(void *user, const spool_item *item, llmprof_error *err) {
  spool_sections *s = user;
  spool_section *section = &s->all[item->section];
  bool ok = true;
  switch (item->kind) {
  case SPOOL_PROCESS:
    spool_item_get(item, &section->process, sizeof section->process);
    break;
  case SPOOL_CLOCK:
    if (!section->has_clock)
      spool_item_get(item, &section->clock, sizeof section->clock);
    section->has_clock = true;
    break;
  case SPOOL_END:
    section->has_end = true;
    break;
  case SPOOL_UNIT:
    ok = take_unit(s, section, item);
    break;
  case SPOOL_DEVICE:
    ok = take_device(s, item);
    break;
  default:
    ok = take_name(s, item);
  }
  return ok || llmprof_fail_nomem(err);
}

/* ---- processes ---- */

enum {
  ID_BITS = 24,
  ID_MASK = (1 << ID_BITS) - 1,
  MACHINE_BITS = 48,
  AGAIN_BITS = 56, /* the same process number again on a machine */
};

/* As nsys numbers processes: machine and process; what has the same number on
 * the same machine, as after exec, is told apart above. */
static bool number_processes(spool_sections *s) {
  llmprof_intern hosts, ids;
  llmprof_intern_init(&hosts, sizeof(uint32_t));
  llmprof_intern_init(&ids, sizeof(int64_t));
  bool ok = true;
  for (uint32_t i = 0; ok && i < s->file.sections; i++) {
    spool_section *it = &s->all[i];
    uint32_t boot = spool_file_string(&s->file, i, it->process.boot), host, id;
    ok = llmprof_intern_add(&hosts, &boot, &host);
    it->id = (int64_t)((host % 255 + 1)) << MACHINE_BITS |
             (int64_t)(it->process.pid & ID_MASK) << ID_BITS;
    for (int again = 1;
         again < 128 && llmprof_intern_find(&ids, &it->id) != UINT32_MAX;
         again++)
      it->id = (it->id & ((INT64_C(1) << AGAIN_BITS) - 1)) | (int64_t)again
                                                                 << AGAIN_BITS;
    ok = ok && llmprof_intern_add(&ids, &it->id, &id);
  }
  llmprof_intern_free(&hosts);
  llmprof_intern_free(&ids);
  return ok;
}

bool spool_process_row(llmprof_builder *builder, const spool_section *section,
                       uint32_t *row) {
  return llmprof_builder_add_process(builder, section->id, section->process.pid,
                                     row);
}

bool spool_thread_row(llmprof_builder *builder, const spool_section *section,
                      uint32_t tid, uint32_t *row) {
  uint32_t process;
  return spool_process_row(builder, section, &process) &&
         llmprof_builder_add_thread(builder, section->id | (tid & ID_MASK), tid,
                                    process, row);
}

/* ---- together ---- */

static bool describe(spool_sections *s, llmprof_error *err) {
  static const uint64_t kinds =
      SPOOL_BIT(SPOOL_PROCESS) | SPOOL_BIT(SPOOL_CLOCK) | SPOOL_BIT(SPOOL_END) |
      SPOOL_BIT(SPOOL_UNIT) | SPOOL_BIT(SPOOL_DEVICE) |
      SPOOL_BIT(SPOOL_NVTX_DOMAIN) | SPOOL_BIT(SPOOL_NVTX_CATEGORY);
  if (!spool_file_each(&s->file, kinds, take, s, err)) return false;
  for (uint32_t i = 0; i < s->file.sections; i++) sort_units(&s->all[i]);
  for (size_t i = 0; i < s->file.chunk_count; i++)
    s->recorded |= s->file.chunks[i].kinds;
  set_clocks(s);
  return (number_devices(s) && number_processes(s)) || llmprof_fail_nomem(err);
}

bool spool_sections_open(spool_sections *s, const char *path, uint16_t wanted,
                         spool_keep_text keep, void *user, llmprof_error *err) {
  *s = (spool_sections){.file = {.fd = -1}, .wanted = wanted};
  spool_numbers_init(&s->names, sizeof(spool_name));
  if (!spool_file_open(&s->file, path, keep, user, err)) return false;
  s->all = llmprof_zalloc(s->file.sections, sizeof *s->all);
  if (!s->all) return llmprof_fail_nomem(err);
  return describe(s, err);
}

void spool_sections_close(spool_sections *s) {
  for (uint32_t i = 0; s->all && i < s->file.sections; i++)
    llmprof_free(s->all[i].edges);
  llmprof_free(s->all);
  llmprof_intern_free(&s->names);
  llmprof_free(s->devices);
  llmprof_free(s->device_section);
  spool_file_close(&s->file);
}
