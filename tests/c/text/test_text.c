#include "text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* What Unicode calls U+FFFD, and the pieces that the cases are built of. */
#define FFFD   "\xEF\xBF\xBD"
#define DOTS   "\xE2\x80\xA6"
#define ACUTE  "\xCC\x81"         /* U+0301, combining */
#define ZWJ    "\xE2\x80\x8D"     /* U+200D */
#define VS16   "\xEF\xB8\x8F"     /* U+FE0F */
#define KEY    "\xE2\x83\xA3"     /* U+20E3, keycap */
#define ZHONG  "\xE4\xB8\xAD"     /* U+4E2D, wide */
#define WEN    "\xE6\x96\x87"     /* U+6587, wide */
#define HEART  "\xE2\x9D\xA4"     /* U+2764, narrow without VS16 */
#define WOMAN  "\xF0\x9F\x91\xA9" /* U+1F469 */
#define GIRL   "\xF0\x9F\x91\xA7" /* U+1F467 */
#define FIRE   "\xF0\x9F\x94\xA5" /* U+1F525 */
#define TONE   "\xF0\x9F\x8F\xBD" /* U+1F3FD, skin tone */
#define RI_D   "\xF0\x9F\x87\xA9" /* U+1F1E9 */
#define RI_E   "\xF0\x9F\x87\xAA" /* U+1F1EA */
#define FAMILY WOMAN ZWJ WOMAN ZWJ GIRL

static const struct {
  const char *text;
  size_t columns, clusters;
} widths[] = {
    {"", 0, 0},
    {"abc", 3, 3},
    {"a\tb\n\x1B\x7F", 2, 6},
    {"e" ACUTE "e" ACUTE, 2, 2},
    {ACUTE, 0, 1},
    {ZHONG WEN, 4, 2},
    {"\xEF\xBC\xA1", 2, 1},                         /* fullwidth A */
    {"\xEF\xBD\xB1", 1, 1},                         /* halfwidth katakana */
    {"\xED\x95\x9C", 2, 1},                         /* Hangul, composed */
    {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 2, 1}, /* ... conjoining */
    {"\xE0\xA4\x95\xE0\xA4\xBE", 2, 1}, /* Devanagari and a spacing mark */
    {"a\xE2\x80\x8B"
     "b",
     2, 3},                          /* zero width space: an end, UAX #29 */
    {"\xC2\xAD", 1, 1},              /* soft hyphen */
    {DOTS "\xC2\xB5\xC3\x97", 3, 3}, /* ellipsis, micro, times */
    {FIRE, 2, 1},
    {HEART, 1, 1},
    {HEART VS16, 2, 1},
    {HEART VS16 ZWJ FIRE, 2, 1},
    {FAMILY, 2, 1},
    {FAMILY "x", 3, 2},
    {WOMAN TONE, 2, 1},
    {"a" TONE, 3, 1},
    {TONE, 2, 1},
    {RI_D RI_E, 2, 1},
    {RI_D RI_E RI_D, 4, 2},
    {RI_D "e", 3, 2},
    {"1" VS16 KEY "#" VS16 KEY, 4, 2},
    {"1" KEY, 1, 1},
    {"a" VS16, 1, 1},
    {ZHONG ZWJ FIRE, 4, 2}, /* joins emoji only */
    {WOMAN ZWJ "a", 3, 2},
    {"1" ZWJ FIRE, 3, 2},
    {"\xF0\x9F\xAB\x9F", 2, 1}, /* an emoji after Unicode 15 */
    {"\xFF\xFE", 2, 2},
    {"\xE4\xB8", 1, 1},
    {"\xE4\xB8"
     "a",
     2, 2},
    {"\xED\xA0\x80", 3, 3},     /* a surrogate */
    {"\xC0\x80", 2, 2},         /* overlong NUL */
    {"\xF4\x90\x80\x80", 4, 4}, /* above U+10FFFF */
    {"\xF0\x9F\x91", 1, 1},
};

TEST(widths) {
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    const char *text = widths[i].text;
    size_t size = strlen(text), clusters = 0, width;
    print_message("width of \"%s\"\n", text);
    assert_int_equal(llmprof_text_width(text, size), widths[i].columns);
    for (size_t at = 0; at < size; clusters++)
      at += llmprof_text_cluster(text + at, size - at, &width);
    assert_int_equal(clusters, widths[i].clusters);
  }
  assert_int_equal(llmprof_text_width(NULL, 0), 0);
  assert_int_equal(llmprof_text_width("a\0b", 3), 2);
}

static void assert_decoded(const char *text, size_t taken, uint32_t code) {
  uint32_t got;
  print_message("decode \"%s\"\n", text);
  assert_int_equal(llmprof_utf8_decode(text, strlen(text), &got), taken);
  assert_int_equal(got, code);
}

TEST(decoding) {
  assert_decoded("", 0, 0xFFFD);
  assert_decoded("A", 1, 'A');
  assert_decoded("\xC2\x80", 2, 0x80);
  assert_decoded("\xDF\xBF", 2, 0x7FF);
  assert_decoded("\xE0\xA0\x80", 3, 0x800);
  assert_decoded("\xED\x9F\xBF", 3, 0xD7FF);
  assert_decoded("\xEE\x80\x80", 3, 0xE000);
  assert_decoded("\xF0\x90\x80\x80", 4, 0x10000);
  assert_decoded("\xF4\x8F\xBF\xBF", 4, 0x10FFFF);
  assert_decoded("\x80", 1, 0xFFFD);
  assert_decoded("\xC1\xBF", 1, 0xFFFD);
  assert_decoded("\xE0\x9F\xBF", 1, 0xFFFD);
  assert_decoded("\xED\xA0\x80", 1, 0xFFFD);
  assert_decoded("\xF0\x8F\xBF\xBF", 1, 0xFFFD);
  assert_decoded("\xF4\x90\x80\x80", 1, 0xFFFD);
  assert_decoded("\xF5\x80\x80\x80", 1, 0xFFFD);
  assert_decoded("\xE4\xB8"
                 "A",
                 2, 0xFFFD);
  assert_decoded("\xF0\x9F\x91", 3, 0xFFFD);
}

/* The bytes of a character above U+007F; how many. */
static size_t encode(uint32_t code, char text[4]) {
  size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {[2] = 0xC0, [3] = 0xE0, [4] = 0xF0};
  for (size_t i = size; i > 1; i--, code >>= 6)
    text[i - 1] = (char)(0x80 | (code & 0x3F));
  text[0] = (char)(first[size] | code);
  return size;
}

/* Every code there is: encoded, it decodes to itself and stays in bounds. */
TEST(every_code) {
  for (uint32_t code = 0x80; code <= 0x10FFFF; code++) {
    if (code == 0xD800) code = 0xE000;
    char text[4];
    size_t size = encode(code, text), width;
    uint32_t got;
    assert_int_equal(llmprof_utf8_decode(text, size, &got), size);
    assert_int_equal(got, code);
    assert_int_equal(llmprof_text_cluster(text, size, &width), size);
    assert_true(width <= 2);
  }
}

static void assert_buffer(llmprof_buffer *buf, const char *expected) {
  assert_false(buf->failed);
  assert_string_equal(buf->bytes ? buf->bytes : "", expected);
  assert_int_equal(buf->size, strlen(expected));
  llmprof_buffer_free(buf);
}

static void assert_truncated(const char *text, size_t columns,
                             llmprof_ellipsis place, const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_text_truncate(&buf, text, strlen(text), columns, place);
  assert_true(llmprof_text_width(expected, strlen(expected)) <= columns);
  assert_buffer(&buf, expected);
}

TEST(truncating) {
  static const char name[] = "void at::native::elementwise<4>(Params)";
  assert_truncated(name, 21, LLMPROF_MIDDLE, "void at::nati" DOTS "Params)");
  assert_truncated(name, 21, LLMPROF_END, "void at::native::ele" DOTS);
  assert_truncated(name, 39, LLMPROF_MIDDLE, name);
  assert_truncated(name, 38, LLMPROF_END,
                   "void at::native::elementwise<4>(Param" DOTS);
  assert_truncated(name, 4, LLMPROF_MIDDLE, "vo" DOTS ")");
  assert_truncated(name, 3, LLMPROF_MIDDLE, "v" DOTS ")");
  assert_truncated(name, 2, LLMPROF_MIDDLE, "v" DOTS);
  assert_truncated(name, 1, LLMPROF_MIDDLE, DOTS);
  assert_truncated(name, 0, LLMPROF_MIDDLE, "");
  assert_truncated("", 0, LLMPROF_END, "");
}

TEST(truncating_keeps_clusters_whole) {
  assert_truncated(ZHONG WEN ZHONG WEN, 6, LLMPROF_MIDDLE,
                   ZHONG DOTS WEN); /* half a column goes to waste */
  assert_truncated(ZHONG WEN ZHONG WEN, 5, LLMPROF_END, ZHONG WEN DOTS);
  assert_truncated(ZHONG WEN ZHONG WEN, 4, LLMPROF_END, ZHONG DOTS);
  assert_truncated(FAMILY "abc" FAMILY, 6, LLMPROF_MIDDLE,
                   FAMILY "a" DOTS FAMILY);
  assert_truncated(FAMILY FAMILY, 2, LLMPROF_MIDDLE, DOTS);
  assert_truncated("e" ACUTE "e" ACUTE "e" ACUTE "e" ACUTE, 3, LLMPROF_MIDDLE,
                   "e" ACUTE DOTS "e" ACUTE);
  assert_truncated(RI_D RI_E RI_D RI_E "!", 3, LLMPROF_END, RI_D RI_E DOTS);
}

static void assert_padded(const char *text, size_t columns, llmprof_align align,
                          const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_text_pad(&buf, text, strlen(text), columns, align);
  assert_buffer(&buf, expected);
}

TEST(padding) {
  assert_padded(ZHONG, 5, LLMPROF_LEFT, ZHONG "   ");
  assert_padded(ZHONG, 5, LLMPROF_RIGHT, "   " ZHONG);
  assert_padded(ZHONG, 1, LLMPROF_RIGHT, ZHONG);
  assert_padded("", 2, LLMPROF_LEFT, "  ");
  assert_padded("", 0, LLMPROF_RIGHT, "");
}

static void assert_cleaned(const char *text, size_t size,
                           const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_text_clean(&buf, text, size);
  assert_buffer(&buf, expected);
}

TEST(cleaning) {
  assert_cleaned("a\tb\nc\r\nd\re", 10, "a b c d e");
  assert_cleaned("\x1B[31mred\0", 9, FFFD "[31mred" FFFD);
  assert_cleaned("\xC2\x9B"
                 "x\xE2\x80\xA8",
                 6, FFFD "x" FFFD);
  assert_cleaned("\xFF" ZHONG "\xE4\xB8", 6, FFFD ZHONG FFFD);
  assert_cleaned("e" ACUTE, strlen("e" ACUTE), "e" ACUTE);
  assert_cleaned(NULL, 0, "");
}

/* A name must not read as another: "abc" RLO "fed". */
TEST(cleaning_bidi) {
  assert_cleaned("abc\xE2\x80\xAE"
                 "fed",
                 9, "abc\\u{202e}fed");
  assert_cleaned("\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F", 8,
                 "\\u{61c}\\u{200e}\\u{200f}");
  assert_cleaned("\xE2\x80\xA9\xE2\x80\xAA\xE2\x81\xA6\xE2\x81\xA9", 12,
                 FFFD "\\u{202a}\\u{2066}\\u{2069}");
}

/* What only an agent would read; and their neighbours, which have a shape. */
TEST(cleaning_invisible) {
  static const struct {
    uint32_t first, last;
  } unseen[] = {{0xAD, 0xAD},     {0x34F, 0x34F},    {0x61C, 0x61C},
                {0x115F, 0x1160}, {0x180E, 0x180E},  {0x200B, 0x200F},
                {0x2060, 0x2064}, {0x3164, 0x3164},  {0xFE00, 0xFE0F},
                {0xFEFF, 0xFEFF}, {0xE0000, 0xE01EF}};
  for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
    for (uint32_t code = unseen[i].first; code <= unseen[i].last; code++) {
      char text[4], expected[16];
      snprintf(expected, sizeof expected, "\\u{%" PRIx32 "}", code);
      assert_cleaned(text, encode(code, text), expected);
    }
  }
  assert_cleaned("\xC2\xAC\xC2\xAE\xE2\x80\x90", 7,
                 "\xC2\xAC\xC2\xAE\xE2\x80\x90");
  assert_cleaned(FAMILY, strlen(FAMILY),
                 WOMAN "\\u{200d}" WOMAN "\\u{200d}" GIRL);
}

/* Programs that compare bytes get them, but nothing that a terminal acts on. */
TEST(cleaning_exact) {
  llmprof_buffer buf = {0};
  const char text[] = "a\xE2\x80\x8F\xC2\xAD\x1B\n\xE2\x80\xAE\xFF";
  llmprof_text_clean_exact(&buf, text, sizeof text - 1);
  assert_buffer(&buf, "a\xE2\x80\x8F\xC2\xAD" FFFD "\n\\u{202e}" FFFD);
}

static void assert_cleaned_lines(const char *text, size_t size,
                                 const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_text_clean_lines(&buf, text, size);
  assert_buffer(&buf, expected);
}

TEST(cleaning_lines) {
  assert_cleaned_lines("a\tb\nc\r\nd\re\r", 11, "a\tb\nc\nd" FFFD "e" FFFD);
  assert_cleaned_lines("\x1B]0;x\x07\n\x7F", 8, FFFD "]0;x" FFFD "\n" FFFD);
  assert_cleaned_lines("", 0, "");
}

static void assert_html(const char *text, const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_text_html(&buf, text, strlen(text));
  assert_buffer(&buf, expected);
}

static bool write_html(void *arg, llmprof_error *err) {
  llmprof_buffer buf = {0};
  llmprof_text_html(&buf, arg, strlen(arg));
  bool ok = !buf.failed || llmprof_fail_nomem(err);
  llmprof_buffer_free(&buf);
  return ok;
}

TEST(html) {
  assert_html("", "");
  assert_html("a + b", "a + b");
  assert_html("<&>\"'", "&lt;&amp;&gt;&quot;&#39;");
  assert_html("f<int>(x) & y", "f&lt;int&gt;(x) &amp; y");
  assert_html("<\n\x1B" ZHONG ">", "&lt; " FFFD ZHONG "&gt;");
  assert_html(ZHONG, ZHONG);
  char odd[] = "<a\nb>";
  test_every_allocation(write_html, odd);
}

static void assert_repaired(const char *text, size_t size,
                            const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_text_repair(&buf, text, size);
  assert_int_equal(llmprof_text_is_sound(text, size),
                   strcmp(expected, "") == 0 ||
                       memcmp(buf.bytes, text, size) == 0);
  assert_buffer(&buf, expected);
}

TEST(repairing) {
  assert_repaired("k<int>\n" ZHONG, 10, "k<int>\n" ZHONG);
  assert_repaired("a\0b", 3, "a" FFFD "b");
  assert_repaired("\xFF" ZHONG "\xE4\xB8", 6, FFFD ZHONG FFFD);
  assert_repaired("\xED\xA0\x80", 3, FFFD FFFD FFFD);
  assert_repaired(NULL, 0, "");
}

static void assert_wrapped(const char *text, size_t columns,
                           const char *expected) {
  llmprof_buffer buf = {0};
  llmprof_slice line;
  size_t at = 0;
  print_message("wrap \"%s\" to %zu\n", text, columns);
  while (llmprof_text_wrap(text, strlen(text), columns, &at, &line)) {
    llmprof_buffer_putc(&buf, '[');
    llmprof_buffer_add(&buf, line.bytes, line.size);
    llmprof_buffer_putc(&buf, ']');
  }
  assert_buffer(&buf, expected);
}

TEST(wrapping) {
  assert_wrapped("", 10, "");
  assert_wrapped("one two three", 20, "[one two three]");
  assert_wrapped("one two three", 7, "[one two][three]");
  assert_wrapped("one two three", 8, "[one two][three]");
  assert_wrapped("one two three", 6, "[one][two][three]");
  assert_wrapped("one   two", 5, "[one][two]");
  assert_wrapped("one  two", 8, "[one  two]");
  assert_wrapped("one\ntwo\n\nthree\n", 9, "[one][two][][three]");
  assert_wrapped("one \r\n two", 9, "[one][ two]");
  assert_wrapped("one two \nx", 7, "[one two][x]");
  assert_wrapped("abcdefgh ij", 3, "[abc][def][gh][ij]");
  assert_wrapped("a abcdef", 4, "[a][abcd][ef]");
  assert_wrapped(ZHONG WEN ZHONG, 5, "[" ZHONG WEN "][" ZHONG "]");
  assert_wrapped(ZHONG WEN, 1, "[" ZHONG "][" WEN "]");
  assert_wrapped(FAMILY FAMILY, 3, "[" FAMILY "][" FAMILY "]");
  assert_wrapped("ab", 0, "[a][b]");
  assert_wrapped("   ", 2, "[]");
  assert_wrapped("\n", 2, "[]");
}

static bool fill_buffer(void *arg, llmprof_error *err) {
  llmprof_buffer buf = {0};
  static const char text[] = "void at::native::elementwise<4>(Params)";
  llmprof_text_truncate(&buf, text, sizeof text - 1, 30, LLMPROF_MIDDLE);
  llmprof_text_pad(&buf, text, sizeof text - 1, 99, LLMPROF_RIGHT);
  llmprof_text_clean(&buf, text, sizeof text - 1);
  bool ok = !buf.failed || llmprof_fail_nomem(err);
  llmprof_buffer_free(&buf);
  return ok;
}

TEST(allocations) {
  test_every_allocation(fill_buffer, NULL);
}
