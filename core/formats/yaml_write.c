/* libyaml's emitter writes the text; told here are the events and, for each
 * string, the style to begin with. The emitter quotes what its syntax wants
 * quoted. What it does not know is which plain words are no strings: those of
 * our reader, and those of YAML 1.1, which other programs still read. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <yaml.h>

#include "formats/yaml.h"
#include "formats/yaml_scalar.h"
#include "text/lex.h"
#include "text/path.h"

typedef struct writer {
  yaml_emitter_t emitter;
  llmprof_buffer *out;
  llmprof_error *err;
  bool flow; /* all on one line */
} writer;

/* Pass an event on to the emitter, which takes it over. Nothing but memory can
 * fail: the events are in order, the text is UTF-8. */
static bool emit(writer *w, int made, yaml_event_t *event) {
  if (made && yaml_emitter_emit(&w->emitter, event)) return true;
  return llmprof_fail_nomem(w->err);
}

/* ---- strings ---- */

/* 12, -1, .5, but also 1_000, 0b1, 12:30 and 2001-01-01, as other programs
 * read them, and "3 words": simpler to foresee than their exact rules. */
static bool begins_like_number(const char *text, size_t size) {
  size_t at = size && strchr("+-.", *text) ? 1 : 0;
  if (size > at && text[at] == '.') at++;
  return size > at && llmprof_lex_is_digit(text[at]);
}

/* What YAML 1.1 takes for a boolean, and its keys of special meaning. */
static bool is_word_of_1_1(const char *text, size_t size) {
  static const char *const words[] = {"y",  "Y",   "yes", "Yes", "YES", "n",
                                      "N",  "no",  "No",  "NO",  "on",  "On",
                                      "ON", "off", "Off", "OFF", "<<",  "="};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strlen(words[i]) == size && memcmp(words[i], text, size) == 0)
      return true;
  }
  return false;
}

/* LS and PS, which the emitter writes as line breaks. */
static bool has_separator(const char *text, size_t size) {
  for (size_t at = 0; at + 3 <= size; at++) {
    if (memcmp(text + at, "\xE2\x80\xA8", 3) == 0 ||
        memcmp(text + at, "\xE2\x80\xA9", 3) == 0)
      return true;
  }
  return false;
}

/* Blocks are for lines of text. One that ends with an empty line would need
 * "|+", which leaves it open to what follows. */
static bool is_block(const char *text, size_t size) {
  return *text != '\n' &&
         !(size > 1 && memcmp(text + size - 2, "\n\n", 2) == 0);
}

/* Where the syntax needs more quotes than this, the emitter adds them. */
static yaml_scalar_style_t style_of(const char *text, size_t size,
                                    bool blocks) {
  if (has_separator(text, size)) return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  if (memchr(text, '\n', size))
    return blocks && is_block(text, size) ? YAML_LITERAL_SCALAR_STYLE
                                          : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  if (llmprof_yaml_type(text, size) != LLMPROF_STRING ||
      begins_like_number(text, size) || is_word_of_1_1(text, size))
    return YAML_SINGLE_QUOTED_SCALAR_STYLE;
  return YAML_PLAIN_SCALAR_STYLE;
}

static bool put_scalar(writer *w, const char *text, size_t size,
                       yaml_scalar_style_t style) {
  yaml_event_t event;
  return emit(w,
              yaml_scalar_event_initialize(&event, NULL, NULL,
                                           (const yaml_char_t *)text, (int)size,
                                           1, 1, style),
              &event);
}

/* A key or a value. */
static bool put_string(writer *w, const char *text, size_t size, bool key,
                       const llmprof_path *path) {
  if (size > LLMPROF_YAML_SIZE)
    return llmprof_path_fail(w->err, LLMPROF_LIMIT, "more than 256 MiB of text",
                             path);
  if (!llmprof_lex_is_utf8(text, size))
    return llmprof_path_fail(w->err, LLMPROF_RANGE,
                             key ? "YAML takes only UTF-8: key"
                                 : "YAML takes only UTF-8: string",
                             path);
  return put_scalar(w, text, size, style_of(text, size, !key && !w->flow));
}

/* ---- values ---- */

static void put_double(llmprof_buffer *out, double number) {
  if (isnan(number))
    llmprof_buffer_puts(out, ".nan");
  else if (isinf(number))
    llmprof_buffer_puts(out, number < 0 ? "-.inf" : ".inf");
  else
    llmprof_lex_put_double(out, number);
}

static bool write_number(writer *w, const llmprof_value *value) {
  llmprof_buffer text = {0};
  if (llmprof_value_type(value) == LLMPROF_INT)
    llmprof_buffer_printf(&text, "%" PRId64, llmprof_value_int(value));
  else
    put_double(&text, llmprof_value_double(value));
  bool ok = text.failed
                ? llmprof_fail_nomem(w->err)
                : put_scalar(w, text.bytes, text.size, YAML_PLAIN_SCALAR_STYLE);
  llmprof_buffer_free(&text);
  return ok;
}

static bool write_word(writer *w, const char *word) {
  return put_scalar(w, word, strlen(word), YAML_PLAIN_SCALAR_STYLE);
}

static bool write_value(writer *w, const llmprof_value *value,
                        const llmprof_path *path, size_t depth);

static bool begin_members(writer *w, bool map) {
  yaml_event_t event;
  int begun =
      map ? yaml_mapping_start_event_initialize(
                &event, NULL, NULL, 1,
                w->flow ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE)
          : yaml_sequence_start_event_initialize(
                &event, NULL, NULL, 1,
                w->flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
  return emit(w, begun, &event);
}

/* A list or a map. */
static bool write_members(writer *w, const llmprof_value *value,
                          const llmprof_path *up, size_t depth) {
  yaml_event_t event;
  bool map = llmprof_value_type(value) == LLMPROF_MAP;
  if (!begin_members(w, map)) return false;
  for (size_t i = 0; i < llmprof_value_count(value); i++) {
    llmprof_path path = {.up = up, .index = i + 1};
    if (map) {
      path.key = llmprof_value_key(value, i, &path.size);
      if (!put_string(w, path.key, path.size, true, &path)) return false;
    }
    if (!write_value(w, llmprof_value_at(value, i), &path, depth)) return false;
  }
  return emit(w,
              map ? yaml_mapping_end_event_initialize(&event)
                  : yaml_sequence_end_event_initialize(&event),
              &event);
}

/* A value below `depth` lists and maps. */
static bool write_value(writer *w, const llmprof_value *value,
                        const llmprof_path *path, size_t depth) {
  llmprof_type type = llmprof_value_type(value);
  size_t size;
  const char *text;
  switch (type) {
  case LLMPROF_NULL:
    return write_word(w, "null");
  case LLMPROF_BOOL:
    return write_word(w, llmprof_value_bool(value) ? "true" : "false");
  case LLMPROF_INT:
  case LLMPROF_DOUBLE:
    return write_number(w, value);
  case LLMPROF_STRING:
    text = llmprof_value_string(value, &size);
    return put_string(w, text, size, false, path);
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  if (depth == LLMPROF_MAX_DEPTH && llmprof_value_count(value))
    return llmprof_path_fail(w->err, LLMPROF_LIMIT, "nested too deep", path);
  return write_members(w, value, path, depth + 1);
}

/* ---- documents ---- */

static int take(void *data, unsigned char *bytes, size_t size) {
  llmprof_buffer *out = data;
  llmprof_buffer_add(out, bytes, size);
  return !out->failed;
}

static bool write_document(writer *w, const llmprof_value *value) {
  yaml_event_t event;
  yaml_emitter_set_output(&w->emitter, take, w->out);
  yaml_emitter_set_unicode(&w->emitter, 1);
  yaml_emitter_set_width(&w->emitter, -1);
  return emit(w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING),
              &event) &&
         emit(w,
              yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1),
              &event) &&
         write_value(w, value, NULL, 0) &&
         emit(w, yaml_document_end_event_initialize(&event, 1), &event) &&
         emit(w, yaml_stream_end_event_initialize(&event), &event);
}

static bool write_as(const llmprof_value *value, bool flow, llmprof_buffer *out,
                     llmprof_error *err) {
  writer w = {.out = out, .err = err, .flow = flow};
  if (out->failed || !yaml_emitter_initialize(&w.emitter))
    return llmprof_fail_nomem(err);
  bool ok = write_document(&w, value);
  yaml_emitter_delete(&w.emitter);
  return ok;
}

bool llmprof_yaml_write(const llmprof_value *value, llmprof_buffer *out,
                        llmprof_error *err) {
  return write_as(value, false, out, err);
}

bool llmprof_yaml_write_line(const llmprof_value *value, llmprof_buffer *out,
                             llmprof_error *err) {
  if (!write_as(value, true, out, err)) return false;
  out->bytes[--out->size] = '\0'; /* the newline */
  return true;
}
