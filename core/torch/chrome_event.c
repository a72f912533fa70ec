/* One event: a walk over its text for what cJSON cannot do (exact times, words
 * that are no JSON), then cJSON's tree. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "formats/cjson_hooks.h"
#include "formats/json.h"
#include "text/lex.h"
#include "text/text.h"
#include "torch/chrome_internal.h"

enum {
  CJSON_LONGEST_NUMBER = 63
};

const llmprof_chrome_event llmprof_chrome_nothing = {
    .start = LLMPROF_ABSENT,
    .duration = LLMPROF_ABSENT,
    .pid = LLMPROF_ABSENT,
    .tid = LLMPROF_ABSENT,
    .external_id = LLMPROF_ABSENT,
    .correlation = LLMPROF_ABSENT,
    .device = LLMPROF_ABSENT,
    .context = LLMPROF_ABSENT,
    .stream = LLMPROF_ABSENT,
    .bytes = LLMPROF_ABSENT,
    .registers = LLMPROF_ABSENT,
    .graph_node = LLMPROF_ABSENT,
    .memory_device = LLMPROF_ABSENT,
    .device_type = LLMPROF_ABSENT,
    .allocated = LLMPROF_ABSENT,
    .reserved = LLMPROF_ABSENT,
    .elements_in = LLMPROF_ABSENT,
    .elements_out = LLMPROF_ABSENT,
    .grid = {LLMPROF_ABSENT, LLMPROF_ABSENT, LLMPROF_ABSENT},
    .block = {LLMPROF_ABSENT, LLMPROF_ABSENT, LLMPROF_ABSENT},
};

chrome_kind llmprof_chrome_kind(const llmprof_chrome_event *event) {
  static const struct {
    const char *category;
    chrome_kind kind;
  } known[] = {
      {"cpu_op", CHROME_OPERATOR},
      {"Operator", CHROME_OPERATOR},
      {"cuda_runtime", CHROME_CALL},
      {"cuda_driver", CHROME_CALL},
      {"Runtime", CHROME_CALL},
      {"kernel", CHROME_KERNEL},
      {"Kernel", CHROME_KERNEL},
      {"gpu_memcpy", CHROME_COPY},
      {"Memcpy", CHROME_COPY},
      {"gpu_memset", CHROME_SET},
      {"Memset", CHROME_SET},
      {"user_annotation", CHROME_MARK},
      {"python_function", CHROME_FUNCTION},
  };
  if (!event->category || !event->phase || strcmp(event->phase, "X") != 0)
    return CHROME_OTHER;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].category, event->category) == 0) return known[i].kind;
  }
  return llmprof_chrome_is_foreign(event) ? CHROME_CALL : CHROME_OTHER;
}

bool llmprof_chrome_is_foreign(const llmprof_chrome_event *event) {
  const char *end = event->category ? strrchr(event->category, '_') : NULL;
  return end && strncmp(event->category, "cuda_", 5) != 0 &&
         (strcmp(end, "_runtime") == 0 || strcmp(end, "_driver") == 0);
}

/* A quarter of the range is 73 years. */
bool llmprof_chrome_is_usable(const llmprof_chrome_event *event) {
  const int64_t most = INT64_MAX / 4;
  return event->start > -most && event->start < most && event->duration >= 0 &&
         event->duration < most;
}

static int64_t rounded_ns(const char *text, size_t size) {
  double us;
  bool ok = llmprof_lex_double(text, size, &us) == LLMPROF_OK;
  return ok && fabs(us) < 9e15 ? llround(us * 1000) : LLMPROF_ABSENT;
}

int64_t llmprof_chrome_ns(const char *text, size_t size) {
  if (memchr(text, 'e', size) || memchr(text, 'E', size))
    return rounded_ns(text, size);
  const char *point = memchr(text, '.', size);
  size_t whole = point ? (size_t)(point - text) : size;
  int64_t us, ns = 0;
  if (!llmprof_lex_int(text, whole, 10, &us)) return LLMPROF_ABSENT;
  for (size_t i = whole + 1; i <= whole + 3; i++)
    ns = ns * 10 + (i < size ? text[i] - '0' : 0);
  if (whole + 4 < size && text[whole + 4] >= '5') ns++;
  if (*text == '-') ns = -ns;
  bool fits = !__builtin_mul_overflow(us, 1000, &us) &&
              !__builtin_add_overflow(us, ns, &us);
  return fits ? us : LLMPROF_ABSENT;
}

int64_t llmprof_chrome_quoted_ns(const char *text, size_t size) {
  size_t digits = 0, points = 0;
  for (size_t i = size && *text == '-'; i < size; i++) {
    digits += text[i] >= '0' && text[i] <= '9';
    points += text[i] == '.' && digits;
  }
  bool plain = digits && points <= 1 &&
               digits + points + (*text == '-') == size &&
               text[size - 1] != '.';
  return plain ? llmprof_chrome_ns(text, size) : LLMPROF_ABSENT;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t string_size(const char *text, size_t size) {
  size_t at = 1;
  while (at < size && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at < size ? at + 1 : size;
}

static size_t token_size(const char *text, size_t size) {
  size_t at = 1;
  while (at < size &&
         (is_letter(text[at]) || memchr("+-.0123456789", text[at], 13)))
    at++;
  return at;
}

/* An empty list stands for a number that is none: it fits where "nan" was. */
static void blank(char *text, size_t size) {
  memset(text, ' ', size);
  memcpy(text, "[]", 2);
}

/* What printf and Python write for a number that is none. */
static void mend_word(char *text, size_t size) {
  static const char *const words[] = {"nan", "inf", "infinity"};
  size_t sign = *text == '-';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (size - sign == strlen(words[i]) &&
        strncasecmp(text + sign, words[i], size - sign) == 0)
      blank(text, size);
  }
}

/* A string of the event itself, quotes included. */
typedef struct span {
  const char *at;
  size_t size;
} span;

static bool span_is(span s, const char *text) {
  return s.size == strlen(text) && memcmp(s.at, text, s.size) == 0;
}

/* Where a time of the event itself goes; NULL: the key is of something else. */
static int64_t *time_of(llmprof_chrome_event *event, size_t depth, span key) {
  if (depth != 1) return NULL;
  if (span_is(key, "\"ts\"")) return &event->start;
  return span_is(key, "\"dur\"") ? &event->duration : NULL;
}

/* A token that is no string. */
static void take_token(char *text, size_t size, int64_t *time) {
  if (is_letter(text[size - 1]))
    mend_word(text, size);
  else if (time)
    *time = llmprof_chrome_ns(text, size);
  if (size > CJSON_LONGEST_NUMBER) blank(text, size);
}

/* Does a colon follow? */
static bool is_key(const llmprof_buffer *text, size_t at) {
  while (at < text->size && memchr(" \t\r\n", text->bytes[at], 4)) at++;
  return at < text->size && text->bytes[at] == ':';
}

static void walk(llmprof_buffer *text, llmprof_chrome_event *event) {
  size_t depth = 0, at = 0;
  span key = {"", 0};
  while (at < text->size) {
    char *here = text->bytes + at;
    size_t left = text->size - at, size = 1;
    if (*here == '"') {
      size = string_size(here, left);
      int64_t *time = time_of(event, depth, key);
      if (is_key(text, at + size))
        key = (span){here, size};
      else if (time && size > 2)
        *time = llmprof_chrome_quoted_ns(here + 1, size - 2);
    } else if (*here == '{' || *here == '[') {
      depth++;
    } else if (*here == '}' || *here == ']') {
      depth--;
    } else if (*here == '-' || is_letter(*here) ||
               (*here >= '0' && *here <= '9')) {
      size = token_size(here, left);
      take_token(here, size, time_of(event, depth, key));
    }
    at += size;
  }
}

static const char *get_string(const cJSON *map, const char *key) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(map, key));
}

/* Absent unless it is a whole number that a double holds exactly. */
static int64_t whole_number(const cJSON *item) {
  if (!cJSON_IsNumber(item) || fabs(item->valuedouble) > 9007199254740992.0 ||
      item->valuedouble != floor(item->valuedouble))
    return LLMPROF_ABSENT;
  return (int64_t)item->valuedouble;
}

static int64_t get_integer(const cJSON *map, const char *key) {
  return whole_number(cJSON_GetObjectItemCaseSensitive(map, key));
}

/* All three, or they stay absent. */
static void get_triple(const cJSON *map, const char *key, int64_t *three) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(map, key);
  if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 3) return;
  for (int i = 0; i < 3; i++)
    three[i] = whole_number(cJSON_GetArrayItem(list, i));
}

/* Old versions spell some keys differently. */
static int64_t get_external_id(const cJSON *args) {
  int64_t id = get_integer(args, "External id");
  return id == LLMPROF_ABSENT ? get_integer(args, "external id") : id;
}

static bool get_shapes(chrome_text *t, const cJSON *args, llmprof_error *err) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
  if (!item) item = cJSON_GetObjectItemCaseSensitive(args, "Input dims");
  if (!cJSON_IsArray(item)) return true;
  t->shapes = cJSON_PrintUnformatted(item);
  return t->shapes || llmprof_fail_nomem(err);
}

void llmprof_chrome_release(chrome_text *t) {
  cJSON_Delete(t->tree);
  cJSON_free(t->shapes);
  t->tree = NULL;
  t->shapes = NULL;
}

/* cJSON does not tell whether memory or the text was to blame, nor what is
 * wrong; the strict reader does. */
static bool fail_event(const chrome_text *t, llmprof_error *err) {
  llmprof_error why = {0};
  llmprof_value *fine =
      llmprof_json_parse(t->bytes.bytes, t->bytes.size, "event", NULL, &why);
  llmprof_value_free(fine);
  if (fine || why.code == LLMPROF_NOMEM) return llmprof_fail_nomem(err);
  size_t line = t->line + why.line - 1;
  size_t column = why.line > 1 ? why.column : t->column + why.column - 1;
  const char *what = strstr(why.message, ": "); /* "event:1:2: what" */
  return llmprof_fail_at(err, why.code, t->file, line, column, "%s",
                         what ? what + 2 : why.message);
}

static bool parse_event(chrome_text *t, llmprof_error *err) {
  llmprof_cjson_hooks();
  t->tree = cJSON_ParseWithLengthOpts(t->bytes.bytes, t->bytes.size, NULL, 0);
  return t->tree || fail_event(t, err);
}

static bool fill_event(chrome_text *t, llmprof_chrome_event *event,
                       llmprof_error *err) {
  const cJSON *args = cJSON_GetObjectItemCaseSensitive(t->tree, "args");
  event->phase = get_string(t->tree, "ph");
  event->category = get_string(t->tree, "cat");
  event->name = get_string(t->tree, "name");
  event->pid = get_integer(t->tree, "pid");
  event->process = get_string(t->tree, "pid");
  event->tid = get_integer(t->tree, "tid");
  event->external_id = get_external_id(args);
  event->correlation = get_integer(args, "correlation");
  event->device = get_integer(args, "device");
  event->memory_device = get_integer(args, "Device Id");
  event->device_type = get_integer(args, "Device Type");
  event->allocated = get_integer(args, "Total Allocated");
  event->reserved = get_integer(args, "Total Reserved");
  event->context = get_integer(args, "context");
  event->stream = get_integer(args, "stream");
  event->bytes = get_integer(args, "bytes");
  event->registers = get_integer(args, "registers per thread");
  event->graph_node = get_integer(args, "graph node id");
  get_triple(args, "grid", event->grid);
  get_triple(args, "block", event->block);
  event->label = get_string(args, "name");
  event->group = get_string(args, "Process Group Name");
  event->group_ranks = get_string(args, "Process Group Ranks");
  event->dtype = get_string(args, "dtype");
  event->elements_in = get_integer(args, "In msg nelems");
  event->elements_out = get_integer(args, "Out msg nelems");
  event->line = t->line;
  event->column = t->column;
  if (!get_shapes(t, args, err)) return false;
  event->shapes = t->shapes;
  return true;
}

/* Names cut in the middle of a character still come out as UTF-8. */
static bool mend_text(chrome_text *t, llmprof_error *err) {
  if (llmprof_lex_is_utf8(t->bytes.bytes, t->bytes.size)) return true;
  llmprof_buffer clean = {0};
  llmprof_text_clean(&clean, t->bytes.bytes, t->bytes.size);
  llmprof_buffer_free(&t->bytes);
  t->bytes = clean;
  return !clean.failed || llmprof_fail_nomem(err);
}

bool llmprof_chrome_parse(chrome_text *t, llmprof_chrome_event *event,
                          llmprof_error *err) {
  *event = llmprof_chrome_nothing;
  if (!mend_text(t, err)) return false;
  walk(&t->bytes, event);
  return parse_event(t, err) && fill_event(t, event, err);
}
