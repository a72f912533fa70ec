#include "spool_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/spool.h"

enum {
  THREADS = 64,
};

static struct {
  uint32_t tid;
  int64_t time;
} last[THREADS];

static bool broken(const char *what) {
  fprintf(stderr, "spool: %s\n", what);
  return false;
}

static bool take_string(spool_counts *t, const spool_record *r) {
  const spool_string *s = (const void *)r;
  if (s->id == 0 || s->id >= SPOOL_COUNTS_STRINGS)
    return broken("string's number");
  if (r->fixed + (size_t)s->length > r->size) return broken("string's length");
  if (t->strings[s->id]) return broken("a string twice");
  t->strings[s->id] = strndup((const char *)r + r->fixed, s->length);
  return t->strings[s->id] != NULL;
}

static void check_order(spool_counts *t, const spool_nvtx_event *e) {
  size_t at = e->tid % THREADS;
  if (last[at].tid == e->tid && e->time < last[at].time) t->in_order = false;
  last[at].tid = e->tid;
  last[at].time = e->time;
}

static bool take_event(spool_counts *t, const spool_record *r) {
  const spool_nvtx_event *e = (const void *)r;
  if (e->type < 1 || e->type > 5) return broken("type of an event");
  if (e->message && !t->strings[e->message]) return broken("a message");
  t->events[e->type]++;
  check_order(t, e);
  if (e->payload_type == SPOOL_PAYLOAD_DOUBLE)
    memcpy(&t->payload, &e->payload, sizeof t->payload);
  if (e->blobs && !t->blob[0]) {
    const spool_nvtx_blob *b = (const void *)((const char *)r + r->fixed);
    if (b->size != sizeof t->blob) return broken("size of a blob");
    memcpy(t->blob, b + 1, sizeof t->blob);
  }
  return true;
}

static bool take_call(spool_counts *t, const spool_record *r) {
  const spool_call *c = (const void *)r;
  t->runtime_calls += !c->driver;
  t->driver_calls += c->driver != 0;
  return t->strings[c->name] != NULL || broken("name of a call");
}

static bool take_counters(spool_counts *t, const spool_record *r) {
  const spool_counters *c = (const void *)r;
  const spool_value *v = (const void *)((const char *)r + r->fixed);
  t->graphs += c->graph != 0;
  if (c->error) {
    t->failed++;
    t->waiting += c->error == SPOOL_ERROR_WAITS;
    return true;
  }
  t->measured_on[c->device & 1]++;
  t->flushed += c->flushed;
  if (t->measured < SPOOL_COUNTS_VALUES) {
    t->ordinals[t->measured] = c->ordinal;
    t->value_counts[t->measured] = c->values;
  }
  t->measured++;
  for (uint32_t i = 0; i < c->values && i < SPOOL_COUNTS_VALUES; i++)
    t->values[i] = v[i].value;
  return true;
}

static bool take_record(spool_counts *t, const spool_record *r) {
  const spool_unit *unit = (const void *)r;
  const spool_drops *drops = (const void *)r;
  const spool_end *end = (const void *)r;
  const spool_nvtx_domain *domain = (const void *)r;
  if (r->kind < SPOOL_COUNTS_KINDS) t->kinds[r->kind]++;
  switch (r->kind) {
  case SPOOL_STRING:
    return take_string(t, r);
  case SPOOL_NVTX_EVENT:
    return take_event(t, r);
  case SPOOL_NVTX_DOMAIN:
    t->domains += domain->domain == t->domains + 1;
    return true;
  case SPOOL_CALL:
    return take_call(t, r);
  case SPOOL_COUNTERS:
    return take_counters(t, r);
  case SPOOL_SAMPLE:
    t->samples_on[((const spool_sample *)(const void *)r)->device & 1]++;
    return true;
  case SPOOL_UNIT:
    t->units[unit->type & 7][unit->end & 1]++;
    return true;
  case SPOOL_DROPS:
    t->drops[drops->what & 7] += drops->count;
    return true;
  case SPOOL_END:
    snprintf(t->end, sizeof t->end, "%s", t->strings[end->reason]);
    return true;
  default:
    return true;
  }
}

static bool take_block(spool_counts *t, const spool_block *block,
                       const char *records) {
  if (block->sequence != t->blocks) return broken("sequence of blocks");
  uint32_t count = 0;
  for (uint32_t at = 0; at < block->length; count++) {
    const spool_record *r = (const void *)(records + at);
    if (r->size < sizeof *r || r->size % 8 || r->size > block->length - at ||
        r->fixed > r->size)
      return broken("size of a record");
    if (!take_record(t, r)) return false;
    at += r->size;
  }
  t->blocks++;
  return count == block->records || broken("number of records");
}

static bool is_good(const spool_block *block, const char *records,
                    size_t left) {
  return memcmp(block->magic, SPOOL_MAGIC, SPOOL_MAGIC_SIZE) == 0 &&
         block->version == SPOOL_VERSION && block->length <= left &&
         spool_block_checksum(block, records) == block->checksum;
}

static char *read_all(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*size + 1);
  if (bytes && fread(bytes, 1, *size, f) != *size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(f);
  return bytes;
}

bool spool_counts_read(const char *path, spool_counts *out) {
  size_t size = 0, at = 0;
  *out = (spool_counts){.in_order = true};
  memset(last, 0, sizeof last);
  char *bytes = read_all(path, &size);
  bool ok = bytes != NULL;
  while (ok && at + sizeof(spool_block) <= size) {
    const spool_block *block = (const void *)(bytes + at);
    const char *records = bytes + at + sizeof *block;
    if (!is_good(block, records, size - at - sizeof *block)) break;
    ok = take_block(out, block, records);
    at += sizeof *block + block->length;
  }
  out->torn = size - at;
  free(bytes);
  return ok;
}

void spool_counts_free(spool_counts *t) {
  for (size_t i = 0; i < SPOOL_COUNTS_STRINGS; i++) free(t->strings[i]);
}

bool spool_counts_has(const spool_counts *t, const char *text) {
  for (size_t i = 0; i < SPOOL_COUNTS_STRINGS; i++)
    if (t->strings[i] && strcmp(t->strings[i], text) == 0) return true;
  return false;
}
