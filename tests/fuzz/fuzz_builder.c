/* Rows as a reader adds them, without a file: each begins with a byte that says
 * what it is. The first byte says what is done with the trace: a frame of it or
 * all are read, periods are looked for, or it is written as a Chrome trace,
 * which has to be JSON; or all of that. Windows of the Chrome trace come before
 * the rows. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "export/perfetto.h"
#include "formats/json.h"
#include "frame/group_by.h"
#include "frame/period.h"
#include "fuzz.h"
#include "llmprof/alloc.h"
#include "llmprof/trace_builder.h"
#include "part.h"
#include "take.h"

enum {
  WAYS = 3, /* all, periods, a Chrome trace */
  MOST_ROWS = 400,
  THREADS = 3,
};

static char path[FUZZ_PATH];

typedef struct maker {
  llmprof_builder *builder;
  taken *input;
  uint32_t threads[THREADS], place, strings[4];
  llmprof_op_kind kind; /* of the last operation: they only go up */
  size_t kernels;
  llmprof_error *err;
} maker;

static uint32_t take_string(maker *m) {
  return m->strings[take_below(m->input, 4)];
}

static uint32_t take_thread(maker *m) {
  uint32_t which = take_below(m->input, THREADS + 1);
  return which < THREADS ? m->threads[which] : LLMPROF_NONE;
}

static bool describe(maker *m) {
  static const char *const texts[] = {"decode", "prefill", "k<int>(a, b)", ""};
  uint32_t process;
  bool ok = llmprof_builder_add_process(m->builder, 1, 100, &process);
  for (uint32_t i = 0; ok && i < THREADS; i++)
    ok = llmprof_builder_add_thread(m->builder, 10 + i, 100 + i, process,
                                    &m->threads[i]);
  for (size_t i = 0; ok && i < 4; i++)
    ok = llmprof_builder_text(m->builder, texts[i], strlen(texts[i]),
                              &m->strings[i]);
  for (int i = 0; i < LLMPROF_TABLES; i++)
    llmprof_builder_recorded(m->builder, (llmprof_trace_table)i);
  for (int i = 0; i < LLMPROF_FACTS; i++)
    llmprof_builder_knows(m->builder, (llmprof_fact)i);
  const llmprof_place place = {process, 0, 1, 7};
  return ok && llmprof_builder_add_place(m->builder, &place, &m->place);
}

static bool add_place(maker *m) {
  const llmprof_place place = {LLMPROF_NONE, take_below(m->input, 4),
                               take_below(m->input, 3),
                               llmprof_u32(take_number(m->input))};
  return llmprof_builder_add_place(m->builder, &place, &m->place);
}

static bool add_op(maker *m) {
  m->kind = (llmprof_op_kind)(m->kind +
                              take_below(m->input, (uint32_t)(LLMPROF_OP_KINDS -
                                                              m->kind)) /
                                  3);
  int64_t start = take_number(m->input);
  const llmprof_op_row row = {
      .kind = m->kind,
      .start = start,
      .end = take_byte(m->input) & 1 ? take_number(m->input)
                                     : (int64_t)((uint64_t)start + 5),
      .correlation = llmprof_u32(take_number(m->input)),
      .name = take_string(m),
      .place = m->place,
      .bytes = take_number(m->input),
      .copy_kind = (llmprof_copy_kind)take_below(m->input, 5),
      .host_memory =
          (llmprof_host_memory)take_below(m->input, LLMPROF_HOST_MEMORIES)};
  m->kernels += row.kind == LLMPROF_KERNEL;
  return llmprof_builder_add_op(m->builder, &row, m->err);
}

static bool add_call(maker *m) {
  const llmprof_call_row row = {
      take_number(m->input), take_number(m->input), take_thread(m),
      llmprof_u32(take_number(m->input)), take_string(m)};
  return llmprof_builder_add_call(m->builder, &row, m->err);
}

static bool add_range(maker *m) {
  const llmprof_range_row row = {
      .start = take_number(m->input),
      .end = take_number(m->input),
      .thread = take_thread(m),
      .end_thread = take_byte(m->input) & 7 ? LLMPROF_NONE : take_thread(m),
      .text = take_string(m),
      .domain = take_byte(m->input) & 3 ? LLMPROF_NO_STRING : take_string(m),
      .category = LLMPROF_NO_STRING,
      .payload = take_number(m->input),
      .payload_float = NAN,
      .style = (llmprof_range_style)(take_byte(m->input) & 1)};
  return llmprof_builder_add_range(m->builder, &row, m->err);
}

static bool add_detail(maker *m) {
  llmprof_detail_row row = {.short_name = take_string(m),
                            .mangled_name = LLMPROF_NO_STRING,
                            .graph_node = take_number(m->input)};
  for (int i = 0; i < 3; i++) {
    row.shape.grid[i] = llmprof_u32(take_number(m->input));
    row.shape.block[i] = llmprof_u32(take_number(m->input));
  }
  return llmprof_builder_add_detail(m->builder, &row, m->err);
}

/* False where a row is refused, which may be what it is there for. */
static bool add_rows(maker *m) {
  static bool (*const adders[])(maker * m) = {add_op,    add_op,    add_call,
                                              add_range, add_range, add_place};
  enum {
    ADDERS = sizeof adders / sizeof *adders
  };
  bool ok = true;
  for (int i = 0; ok && m->input->size && i < MOST_ROWS; i++)
    ok = adders[take_below(m->input, ADDERS)](m);
  for (size_t i = 0; ok && i < m->kernels; i++) ok = add_detail(m);
  return ok;
}

static void check_read(llmprof_trace *trace, size_t part) {
  llmprof_error err = {0};
  bool ok = fuzz_read(trace, part, &err);
  FUZZ_CHECK(ok || err.message[0]);
}

static void check_perfetto(llmprof_trace *trace) {
  llmprof_error err = {0};
  if (!llmprof_perfetto_write(trace, path, false, NULL, &err)) return;
  llmprof_value *value = llmprof_json_load(path, &err);
  if (!value) fprintf(stderr, "%s\n", err.message);
  FUZZ_CHECK(value);
  llmprof_value_free(value);
}

static void check_groups(llmprof_frame *frame, const llmprof_groups *groups) {
  size_t start = llmprof_frame_find(frame, "start"), count;
  llmprof_rhythm *rhythms = NULL;
  llmprof_error err = {0};
  if (llmprof_rhythms_find(frame, start, groups, 2, &rhythms, &count, &err))
    llmprof_free(rhythms);
  for (uint32_t i = 0; i < groups->count; i++) {
    llmprof_cycle *cycles = NULL;
    if (!llmprof_cycles_find(frame, start, groups, i, &cycles, &count, &err))
      continue;
    for (size_t c = 0; c < count; c++)
      FUZZ_CHECK(cycles[c].likeness >= 0 && cycles[c].likeness <= 1);
    llmprof_free(cycles);
  }
}

static void check_periods(llmprof_trace *trace) {
  llmprof_error err = {0};
  llmprof_frame *frame = llmprof_trace_frame(trace, "kernels", &err);
  size_t name = frame ? llmprof_frame_find(frame, "name") : SIZE_MAX;
  llmprof_groups groups;
  if (name != SIZE_MAX && llmprof_groups_make(&groups, frame, &name, 1, &err)) {
    check_groups(frame, &groups);
    llmprof_groups_free(&groups);
  }
  llmprof_frame_free(frame);
}

static void remove_file(void) {
  unlink(path);
}

static void start(void) {
  static int fd = -1;
  if (fd >= 0) return;
  fuzz_scratch(path);
  fd = mkstemp(path);
  FUZZ_CHECK(fd >= 0 && atexit(remove_file) == 0);
}

/* Of the numbers below that of all: parts to read, and these. */
static void check(llmprof_trace *trace, size_t what) {
  size_t parts = read_parts();
  if (what <= parts) check_read(trace, what);
  if (what == FUZZ_ALL || what == parts + 1) check_periods(trace);
  if (what == FUZZ_ALL || what > parts + 1) check_perfetto(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  taken input = {bytes, size};
  start();
  size_t what = take_byte(&input) % (read_parts() + WAYS);
  maker m = {.builder = llmprof_builder_new("fuzz", &err),
             .input = &input,
             .err = &err};
  FUZZ_CHECK(m.builder && describe(&m));
  if (!add_rows(&m)) {
    FUZZ_CHECK(err.message[0]);
    llmprof_builder_free(m.builder);
    return 0;
  }
  llmprof_trace *trace = llmprof_builder_finish(m.builder, &err);
  FUZZ_CHECK(trace || err.message[0]);
  if (!trace) return 0;
  check(trace, what);
  llmprof_trace_close(trace);
  return 0;
}
