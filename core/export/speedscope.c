/* One profile of kind "sampled": a stack for each place that weighs something,
 * and its weight. */
#include "export/speedscope.h"

#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "formats/json_text.h"
#include "llmprof/alloc.h"
#include "os/sink.h"
#include "trace/trace_stacks.h"

enum {
  PIECE = 1 << 20 /* bytes */
};

typedef struct writer {
  const llmprof_strings *strings;
  llmprof_weighed stacks;
  llmprof_intern names; /* of { function, module }: frames of the file */
  uint32_t *name;       /* by frame of the stacks */
  uint32_t *path;       /* the stack at hand, the innermost first */
  llmprof_sink *sink;
  llmprof_sink_piece piece;
  llmprof_speedscope_counts written;
} writer;

static bool name_frames(writer *w) {
  size_t count = w->stacks.count;
  llmprof_intern_init(&w->names, 2 * sizeof(uint32_t));
  w->name = llmprof_alloc(count, sizeof *w->name);
  w->path = llmprof_alloc(count, sizeof *w->path);
  bool ok = w->name && w->path;
  for (size_t i = 0; ok && i < count; i++) {
    const llmprof_stack_frame *frame = &w->stacks.frames[i];
    const uint32_t name[2] = {frame->function, frame->module};
    ok = llmprof_intern_add(&w->names, name, &w->name[i]);
  }
  return ok;
}

static void put_quoted(writer *w, const char *text, size_t size) {
  llmprof_json_put_any(&w->piece.bytes, text ? text : "", text ? size : 0);
}

/* "model.py:97" is a file and a line; anything else is a file. */
static void put_place(writer *w, uint32_t module) {
  size_t size = 0;
  const char *text = llmprof_strings_get(w->strings, module, &size);
  if (!text) return;
  size_t digits = size;
  while (digits && text[digits - 1] >= '0' && text[digits - 1] <= '9') digits--;
  bool has_line = digits && digits < size && text[digits - 1] == ':';
  llmprof_buffer_puts(&w->piece.bytes, ",\"file\":");
  put_quoted(w, text, has_line ? digits - 1 : size);
  if (has_line)
    llmprof_buffer_printf(&w->piece.bytes, ",\"line\":%.*s",
                          (int)(size - digits), text + digits);
}

static void put_frame(writer *w, uint32_t number) {
  uint32_t name[2];
  size_t size = 0;
  memcpy(name, llmprof_intern_get(&w->names, number), sizeof name);
  const char *text = llmprof_strings_get(w->strings, name[0], &size);
  llmprof_buffer_puts(&w->piece.bytes, number ? ",{\"name\":" : "{\"name\":");
  put_quoted(w, text, size);
  put_place(w, name[1]);
  llmprof_buffer_putc(&w->piece.bytes, '}');
}

static bool flush(writer *w, size_t most, llmprof_error *err) {
  if (w->piece.bytes.failed) return llmprof_fail_nomem(err);
  return w->piece.bytes.size < most ||
         (llmprof_sink_pack(w->sink, &w->piece, err) &&
          llmprof_sink_write(w->sink, &w->piece, err));
}

static void put_stack(writer *w, uint32_t row) {
  size_t depth = 0;
  for (uint32_t at = row; at != LLMPROF_NONE; at = w->stacks.frames[at].parent)
    w->path[depth++] = at;
  llmprof_buffer_puts(&w->piece.bytes, w->written.stacks++ ? ",[" : "[");
  while (depth-- > 0)
    llmprof_buffer_printf(&w->piece.bytes, depth ? "%" PRIu32 "," : "%" PRIu32,
                          w->name[w->path[depth]]);
  llmprof_buffer_putc(&w->piece.bytes, ']');
}

static bool put_samples(writer *w, llmprof_error *err) {
  bool ok = true;
  for (uint32_t row = 0; ok && row < w->stacks.count; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (w->stacks.self[row]) put_stack(w, row);
    ok = flush(w, PIECE, err);
  }
  llmprof_buffer_puts(&w->piece.bytes, "],\"weights\":[");
  const char *before = "";
  for (size_t row = 0; ok && row < w->stacks.count; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (!w->stacks.self[row]) continue;
    llmprof_buffer_printf(&w->piece.bytes, "%s%" PRId64, before,
                          w->stacks.self[row]);
    before = ",";
    ok = flush(w, PIECE, err);
  }
  return ok;
}

static bool put_all(writer *w, bool of_gpu, llmprof_error *err) {
  llmprof_buffer *out = &w->piece.bytes;
  bool ok = true;
  llmprof_buffer_puts(
      out,
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
      "\"exporter\":\"llmprof\",\"shared\":{\"frames\":[");
  for (uint32_t i = 0; ok && i < w->names.count; i++) {
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    put_frame(w, i);
    ok = flush(w, PIECE, err);
  }
  llmprof_buffer_printf(
      out,
      "]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\","
      "\"startValue\":0,\"endValue\":%" PRId64 ",\"samples\":[",
      of_gpu ? "GPU time" : "CPU samples", of_gpu ? "nanoseconds" : "none",
      w->stacks.all);
  ok = ok && put_samples(w, err);
  llmprof_buffer_puts(out, "]}]}\n");
  return ok && flush(w, 0, err);
}

static bool write_file(writer *w, const char *path, bool packed, bool of_gpu,
                       llmprof_error *err) {
  w->sink = llmprof_sink_open(path, packed, err);
  if (!w->sink) return false;
  if (put_all(w, of_gpu, err)) return llmprof_sink_commit(w->sink, err);
  llmprof_sink_discard(w->sink);
  return false;
}

bool llmprof_speedscope_write(llmprof_trace *trace, llmprof_frame *rows,
                              const char *path, bool packed,
                              llmprof_speedscope_counts *written,
                              llmprof_error *err) {
  writer w = {.strings = llmprof_trace_strings(trace)};
  bool of_gpu = llmprof_frame_find(rows, "cpu_sample") == SIZE_MAX;
  bool ok = llmprof_weigh_stacks(trace, rows, &w.stacks, err) &&
            (name_frames(&w) || llmprof_fail_nomem(err));
  w.written.weight = w.stacks.all;
  w.written.without_stack = w.stacks.without_stack;
  ok = ok && (w.stacks.all ||
              llmprof_fail(err, LLMPROF_EMPTY,
                           "no stack of a CPU sample or an operation is "
                           "there"));
  ok = ok && write_file(&w, path, packed, of_gpu, err);
  if (ok && written) *written = w.written;
  llmprof_sink_piece_free(&w.piece);
  llmprof_weighed_free(&w.stacks);
  llmprof_intern_free(&w.names);
  llmprof_free(w.name);
  llmprof_free(w.path);
  return ok;
}
