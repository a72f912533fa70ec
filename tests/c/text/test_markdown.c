#include "text/markdown.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

#define S(text)            \
  (llmprof_slice) {        \
    text, sizeof(text) - 1 \
  }

typedef void (*writer)(llmprof_buffer *out, const char *text, size_t size);

static void assert_written(writer write, const char *text,
                           const char *expected) {
  llmprof_buffer buf = {0};
  print_message("write \"%s\"\n", text);
  write(&buf, text, strlen(text));
  assert_string_equal(buf.bytes ? buf.bytes : "", expected);
  llmprof_buffer_free(&buf);
}

TEST(escaping) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"", ""},
      {"plain text, 1.5", "plain text, 1.5"},
      {"<script>", "&lt;script&gt;"},
      {"a<b> && &amp;", "a&lt;b&gt; &amp;&amp; &amp;amp;"},
      {"*p[0] `x` ~T $1 a|b c\\d", "\\*p\\[0] \\`x\\` \\~T \\$1 a\\|b c\\\\d"},
      {"vector_add__2", "vector_add__2"},
      {"_Z3f_ __init__", "\\_Z3f\\_ \\_\\_init\\_\\_"},
      {"\xE4\xB8\xAD_x", "\xE4\xB8\xAD\\_x"},
      {"a\nb\r\nc\rd\n", "a<br>b<br>c<br>d<br>"},
      {"  a b ", "&nbsp;&nbsp;a b&nbsp;"},
      {"a\tb", "a b"},
      {"   ", "&nbsp;&nbsp;&nbsp;"},
      {"\x1B[0m\xFF", LLMPROF_REPLACEMENT "\\[0m" LLMPROF_REPLACEMENT},
      {"https://a.b/_c", "https:\\//a.b/\\_c"},
      {"www.a.b C:/x", "www\\.a.b C:/x"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_written(llmprof_markdown_escape, cases[i].text, cases[i].expected);
    assert_written(llmprof_markdown_inline, cases[i].text, cases[i].expected);
  }
}

TEST(escaping_at_the_start_of_a_line) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"# a", "\\# a"},     {"C #", "C \\#"},
      {"C# a#1", "C# a#1"}, {"- a", "\\- a"},
      {"-1", "-1"},         {"---", "\\---"},
      {"-", "\\-"},         {"+ a", "\\+ a"},
      {"a - b", "a - b"},   {"===", "\\==="},
      {"1. a", "1\\. a"},   {"12) a", "12\\) a"},
      {"1.5 ms", "1.5 ms"}, {"a 1. b", "a 1. b"},
      {"1.", "1\\."},       {"1234567890. a", "1234567890. a"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_written(llmprof_markdown_escape, cases[i].text, cases[i].expected);
    assert_written(llmprof_markdown_inline, cases[i].text, cases[i].text);
  }
}

TEST(code) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"", ""},
      {"void f<4>(int*)", "`void f<4>(int*)`"},
      {"a`b", "``a`b``"},
      {"`a``", "``` `a`` ```"},
      {" a ", "`  a  `"},
      {" a", "` a`"},
      {"  ", "`  `"},
      {"a\\", "`a\\`"},
      {"a\tb\x01", "`a b" LLMPROF_REPLACEMENT "`"},
      {"a|*b", "<code>a\\|\\*b</code>"},
      {"a\n`b`", "<code>a<br>\\`b\\`</code>"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_written(llmprof_markdown_code, cases[i].text, cases[i].expected);
}

static const llmprof_markdown_column two_columns[] = {
    {.title = {"Kernel", 6}},
    {.title = {"n|s", 3}, .align = LLMPROF_RIGHT},
};

static void assert_table(const llmprof_markdown_table *table,
                         const char *expected, const char *expected_notes) {
  llmprof_buffer out = {0}, notes = {0};
  llmprof_error err;
  size_t count = 99, lines = 0;
  assert_true(llmprof_markdown_render(&out, &notes, table, &count, &err));
  assert_string_equal(out.bytes, expected);
  assert_string_equal(notes.bytes ? notes.bytes : "", expected_notes);
  for (const char *c = expected_notes; *c; c++) lines += *c == '\n';
  assert_int_equal(count, lines);
  llmprof_buffer_free(&out);
  llmprof_buffer_free(&notes);
}

TEST(table) {
  const llmprof_slice cells[] = {
      S("gemm<4>"),  S("1.25"), S("\xE4\xB8\xAD"),
      S("1,234.50"), S("a|b"),  {NULL, 0},
  };
  assert_table(&(llmprof_markdown_table){two_columns, 2, cells, 3, NULL, 1},
               "| Kernel        |     n\\|s |\n"
               "| :------------ | -------: |\n"
               "| gemm&lt;4&gt; |     1.25 |\n"
               "| \xE4\xB8\xAD            | 1,234.50 |\n"
               "| a\\|b          |          |\n",
               "");
}

TEST(small_tables) {
  assert_table(&(llmprof_markdown_table){two_columns, 2, NULL, 0, NULL, 1},
               "| Kernel | n\\|s |\n"
               "| :----- | ---: |\n",
               "");
  const llmprof_markdown_column column = {.align = LLMPROF_RIGHT};
  const llmprof_slice cells[] = {S("a"), S("")};
  assert_table(&(llmprof_markdown_table){&column, 1, cells, 2, NULL, 1},
               "|     |\n"
               "| --: |\n"
               "|   a |\n"
               "|     |\n",
               "");
}

TEST(footnotes) {
  const llmprof_markdown_column columns[] = {
      {.title = {"Kernel", 6}, .max = 8, .code = true},
      {.title = {"Operator", 8}, .max = 6},
  };
  const llmprof_slice cells[] = {
      S("void at::fill(Params)"),
      S("aten::mm"),
      S("gemm"),
      S("aten"),
      S("void at::fill(Params)"),
      S("aten::bmm"),
      S("void at::full(Params)"),
      S("aten::mm"),
  };
  assert_table(&(llmprof_markdown_table){columns, 2, cells, 4, "n", 7},
               "| Kernel            | Operator     |\n"
               "| :---------------- | :----------- |\n"
               "| `void \xE2\x80\xA6s)` [^n7]  | ate\xE2\x80\xA6mm [^n8] |\n"
               "| `gemm`            | aten         |\n"
               "| `void \xE2\x80\xA6s)` [^n7]  | ate\xE2\x80\xA6mm [^n9] |\n"
               "| `void \xE2\x80\xA6s)` [^n10] | ate\xE2\x80\xA6mm [^n8] |\n",
               "[^n7]: `void at::fill(Params)`\n"
               "[^n8]: aten::mm\n"
               "[^n9]: aten::bmm\n"
               "[^n10]: `void at::full(Params)`\n");
}

TEST(many_footnotes) {
  enum {
    ROWS = 5000
  };
  static char names[ROWS][16];
  static llmprof_slice cells[2 * ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    int size = snprintf(names[i], sizeof names[i], "kernel<%zu>", i);
    cells[i] = cells[i + ROWS] = (llmprof_slice){names[i], (size_t)size};
  }
  const llmprof_markdown_column column = {.title = {"k", 1}, .max = 5};
  llmprof_markdown_table table = {&column, 1, cells, 2 * ROWS, NULL, 1};
  llmprof_buffer out = {0}, notes = {0};
  size_t count;
  assert_true(llmprof_markdown_render(&out, &notes, &table, &count, NULL));
  assert_int_equal(count, ROWS);
  assert_non_null(strstr(notes.bytes, "[^k5000]: kernel&lt;4999&gt;\n"));
  assert_null(strstr(out.bytes, "[^k5001]"));
  llmprof_buffer_free(&out);
  llmprof_buffer_free(&notes);
}

TEST(long_cells_do_not_widen_the_table) {
  static char text[20000];
  memset(text, 'x', sizeof text);
  const llmprof_markdown_column column = {.title = {"k", 1}};
  llmprof_slice cells[] = {{text, sizeof text}, S("y")};
  llmprof_markdown_table table = {&column, 1, cells, 2, NULL, 1};
  llmprof_buffer out = {0}, notes = {0};
  size_t count;
  assert_true(llmprof_markdown_render(&out, &notes, &table, &count, NULL));
  assert_int_equal(out.size, 3 * (100 + 5) + 20000 + 5);
  llmprof_buffer_free(&out);
  llmprof_buffer_free(&notes);
}

static const llmprof_markdown_column any_columns[] = {
    {.title = {"a", 1}, .max = 3},
    {.title = {"b", 1}, .max = 5, .code = true},
    {.title = {"c", 1}, .align = LLMPROF_RIGHT},
};

static bool render_once(void *arg, llmprof_error *err) {
  const llmprof_slice cells[] = {S("abcdef"), S("abcdefgh"), S("x|y"),
                                 S("ghijkl"), S("a|b"),      S("")};
  llmprof_markdown_table table = {any_columns, 3, cells, 2, NULL, 1};
  llmprof_buffer out = {0}, notes = {0};
  size_t count;
  bool ok = llmprof_markdown_render(&out, &notes, &table, &count, err);
  llmprof_buffer_free(&out);
  llmprof_buffer_free(&notes);
  return ok;
}

TEST(allocations) {
  test_every_allocation(render_once, NULL);
}
