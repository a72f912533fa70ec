/* ncu's raw page: what is read of it, and what is refused. */
#include "ncu/ncu_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frame/cells.h"
#include "support.h"
#include "text/metric_unit.h"

#define NVTX "PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
#define NONE ":none:none:none:none:none:none"

#define HEADER                                                             \
  "\"ID\",\"Process ID\",\"thread Domain:Push/Pop_Range:" NVTX             \
  "\",\"Id:Domain:Start/Stop_Range:" NVTX                                  \
  "\",\"Kernel Name\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\"," \
  "\"gpu__time_duration.sum\",\"dram__bytes.sum\",\"twice\",\"note\","     \
  "\"twice\"\n"
#define UNITS                                                                \
  "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"Mbyte\",\"\",\"\"," \
  "\"\"\n"
#define REST "\"1\",\"text\",\"2\"\n"

static double real(llmprof_frame *frame, const char *name, size_t row) {
  return llmprof_cell_real(test_cell(frame, name, row));
}

static const char page_text[] =
    "the workload prints \"Kernel Name\n==PROF== Connected\n" HEADER UNITS
    "\"0\",\"9\",\"1114  \"\"<default domain>:generate" NONE
    "\"\"  \"\"vllm:step 3" NONE "\"\" \",\"\",\"f<\"\"a\"\">(int)\",\"7\","
    "\"(128, 1, 1)\",\"(4, 20, 1)\",\"0\",\"2.5\",\"1,234.5\"," REST
    "==PROF== Disconnected\n" HEADER
    "\"0\",\"10\",\"\",\"\"\"3:<default domain>:request:9" NONE "\"\" \","
    "\"range\",\"n/a\",\"n/a\",\"n/a\",\"0\",\"(!) n/a\",\"nan\"," REST;

/* Metrics of the page. */
enum {
  DURATION,
  BYTES,
  NOTE
};

static const uint32_t figures[] = {DURATION, BYTES};

static llmprof_ncu_page *open_bytes(const char *bytes, size_t size,
                                    llmprof_error *err) {
  test_file("page", bytes, size);
  assert_int_equal(chdir(test_folder()), 0);
  return llmprof_ncu_page_open("page", err);
}

static llmprof_ncu_page *open_text(const char *bytes, llmprof_error *err) {
  return open_bytes(bytes, strlen(bytes), err);
}

TEST(metrics) {
  const char *unit;
  llmprof_ncu_page *page = open_text(page_text, NULL);
  assert_int_equal(llmprof_ncu_page_metrics(page), 3); /* none of "twice" */
  assert_string_equal(llmprof_ncu_page_metric(page, DURATION, &unit),
                      "gpu__time_duration.sum");
  assert_string_equal(unit, "s");
  llmprof_ncu_page_metric(page, BYTES, &unit);
  assert_string_equal(unit, "byte");
  llmprof_ncu_page_close(page);
}

TEST(rows) {
  static const struct {
    const char *name;
    int64_t first, second;
  } cells[] = {{"launch", 0, 0},
               {"pid", 9, 10},
               {"tid", 1114, LLMPROF_ABSENT},
               {"stream", 7, LLMPROF_ABSENT},
               {"context", LLMPROF_ABSENT, LLMPROF_ABSENT},
               {"correlation", LLMPROF_ABSENT, LLMPROF_ABSENT},
               {"block_x", 128, LLMPROF_ABSENT},
               {"grid_y", 20, LLMPROF_ABSENT},
               {"whole", LLMPROF_ABSENT, 1},
               {"line", 5, 8}};
  llmprof_ncu_page *page = open_text(page_text, NULL);
  llmprof_frame *frame = llmprof_ncu_page_counters(page, figures, 2, NULL);
  assert_int_equal(llmprof_frame_rows(frame), 2);
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
    assert_int_equal(test_cell(frame, cells[i].name, 0), cells[i].first);
    assert_int_equal(test_cell(frame, cells[i].name, 1), cells[i].second);
  }
  assert_string_equal(test_cell_text(frame, "source", 1), "ncu");
  assert_string_equal(test_cell_text(frame, "name", 0), "f<\"a\">(int)");
  assert_string_equal(test_cell_text(frame, "ranges", 0),
                      "generate\nvllm:step 3");
  assert_string_equal(test_cell_text(frame, "ranges", 1), "absent");
  assert_string_equal(test_cell_text(frame, "started", 1), "request:9");
  assert_true(real(frame, "gpu__time_duration.sum", 0) == 2.5 / 1e6);
  assert_true(real(frame, "dram__bytes.sum", 0) == 1234.5 * 1e6);
  assert_true(isnan(real(frame, "gpu__time_duration.sum", 1)));
  assert_true(isnan(real(frame, "dram__bytes.sum", 1)));
  llmprof_frame_free(frame);
  llmprof_ncu_page_close(page);
}

/* The ranges of a cell of a stack. */
static void ranges_are(const char *item, const char *wanted) {
  char row[1024];
  snprintf(row, sizeof row,
           HEADER UNITS "\"0\",\"9\",\"7  %s\",\"\",\"f\",\"7\",\"\",\"\","
                        "\"0\",\"1\",\"1\"," REST,
           item);
  llmprof_ncu_page *page = open_text(row, NULL);
  llmprof_frame *frame = llmprof_ncu_page_counters(page, NULL, 0, NULL);
  assert_string_equal(test_cell_text(frame, "ranges", 0), wanted);
  llmprof_frame_free(frame);
  llmprof_ncu_page_close(page);
}

TEST(ranges) {
  static const char *const names[] = {
      "aten::mm",       "a:b:c:",       ":",          "",
      "say \"\"hi\"\"", "x\"\"  \"\"y", "x\"\" \"\"", "  ",
      "(lambda) <T*>"};
  static const char *const plain[] = {
      "aten::mm", "a:b:c:",       ":", "", "say \"hi\"", "x\"  \"y", "x\" \"",
      "  ",       "(lambda) <T*>"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char item[256], wanted[64];
    snprintf(item, sizeof item,
             "\"\"<default domain>:%s" NONE "\"\"  \"\"d:z" NONE "\"\" ",
             names[i]);
    snprintf(wanted, sizeof wanted, "%s\nd:z", plain[i]);
    ranges_are(item, wanted);
  }
  ranges_are("\"\"<default domain>:step:int64:-5:argb:4294901760:ascii:text"
             "\"\" ",
             "step");
  ranges_are("\"\"a:c:d\"\" ", "a:c:d");
  ranges_are("\"\"plain\"\" ", "plain");
  ranges_are("no quotes", "absent");
  ranges_are("", "absent");
}

TEST(units) {
  static const struct {
    const char *text, *base;
    int power;
  } units[] = {
      {"", "", 0},
      {"%", "%", 0},
      {"us", "s", -6},
      {"usecond", "s", -6},
      {"ns", "s", -9},
      {"msecond", "s", -3},
      {"second", "s", 0},
      {"Kbyte", "byte", 3},
      {"Tbyte/second", "byte/s", 12},
      {"Kbyte/block", "byte/block", 3},
      {"byte/nsecond", "byte/s", 9},
      {"Ghz", "Hz", 9},
      {"GHz", "Hz", 9},
      {"cycle/nsecond", "Hz", 9},
      {"cycle/second", "Hz", 0},
      {"inst/cycle", "inst/cycle", 0},
      {"%/Kbyte", "%/byte", -3},
      {"furlong", "furlong", 0},
      {"Kfurlong/us", "Kfurlong/us", 0},
      {"us/furlong", "us/furlong", 0},
      {"Ms", "Ms", 0},
      {"mbyte", "mbyte", 0},
      {"/", "/", 0},
      {"us/", "us/", 0},
      {"/us", "/us", 0},
      {"byte/s/s", "byte/s/s", 0},
      {"K", "K", 0},
      {"byte ", "byte ", 0},
  };
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    llmprof_metric_unit unit = llmprof_metric_unit_read(units[i].text);
    assert_string_equal(unit.base, units[i].base);
    assert_int_equal(unit.power, units[i].power);
  }
  llmprof_metric_unit giga = llmprof_metric_unit_read("Gbyte");
  assert_true(isnan(llmprof_metric_unit_scale(&giga, 1e308)));
}

/* ---- what is refused ---- */

#define SHORT    "\"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\",\"a__b\"\n"
#define NO_UNITS "\"\",\"\",\"\",\"\",\"us\"\n"
#define ROW(id, grid, value) \
  "\"" id "\",\"9\",\"f\",\"" grid "\",\"" value "\"\n"

#define DETAILS                                                             \
  "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\"," \
  "\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n"
#define DETAIL(id, label, unit, value) \
  "\"" id "\",\"9\",\"f\",\"s\",\"" label "\",\"" unit "\",\"" value "\"\n"

/* Each row in its own unit; a label that two metrics have is told by that. */
TEST(details) {
  static const char bytes[] = DETAILS DETAIL("0", "Duration", "us", "2.50")
      DETAIL("0", "Memory Throughput", "%", "40")
          DETAIL("0", "Memory Throughput", "Gbyte/s", "1,234.5")
              DETAIL("0", "Duration", "us", "9") DETAIL(
                  "0", "No Such Label", "%",
                  "7") "\"0\",\"9\",\"f\",\"s\",\"\",\"\",\"\","
                       "\"SOLBottleneck\"\n" DETAIL("1", "Duration", "ms", "3")
                           DETAIL("1", "lts__t_bytes.sum", "Kbyte", "2");
  const char *unit;
  static const uint32_t all[] = {0, 1, 2, 3};
  llmprof_ncu_page *page = open_text(bytes, NULL);
  assert_int_equal(llmprof_ncu_page_metrics(page), 4);
  assert_string_equal(llmprof_ncu_page_metric(page, 2, &unit),
                      "dram__bytes.sum.per_second");
  assert_string_equal(unit, "byte/s");
  llmprof_frame *frame = llmprof_ncu_page_counters(page, all, 4, NULL);
  assert_int_equal(llmprof_frame_rows(frame), 2);
  assert_string_equal(test_cell_text(frame, "name", 0), "f");
  assert_true(real(frame, "gpu__time_duration.sum", 0) == 2.5 / 1e6);
  assert_true(real(frame, "dram__bytes.sum.per_second", 0) == 1234.5 * 1e9);
  assert_true(isnan(real(frame, "lts__t_bytes.sum", 0)));
  assert_true(real(frame, "gpu__time_duration.sum", 1) == 3 / 1e3);
  assert_true(real(frame, "lts__t_bytes.sum", 1) == 2000);
  llmprof_frame_free(frame);
  llmprof_ncu_page_close(page);
}

TEST(refused) {
  static const struct {
    const char *text;
    llmprof_code code;
    const char *message;
  } broken[] = {
      {"", LLMPROF_EMPTY, ": no CSV header with \"Kernel Name\""},
      {"1,2\n==WARNING== No kernels were profiled.\n", LLMPROF_EMPTY,
       ": no kernels were profiled"},
      {"ID;Kernel Name;a__b\n;;us\n0;f;1,5\n", LLMPROF_UNSUPPORTED,
       ": there are semicolons between its columns, where ncu --csv prints "
       "commas"},
      {"\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric "
       "Value\"\n\"0\",\"f\"\n",
       LLMPROF_UNSUPPORTED, ": no page of ncu"},
      {"\"Kernel Name\",\"Invocations\"\n", LLMPROF_UNSUPPORTED,
       ": no page of ncu"},
      {DETAILS "\"0\",\"9\",\"f\",\"\",\"Duration\",\"us\"\n", LLMPROF_SYNTAX,
       ":2: 6 fields where the header has 8: \"0\",\"9\",\"f\",\"\","
       "\"Duration\",\"us\""},
      {DETAILS DETAIL("0", "Duration", "us", "2,5"), LLMPROF_SYNTAX,
       ":2: gpu__time_duration.sum is not a number as LC_ALL=C has it: 2,5"},
      {DETAILS DETAIL("0", "Duration", "us", "2") DETAIL(
           "1", "Duration", "us", "2") DETAIL("0", "Duration", "us", "2"),
       LLMPROF_SYNTAX, ":4: ID 0 was on line 2 already"},
      {"\"ID\",\"Kernel Name\",\"ID\"\n", LLMPROF_SYNTAX,
       ": column 'ID' appears twice"},
      {SHORT, LLMPROF_EMPTY, ": no kernels were profiled"},
      {SHORT NO_UNITS SHORT, LLMPROF_EMPTY, ": no kernels were profiled"},
      {SHORT ROW("0", "", "1"), LLMPROF_SYNTAX,
       ":2: units row missing: the row after the header has ID 0"},
      {SHORT "\"\",\"us\"\n", LLMPROF_SYNTAX,
       ":2: 2 fields where the header has 5: \"\",\"us\""},
      {SHORT NO_UNITS ROW("0", "", "1") "\"1\",\"9\"\n", LLMPROF_SYNTAX,
       ":4: 2 fields where the header has 5: \"1\",\"9\""},
      {SHORT NO_UNITS "\"0\",\"9\",\"f\n", LLMPROF_SYNTAX,
       ":3: quoted field is never closed: \"0\",\"9\",\"f"},
      {SHORT NO_UNITS ROW("zero", "", "1"), LLMPROF_SYNTAX,
       ":3: ID is not a number: zero"},
      {SHORT NO_UNITS ROW("0.5", "", "1"), LLMPROF_SYNTAX,
       ":3: ID is not a number: 0.5"},
      {SHORT NO_UNITS ROW("0", "(2, 1)", "1"), LLMPROF_SYNTAX,
       ":3: Grid Size is not (x, y, z): (2, 1)"},
      {SHORT NO_UNITS ROW("0", "(2, 1, -1)", "1"), LLMPROF_SYNTAX,
       ":3: Grid Size is not (x, y, z): (2, 1, -1)"},
      {SHORT NO_UNITS ROW("0", "", "1") ROW("1", "", "1") ROW("0", "", "2"),
       LLMPROF_SYNTAX, ":5: ID 0 was on line 3 already"},
      {SHORT NO_UNITS ROW("0", "", "1") ROW("1", "",
                                            "33,728"
                                            "000"),
       LLMPROF_SYNTAX,
       ":4: a__b is not a number as LC_ALL=C has it: 33,728000"},
      {SHORT NO_UNITS ROW("0", "", "inf"), LLMPROF_SYNTAX,
       ":3: a__b is not a number as LC_ALL=C has it: inf"},
      {SHORT NO_UNITS ROW("0", "", "a\nb"), LLMPROF_SYNTAX,
       ":3: a__b is not a number as LC_ALL=C has it: a?b"},
  };
  static const uint32_t all[] = {0};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    llmprof_error err = {0};
    llmprof_ncu_page *page = open_text(broken[i].text, &err);
    if (page) assert_null(llmprof_ncu_page_counters(page, all, 1, &err));
    llmprof_ncu_page_close(page);
    test_error_of(&err, broken[i].code, "page", broken[i].message);
  }
}

TEST(long_names) {
  enum {
    SIZE = 20000
  };
  static char bytes[2 * SIZE];
  int size = snprintf(bytes, sizeof bytes, "%s%s\"x", SHORT, NO_UNITS);
  memset(bytes + size, 'y', SIZE);
  strcpy(bytes + size + SIZE, "\",\"9\",\"f\",\"\",\"1\"\n");
  llmprof_error err = {0};
  llmprof_ncu_page *page = open_text(bytes, &err);
  assert_null(llmprof_ncu_page_counters(page, NULL, 0, &err));
  assert_true(strlen(err.message) < 120);
  llmprof_ncu_page_close(page);
}

/* ---- any input ---- */

static bool read_page(const char *bytes, size_t size, llmprof_error *err) {
  llmprof_ncu_page *page = open_bytes(bytes, size, err);
  llmprof_frame *frame =
      page ? llmprof_ncu_page_counters(page, figures, 2, err) : NULL;
  llmprof_frame_free(frame);
  llmprof_ncu_page_close(page);
  return frame != NULL;
}

static void cut(const char *bytes, size_t size) {
  llmprof_error err = {0};
  if (read_page(bytes, size, &err)) return;
  assert_true(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_EMPTY);
  assert_true(err.code == LLMPROF_EMPTY || err.line > 0);
}

TEST(prefixes) {
  test_every_prefix(page_text, sizeof page_text - 1, cut);
}

static bool read_once(void *arg, llmprof_error *err) {
  return read_page(page_text, sizeof page_text - 1, err);
}

TEST(allocations) {
  test_every_allocation(read_once, NULL);
}
