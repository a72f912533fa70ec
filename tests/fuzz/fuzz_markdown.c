/* Any bytes as cells of a table: its source has a line per row and no cell
 * ends another. The first byte says how many columns, the second how wide. */
#include <string.h>

#include "fuzz.h"
#include "take.h"
#include "text/markdown.h"
#include "text/text.h"

enum {
  MOST_COLUMNS = 4,
  MOST_CELLS = 64
};

static size_t count(const llmprof_buffer *text, char what) {
  size_t found = 0;
  for (size_t i = 0; i < text->size; i++) found += text->bytes[i] == what;
  return found;
}

/* Pieces of the text between bytes 0xFE. */
static size_t cut(const char *text, size_t size, llmprof_slice *cells) {
  size_t made = 0, from = 0;
  for (size_t i = 0; i <= size && made < MOST_CELLS; i++) {
    if (i < size && (uint8_t)text[i] != 0xFE) continue;
    cells[made++] = (llmprof_slice){text + from, i - from};
    from = i + 1;
  }
  return made;
}

/* No character that a terminal acts on is left, but ends of lines. */
static void check_shown(const llmprof_buffer *text) {
  for (size_t at = 0; at < text->size;) {
    uint32_t code;
    at += llmprof_utf8_decode(text->bytes + at, text->size - at, &code);
    FUZZ_CHECK(code == '\n' || !llmprof_text_is_control(code));
  }
}

static void check_table(const llmprof_markdown_table *table) {
  llmprof_buffer out = {0}, notes = {0};
  size_t note_count;
  llmprof_error err;
  FUZZ_CHECK(llmprof_markdown_render(&out, &notes, table, &note_count, &err));
  FUZZ_CHECK(count(&out, '\n') == table->row_count + 2);
  FUZZ_CHECK(count(&notes, '\n') == note_count);
  check_shown(&out);
  check_shown(&notes);
  llmprof_buffer_free(&out);
  llmprof_buffer_free(&notes);
}

static void check_pieces(const char *text, size_t size) {
  llmprof_buffer out = {0};
  llmprof_markdown_escape(&out, text, size);
  llmprof_markdown_inline(&out, text, size);
  llmprof_markdown_code(&out, text, size);
  FUZZ_CHECK(!count(&out, '\n'));
  check_shown(&out);
  llmprof_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  taken input = {bytes, size};
  llmprof_markdown_column columns[MOST_COLUMNS] = {0};
  llmprof_slice cells[MOST_CELLS];
  size_t wide = 1 + take_below(&input, MOST_COLUMNS), left;
  uint8_t most = take_byte(&input);
  char *text = take_rest(&input, &left);
  size_t made = cut(text, left, cells);
  for (size_t i = 0; i < wide; i++)
    columns[i] = (llmprof_markdown_column){
        cells[i % made], (llmprof_align)(i % 2), i & 1 ? most : 0, most & 1};
  check_table(&(llmprof_markdown_table){.columns = columns,
                                        .column_count = wide,
                                        .cells = cells,
                                        .row_count = made / wide});
  check_pieces(text, left);
  free(text);
  return 0;
}
