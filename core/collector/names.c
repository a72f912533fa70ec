#include "collector/names.h"

#include <string.h>

#include "collector/memory.h"
#include "collector/output.h"
#include "collector/spool.h"

enum {
  PIECE = 1 << 20,   /* bytes of text taken at a time */
  FIRST_SLOTS = 4096 /* a power of two */
};

typedef struct slot {
  uint64_t hash;
  const char *text;
  uint32_t size;
  uint32_t id; /* 0: empty */
} slot;

static slot *slots;
static size_t slot_count, slots_used;
static char *piece; /* where text is copied to */
static size_t piece_used = PIECE;
static uint32_t last_id;

static uint64_t hash_of(const char *bytes, size_t size) {
  uint64_t hash = SPOOL_CHECKSUM_START;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
  return hash ^ hash >> 29;
}

static slot *find(slot *in, size_t count, uint64_t hash, const char *bytes,
                  size_t size) {
  size_t at = hash & (count - 1);
  while (in[at].id) {
    if (in[at].hash == hash && in[at].size == size &&
        memcmp(in[at].text, bytes, size) == 0)
      break;
    at = (at + 1) & (count - 1);
  }
  return &in[at];
}

/* False: no memory; the table stays as it is. */
static int grow(void) {
  size_t count = slot_count ? slot_count * 2 : FIRST_SLOTS;
  slot *more = memory_take(count * sizeof *more);
  if (!more) return 0;
  for (size_t i = 0; i < slot_count; i++)
    if (slots[i].id)
      *find(more, count, slots[i].hash, slots[i].text, slots[i].size) =
          slots[i];
  memory_give(slots, slot_count * sizeof *slots);
  slots = more;
  slot_count = count;
  return 1;
}

static const char *keep(const char *bytes, size_t size) {
  if (size > PIECE) return NULL;
  if (piece_used + size > PIECE) {
    char *fresh = memory_take(PIECE);
    if (!fresh) return NULL;
    piece = fresh;
    piece_used = 0;
  }
  char *text = memcpy(piece + piece_used, bytes, size);
  piece_used += size;
  return text;
}

static uint32_t write_string(const char *bytes, size_t size) {
  spool_string record = {.id = ++last_id, .length = (uint32_t)size};
  output_record(SPOOL_STRING, &record, sizeof record, bytes, size);
  return last_id;
}

uint32_t names_id_of(const char *bytes, size_t size) {
  if (size > SPOOL_BLOCK_MAX / 4) size = SPOOL_BLOCK_MAX / 4;
  if (slots_used * 2 >= slot_count && !grow()) return write_string(bytes, size);
  uint64_t hash = hash_of(bytes, size);
  slot *at = find(slots, slot_count, hash, bytes, size);
  if (at->id) return at->id;
  const char *text = keep(bytes, size);
  uint32_t id = write_string(bytes, size);
  if (!text) return id;
  *at = (slot){.hash = hash, .text = text, .size = (uint32_t)size, .id = id};
  slots_used++;
  return id;
}

uint32_t names_id(const char *text) {
  return text ? names_id_of(text, strlen(text)) : 0;
}

/* The last piece of text is used again; a piece is large. */
void names_reset(void) {
  if (slots) memset(slots, 0, slot_count * sizeof *slots);
  slots_used = 0;
  if (piece) piece_used = 0;
  last_id = 0;
}

void names_forget(void) {
  slots = NULL;
  piece = NULL;
  slot_count = slots_used = 0;
  piece_used = PIECE;
  last_id = 0;
}
