/* Timelines as Chrome traces: the text that is written, to the byte. */
#include "export/perfetto.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "exports.h"

/* Two kernels that overlap on a stream, one on another stream, one without a
 * call; a range that does not nest into the one before; a call on a thread of
 * its own. */
static const char sql[] = EXPORT_TABLES
    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN streamId INTEGER;"
    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN contextId INTEGER;"
    "INSERT INTO StringIds VALUES (1, 'k<\"a\\b\">'), (2, 'cuLaunch_v7000');"
    "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text) VALUES"
    " (1000, 9000, 59, " T11 ", 'prefill'),"
    " (8000, 9999, 59, " T11 ", 'tail' || char(10));"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
    " (1500, 1600, " T11 ", 1, 2), (1700, 1800, " T11 ", 2, 2),"
    " (50, 60, " T21 ", 3, 2);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    " (2000, 3000, 0, 1, " P1 ", 1, 7, 1),"
    " (2500, 3501, 0, 2, " P1 ", 1, 7, 1),"
    " (2500, 2600, 1, 3, " P2 ", 1, 8, 1),"
    " (7000123456, 7000123456, 0, 99, " P1 ", 1, 7, 1);";

static char *export_text(llmprof_perfetto_counts *written) {
  static char path[300];
  snprintf(path, sizeof path, "%s/out.json", test_folder());
  llmprof_trace *trace = test_trace(sql);
  llmprof_error err = {0};
  if (!llmprof_perfetto_write(trace, path, false, written, &err))
    fail_msg("%s", err.message);
  llmprof_trace_close(trace);
  size_t size;
  char *text = (char *)test_read(path, &size);
  text[size] = '\0';
  return text;
}

#define GPU0(tid) "\"pid\":4194304,\"tid\":1677721" #tid
#define GPU1(tid) "\"pid\":4194305,\"tid\":1677721" #tid
#define CPU1      "\"pid\":100,\"tid\":101"
#define CPU2      "\"pid\":200,\"tid\":201"
#define NAME(what, where, name)                                              \
  "{\"ph\":\"M\",\"name\":\"" what "\"," where ",\"args\":{\"name\":\"" name \
  "\"}}"
#define SLICE(where, ts, dur, what) \
  "{\"ph\":\"X\"," where ",\"ts\":" ts ",\"dur\":" dur ",\"cat\":" what "}"
#define KERNEL_OF(id)                                    \
  "\"kernel\",\"name\":\"k<\\\"a\\\\b\\\">\",\"args\":{" \
  "\"correlation\":" #id "}"
#define LAUNCH "\"cat\":\"launch\",\"name\":\"launch\",\"id\":"
#define FLOW(id, from, start, to, end)                         \
  "{\"ph\":\"s\"," from ",\"ts\":" start "," LAUNCH #id "},\n" \
  "{\"ph\":\"f\"," to ",\"ts\":" end "," LAUNCH #id ",\"bp\":\"e\"}"

static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

TEST(text) {
  static const char *const lines[] = {
      NAME("process_name", "\"pid\":4194304", "GPU 0"),
      NAME("process_name", "\"pid\":4194305", "GPU 1"),
      NAME("process_name", "\"pid\":100", "process 100"),
      NAME("process_name", "\"pid\":200", "process 200"),
      NAME("thread_name", GPU0(6), "stream 7, context 1, process 100"),
      NAME("thread_name", GPU0(7), "stream 7, context 1, process 100, lane 2"),
      NAME("thread_name", GPU1(8), "stream 8, context 1, process 200"),
      NAME("thread_name", CPU1, "thread 101"),
      NAME("thread_name", "\"pid\":100,\"tid\":16777220", "thread 101, lane 2"),
      NAME("thread_name", CPU2, "thread 201"),
      SLICE(GPU0(6), "2.000", "1.000", KERNEL_OF(1)),
      FLOW(0, CPU1, "1.500", GPU0(6), "2.000"),
      SLICE(GPU0(7), "2.500", "1.001", KERNEL_OF(2)),
      FLOW(1, CPU1, "1.700", GPU0(7), "2.500"),
      SLICE(GPU1(8), "2.500", "0.100", KERNEL_OF(3)),
      FLOW(2, CPU2, "0.050", GPU1(8), "2.500"),
      SLICE(GPU0(6), "7000123.456", "0.000", KERNEL_OF(99)),
      SLICE(CPU1, "1.000", "8.000", "\"nvtx\",\"name\":\"prefill\""),
      SLICE("\"pid\":100,\"tid\":16777220", "8.000", "1.999",
            "\"nvtx\",\"name\":\"tail\\n\""),
      SLICE(CPU1, "1.500", "0.100", "\"api\",\"name\":\"cuLaunch\""),
      SLICE(CPU1, "1.700", "0.100", "\"api\",\"name\":\"cuLaunch\""),
      SLICE(CPU2, "0.050", "0.010", "\"api\",\"name\":\"cuLaunch\""),
  };
  llmprof_buffer wanted = {0};
  llmprof_buffer_puts(&wanted, head);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    if (i) llmprof_buffer_puts(&wanted, ",\n");
    llmprof_buffer_puts(&wanted, lines[i]);
  }
  llmprof_buffer_puts(&wanted, "\n]}\n");
  llmprof_perfetto_counts written;
  char *text = export_text(&written);
  assert_string_equal(text, wanted.bytes);
  free(text);
  llmprof_buffer_free(&wanted);
  const llmprof_perfetto_counts counts = {4, 2, 3, 3, 6, 0};
  assert_memory_equal(&written, &counts, sizeof counts);
}

/* ---- whatever happens ---- */

static bool export_packed(void *arg, llmprof_error *err) {
  const char *const *paths = arg;
  llmprof_trace *trace = llmprof_trace_open(paths[0], err);
  bool ok = trace && llmprof_perfetto_write(trace, paths[1], true, NULL, err);
  llmprof_trace_close(trace);
  return ok;
}

/* A kernel without a start, one that lasts longer than an int64_t holds, and a
 * sound one, which alone is drawn. */
TEST(impossible_times) {
  char path[300];
  snprintf(path, sizeof path, "%s/times.json", test_folder());
  llmprof_trace *trace = test_trace(EXPORT_TABLES KERNEL(NULL, 5, P1, 1) KERNEL(
      -9223372036854775807, 9223372036854775807, P1, 2) KERNEL(10, 20, P1, 3));
  llmprof_perfetto_counts written;
  llmprof_error err = {0};
  assert_true(llmprof_perfetto_write(trace, path, false, &written, &err));
  assert_int_equal(written.operations, 1);
  llmprof_trace_close(trace);
}

TEST(places_that_cannot_be_written) {
  const char *paths[] = {test_database("place.sqlite", sql),
                         "/proc/none/out.json"};
  llmprof_error err = {0};
  assert_false(export_packed(paths, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
}

static int count_files(void) {
  struct dirent **entries;
  int count = scandir(test_folder(), &entries, is_visible, NULL);
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  return count;
}

/* What fails leaves nothing behind. */
TEST(allocations) {
  char path[300];
  snprintf(path, sizeof path, "%s/packed.json.gz", test_folder());
  const char *paths[] = {test_database("packed.sqlite", sql), path};
  int before = count_files();
  test_every_allocation(export_packed, paths);
  assert_int_equal(count_files(), before + 1);
}
