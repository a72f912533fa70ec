#include "text/format.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#define MICRO "\xC2\xB5s"

static void assert_value(llmprof_quantity quantity, double value,
                         const llmprof_format *format, const char *expected) {
  llmprof_buffer buf = {0};
  print_message("expect \"%s\"\n", expected);
  assert_true(llmprof_format_number(&buf, quantity, value, format));
  assert_string_equal(buf.bytes, expected);
  llmprof_buffer_free(&buf);
}

static void assert_plain(double value, int digits, const char *expected) {
  assert_value(LLMPROF_PLAIN, value, &(llmprof_format){.digits = digits},
               expected);
}

TEST(rounding) {
  assert_plain(0, 0, "0");
  assert_plain(0, 2, "0.00");
  assert_plain(0.125, 2, "0.13");
  assert_plain(-0.125, 2, "-0.13");
  assert_plain(0.375, 2, "0.38");
  assert_plain(2.675, 2, "2.67"); /* a little less, as a double */
  assert_plain(0.5, 0, "1");
  assert_plain(1.5, 0, "2");
  assert_plain(2.5, 0, "3");
  assert_plain(-2.5, 0, "-3");
  assert_plain(0.49999999999999994, 0, "0");
  assert_plain(999.9996, 3, "1000.000");
  assert_plain(9.995, 1, "10.0");
  assert_plain(-0.001, 2, "0.00");
  assert_plain(-0.0, 1, "0.0");
  assert_plain(0.1, 20, "0.10000000000000000555");
  assert_plain(DBL_MIN, 20, "0.00000000000000000000");
  assert_plain(DBL_TRUE_MIN, 0, "0");
  assert_plain(1e-20, 20, "0.00000000000000000001");
  assert_plain(1e300, 0,
               "100000000000000005250476025520442024870446858110815915491585"
               "411551180245798890819578637137508044786404370444383288387817"
               "694252323536043057564479218478670698284838720092657580373783"
               "023379478809005936895323497079994508111903896764088007465274"
               "278014249457925878882005684283811566947219638686545940054016"
               "0");
}

static void assert_integer(llmprof_quantity quantity, int64_t value,
                           const llmprof_format *format, const char *expected) {
  llmprof_buffer buf = {0};
  assert_true(llmprof_format_integer(&buf, quantity, value, format));
  assert_string_equal(buf.bytes, expected);
  llmprof_buffer_free(&buf);
}

TEST(integers) {
  const llmprof_format plain = {0}, two = {.digits = 2, .separator = ","},
                       own = {.digits = LLMPROF_OWN_DIGITS};
  assert_integer(LLMPROF_PLAIN, INT64_MAX, &plain, "9223372036854775807");
  assert_integer(LLMPROF_PLAIN, INT64_MIN, &plain, "-9223372036854775808");
  assert_integer(LLMPROF_PLAIN, 0, &plain, "0");
  assert_integer(LLMPROF_PLAIN, 35512, &two, "35,512.00");
  assert_integer(LLMPROF_DURATION, 1245000, &own, "1.25 ms");
  assert_integer(LLMPROF_DURATION, -1245000, &own, "-1.25 ms");
  assert_integer(LLMPROF_DURATION, 1700000000000000001, &two,
                 "1,700,000,000.00 s");
  assert_integer(LLMPROF_BINARY, 1536, &own, "1.50 KiB");
  assert_integer(LLMPROF_PERCENT, 1, &own, "100.0%");
  assert_false(llmprof_format_integer(NULL, LLMPROF_PLAIN, 1,
                                      &(llmprof_format){.digits = 21}));
}

TEST(separators) {
  static const struct {
    long long value;
    const char *expected;
  } cases[] = {
      {0, "0"},
      {7, "7"},
      {-7, "-7"},
      {999, "999"},
      {1000, "1,000"},
      {-1000, "-1,000"},
      {35512, "35,512"},
      {123456, "123,456"},
      {1234567, "1,234,567"},
  };
  const llmprof_format comma = {.separator = ","};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_value(LLMPROF_PLAIN, (double)cases[i].value, &comma,
                 cases[i].expected);
    assert_integer(LLMPROF_PLAIN, cases[i].value, &comma, cases[i].expected);
  }
  assert_value(LLMPROF_PLAIN, 1234567.125,
               &(llmprof_format){.digits = 2, .separator = "\xE2\x80\xAF"},
               "1\xE2\x80\xAF"
               "234\xE2\x80\xAF"
               "567.13");
}

static void assert_auto(llmprof_quantity quantity, double value,
                        const char *expected) {
  assert_value(quantity, value, &(llmprof_format){.digits = LLMPROF_OWN_DIGITS},
               expected);
}

TEST(durations) {
  assert_auto(LLMPROF_DURATION, 0, "0 ns");
  assert_auto(LLMPROF_DURATION, 999, "999 ns");
  assert_auto(LLMPROF_DURATION, 999.5, "1.00 " MICRO);
  assert_auto(LLMPROF_DURATION, 1000, "1.00 " MICRO);
  assert_auto(LLMPROF_DURATION, 999994, "999.99 " MICRO);
  assert_auto(LLMPROF_DURATION, 999995, "1.00 ms");
  assert_auto(LLMPROF_DURATION, 1235000, "1.24 ms");
  assert_auto(LLMPROF_DURATION, 1245000, "1.25 ms");
  assert_auto(LLMPROF_DURATION, -1245000, "-1.25 ms");
  assert_auto(LLMPROF_DURATION, 3661.5e9, "3661.50 s");
  assert_value(
      LLMPROF_DURATION, 5,
      &(llmprof_format){.unit = llmprof_unit_named(LLMPROF_DURATION, "s"),
                        .digits = 9},
      "0.000000005 s");
  assert_value(
      LLMPROF_DURATION, 127771591377.0,
      &(llmprof_format){.unit = llmprof_unit_named(LLMPROF_DURATION, "us"),
                        .digits = LLMPROF_OWN_DIGITS,
                        .separator = ",",
                        .bare = true},
      "127,771,591.38");
}

TEST(bytes) {
  assert_auto(LLMPROF_BYTES, 999, "999 B");
  assert_auto(LLMPROF_BYTES, 1000, "1.00 kB");
  assert_auto(LLMPROF_BYTES, 150754820096.0, "150.75 GB");
  assert_auto(LLMPROF_BINARY, 1023, "1023 B");
  assert_auto(LLMPROF_BINARY, 1024, "1.00 KiB");
  assert_auto(LLMPROF_BINARY, 1048575, "1.00 MiB");
  assert_auto(LLMPROF_BINARY, 150754820096.0, "140.40 GiB");
  assert_auto(LLMPROF_BINARY, 18446744073709551615.0, "16.00 EiB");
  assert_value(
      LLMPROF_BINARY, 1,
      &(llmprof_format){.unit = llmprof_unit_named(LLMPROF_BINARY, "KiB"),
                        .digits = 10},
      "0.0009765625 KiB");
}

TEST(rates_and_percent) {
  llmprof_format rate = {.digits = LLMPROF_OWN_DIGITS, .suffix = "FLOP/s"};
  assert_value(LLMPROF_SI, 789.125e12, &rate, "789.13 TFLOP/s");
  assert_value(LLMPROF_SI, 12, &rate, "12.00 FLOP/s");
  assert_value(LLMPROF_SI, 1e22, &rate, "10000.00 EFLOP/s");
  rate.suffix = "tok/s";
  rate.unit = llmprof_unit_named(LLMPROF_SI, "");
  rate.separator = ",";
  assert_value(LLMPROF_SI, 12345.625, &rate, "12,345.63 tok/s");
  rate.suffix = NULL;
  assert_value(LLMPROF_SI, 1, &rate, "1.00");
  assert_auto(LLMPROF_PERCENT, 0.35156, "35.2%");
  assert_auto(LLMPROF_PERCENT, 1, "100.0%");
  assert_auto(LLMPROF_PERCENT, 0.0625, "6.3%");
  assert_value(LLMPROF_PERCENT, 0.00015, &(llmprof_format){.digits = 0}, "0%");
}

TEST(units) {
  int count;
  const llmprof_unit *units = llmprof_units(LLMPROF_DURATION, &count);
  assert_int_equal(count, 4);
  assert_string_equal(units[1].name, "us");
  assert_null(llmprof_unit_named(LLMPROF_DURATION, "min"));
  assert_ptr_equal(llmprof_unit_for(LLMPROF_DURATION, 12e6, 2), &units[2]);
  assert_ptr_equal(llmprof_unit_for(LLMPROF_DURATION, -12e6, 2), &units[2]);
  assert_ptr_equal(llmprof_unit_for(LLMPROF_DURATION, 999.6e3, 0), &units[2]);
  assert_ptr_equal(llmprof_unit_for(LLMPROF_DURATION, 999.6e3, 1), &units[1]);
  assert_null(llmprof_unit_for(LLMPROF_DURATION, INFINITY, 2));
  assert_null(llmprof_unit_for(LLMPROF_DURATION, 1, 21));
}

TEST(refusals) {
  llmprof_buffer buf = {0};
  const llmprof_format format = {0}, bad = {.digits = 21},
                       worse = {.digits = -2};
  assert_false(llmprof_format_number(&buf, LLMPROF_PLAIN, NAN, &format));
  assert_false(llmprof_format_number(&buf, LLMPROF_PLAIN, INFINITY, &format));
  assert_false(llmprof_format_number(&buf, LLMPROF_SI, -INFINITY, &format));
  assert_false(llmprof_format_number(&buf, LLMPROF_PLAIN, 1, &bad));
  assert_false(llmprof_format_number(&buf, LLMPROF_PLAIN, 1, &worse));
  assert_null(buf.bytes);
}

/* Against printf, which rounds ties to even: equal wherever none is. */
TEST(against_printf) {
  unsigned long long seed = 1;
  for (int i = 0; i < 20000; i++) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    double value = ldexp((double)(seed >> 11), (int)(seed % 120) - 100);
    int digits = (int)((seed >> 20) % 10);
    char expected[400];
    snprintf(expected, sizeof expected, "%.*f", digits, value);
    double scaled = ldexp(value, digits); /* a tie needs 2^-(digits+1) */
    if (scaled - floor(scaled) == 0.5) continue;
    llmprof_buffer buf = {0};
    assert_true(llmprof_format_number(&buf, LLMPROF_PLAIN, value,
                                      &(llmprof_format){.digits = digits}));
    assert_string_equal(buf.bytes, expected);
    llmprof_buffer_free(&buf);
  }
}

/* Decimals that end in a five, which few doubles are: each is on one side of
 * it. */
TEST(next_to_a_half) {
  for (int i = 1; i < 20000; i++) {
    double value = i * 0.0005;
    char expected[64];
    if (i % 125 == 0) continue; /* in eighths: may be a tie */
    snprintf(expected, sizeof expected, "%.3f", value);
    llmprof_buffer buf = {0};
    assert_true(llmprof_format_number(&buf, LLMPROF_PLAIN, value,
                                      &(llmprof_format){.digits = 3}));
    assert_string_equal(buf.bytes, expected);
    llmprof_buffer_free(&buf);
  }
}

TEST(any_locale) {
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!setlocale(LC_ALL, names[i])) continue;
    assert_plain(1234.5, 2, "1234.50");
  }
  setlocale(LC_ALL, "C");
}

static bool fill_buffer(void *arg, llmprof_error *err) {
  llmprof_buffer buf = {0};
  llmprof_format_number(&buf, LLMPROF_DURATION, 1e300,
                        &(llmprof_format){.digits = 3, .separator = ","});
  bool ok = !buf.failed || llmprof_fail_nomem(err);
  llmprof_buffer_free(&buf);
  return ok;
}

TEST(allocations) {
  test_every_allocation(fill_buffer, NULL);
}
