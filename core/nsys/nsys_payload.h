/* What NCCL says of each call beside its range: the communicator and how many
 * bytes, as extended payloads of NVTX. An export has their bytes where blobs
 * were asked for (nsys export --include-blobs=true), and the places of the
 * fields in NVTX_PAYLOAD_SCHEMA_ENTRIES. Private to the room. */
#ifndef LLMPROF_NSYS_PAYLOAD_H
#define LLMPROF_NSYS_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "nsys/nsys_internal.h"

/* Where a schema has the fields; SIZE_MAX: it does not. */
typedef struct nsys_payload_schema {
  int64_t id;
  size_t communicator, bytes;
} nsys_payload_schema;

typedef struct nsys_payloads {
  nsys_payload_schema *schemas;
  size_t count, cap;
} nsys_payloads;

/* The schemas of an export that have one of the fields; none where it has no
 * such table. nsys_payloads_free also after a failure. */
bool nsys_payloads_load(nsys_payloads *payloads, const nsys_export *export,
                        llmprof_error *err);
void nsys_payloads_free(nsys_payloads *payloads);

/* The fields in the bytes of a range's payload, LLMPROF_ABSENT where they are
 * not; the bytes may be anything. */
void nsys_payload_read(const nsys_payloads *payloads, const char *bytes,
                       size_t size, int64_t *communicator, int64_t *message);

#endif
