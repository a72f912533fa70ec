#include "xplane/protobuf.h"

static bool read_varint(protobuf_message *message, uint64_t *value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64 && message->at < message->end;
       shift += 7) {
    unsigned char byte = *message->at++;
    if (shift == 63 && byte > 1) return false;
    *value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

static bool read_fixed(protobuf_message *message, size_t size,
                       uint64_t *value) {
  if ((size_t)(message->end - message->at) < size) return false;
  *value = 0;
  for (size_t i = 0; i < size; i++)
    *value |= (uint64_t)message->at[i] << (8 * i);
  message->at += size;
  return true;
}

static bool read_bytes(protobuf_message *message, protobuf_message *bytes) {
  uint64_t size;
  if (!read_varint(message, &size) ||
      size > (uint64_t)(message->end - message->at))
    return false;
  bytes->at = message->at;
  bytes->end = message->at += size;
  return true;
}

static bool read_field(protobuf_message *message, protobuf_field *field) {
  uint64_t key;
  if (!read_varint(message, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
    return false;
  *field = (protobuf_field){.number = (uint32_t)(key >> 3),
                            .type = (protobuf_type)(key & 7)};
  switch (field->type) {
  case PROTOBUF_VARINT:
    return read_varint(message, &field->value);
  case PROTOBUF_FIXED64:
    return read_fixed(message, 8, &field->value);
  case PROTOBUF_BYTES:
    return read_bytes(message, &field->bytes);
  case PROTOBUF_FIXED32:
    return read_fixed(message, 4, &field->value);
  }
  return false;
}

int protobuf_next(protobuf_message *message, protobuf_field *field) {
  const unsigned char *begin = message->at;
  if (begin == message->end) return 0;
  if (read_field(message, field)) return 1;
  message->at = begin;
  return -1;
}
