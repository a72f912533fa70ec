/* Collapsed stacks as a line each, in the order of the trace's own; for
 * speedscope one profile of kind "sampled": a stack for each place that weighs
 * something, and its weight. */
#include "export/stacks_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "formats/json.h"
#include "llmprof/alloc.h"
#include "os/sink.h"
#include "text/lex.h"
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
  llmprof_buffer bytes;
  bool begun; /* a list: a comma is put */
  llmprof_stacks_counts written;
} writer;

static bool flush(writer *w, size_t most, llmprof_error *err) {
  if (w->bytes.failed) return llmprof_fail_nomem(err);
  return w->bytes.size < most || llmprof_sink_write(w->sink, &w->bytes, err);
}

/* The frames of a stack, the innermost first: how many. */
static size_t list_path(writer *w, uint32_t row) {
  size_t depth = 0;
  for (; row != LLMPROF_NONE; row = w->stacks.frames[row].parent)
    w->path[depth++] = row;
  return depth;
}

/* What is put for each stack that weighs something. */
static bool put_each(writer *w, void (*put)(writer *w, uint32_t row),
                     llmprof_error *err) {
  bool ok = true;
  for (uint32_t row = 0; ok && row < w->stacks.count; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (!w->stacks.self[row]) continue;
    put(w, row);
    ok = flush(w, PIECE, err);
  }
  return ok;
}

/* ---- collapsed stacks ---- */

/* A semicolon and the end of a line would end the function. */
static void put_text(writer *w, uint32_t string) {
  size_t size = 0;
  const char *text = llmprof_strings_get(w->strings, string, &size);
  for (size_t i = 0; text && i < size; i++) {
    char c = text[i] == ';' ? ':' : text[i];
    llmprof_buffer_putc(&w->bytes, (unsigned char)c < ' ' ? ' ' : c);
  }
}

static void put_line(writer *w, uint32_t row) {
  for (size_t depth = list_path(w, row); depth-- > 0;) {
    const llmprof_stack_frame *frame = &w->stacks.frames[w->path[depth]];
    put_text(w, frame->function);
    if (frame->module != LLMPROF_NO_STRING) {
      llmprof_buffer_puts(&w->bytes, " (");
      put_text(w, frame->module);
      llmprof_buffer_putc(&w->bytes, ')');
    }
    if (depth) llmprof_buffer_putc(&w->bytes, ';');
  }
  llmprof_buffer_printf(&w->bytes, " %" PRId64 "\n", w->stacks.self[row]);
}

/* ---- speedscope ---- */

static bool name_frames(writer *w) {
  size_t count = w->stacks.count;
  llmprof_intern_init(&w->names, 2 * sizeof(uint32_t));
  w->name = llmprof_alloc(count, sizeof *w->name);
  bool ok = w->name != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    const llmprof_stack_frame *frame = &w->stacks.frames[i];
    const uint32_t name[2] = {frame->function, frame->module};
    ok = llmprof_intern_add(&w->names, name, &w->name[i]);
  }
  return ok;
}

static void put_quoted(writer *w, const char *text, size_t size) {
  llmprof_json_put_any(&w->bytes, text ? text : "", text ? size : 0);
}

/* "model.py:97" is a file and a line; anything else is a file. */
static void put_place(writer *w, uint32_t module) {
  size_t size = 0;
  const char *text = llmprof_strings_get(w->strings, module, &size);
  if (!text) return;
  size_t digits = size - llmprof_lex_digits_at_end(text, size);
  bool has_line = digits && digits < size && text[digits - 1] == ':';
  llmprof_buffer_puts(&w->bytes, ",\"file\":");
  put_quoted(w, text, has_line ? digits - 1 : size);
  if (has_line)
    llmprof_buffer_printf(&w->bytes, ",\"line\":%.*s", (int)(size - digits),
                          text + digits);
}

static void put_frame(writer *w, uint32_t number) {
  uint32_t name[2];
  size_t size = 0;
  memcpy(name, llmprof_intern_get(&w->names, number), sizeof name);
  const char *text = llmprof_strings_get(w->strings, name[0], &size);
  llmprof_buffer_puts(&w->bytes, number ? ",{\"name\":" : "{\"name\":");
  put_quoted(w, text, size);
  put_place(w, name[1]);
  llmprof_buffer_putc(&w->bytes, '}');
}

static void put_stack(writer *w, uint32_t row) {
  size_t depth = list_path(w, row);
  llmprof_buffer_puts(&w->bytes, w->begun ? ",[" : "[");
  while (depth-- > 0)
    llmprof_buffer_printf(&w->bytes, depth ? "%" PRIu32 "," : "%" PRIu32,
                          w->name[w->path[depth]]);
  llmprof_buffer_putc(&w->bytes, ']');
  w->begun = true;
}

static void put_weight(writer *w, uint32_t row) {
  llmprof_buffer_printf(&w->bytes, w->begun ? ",%" PRId64 : "%" PRId64,
                        w->stacks.self[row]);
  w->begun = true;
}

static bool put_samples(writer *w, llmprof_error *err) {
  if (!put_each(w, put_stack, err)) return false;
  w->begun = false;
  llmprof_buffer_puts(&w->bytes, "],\"weights\":[");
  return put_each(w, put_weight, err);
}

static bool put_speedscope(writer *w, bool of_gpu, llmprof_error *err) {
  llmprof_buffer *out = &w->bytes;
  bool ok = name_frames(w) || llmprof_fail_nomem(err);
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
  return ok;
}

/* ---- the file ---- */

static bool write_file(writer *w, const char *path,
                       llmprof_stacks_format format, bool packed, bool of_gpu,
                       llmprof_error *err) {
  w->sink = llmprof_sink_open(path, packed, err);
  if (!w->sink) return false;
  bool ok = format == LLMPROF_FOLDED ? put_each(w, put_line, err)
                                     : put_speedscope(w, of_gpu, err);
  if (ok && flush(w, 0, err)) return llmprof_sink_commit(w->sink, err);
  llmprof_sink_discard(w->sink);
  return false;
}

static bool weigh(writer *w, llmprof_trace *trace, llmprof_frame *rows,
                  llmprof_error *err) {
  if (!llmprof_weigh_stacks(trace, rows, &w->stacks, err)) return false;
  w->written.weight = w->stacks.all;
  w->written.without_stack = w->stacks.without_stack;
  for (size_t i = 0; i < w->stacks.count; i++)
    w->written.stacks += w->stacks.self[i] != 0;
  if (!w->stacks.all)
    return llmprof_fail(err, LLMPROF_EMPTY,
                        "no stack of a CPU sample or an operation is there");
  w->path = llmprof_alloc(w->stacks.count, sizeof *w->path);
  return w->path || llmprof_fail_nomem(err);
}

bool llmprof_stacks_write(llmprof_trace *trace, llmprof_frame *rows,
                          const char *path, llmprof_stacks_format format,
                          bool packed, llmprof_stacks_counts *written,
                          llmprof_error *err) {
  writer w = {.strings = llmprof_trace_strings(trace)};
  bool of_gpu = llmprof_frame_find(rows, "cpu_sample") == SIZE_MAX;
  bool ok = weigh(&w, trace, rows, err) &&
            write_file(&w, path, format, packed, of_gpu, err);
  if (ok && written) *written = w.written;
  llmprof_buffer_free(&w.bytes);
  llmprof_weighed_free(&w.stacks);
  llmprof_intern_free(&w.names);
  llmprof_free(w.name);
  llmprof_free(w.path);
  return ok;
}
