/* Lines of source of XLA's instructions: the plane "/host:metadata" holds each
 * program that ran, and of its instructions the line of Python that they were
 * traced from, and the scopes around it (jax.named_scope). An operation of the
 * GPU names its program and its instruction. */
#include <string.h>

#include "base/buffer.h"
#include "xplane/xplane_internal.h"

/* Fields of the messages, by number. */
enum {
  PLANE_EVENT = 4, /* an entry of the map of event metadata */
  ENTRY_VALUE = 2,
  EVENT_STAT = 5,
  STAT_BYTES = 6,
  PROTO_MODULE = 1,
  MODULE_COMPUTATION = 3,
  MODULE_ID = 5,
  COMPUTATION_INSTRUCTION = 2,
  INSTRUCTION_NAME = 1,
  INSTRUCTION_METADATA = 7,
  METADATA_OP_NAME = 2,
  METADATA_FILE = 3,
  METADATA_LINE = 4,
};

/* What is read of a program. */
typedef struct program {
  xplane_trace *t;
  int64_t id; /* or LLMPROF_ABSENT */
} program;

/* "jit(step)/jit(main)/layer_0/mlp/dot_general" is in scope "layer_0.mlp":
 * without calls, and without the primitive. */
static bool name_scope(const program *p, protobuf_message name,
                       uint32_t *string) {
  llmprof_buffer scope = {0};
  const char *at = (const char *)name.at, *end = (const char *)name.end;
  const char *slash;
  while (at < end && (slash = memchr(at, '/', (size_t)(end - at)))) {
    size_t size = (size_t)(slash - at);
    if (size && !memchr(at, '(', size)) {
      if (scope.size) llmprof_buffer_putc(&scope, '.');
      llmprof_buffer_add(&scope, at, size);
    }
    at = slash + 1;
  }
  *string = LLMPROF_NO_STRING;
  bool ok = !scope.failed &&
            (!scope.size || llmprof_builder_text(p->t->builder, scope.bytes,
                                                 scope.size, string));
  llmprof_buffer_free(&scope);
  return ok;
}

static bool text_of(const program *p, protobuf_message bytes,
                    uint32_t *string) {
  return llmprof_builder_text(p->t->builder, (const char *)bytes.at,
                              (size_t)(bytes.end - bytes.at), string);
}

/* One without a file has no line. */
static bool read_metadata(const program *p, protobuf_message metadata,
                          llmprof_source_frame *frame) {
  protobuf_field field;
  bool ok = true;
  *frame = (llmprof_source_frame){LLMPROF_NO_STRING, LLMPROF_NO_STRING,
                                  LLMPROF_NONE, LLMPROF_NO_STRING};
  while (ok && protobuf_next(&metadata, &field) == 1) {
    if (protobuf_is_bytes(&field, METADATA_FILE) &&
        field.bytes.end > field.bytes.at)
      ok = text_of(p, field.bytes, &frame->file);
    else if (protobuf_is_bytes(&field, METADATA_OP_NAME))
      ok = name_scope(p, field.bytes, &frame->module);
    else if (protobuf_is_int(&field, METADATA_LINE) && field.value)
      frame->line = llmprof_u32((int64_t)field.value);
  }
  return ok;
}

static bool take_instruction(const program *p, protobuf_message instruction) {
  protobuf_field field;
  protobuf_message name = {0}, metadata = {0};
  xplane_source source = {.program = p->id};
  uint32_t string;
  while (protobuf_next(&instruction, &field) == 1) {
    if (protobuf_is_bytes(&field, INSTRUCTION_NAME)) name = field.bytes;
    if (protobuf_is_bytes(&field, INSTRUCTION_METADATA)) metadata = field.bytes;
  }
  if (!name.at || !metadata.at || p->id == LLMPROF_ABSENT) return true;
  if (!read_metadata(p, metadata, &source.frame)) return false;
  if (source.frame.file == LLMPROF_NO_STRING) return true;
  if (!text_of(p, name, &string)) return false;
  source.instruction = string;
  return llmprof_intern_put(&p->t->sources, &source) != NULL;
}

static int64_t id_of(protobuf_message module) {
  protobuf_field field;
  int64_t id = LLMPROF_ABSENT;
  while (protobuf_next(&module, &field) == 1)
    if (protobuf_is_int(&field, MODULE_ID)) id = (int64_t)field.value;
  return id;
}

/* From the plane to its instructions, message by message. What is damaged ends
 * there: lines are no reason to refuse a profile. */
static bool descend(program *p, protobuf_message message, size_t depth) {
  static const uint32_t fields[] = {
      PLANE_EVENT,
      ENTRY_VALUE,
      EVENT_STAT,
      STAT_BYTES,
      PROTO_MODULE,
      MODULE_COMPUTATION,
      COMPUTATION_INSTRUCTION,
  };
  protobuf_field field;
  if (depth == sizeof fields / sizeof *fields)
    return take_instruction(p, message);
  if (fields[depth] == MODULE_COMPUTATION) p->id = id_of(message);
  while (protobuf_next(&message, &field) == 1)
    if (protobuf_is_bytes(&field, fields[depth]) &&
        !descend(p, field.bytes, depth + 1))
      return false;
  return true;
}

bool xplane_read_sources(xplane_trace *t, protobuf_message plane) {
  return descend(&(program){.t = t}, plane, 0);
}

/* ---- stacks ---- */

/* The stack of an operation: the one line that is known. */
static bool stack_of(const xplane_trace *t, const xplane_op *op,
                     uint32_t *row) {
  const int64_t key[] = {op->program, op->hlo_op};
  const xplane_source *source = llmprof_intern_seek(&t->sources, key);
  llmprof_source_stack stack = {.parent = LLMPROF_NONE};
  *row = LLMPROF_NONE;
  return !source || (llmprof_builder_add_source_frame(
                         t->builder, &source->frame, &stack.frame) &&
                     llmprof_builder_add_source_stack(t->builder, &stack, row));
}

bool xplane_load_stacks(xplane_trace *t, llmprof_error *err) {
  bool ok = true;
  if (!t->sources.count) return true;
  for (int kind = LLMPROF_KERNEL; kind <= LLMPROF_SET; kind++) {
    for (size_t i = 0; ok && i < t->op_count; i++) {
      uint32_t row;
      if ((int)t->ops[i].row.kind != kind) continue;
      ok = stack_of(t, &t->ops[i], &row)
               ? llmprof_builder_add_op_stack(t->builder, row, err)
               : llmprof_fail_nomem(err);
    }
  }
  return ok;
}
