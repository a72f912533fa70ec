#include "timeline_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "llmprof/trace_builder.h"
#include "os/fs.h"

enum {
  SETTINGS = 16,
  NUMBERS = 2,
  LONGEST_FILE = 1 << 24
};

/* A line that was taken apart; its words are in the reader's copy. */
typedef struct line {
  size_t number; /* from 1 */
  char *kind, *name;
  int64_t numbers[NUMBERS];
  char *settings[SETTINGS];
  size_t setting_count;
} line;

typedef struct timeline {
  const char *path;
  llmprof_builder *builder;
} timeline;

/* ---- lines ---- */

static bool fail_line(const timeline *t, const line *l, const char *what,
                      llmprof_error *err) {
  return llmprof_fail_at(err, LLMPROF_SYNTAX, t->path, l->number, 0, "%s",
                         what);
}

/* The next word, which is ended; NULL at the end. */
static char *next_word(char **rest) {
  *rest += strspn(*rest, " ");
  if (!**rest) return NULL;
  char *word = *rest;
  *rest += strcspn(*rest, " ");
  if (**rest) *(*rest)++ = '\0';
  return word;
}

static bool is_setting(const char *text) {
  size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return size && text[size] == '=';
}

static bool to_number(const char *text, int64_t *number) {
  char *end;
  *number = strcmp(text, "-") == 0 ? LLMPROF_ABSENT : strtoll(text, &end, 10);
  return *number == LLMPROF_ABSENT || (end != text && !*end);
}

static bool take_apart(const timeline *t, char *text, size_t numbers, line *l,
                       llmprof_error *err) {
  l->kind = next_word(&text);
  for (size_t i = 0; i < numbers; i++) {
    char *word = next_word(&text);
    if (!word || !to_number(word, &l->numbers[i]))
      return fail_line(t, l, "a number is missing", err);
  }
  for (text += strspn(text, " "); is_setting(text); text += strspn(text, " ")) {
    if (l->setting_count == SETTINGS)
      return fail_line(t, l, "too many settings", err);
    l->settings[l->setting_count++] = next_word(&text);
  }
  l->name = text;
  return true;
}

static const char *setting(const line *l, const char *key) {
  size_t size = strlen(key);
  for (size_t i = 0; i < l->setting_count; i++) {
    if (strncmp(l->settings[i], key, size) == 0 && l->settings[i][size] == '=')
      return l->settings[i] + size + 1;
  }
  return NULL;
}

static int64_t number_of(const line *l, const char *key, int64_t otherwise) {
  const char *text = setting(l, key);
  int64_t number;
  return text && to_number(text, &number) ? number : otherwise;
}

static uint32_t small_of(const line *l, const char *key, uint32_t otherwise) {
  return llmprof_u32(number_of(l, key, otherwise));
}

/* "4,2,1"; what is not given is 1. */
static void three_of(const line *l, const char *key, uint32_t *three) {
  const char *text = setting(l, key);
  for (int i = 0; i < 3; i++) {
    char *end = NULL;
    three[i] = text && *text ? (uint32_t)strtoul(text, &end, 10) : 1;
    if (end) text = *end == ',' ? end + 1 : end;
  }
}

/* The number of a setting's word; 0 when it is none of them. */
static int word_of(const line *l, const char *key, const char *const *words,
                   int count) {
  const char *text = setting(l, key);
  for (int i = 1; text && i < count; i++) {
    if (words[i] && strcmp(text, words[i]) == 0) return i;
  }
  return 0;
}

/* ---- strings, processes, threads ---- */

static bool add_text(const timeline *t, const char *text, uint32_t *string) {
  if (text && !*text) text = NULL;
  return llmprof_builder_text(t->builder, text, text ? strlen(text) : 0,
                              string);
}

static bool setting_text(const timeline *t, const line *l, const char *key,
                         uint32_t *string) {
  return add_text(t, setting(l, key), string);
}

static bool add_process(const timeline *t, int64_t pid, uint32_t *row) {
  *row = LLMPROF_NONE;
  return pid == LLMPROF_ABSENT ||
         llmprof_builder_add_process(t->builder, pid, llmprof_u32(pid), row);
}

static bool add_thread(const timeline *t, const line *l, int64_t tid,
                       uint32_t *row) {
  int64_t pid = number_of(l, "pid", 1);
  uint32_t process;
  *row = LLMPROF_NONE;
  if (tid == LLMPROF_ABSENT) return true;
  return add_process(t, pid, &process) &&
         llmprof_builder_add_thread(t->builder, pid << 32 | tid,
                                    llmprof_u32(tid), process, row);
}

/* ---- what lines say; false is for want of memory but where err says more - */

typedef bool (*line_taker)(const timeline *t, const line *l,
                           llmprof_error *err);

static bool take_knows(const timeline *t, const line *l, llmprof_error *err) {
  char *rest = l->name, *word;
  while ((word = next_word(&rest))) {
    int fact = 0;
    while (fact < LLMPROF_FACTS &&
           strcmp(word, llmprof_fact_name((llmprof_fact)fact)) != 0)
      fact++;
    if (fact == LLMPROF_FACTS) return fail_line(t, l, "no such fact", err);
    llmprof_builder_knows(t->builder, (llmprof_fact)fact);
  }
  return true;
}

static bool take_device(const timeline *t, const line *l, llmprof_error *err) {
  (void)err;
  llmprof_device device = {
      .id = l->numbers[0],
      .chip = LLMPROF_NO_STRING,
      .uuid = LLMPROF_NO_STRING,
      .bus = LLMPROF_NO_STRING,
      .memory = number_of(l, "memory", LLMPROF_ABSENT),
      .bandwidth = number_of(l, "bandwidth", LLMPROF_ABSENT),
      .clock = number_of(l, "clock", LLMPROF_ABSENT),
      .sm_count = number_of(l, "sms", LLMPROF_ABSENT),
      .l2_size = number_of(l, "l2", LLMPROF_ABSENT),
      .compute_major = LLMPROF_ABSENT,
      .compute_minor = LLMPROF_ABSENT,
  };
  return add_text(t, l->name, &device.name) &&
         llmprof_builder_add_device(t->builder, &device);
}

static bool take_process(const timeline *t, const line *l, llmprof_error *err) {
  (void)err;
  uint32_t row, name;
  if (!add_process(t, l->numbers[0], &row) || !add_text(t, l->name, &name))
    return false;
  llmprof_builder_name_process(t->builder, row, name);
  return true;
}

static bool take_thread(const timeline *t, const line *l, llmprof_error *err) {
  (void)err;
  uint32_t row, name;
  if (!add_thread(t, l, l->numbers[0], &row) || !add_text(t, l->name, &name))
    return false;
  llmprof_builder_name_thread(t->builder, row, name);
  return true;
}

static bool take_op(const timeline *t, const line *l, llmprof_op_kind kind,
                    llmprof_error *err) {
  static const char *const directions[LLMPROF_COPY_KINDS] = {
      [LLMPROF_COPY_HOST_TO_DEVICE] = "h2d",
      [LLMPROF_COPY_DEVICE_TO_HOST] = "d2h",
      [LLMPROF_COPY_DEVICE_TO_DEVICE] = "d2d",
      [LLMPROF_COPY_PEER_TO_PEER] = "p2p",
      [LLMPROF_COPY_HOST_TO_HOST] = "h2h",
  };
  static const char *const memories[LLMPROF_HOST_MEMORIES] = {
      [LLMPROF_MEMORY_PAGEABLE] = "pageable",
      [LLMPROF_MEMORY_PINNED] = "pinned",
      [LLMPROF_MEMORY_OTHER] = "other",
  };
  llmprof_place place = {.device = small_of(l, "device", 0),
                         .context = small_of(l, "context", 1),
                         .stream = small_of(l, "stream", 7)};
  llmprof_op_row row = {
      .kind = kind,
      .start = l->numbers[0],
      .end = l->numbers[1],
      .correlation = small_of(l, "call", LLMPROF_NONE),
      .bytes = number_of(l, "bytes", LLMPROF_ABSENT),
      .copy_kind = (llmprof_copy_kind)word_of(l, "direction", directions,
                                              LLMPROF_COPY_KINDS),
      .host_memory = (llmprof_host_memory)word_of(l, "memory", memories,
                                                  LLMPROF_HOST_MEMORIES),
  };
  bool named = kind == LLMPROF_KERNEL
                   ? add_text(t, l->name, &row.name)
                   : llmprof_builder_op_name(t->builder, kind, row.copy_kind,
                                             NULL, &row.name);
  if (!named || !add_process(t, number_of(l, "pid", 1), &place.process) ||
      !llmprof_builder_add_place(t->builder, &place, &row.place))
    return false;
  llmprof_builder_recorded(
      t->builder,
      (llmprof_trace_table)((int)LLMPROF_TABLE_KERNELS + (int)kind));
  return llmprof_builder_add_op(t->builder, &row, err);
}

static bool take_kernel(const timeline *t, const line *l, llmprof_error *err) {
  return take_op(t, l, LLMPROF_KERNEL, err);
}

static bool take_copy(const timeline *t, const line *l, llmprof_error *err) {
  return take_op(t, l, LLMPROF_COPY, err);
}

static bool take_set(const timeline *t, const line *l, llmprof_error *err) {
  return take_op(t, l, LLMPROF_SET, err);
}

static bool take_graph(const timeline *t, const line *l, llmprof_error *err) {
  return take_op(t, l, LLMPROF_GRAPH, err);
}

static bool take_detail(const timeline *t, const line *l, llmprof_error *err) {
  const char *name = setting(l, "short");
  llmprof_detail_row row = {
      .shape = {.registers = small_of(l, "registers", LLMPROF_NONE),
                .static_shared = small_of(l, "static", LLMPROF_NONE),
                .dynamic_shared = small_of(l, "dynamic", LLMPROF_NONE)},
      .graph_node = number_of(l, "node", LLMPROF_ABSENT),
  };
  three_of(l, "grid", row.shape.grid);
  three_of(l, "block", row.shape.block);
  return add_text(t, name ? name : l->name, &row.short_name) &&
         setting_text(t, l, "mangled", &row.mangled_name) &&
         llmprof_builder_add_detail(t->builder, &row, err);
}

static bool take_call(const timeline *t, const line *l, llmprof_error *err) {
  llmprof_call_row row = {.start = l->numbers[0],
                          .end = l->numbers[1],
                          .correlation = small_of(l, "id", LLMPROF_NONE)};
  llmprof_builder_recorded(t->builder, LLMPROF_TABLE_CALLS);
  return add_thread(t, l, number_of(l, "thread", 1), &row.thread) &&
         add_text(t, l->name, &row.name) &&
         llmprof_builder_add_call(t->builder, &row, err);
}

static bool take_range(const timeline *t, const line *l, llmprof_error *err) {
  const char *style = setting(l, "style"), *real = setting(l, "payload_float");
  llmprof_range_row row = {
      .start = l->numbers[0],
      .end = l->numbers[1],
      .payload = number_of(l, "payload", LLMPROF_ABSENT),
      .payload_float = real ? strtod(real, NULL) : NAN,
      .communicator = number_of(l, "communicator", LLMPROF_ABSENT),
      .message = number_of(l, "message", LLMPROF_ABSENT),
      .style = style && strcmp(style, "start_end") == 0 ? LLMPROF_START_END
                                                        : LLMPROF_PUSH_POP,
  };
  int64_t end_thread = number_of(l, "end_thread", LLMPROF_ABSENT);
  llmprof_builder_recorded(t->builder, LLMPROF_TABLE_RANGES);
  return add_thread(t, l, number_of(l, "thread", 1), &row.thread) &&
         add_thread(t, l, end_thread, &row.end_thread) &&
         add_text(t, l->name, &row.text) &&
         setting_text(t, l, "domain", &row.domain) &&
         setting_text(t, l, "category", &row.category) &&
         llmprof_builder_add_range(t->builder, &row, err);
}

static bool take_diagnostic(const timeline *t, const line *l,
                            llmprof_error *err) {
  (void)err;
  static const char *const severities[] = {
      [LLMPROF_INFO] = "info",
      [LLMPROF_WARNING] = "warning",
      [LLMPROF_PROBLEM] = "problem",
  };
  llmprof_diagnostic row = {
      .severity = (llmprof_severity)word_of(l, "severity", severities, 3)};
  return add_text(t, l->name, &row.text) &&
         llmprof_builder_add_diagnostic(t->builder, &row);
}

/* In the order in which the builder takes rows. */
static const struct {
  const char *kind;
  size_t numbers;
  line_taker take;
} kinds[] = {
    {"knows", 0, take_knows},     {"device", 1, take_device},
    {"process", 1, take_process}, {"thread", 1, take_thread},
    {"kernel", 2, take_kernel},   {"copy", 2, take_copy},
    {"set", 2, take_set},         {"graph", 2, take_graph},
    {"kernel", 2, take_detail},   {"call", 2, take_call},
    {"range", 2, take_range},     {"diagnostic", 0, take_diagnostic},
};

enum {
  KINDS = sizeof kinds / sizeof *kinds
};

static bool is_kind(const char *text, size_t kind) {
  size_t size = strcspn(text, " ");
  return strlen(kinds[kind].kind) == size &&
         memcmp(text, kinds[kind].kind, size) == 0;
}

static bool take_line(const timeline *t, size_t kind, char *text, size_t number,
                      llmprof_error *err) {
  line l = {.number = number};
  if (!take_apart(t, text, kinds[kind].numbers, &l, err)) return false;
  llmprof_error why = {0};
  if (kinds[kind].take(t, &l, &why)) return true;
  if (why.code == LLMPROF_OK) llmprof_fail_nomem(&why);
  if (err) *err = why;
  return false;
}

/* ---- the file ---- */

static bool check_line(const timeline *t, const char *text, size_t number,
                       llmprof_error *err) {
  size_t kind = 0;
  while (kind < KINDS && !is_kind(text, kind)) kind++;
  const line l = {.number = number};
  return kind < KINDS || number == 1 || !*text || *text == '#' ||
         fail_line(t, &l, "no such line", err);
}

/* All lines of a kind; KINDS: is each line of some kind? */
static bool take_lines(const timeline *t, size_t kind, const char *text,
                       llmprof_error *err) {
  size_t number = 1;
  bool ok = true;
  for (; ok && *text; number++) {
    size_t size = strcspn(text, "\n");
    char *copy = llmprof_memdup(text, size + 1);
    if (!copy) return llmprof_fail_nomem(err);
    copy[size] = '\0';
    if (kind == KINDS)
      ok = check_line(t, copy, number, err);
    else if (is_kind(copy, kind))
      ok = take_line(t, kind, copy, number, err);
    llmprof_free(copy);
    text += size + (text[size] == '\n');
  }
  return ok;
}

static bool read_timeline(const char *path, llmprof_builder *builder,
                          void **state, llmprof_error *err) {
  const timeline t = {path, builder};
  llmprof_buffer text = {0};
  *state = NULL;
  bool ok = llmprof_fs_read(path, LONGEST_FILE, &text, err);
  llmprof_buffer_putc(&text, '\0');
  ok = ok && (!text.failed || llmprof_fail_nomem(err)) &&
       take_lines(&t, KINDS, text.bytes, err);
  for (size_t kind = 0; ok && kind < KINDS; kind++)
    ok = take_lines(&t, kind, text.bytes, err);
  llmprof_buffer_free(&text);
  return ok;
}

static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  static const char first[] = "timeline\n";
  if (file->size >= sizeof first - 1 &&
      memcmp(file->bytes, first, sizeof first - 1) == 0)
    return LLMPROF_CLAIM_YES;
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: no timeline", file->path);
  return LLMPROF_CLAIM_NO;
}

const llmprof_reader timeline_reader = {
    .name = "timeline",
    .what = "timeline as text",
    .probe = probe,
    .open = read_timeline,
};
