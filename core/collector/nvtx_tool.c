#include "collector/nvtx_tool.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "collector/nvtx_entries.h"
#include "collector/ranges.h"
#include "collector/spool.h"
#include "collector/units.h"
#include "collector/utf8.h"

enum {
  TEXT_MAX = 16 << 10, /* bytes kept of one text */
  BLOB_MAX = 16 << 10, /* bytes kept of all payloads of one event */
  BLOBS_MAX = 16,
};

static atomic_bool is_on, keeps;
static atomic_int inside; /* threads that look at the plan, where it changes */
static atomic_uint_fast64_t next_range = 1;

static void (*_Atomic begin_again)(void); /* after a fork */

static bool off(void) {
  if (atomic_load_explicit(&is_on, memory_order_acquire)) return false;
  void (*again)(void) = atomic_exchange(&begin_again, NULL);
  if (again) again();
  return !atomic_load(&is_on);
}

/* Of functions that only define something. */
static bool deaf(void) {
  return off() && !atomic_load_explicit(&keeps, memory_order_relaxed);
}

/* ---- what is kept for the next file ---- */

enum {
  KEPT = 65536 /* definitions; more are of no program */
};

typedef struct definition {
  struct definition *next;
  size_t size;
  unsigned char bytes[]; /* of a log_entry, and what follows it */
} definition;

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static definition *first_kept, **last_kept = &first_kept;
static unsigned kept_count;

/* Before it is committed. */
static void keep(const log_entry *entry) {
  if (!atomic_load(&keeps)) return;
  definition *k = malloc(sizeof *k + entry->size);
  if (!k) return;
  k->next = NULL;
  k->size = entry->size;
  memcpy(k->bytes, entry, entry->size);
  pthread_mutex_lock(&kept_lock);
  bool room = kept_count < KEPT;
  if (room) {
    kept_count++;
    *last_kept = k;
    last_kept = &k->next;
  }
  pthread_mutex_unlock(&kept_lock);
  if (!room) free(k);
}

static void tell_kept(void) {
  pthread_mutex_lock(&kept_lock);
  for (const definition *k = first_kept; k; k = k->next) {
    log_entry old;
    memcpy(&old, k->bytes, sizeof old);
    log_entry *e = log_reserve((log_type)old.type, k->size);
    if (!e) continue;
    unsigned char *rest = (unsigned char *)(e + 1);
    e->value = old.value;
    memcpy(rest, k->bytes + sizeof old, k->size - sizeof old);
    log_commit();
  }
  pthread_mutex_unlock(&kept_lock);
}

void nvtx_tool_keep(void) {
  atomic_store(&keeps, true);
}

/* ---- domains ---- */

enum {
  FIRST_SLOTS = 64 /* a power of two */
};

/* Lives as long as the process, as its handle may be used until then. */
typedef struct domain {
  struct domain *next; /* in the list of all */
  uint64_t hash;       /* of its name */
  uint32_t number;     /* from 1 */
  char name[];
} domain;

/* Domains by name, at least half of the slots empty. */
typedef struct domain_table {
  size_t size; /* slots, a power of two */
  domain *slots[];
} domain_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* domains */
static domain *domains;
static domain_table *by_name;
static uint32_t last_domain;
static atomic_uint_fast64_t next_schema = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;

static const domain *domain_of(nvtxDomainHandle_t handle) {
  return (const void *)handle;
}

static uint32_t number_of(nvtxDomainHandle_t handle) {
  return handle ? domain_of(handle)->number : 0;
}

static const char *name_of(nvtxDomainHandle_t handle) {
  return handle ? domain_of(handle)->name : "";
}

/* An entry with a name. */
static void log_name(log_type type, uint32_t in, uint32_t value,
                     const char *name) {
  size_t size = strnlen(name, TEXT_MAX);
  nvtx_name_entry *e = log_reserve(type, sizeof *e + size + 1);
  if (!e) return;
  e->entry.value = value;
  e->domain = in;
  e->size = (uint32_t)size;
  char *text = memcpy(e + 1, name, size);
  text[size] = 0;
  keep(&e->entry);
  log_commit();
}

/* Domains of before a fork are told again. */
void nvtx_tool_on(bool on) {
  if (on && atomic_load(&keeps)) tell_kept();
  atomic_store(&is_on, on);
  if (!on || atomic_load(&keeps)) return;
  pthread_mutex_lock(&lock);
  const domain *first = domains; /* new ones come before it */
  pthread_mutex_unlock(&lock);
  for (const domain *d = first; d; d = d->next)
    log_name(LOG_NVTX_DOMAIN, 0, d->number, d->name);
}

static uint64_t hash_of(const char *name) {
  uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
  for (; *name; name++)
    hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
  return hash;
}

/* The slot of the domain of that name, or the empty one where it goes. */
static domain **slot_of(domain_table *in, uint64_t hash, const char *name) {
  size_t at = (hash ^ hash >> 32) & (in->size - 1);
  while (in->slots[at] && (in->slots[at]->hash != hash ||
                           strcmp(in->slots[at]->name, name) != 0))
    at = (at + 1) & (in->size - 1);
  return &in->slots[at];
}

/* With the lock: space for one more domain; false: no memory. A child that is
 * forked meanwhile has the old table or the new one. */
static bool make_space(void) {
  size_t size = by_name ? by_name->size : 0;
  if (last_domain < size / 2) return true;
  size = size ? 2 * size : FIRST_SLOTS;
  domain_table *more = calloc(1, sizeof *more + size * sizeof *more->slots);
  if (!more) return false;
  more->size = size;
  for (domain *d = domains; d; d = d->next)
    *slot_of(more, d->hash, d->name) = d;
  domain_table *old = by_name;
  by_name = more;
  free(old);
  return true;
}

/* With the lock: the domain of that name, new if need be; NULL: no memory. */
static domain *find_domain(const char *name, bool *is_new) {
  if (!make_space()) return NULL;
  uint64_t hash = hash_of(name);
  domain **slot = slot_of(by_name, hash, name);
  if (*slot) return *slot;
  size_t size = strlen(name) + 1;
  domain *d = malloc(sizeof *d + size);
  if (!d) return NULL;
  *is_new = true;
  *d = (domain){.next = domains, .hash = hash, .number = ++last_domain};
  memcpy(d->name, name, size);
  domains = d;
  return *slot = d;
}

static nvtxDomainHandle_t NVTX_API domain_create(const char *name) {
  bool is_new = false;
  if (deaf() || !name) return NULL;
  pthread_mutex_lock(&lock);
  domain *d = find_domain(name, &is_new);
  pthread_mutex_unlock(&lock);
  if (d && is_new) log_name(LOG_NVTX_DOMAIN, 0, d->number, name);
  return (nvtxDomainHandle_t)(void *)d;
}

/* ---- text ---- */

typedef struct narrow {
  char text[1024];
} narrow;

/* A wide text as UTF-8, cut to what fits. */
static const char *to_utf8(const wchar_t *wide, narrow *out) {
  size_t used = 0;
  if (!wide) return NULL;
  for (; *wide && used + 5 < sizeof out->text; wide++)
    used += put_utf8(out->text + used, 4, (uint32_t)*wide);
  out->text[used] = 0;
  return out->text;
}

/* ---- events ---- */

/* What an event says, as the functions have it. */
typedef struct event {
  spool_nvtx_type type;
  nvtxDomainHandle_t domain;
  uint64_t range_id;
  const nvtx_text *registered;
  const char *text;
  const nvtxEventAttributes_t *attributes; /* NULL: only a text */
  const nvtxPayloadData_t *blobs;
  size_t blob_count;
} event;

/* SIZE_MAX asks the tool to find out, which only text allows. */
static size_t blob_size(const nvtxPayloadData_t *blob) {
  if (!blob->payload) return 0;
  if (blob->size != SIZE_MAX) return blob->size;
  return blob->schemaId == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING
             ? strnlen(blob->payload, TEXT_MAX) + 1
             : 0;
}

/* How much of each blob is kept; the bytes of all of them in the entry. */
static size_t measure_blobs(const event *e, size_t kept[BLOBS_MAX]) {
  size_t left = BLOB_MAX, total = 0;
  for (size_t i = 0; i < e->blob_count && i < BLOBS_MAX; i++) {
    size_t size = blob_size(&e->blobs[i]);
    kept[i] = size < left ? size : left;
    left -= kept[i];
    total += sizeof(spool_nvtx_blob) + nvtx_padded(kept[i]);
  }
  return total;
}

static void put_blobs(const event *e, const size_t kept[BLOBS_MAX], char *at) {
  for (size_t i = 0; i < e->blob_count && i < BLOBS_MAX; i++) {
    size_t cut = blob_size(&e->blobs[i]) - kept[i];
    spool_nvtx_blob head = {
        .schema = e->blobs[i].schemaId,
        .size = (uint32_t)kept[i],
        .cut = cut < UINT32_MAX ? (uint32_t)cut : UINT32_MAX,
    };
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    memset(at, 0, nvtx_padded(kept[i]));
    if (kept[i]) memcpy(at, e->blobs[i].payload, kept[i]);
    at += nvtx_padded(kept[i]);
  }
}

static bool has(const nvtxEventAttributes_t *a, size_t end) {
  return a && a->size >= end;
}

#define HAS(attributes, field) \
  has(attributes,              \
      offsetof(nvtxEventAttributes_t, field) + sizeof(attributes)->field)

static void put_attributes(spool_nvtx_event *out,
                           const nvtxEventAttributes_t *a) {
  if (HAS(a, category)) out->category = a->category;
  if (HAS(a, color)) {
    out->color = a->color;
    out->has_color = a->colorType == NVTX_COLOR_ARGB;
  }
  if (HAS(a, payload) && a->payloadType >= NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 &&
      a->payloadType <= NVTX_PAYLOAD_TYPE_FLOAT) {
    out->payload = a->payload.ullValue;
    out->payload_type = (uint8_t)a->payloadType;
    if (a->payloadType >= NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
      out->payload &= UINT32_MAX;
  }
}

static void log_event(const event *e) {
  size_t kept[BLOBS_MAX];
  size_t text = e->text ? strnlen(e->text, TEXT_MAX) : 0;
  size_t blobs = measure_blobs(e, kept);
  nvtx_event_entry *out =
      log_reserve(LOG_NVTX_EVENT, sizeof *out + nvtx_padded(text) + blobs);
  if (!out) return;
  size_t count = e->blob_count < BLOBS_MAX ? e->blob_count : BLOBS_MAX;
  out->entry.value = e->text != NULL;
  out->registered = e->registered;
  out->text_size = (uint32_t)text;
  out->event = (spool_nvtx_event){.time = out->entry.time,
                                  .range_id = e->range_id,
                                  .tid = out->entry.tid,
                                  .domain = number_of(e->domain),
                                  .type = (uint16_t)e->type,
                                  .registered = e->registered != NULL,
                                  .blobs = (uint16_t)count};
  put_attributes(&out->event, e->attributes);
  if (blobs) out->event.payload_type = SPOOL_PAYLOAD_BINARY;
  char *at = (char *)(out + 1);
  if (text) memcpy(at, e->text, text);
  put_blobs(e, kept, at + nvtx_padded(text));
  log_commit();
}

/* Message and payloads out of attributes. */
static void take_attributes(event *e, const nvtxEventAttributes_t *a,
                            narrow *space) {
  e->attributes = a;
  if (HAS(a, message)) {
    if (a->messageType == NVTX_MESSAGE_TYPE_ASCII)
      e->text = a->message.ascii;
    else if (a->messageType == NVTX_MESSAGE_TYPE_UNICODE)
      e->text = to_utf8(a->message.unicode, space);
    else if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
      e->registered = (const void *)a->message.registered;
  }
  if (HAS(a, payload) && a->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
    e->blobs = (const void *)(uintptr_t)a->payload.ullValue;
    e->blob_count = e->blobs && a->reserved0 > 0 ? (size_t)a->reserved0 : 0;
  }
}

/* ---- what each function does ---- */

static bool enter(void) {
  if (off()) return false;
  if (!atomic_load_explicit(&keeps, memory_order_relaxed)) return true;
  atomic_fetch_add(&inside, 1);
  if (atomic_load(&is_on)) return true;
  atomic_fetch_sub(&inside, 1);
  return false;
}

static void leave(void) {
  if (atomic_load_explicit(&keeps, memory_order_relaxed))
    atomic_fetch_sub(&inside, 1);
}

bool nvtx_tool_busy(void) {
  return atomic_load(&inside) > 0;
}

static int push(event *e) {
  if (!enter()) return NVTX_NO_PUSH_POP_TRACKING;
  const char *text = e->registered ? e->registered->bytes : e->text;
  size_t size = e->registered ? e->registered->size
                : text        ? strnlen(text, TEXT_MAX)
                              : 0;
  const char *in = name_of(e->domain);
  e->type = SPOOL_NVTX_PUSH;
  units_push(in, text ? text : "", size);
  log_event(e);
  int level = ranges_push(number_of(e->domain), in, text ? text : "", size);
  leave();
  return level;
}

static int pop(event *e) {
  if (!enter()) return NVTX_NO_PUSH_POP_TRACKING;
  plan_range range;
  e->type = SPOOL_NVTX_POP;
  log_event(e);
  int level = ranges_pop(number_of(e->domain), &range);
  if (level >= 0) units_pop(&range);
  leave();
  return level;
}

static nvtxRangeId_t start(event *e) {
  if (off()) return 0;
  e->type = SPOOL_NVTX_START;
  e->range_id = atomic_fetch_add(&next_range, 1);
  log_event(e);
  return e->range_id;
}

static void end(event *e) {
  if (off() || e->range_id == 0) return;
  e->type = SPOOL_NVTX_END;
  log_event(e);
}

static void mark(event *e) {
  if (off()) return;
  e->type = SPOOL_NVTX_MARK;
  log_event(e);
}

/* ---- functions of the core ---- */

typedef const nvtxEventAttributes_t *attributes_arg;

/* The three ways to give a message, for a function without a domain. */
#define THREE_WAYS(result, name, action)                 \
  static result NVTX_API name##_ex(attributes_arg a) {   \
    event e = {0};                                       \
    narrow space;                                        \
    take_attributes(&e, a, &space);                      \
    return action(&e);                                   \
  }                                                      \
  static result NVTX_API name##_a(const char *text) {    \
    event e = {.text = text};                            \
    return action(&e);                                   \
  }                                                      \
  static result NVTX_API name##_w(const wchar_t *text) { \
    narrow space;                                        \
    event e = {.text = to_utf8(text, &space)};           \
    return action(&e);                                   \
  }
THREE_WAYS(void, core_mark, mark)
THREE_WAYS(nvtxRangeId_t, core_start, start)
THREE_WAYS(int, core_push, push)

static void NVTX_API core_end(nvtxRangeId_t id) {
  end(&(event){.range_id = id});
}

static int NVTX_API core_pop(void) {
  return pop(&(event){0});
}

static void NVTX_API name_category(uint32_t category, const char *name) {
  if (!deaf() && name) log_name(LOG_NVTX_CATEGORY, 0, category, name);
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *name) {
  narrow space;
  name_category(category, to_utf8(name, &space));
}

static void NVTX_API name_thread(uint32_t tid, const char *name) {
  if (!deaf() && name) log_name(LOG_THREAD_NAME, 0, tid, name);
}

static void NVTX_API name_thread_w(uint32_t tid, const wchar_t *name) {
  narrow space;
  name_thread(tid, to_utf8(name, &space));
}

/* ---- functions with a domain ---- */

#define IN_DOMAIN(result, name, action)                                  \
  static result NVTX_API name(nvtxDomainHandle_t in, attributes_arg a) { \
    event e = {.domain = in};                                            \
    narrow space;                                                        \
    take_attributes(&e, a, &space);                                      \
    return action(&e);                                                   \
  }
IN_DOMAIN(void, domain_mark, mark)
IN_DOMAIN(nvtxRangeId_t, domain_start, start)
IN_DOMAIN(int, domain_push, push)

static void NVTX_API domain_end(nvtxDomainHandle_t in, nvtxRangeId_t id) {
  end(&(event){.domain = in, .range_id = id});
}

static int NVTX_API domain_pop(nvtxDomainHandle_t in) {
  return pop(&(event){.domain = in});
}

static void NVTX_API domain_category(nvtxDomainHandle_t in, uint32_t category,
                                     const char *name) {
  if (!deaf() && name)
    log_name(LOG_NVTX_CATEGORY, number_of(in), category, name);
}

static void NVTX_API domain_category_w(nvtxDomainHandle_t in, uint32_t category,
                                       const wchar_t *name) {
  narrow space;
  domain_category(in, category, to_utf8(name, &space));
}

/* Registered strings live as long as the process; NVTX has no end of one. */
static nvtx_text *_Atomic registered_texts;

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t in,
                                                   const char *text) {
  (void)in;
  if (deaf() || !text) return NULL;
  size_t size = strnlen(text, TEXT_MAX);
  nvtx_text *kept = malloc(sizeof *kept + size + 1);
  if (!kept) return NULL;
  kept->size = (uint32_t)size;
  memcpy(kept->bytes, text, size);
  kept->bytes[size] = 0;
  kept->next = atomic_load(&registered_texts);
  while (!atomic_compare_exchange_weak(&registered_texts, &kept->next, kept))
    ;
  return (nvtxStringHandle_t)(void *)kept;
}

static nvtxStringHandle_t NVTX_API register_string_w(nvtxDomainHandle_t in,
                                                     const wchar_t *text) {
  narrow space;
  return register_string(in, to_utf8(text, &space));
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *name) {
  narrow space;
  return domain_create(to_utf8(name, &space));
}

/* ---- the tables ---- */

typedef struct tool_slot {
  uint32_t id;
  void (*function)(void);
} tool_slot;

#define SLOT(id, function) \
  { id, (void (*)(void))(function) }

static const tool_slot core_slots[] = {
    SLOT(NVTX_CBID_CORE_MarkEx, core_mark_ex),
    SLOT(NVTX_CBID_CORE_MarkA, core_mark_a),
    SLOT(NVTX_CBID_CORE_MarkW, core_mark_w),
    SLOT(NVTX_CBID_CORE_RangeStartEx, core_start_ex),
    SLOT(NVTX_CBID_CORE_RangeStartA, core_start_a),
    SLOT(NVTX_CBID_CORE_RangeStartW, core_start_w),
    SLOT(NVTX_CBID_CORE_RangeEnd, core_end),
    SLOT(NVTX_CBID_CORE_RangePushEx, core_push_ex),
    SLOT(NVTX_CBID_CORE_RangePushA, core_push_a),
    SLOT(NVTX_CBID_CORE_RangePushW, core_push_w),
    SLOT(NVTX_CBID_CORE_RangePop, core_pop),
    SLOT(NVTX_CBID_CORE_NameCategoryA, name_category),
    SLOT(NVTX_CBID_CORE_NameCategoryW, name_category_w),
    SLOT(NVTX_CBID_CORE_NameOsThreadA, name_thread),
    SLOT(NVTX_CBID_CORE_NameOsThreadW, name_thread_w),
};

static const tool_slot core2_slots[] = {
    SLOT(NVTX_CBID_CORE2_DomainMarkEx, domain_mark),
    SLOT(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start),
    SLOT(NVTX_CBID_CORE2_DomainRangeEnd, domain_end),
    SLOT(NVTX_CBID_CORE2_DomainRangePushEx, domain_push),
    SLOT(NVTX_CBID_CORE2_DomainRangePop, domain_pop),
    SLOT(NVTX_CBID_CORE2_DomainNameCategoryA, domain_category),
    SLOT(NVTX_CBID_CORE2_DomainNameCategoryW, domain_category_w),
    SLOT(NVTX_CBID_CORE2_DomainRegisterStringA, register_string),
    SLOT(NVTX_CBID_CORE2_DomainRegisterStringW, register_string_w),
    SLOT(NVTX_CBID_CORE2_DomainCreateA, domain_create),
    SLOT(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
};

static bool fill_table(const NvtxExportTableCallbacks *callbacks,
                       NvtxCallbackModule module, const tool_slot *slots,
                       size_t count) {
  NvtxFunctionTable table = NULL;
  unsigned size = 0;
  if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
    return false;
  for (size_t i = 0; i < count; i++)
    if (slots[i].id < size && table[slots[i].id])
      *table[slots[i].id] = (NvtxFunctionPointer)slots[i].function;
  return true;
}

bool nvtx_tool_attach(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks *callbacks =
      get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;
  if (!callbacks || callbacks->struct_size < sizeof *callbacks) return false;
  bool core = fill_table(callbacks, NVTX_CB_MODULE_CORE, core_slots,
                         sizeof core_slots / sizeof *core_slots);
  bool core2 = fill_table(callbacks, NVTX_CB_MODULE_CORE2, core2_slots,
                          sizeof core2_slots / sizeof *core2_slots);
  return core || core2;
}

/* ---- the payload extension ---- */

static size_t name_size(const char *name) {
  return (name ? strnlen(name, TEXT_MAX / 16) : 0) + 1;
}

static char *put_name(char *at, const char *name) {
  size_t size = name_size(name) - 1;
  if (size) memcpy(at, name, size);
  at[size] = 0;
  return at + size + 1;
}

static bool field_given(const nvtxPayloadSchemaAttr_t *a, uint64_t field) {
  return (a->fieldMask & field) != 0;
}

/* Fields that the attributes do not give are 0. */
static void fill_schema(spool_nvtx_schema *out,
                        const nvtxPayloadSchemaAttr_t *a) {
  out->type = (uint32_t)a->type;
  if (field_given(a, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS))
    out->flags = (uint32_t)a->flags;
  if (field_given(a, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE))
    out->static_size = a->payloadStaticSize;
  if (field_given(a, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT))
    out->pack_align = (uint32_t)a->packAlign;
}

static void log_schema(nvtxDomainHandle_t in, const nvtxPayloadSchemaAttr_t *a,
                       uint64_t id) {
  const nvtxPayloadSchemaEntry_t *fields = a->entries;
  uint32_t count =
      a->numEntries < NVTX_FIELDS ? (uint32_t)a->numEntries : NVTX_FIELDS;
  const char *name =
      field_given(a, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME) ? a->name : NULL;
  size_t names = name_size(name);
  for (uint32_t i = 0; i < count; i++)
    names += name_size(fields[i].name) + name_size(fields[i].description);
  nvtx_schema_entry *out = log_reserve(
      LOG_NVTX_SCHEMA, sizeof *out + count * sizeof(spool_nvtx_entry) + names);
  if (!out) return;
  out->schema = (spool_nvtx_schema){
      .schema = id, .domain = number_of(in), .entries = count};
  fill_schema(&out->schema, a);
  spool_nvtx_entry *to = (void *)(out + 1);
  char *at = put_name((char *)(to + count), name);
  for (uint32_t i = 0; i < count; i++) {
    to[i] = (spool_nvtx_entry){.flags = fields[i].flags,
                               .type = fields[i].type,
                               .array = fields[i].arrayOrUnionDetail,
                               .offset = fields[i].offset};
    at = put_name(put_name(at, fields[i].name), fields[i].description);
  }
  keep(&out->entry);
  log_commit();
}

static uint64_t NVTX_API register_schema(nvtxDomainHandle_t in,
                                         const nvtxPayloadSchemaAttr_t *a) {
  if (deaf() || !a || !a->entries) return 0;
  uint64_t id = field_given(a, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID)
                    ? a->schemaId
                    : atomic_fetch_add(&next_schema, 1);
  log_schema(in, a, id);
  return id;
}

static void NVTX_API payload_mark(nvtxDomainHandle_t in,
                                  const nvtxPayloadData_t *data, size_t count) {
  mark(&(event){.domain = in, .blobs = data, .blob_count = count});
}

static int NVTX_API payload_push(nvtxDomainHandle_t in,
                                 const nvtxPayloadData_t *data, size_t count) {
  return push(&(event){.domain = in, .blobs = data, .blob_count = count});
}

static int NVTX_API payload_pop(nvtxDomainHandle_t in,
                                const nvtxPayloadData_t *data, size_t count) {
  return pop(&(event){.domain = in, .blobs = data, .blob_count = count});
}

static nvtxRangeId_t NVTX_API payload_start(nvtxDomainHandle_t in,
                                            const nvtxPayloadData_t *data,
                                            size_t count) {
  return start(&(event){.domain = in, .blobs = data, .blob_count = count});
}

static void NVTX_API payload_end(nvtxDomainHandle_t in, nvtxRangeId_t id,
                                 const nvtxPayloadData_t *data, size_t count) {
  end(&(event){
      .domain = in, .range_id = id, .blobs = data, .blob_count = count});
}

static const tool_slot payload_slots[] = {
    SLOT(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, register_schema),
    SLOT(NVTX3EXT_CBID_nvtxMarkPayload, payload_mark),
    SLOT(NVTX3EXT_CBID_nvtxRangePushPayload, payload_push),
    SLOT(NVTX3EXT_CBID_nvtxRangePopPayload, payload_pop),
    SLOT(NVTX3EXT_CBID_nvtxRangeStartPayload, payload_start),
    SLOT(NVTX3EXT_CBID_nvtxRangeEndPayload, payload_end),
};

bool nvtx_tool_attach_extension(void *info) {
  const nvtxExtModuleInfo_t *module = info;
  if (!module || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID ||
      module->segmentsCount < 1)
    return false;
  const nvtxExtModuleSegment_t *segment = &module->segments[0];
  for (size_t i = 0; i < sizeof payload_slots / sizeof *payload_slots; i++)
    if (payload_slots[i].id < segment->slotCount)
      segment->functionSlots[payload_slots[i].id] =
          (intptr_t)payload_slots[i].function;
  return true;
}

void nvtx_tool_forget(void (*again)(void)) {
  pthread_mutex_init(&lock, NULL);
  atomic_store(&is_on, false);
  atomic_store(&keeps, false);
  atomic_store(&inside, 0);
  pthread_mutex_init(&kept_lock, NULL);
  atomic_store(&begin_again, again);
}
