/* A tool that NVTX attaches to: writes down what it is told, in memory and,
 * when FAKE_NVTX_LOG names a file, there too. Built with FAKE_REFUSE it
 * declines. The interface is NVTX's own, declared by hand so that the tests
 * build without its headers. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  CALLBACKS = 1, /* NVTX_ETID_CALLBACKS */
  CORE = 1,      /* NVTX_CB_MODULE_CORE */
  CORE2 = 5,
  LOG_SIZE = 8192,
};

typedef void (*function)(void);

typedef struct export_table {
  size_t size;
  int (*get_functions)(int module, function ***functions, unsigned *count);
} export_table;

typedef struct event {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char *message;
} event;

typedef struct domain {
  char name[64];
} domain;

extern char fake_nvtx_log[LOG_SIZE];
char fake_nvtx_log[LOG_SIZE];

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t));

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...) {
  size_t used = strlen(fake_nvtx_log);
  va_list args;
  va_start(args, fmt);
  vsnprintf(fake_nvtx_log + used, sizeof fake_nvtx_log - used, fmt, args);
  va_end(args);
  const char *path = getenv("FAKE_NVTX_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fputs(fake_nvtx_log + used, file);
  fclose(file);
}

/* ---- the default domain ---- */

static uint64_t last_id;

static void on_mark(const char *name) {
  note("mark %s\n", name);
}

static uint64_t on_start(const char *name) {
  note("start %s %d\n", name, (int)++last_id);
  return last_id;
}

static void on_end(uint64_t id) {
  note("end %d\n", (int)id);
}

static int on_push(const char *name) {
  note("push %s\n", name);
  return 0;
}

static int on_pop(void) {
  note("pop\n");
  return 0;
}

/* ---- domains ---- */

static domain *on_create(const char *name) {
  domain *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  snprintf(d->name, sizeof d->name, "%s", name);
  note("create %s\n", name);
  return d;
}

static void on_destroy(domain *d) {
  note("destroy %s\n", d->name);
  free(d);
}

/* What a tool must check before it believes the message. */
static const char *message_of(const event *e) {
  return e->version == 3 && e->size == sizeof *e && e->message_type == 1
             ? e->message
             : "(broken event)";
}

static void on_domain_mark(domain *d, const event *e) {
  note("%s: mark %s\n", d->name, message_of(e));
}

static uint64_t on_domain_start(domain *d, const event *e) {
  note("%s: start %s %d\n", d->name, message_of(e), (int)++last_id);
  return last_id;
}

static void on_domain_end(domain *d, uint64_t id) {
  note("%s: end %d\n", d->name, (int)id);
}

static int on_domain_push(domain *d, const event *e) {
  note("%s: push %s\n", d->name, message_of(e));
  return 0;
}

static int on_domain_pop(domain *d) {
  note("%s: pop\n", d->name);
  return 0;
}

/* ---- attaching ---- */

static const struct slot {
  int module;
  unsigned index;
  function function;
} slots[] = {
    {CORE, 2, (function)on_mark},          {CORE, 5, (function)on_start},
    {CORE, 7, (function)on_end},           {CORE, 9, (function)on_push},
    {CORE, 11, (function)on_pop},          {CORE2, 1, (function)on_domain_mark},
    {CORE2, 2, (function)on_domain_start}, {CORE2, 3, (function)on_domain_end},
    {CORE2, 4, (function)on_domain_push},  {CORE2, 5, (function)on_domain_pop},
    {CORE2, 12, (function)on_create},      {CORE2, 14, (function)on_destroy},
};

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t)) {
#ifdef FAKE_REFUSE
  (void)get_table, (void)slots;
  return 0;
#else
  const export_table *table = get_table(CALLBACKS);
  if (!table || table->size < sizeof *table) return 0;
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    function **functions;
    unsigned count;
    if (!table->get_functions(slots[i].module, &functions, &count) ||
        slots[i].index >= count)
      return 0;
    *functions[slots[i].index] = slots[i].function;
  }
  return 1;
#endif
}
