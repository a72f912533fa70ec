/* What NCCL says of each call beside its range: the communicator, how many
 * bytes, or of how many ranks it makes one, as extended payloads of NVTX. An
 * export has their bytes where blobs were asked for (nsys export
 * --include-blobs=true), and the places of the fields in
 * NVTX_PAYLOAD_SCHEMA_ENTRIES. Private to the module. */
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
  size_t communicator, bytes, ranks;
} nsys_payload_schema;

/* Add the schemas of an export that have one of the fields, by id; none where
 * it has no such table. */
bool nsys_payloads_load(llmprof_intern *schemas, const nsys_export *export,
                        llmprof_error *err);

/* LLMPROF_ABSENT: it does not say. */
typedef struct nsys_payload {
  int64_t communicator;
  int64_t message; /* bytes of the call */
  int64_t ranks;   /* of the communicator that the call makes */
} nsys_payload;

/* The fields in the bytes of a range's payload, which may be anything. */
nsys_payload nsys_payload_read(const llmprof_intern *schemas, const char *bytes,
                               size_t size);

#endif
