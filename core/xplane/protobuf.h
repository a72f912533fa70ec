/* The wire format of protobuf, field by field, out of memory. */
#ifndef LLMPROF_PROTOBUF_H
#define LLMPROF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of a message; borrowed. */
typedef struct protobuf_message {
  const unsigned char *at, *end;
} protobuf_message;

typedef enum protobuf_type {
  PROTOBUF_VARINT = 0,
  PROTOBUF_FIXED64 = 1,
  PROTOBUF_BYTES = 2,
  PROTOBUF_FIXED32 = 5,
} protobuf_type;

typedef struct protobuf_field {
  uint32_t number;
  protobuf_type type;
  uint64_t value;         /* of numbers: their bits */
  protobuf_message bytes; /* of PROTOBUF_BYTES: text or a message */
} protobuf_field;

/* 1: *field is filled in, 0: the end, -1: what is there is no field, or ends
 * behind the message; then `at` is where it begins. */
int protobuf_next(protobuf_message *message, protobuf_field *field);

/* Is it the field of that number, with bytes, or with a varint? */
static inline bool protobuf_is_bytes(const protobuf_field *field,
                                     uint32_t number) {
  return field->number == number && field->type == PROTOBUF_BYTES;
}

static inline bool protobuf_is_int(const protobuf_field *field,
                                   uint32_t number) {
  return field->number == number && field->type == PROTOBUF_VARINT;
}

#endif
