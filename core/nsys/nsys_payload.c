/* The bytes of a payload: a count, then for each part its schema, its size and
 * where it begins, in 64 bits each, little endian; then the parts. */
#include "nsys/nsys_payload.h"

#include <string.h>

enum {
  WORD = 8,
  INT = 4,
  PART = 3 * WORD,
  MOST_PARTS = 16,
};

/* ---- schemas ---- */

enum {
  ENTRY_SCHEMA,
  ENTRY_OFFSET,
  ENTRY_INTS,
};

static bool is_called(const char *text, size_t size, const char *name) {
  return text && size == strlen(name) && memcmp(text, name, size) == 0;
}

/* Where a schema keeps the place of a field of this name; NULL for others. */
static size_t *place_of(nsys_payload_schema *schema, const char *name,
                        size_t size) {
  if (is_called(name, size, "NCCL communicator ID"))
    return &schema->communicator;
  if (is_called(name, size, "Message size [bytes]")) return &schema->bytes;
  if (is_called(name, size, "No. of ranks")) return &schema->ranks;
  return NULL;
}

static bool take_entry(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  const nsys_payload_schema none = {values[ENTRY_SCHEMA], SIZE_MAX, SIZE_MAX,
                                    SIZE_MAX};
  size_t size;
  const char *name = llmprof_scan_text(scan, 0, &size);
  if (!place_of(&(nsys_payload_schema){0}, name, size)) return true;
  nsys_payload_schema *schema = llmprof_intern_put(user, &none);
  if (!schema) return false;
  int64_t offset = values[ENTRY_OFFSET]; /* NULL for the first */
  *place_of(schema, name, size) = offset == LLMPROF_ABSENT ? 0 : (size_t)offset;
  return true;
}

bool nsys_payloads_load(llmprof_intern *schemas, const nsys_export *export,
                        llmprof_error *err) {
  const llmprof_scan_spec spec = {"NVTX_PAYLOAD_SCHEMA_ENTRIES",
                                  COLUMNS("schemaId", "offset", "name"),
                                  ENTRY_INTS, 1};
  return llmprof_scan_each(export->db, &spec, take_entry, schemas, NULL, err);
}

/* ---- bytes ---- */

static uint64_t word_at(const char *bytes, size_t size) {
  uint64_t word = 0;
  while (size--) word = word << 8 | (unsigned char)bytes[size];
  return word;
}

/* A field of `width` bytes of a part of `size` bytes. */
static int64_t field(const char *part, size_t size, size_t offset,
                     size_t width) {
  if (offset > size || size - offset < width) return LLMPROF_ABSENT;
  return (int64_t)word_at(part + offset, width);
}

nsys_payload nsys_payload_read(const llmprof_intern *schemas, const char *bytes,
                               size_t size) {
  nsys_payload made = {LLMPROF_ABSENT, LLMPROF_ABSENT, LLMPROF_ABSENT};
  if (!bytes || size < WORD) return made;
  uint64_t count = word_at(bytes, WORD);
  for (uint64_t i = 0; i < count && i < MOST_PARTS; i++) {
    size_t at = WORD + (size_t)i * PART;
    if (at + PART > size) return made;
    int64_t id = (int64_t)word_at(bytes + at, WORD);
    const nsys_payload_schema *schema = llmprof_intern_seek(schemas, &id);
    uint64_t length = word_at(bytes + at + WORD, WORD);
    uint64_t begin = word_at(bytes + at + 2 * WORD, WORD);
    if (!schema || begin > size || length > size - begin) continue;
    const char *part = bytes + begin;
    made.communicator = field(part, (size_t)length, schema->communicator, WORD);
    made.message = field(part, (size_t)length, schema->bytes, WORD);
    made.ranks = field(part, (size_t)length, schema->ranks, INT);
  }
  return made;
}
