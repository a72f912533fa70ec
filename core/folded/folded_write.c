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
  llmprof_weighed stacks;
  uint32_t *path; /* the stack at hand, the innermost first */
  llmprof_sink *sink;
  llmprof_sink_piece piece;
  llmprof_folded_counts written;
} writer;

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
  for (uint32_t at = row; at != LLMPROF_NONE; at = w->stacks.frames[at].parent)
    w->path[depth++] = at;
  while (depth-- > 0) {
    put_frame(w, &w->stacks.frames[w->path[depth]]);
    if (depth) llmprof_buffer_putc(&w->piece.bytes, ';');
  }
  llmprof_buffer_printf(&w->piece.bytes, " %lld\n",
                        (long long)w->stacks.self[row]);
  w->written.stacks++;
  return w->piece.bytes.size < PIECE || flush(w, err);
}

static bool put_stacks(writer *w, llmprof_error *err) {
  for (size_t row = 0; row < w->stacks.count; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    if (w->stacks.self[row] && !put_stack(w, (uint32_t)row, err)) return false;
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
  bool ok = llmprof_weigh_stacks(trace, samples, &w.stacks, err);
  if (ok) {
    w.written.samples = w.stacks.all;
    w.written.without_stack = w.stacks.without_stack;
    w.path = llmprof_alloc(w.stacks.count, sizeof *w.path);
    ok = w.path || llmprof_fail_nomem(err);
  }
  ok =
      ok && (w.written.samples ||
             llmprof_fail(err, LLMPROF_EMPTY,
                          "no stack of a CPU sample or an operation is there"));
  ok = ok && write_file(&w, path, packed, err);
  if (ok && written) *written = w.written;
  llmprof_sink_piece_free(&w.piece);
  llmprof_weighed_free(&w.stacks);
  llmprof_free(w.path);
  return ok;
}
