/* Collapsed stacks as they are read: a line for each stack, in the order of the
 * trace's own. */
#include <string.h>

#include "base/bounds.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "folded/folded.h"
#include "llmprof/alloc.h"
#include "os/sink.h"
#include "trace/trace_events.h"
#include "trace/trace_stacks.h"

enum {
  PIECE = 1 << 20 /* bytes */
};

typedef struct writer {
  const llmprof_strings *strings;
  const llmprof_stack_frame *frames;
  size_t count;
  int64_t *samples; /* by frame, of stacks that end there */
  uint32_t *path;   /* the stack at hand, the innermost first */
  llmprof_sink *sink;
  llmprof_sink_piece piece;
  llmprof_folded_counts written;
} writer;

/* ---- counting ---- */

static bool count_row(writer *w, int64_t stack, int64_t weight,
                      llmprof_error *err) {
  int64_t *sum =
      stack == LLMPROF_ABSENT ? &w->written.without_stack : &w->written.samples;
  if (__builtin_add_overflow(*sum, weight, sum))
    return llmprof_fail(err, LLMPROF_RANGE, "too many samples to count");
  if (stack != LLMPROF_ABSENT) w->samples[stack] += weight;
  return true;
}

static bool count_samples(writer *w, llmprof_frame *frame, llmprof_error *err) {
  const llmprof_column *stack, *weight;
  if (!llmprof_stack_columns(frame, w->strings, &stack, &weight, err))
    return false;
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (!count_row(w, llmprof_cell(stack, row), llmprof_cell(weight, row), err))
      return false;
  }
  return true;
}

/* ---- writing ---- */

/* A semicolon and the end of a line would end the function. */
static void put_text(writer *w, uint32_t string) {
  size_t size = 0;
  const char *text = llmprof_strings_get(w->strings, string, &size);
  for (size_t i = 0; text && i < size; i++) {
    char c = text[i] == ';' ? ':' : text[i];
    llmprof_buffer_putc(&w->piece.bytes, (unsigned char)c < ' ' ? ' ' : c);
  }
}

static void put_frame(writer *w, const llmprof_stack_frame *frame) {
  put_text(w, frame->function);
  if (frame->module == LLMPROF_NO_STRING) return;
  llmprof_buffer_puts(&w->piece.bytes, " (");
  put_text(w, frame->module);
  llmprof_buffer_putc(&w->piece.bytes, ')');
}

static bool flush(writer *w, llmprof_error *err) {
  if (w->piece.bytes.failed) return llmprof_fail_nomem(err);
  return llmprof_sink_pack(w->sink, &w->piece, err) &&
         llmprof_sink_write(w->sink, &w->piece, err);
}

static bool put_stack(writer *w, uint32_t row, llmprof_error *err) {
  size_t depth = 0;
  for (uint32_t at = row; at != LLMPROF_NONE; at = w->frames[at].parent)
    w->path[depth++] = at;
  while (depth-- > 0) {
    put_frame(w, &w->frames[w->path[depth]]);
    if (depth) llmprof_buffer_putc(&w->piece.bytes, ';');
  }
  llmprof_buffer_printf(&w->piece.bytes, " %lld\n", (long long)w->samples[row]);
  w->written.stacks++;
  return w->piece.bytes.size < PIECE || flush(w, err);
}

static bool put_stacks(writer *w, llmprof_error *err) {
  for (size_t row = 0; row < w->count; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (w->samples[row] && !put_stack(w, (uint32_t)row, err)) return false;
  }
  return flush(w, err);
}

static bool write_file(writer *w, const char *path, bool packed,
                       llmprof_error *err) {
  w->sink = llmprof_sink_open(path, packed, err);
  if (!w->sink) return false;
  if (put_stacks(w, err)) return llmprof_sink_commit(w->sink, err);
  llmprof_sink_discard(w->sink);
  return false;
}

bool llmprof_folded_write(llmprof_trace *trace, llmprof_frame *samples,
                          const char *path, bool packed,
                          llmprof_folded_counts *written, llmprof_error *err) {
  writer w = {.strings = llmprof_trace_strings(trace)};
  w.frames = llmprof_trace_stack_frames(trace, &w.count, err);
  if (!w.frames) return false;
  w.samples = llmprof_zalloc(w.count, sizeof *w.samples);
  w.path = llmprof_alloc(w.count, sizeof *w.path);
  bool ok = (w.samples && w.path) || llmprof_fail_nomem(err);
  ok = ok && count_samples(&w, samples, err) &&
       (w.written.samples ||
        llmprof_fail(err, LLMPROF_EMPTY, "no stack of a CPU sample is there"));
  ok = ok && write_file(&w, path, packed, err);
  if (ok && written) *written = w.written;
  llmprof_sink_piece_free(&w.piece);
  llmprof_free(w.samples);
  llmprof_free(w.path);
  return ok;
}
