/* A profile of XLA as any other trace: operations on the streams of GPUs, on
 * threads of the host the calls that launched them (both have its correlation
 * id) and as ranges the rest, in XLA's domain "TSL". Python's functions and
 * events without a duration are passed over. */
#include "trace/built_in_readers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "os/source.h"
#include "text/demangle.h"
#include "trace/trace_events.h"
#include "xplane/xplane_internal.h"

enum {
  PLANE = 1 /* number of the field that is one, in the whole */
};

/* ---- the file ---- */

static bool read_bytes(llmprof_source *source, llmprof_buffer *bytes,
                       llmprof_error *err) {
  const size_t most = INT32_MAX; /* protobuf's own */
  const char *piece;
  size_t size;
  while (source && llmprof_source_next(source, &piece, &size, err)) {
    if (!size) return true;
    llmprof_buffer_add(bytes, piece, size);
    if (bytes->failed) return llmprof_fail_nomem(err);
    if (bytes->size > most)
      return llmprof_fail(err, LLMPROF_LIMIT, "longer than 2 GiB");
  }
  return false;
}

static bool has_rows(const xplane_trace *t) {
  return t->op_count || t->call_count || t->range_count;
}

/* What is not damaged is read. */
static bool read_planes(xplane_trace *t, const llmprof_buffer *bytes,
                        llmprof_error *err) {
  const unsigned char *begin = (const unsigned char *)bytes->bytes;
  protobuf_message all = {begin, begin + bytes->size};
  llmprof_code code = LLMPROF_OK;
  protobuf_field field;
  int got = 1;
  size_t at = 0;
  while (code == LLMPROF_OK) {
    at = (size_t)(all.at - begin);
    if ((got = protobuf_next(&all, &field)) != 1) break;
    if (protobuf_is_bytes(&field, PLANE))
      code = xplane_read_plane(t, field.bytes);
  }
  if (code == LLMPROF_NOMEM) return llmprof_fail_nomem(err);
  if (got >= 0 && code == LLMPROF_OK) return true;
  t->is_cut = true;
  t->cut_at = at;
  return has_rows(t) ||
         llmprof_fail(err, LLMPROF_SYNTAX,
                      "%s: byte %zu: a plane that is cut short or damaged, and "
                      "no event before it",
                      t->path, at);
}

/* ---- times ---- */

/* Times are counted from the profile's start, or from 1970, which times after
 * 2001 tell. */
static void set_epoch(const xplane_trace *t) {
  const int64_t in_2001 = INT64_C(1000000000000000000);
  int64_t epoch = t->first;
  if (t->first < in_2001 &&
      (t->started < in_2001 ||
       __builtin_add_overflow(t->started, t->first, &epoch)))
    return;
  llmprof_builder_epoch(t->builder, epoch);
}

/* ---- the whole profile ---- */

static void announce(const xplane_trace *t) {
  llmprof_builder *b = t->builder;
  if (t->op_count) {
    llmprof_builder_recorded(b, LLMPROF_TABLE_KERNELS);
    llmprof_builder_recorded(b, LLMPROF_TABLE_COPIES);
    llmprof_builder_recorded(b, LLMPROF_TABLE_SETS);
  }
  if (t->call_count) {
    llmprof_builder_recorded(b, LLMPROF_TABLE_CALLS);
    llmprof_builder_knows(b, LLMPROF_KNOWS_CALLS);
  }
  if (t->range_count) llmprof_builder_recorded(b, LLMPROF_TABLE_RANGES);
  for (size_t i = 0; i < t->op_count; i++)
    if (t->ops[i].row.host_memory != LLMPROF_MEMORY_UNKNOWN)
      llmprof_builder_knows(b, LLMPROF_KNOWS_HOST_MEMORY);
}

static bool describe(xplane_trace *t, llmprof_error *err) {
  if (!has_rows(t))
    return llmprof_fail(err, LLMPROF_EMPTY,
                        "%s: no event of a GPU or a host in its planes",
                        t->path);
  if (!xplane_name_launches(t)) return llmprof_fail_nomem(err);
  set_epoch(t);
  announce(t);
  return true;
}

static bool begin(xplane_trace *t, llmprof_error *err) {
  return (llmprof_builder_text(t->builder, "TSL", 3, &t->domain) &&
          llmprof_builder_add_process(t->builder, 0, LLMPROF_NONE,
                                      &t->process)) ||
         llmprof_fail_nomem(err);
}

static bool read_all(xplane_trace *t, llmprof_source *source,
                     llmprof_error *err) {
  llmprof_buffer bytes = {0};
  bool ok = read_bytes(source, &bytes, err) && begin(t, err) &&
            (!bytes.size || read_planes(t, &bytes, err)) && describe(t, err);
  llmprof_buffer_free(&bytes);
  llmprof_source_close(source);
  return ok;
}

/* ---- parts ---- */

static bool add_op(const xplane_trace *t, xplane_op *op, llmprof_error *err) {
  llmprof_op_row row = op->row;
  row.start -= t->first;
  row.end -= t->first;
  op->place.process = t->process;
  if (!llmprof_builder_add_place(t->builder, &op->place, &row.place))
    return llmprof_fail_nomem(err);
  return llmprof_builder_add_op(t->builder, &row, err);
}

static bool load_ops(xplane_trace *t, llmprof_error *err) {
  bool ok = true;
  for (int kind = LLMPROF_KERNEL; kind <= LLMPROF_SET; kind++)
    for (size_t i = 0; ok && i < t->op_count; i++)
      if ((int)t->ops[i].row.kind == kind) ok = add_op(t, &t->ops[i], err);
  return ok;
}

static bool add_detail(const xplane_trace *t, const xplane_op *op,
                       llmprof_error *err) {
  llmprof_detail_row row = {.shape = op->shape,
                            .short_name = LLMPROF_NO_STRING,
                            .mangled_name = LLMPROF_NO_STRING,
                            .graph_node = LLMPROF_ABSENT};
  size_t size;
  const char *text = llmprof_strings_get(llmprof_builder_strings(t->builder),
                                         op->row.name, &size);
  if (text) llmprof_demangled_base(text, size, &text, &size);
  return (text &&
          !llmprof_builder_text(t->builder, text, size, &row.short_name))
             ? llmprof_fail_nomem(err)
             : llmprof_builder_add_detail(t->builder, &row, err);
}

static bool load_details(xplane_trace *t, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < t->op_count; i++)
    if (t->ops[i].row.kind == LLMPROF_KERNEL)
      ok = add_detail(t, &t->ops[i], err);
  return ok;
}

static bool load_calls(xplane_trace *t, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < t->call_count; i++) {
    llmprof_call_row row = t->calls[i].row;
    row.start -= t->first;
    row.end -= t->first;
    ok = llmprof_builder_add_call(t->builder, &row, err);
  }
  return ok;
}

static bool load_ranges(xplane_trace *t, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < t->range_count; i++) {
    llmprof_range_row row = t->ranges[i];
    row.start -= t->first;
    row.end -= t->first;
    ok = llmprof_builder_add_range(t->builder, &row, err);
  }
  return ok;
}

static bool load_diagnostics(xplane_trace *t, llmprof_error *err) {
  llmprof_builder *b = t->builder;
  bool ok =
      (!t->is_cut ||
       llmprof_builder_say(
           b, LLMPROF_WARNING,
           "the file is cut or damaged from byte %zu on, what comes before was "
           "read",
           t->cut_at)) &&
      (!t->other ||
       llmprof_builder_say(
           b, LLMPROF_WARNING,
           "%" PRIu64 " planes of devices that are no GPU were left out, the "
           "first is %s",
           t->other, t->other_name)) &&
      (!t->left_out ||
       llmprof_builder_say(b, LLMPROF_WARNING,
                           "%" PRIu64
                           " events have no usable time and were left out",
                           t->left_out)) &&
      (!t->functions + !t->instants == 2 ||
       llmprof_builder_say(b, LLMPROF_INFO,
                           "%" PRIu64
                           " calls of Python's functions and %" PRIu64
                           " events without a duration were passed over",
                           t->functions, t->instants));
  return ok || llmprof_fail_nomem(err);
}

static bool load(void *state, llmprof_builder *builder, llmprof_part part,
                 llmprof_error *err) {
  static bool (*const parts[LLMPROF_PARTS])(xplane_trace *, llmprof_error *) = {
      [LLMPROF_PART_OPS] = load_ops,
      [LLMPROF_PART_DETAILS] = load_details,
      [LLMPROF_PART_CALLS] = load_calls,
      [LLMPROF_PART_RANGES] = load_ranges,
      [LLMPROF_PART_DIAGNOSTICS] = load_diagnostics,
      [LLMPROF_PART_STACKS] = xplane_load_stacks,
  };
  (void)builder;
  return !parts[part] || parts[part](state, err);
}

/* ---- the reader ---- */

static bool is_plane_name(protobuf_message bytes) {
  static const char *const beginnings[] = {
      "/host:", "/device:", "Task Environment"};
  xplane_text name = {(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (xplane_begins(name, beginnings[i])) return true;
  return false;
}

/* The length of the plane that a file begins with goes beyond what is seen of
 * it: its number and its name stand before all else. */
static bool begins_with_plane(const llmprof_specimen *file) {
  const unsigned char *at = file->bytes, *end = at + file->size;
  protobuf_field field;
  if (at == end || *at++ != (PLANE << 3 | PROTOBUF_BYTES)) return false;
  while (at < end && *at >= 0x80) at++;
  if (at == end) return false;
  protobuf_message plane = {at + 1, end};
  int got = protobuf_next(&plane, &field);
  if (got == 1 && protobuf_is_int(&field, 1))
    got = protobuf_next(&plane, &field);
  return got == 1 && protobuf_is_bytes(&field, 2) && is_plane_name(field.bytes);
}

static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  if (begins_with_plane(file)) return LLMPROF_CLAIM_YES;
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: not a profile of XLA", file->path);
  return LLMPROF_CLAIM_NO;
}

static xplane_trace *trace_new(const char *name, llmprof_builder *builder) {
  xplane_trace *t = llmprof_zalloc(1, sizeof *t);
  if (!t) return NULL;
  t->path = name;
  t->builder = builder;
  t->started = LLMPROF_ABSENT;
  t->first = INT64_MAX;
  llmprof_intern_init_keyed(&t->sources, sizeof(xplane_source),
                            2 * sizeof(int64_t));
  return t;
}

static void close_trace(void *state) {
  xplane_trace *t = state;
  if (!t) return;
  llmprof_intern_free(&t->sources);
  llmprof_free(t->ops);
  llmprof_free(t->calls);
  llmprof_free(t->ranges);
  llmprof_free(t);
}

static bool open_trace(const char *path, llmprof_builder *builder, void **state,
                       llmprof_error *err) {
  xplane_trace *t = trace_new(path, builder);
  *state = t;
  if (!t) return llmprof_fail_nomem(err);
  return read_all(t, llmprof_source_open(path, err), err);
}

const llmprof_reader llmprof_xplane_reader = {
    .name = "xplane",
    .what = "profile of JAX and XLA (.xplane.pb)",
    .probe = probe,
    .open = open_trace,
    .load = load,
    .close = close_trace,
};
