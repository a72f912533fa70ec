#include "nsys/scrub_rules.h"

#include <stdio.h>
#include <string.h>

#include "nsys/export_edit.h"
#include "text/text.h"

static const char digits[] = "0123456789";

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* ---- names and values ---- */

typedef enum value_form {
  NUMBER,      /* and versions: digits, points, spaces */
  BOOLEAN,     /* or a number */
  TIME,        /* 2026-01-31T12:00:00 */
  WORD,        /* of `words` */
  DESCRIPTION, /* of a processor or a system, by its maker */
} value_form;

typedef struct kept_row {
  const char *table, *name; /* name without "PROCESS_<number>:"; a trailing *
                               stands for any ending */
  value_form form;
  const char *words; /* begins with what stands before and after each word */
} kept_row;

#define CAPTURE "META_DATA_CAPTURE"
#define EXPORT  "META_DATA_EXPORT"
#define OLDER   "EXPORT_META_DATA"
#define SYSTEM  "TARGET_INFO_SYSTEM_ENV"

#define TRIGGERS "|Immediate|Delayed|Manual|CudaProfilerApi|Nvtx|NvtxRange|"
#define MODES    "|None|Node|Graph|"
#define EVENTS   "|Cuda|NvtxEvents|OSRuntime|Cublas|Cudnn|OpenGL|Vulkan|Mpi|Ucx|"
#define PRODUCT  "|NVIDIA Nsight Systems|"

static const kept_row kept_rows[] = {
    {CAPTURE, "CAPTURE_EVENT_TYPE", WORD, EVENTS},
    {CAPTURE, "START_TRIGGER", WORD, TRIGGERS},
    {CAPTURE, "STOP_TRIGGER", WORD, TRIGGERS},
    {CAPTURE, "COLLECT_*", BOOLEAN, NULL},
    {CAPTURE, "OS_RUNTIME_OPTIONS:COLLECT_BACKTRACES", BOOLEAN, NULL},
    {CAPTURE, "CUDA_FLUSH_PERIODICALLY", BOOLEAN, NULL},
    {CAPTURE, "CUDA_FLUSH_PERIOD", NUMBER, NULL},
    {CAPTURE, "CUDA_FLUSH_ON_CUDA_PROFILER_STOP", BOOLEAN, NULL},
    {CAPTURE, "CUDA_SKIP_SOME_API_CALLS", BOOLEAN, NULL},
    {CAPTURE, "CUDA_GRAPH_TRACE_OPTIONS:MODE", WORD, MODES},
    {CAPTURE, "CUDA_TRACE_SCOPE", WORD, "|Process|ProcessTree|System|"},
    {EXPORT, "EXPORT_PRODUCT_NAME", WORD, PRODUCT},
    {EXPORT, "EXPORT_PRODUCT_VERSION", NUMBER, NULL},
    {EXPORT, "EXPORT_PRODUCT_DATE", NUMBER, NULL},
    {EXPORT, "EXPORT_SCHEMA_VERSION", NUMBER, NULL},
    {EXPORT, "EXPORT_SCHEMA_VERSION_MAJOR", NUMBER, NULL},
    {EXPORT, "EXPORT_SCHEMA_VERSION_MINOR", NUMBER, NULL},
    {EXPORT, "EXPORT_SCHEMA_VERSION_MICRO", NUMBER, NULL},
    {EXPORT, "EXPORT_SCHEMA_VERSION_CKSUM", NUMBER, NULL},
    {EXPORT, "EXPORT_PLATFORM", WORD, "|linux-desktop|linux-target|windows|"},
    {EXPORT, "EXPORT_ARCH", WORD, "|x64|x86_64|arm64|aarch64|sbsa|"},
    {EXPORT, "EXPORT_TIME_UTC", TIME, NULL},
    {EXPORT, "EXPORT_PARAM_LAZY", BOOLEAN, NULL},
    {EXPORT, "EXPORT_PARAM_TIME_NORMALIZE", BOOLEAN, NULL},
    {EXPORT, "EXPORT_PARAM_TIME_SHIFT", NUMBER, NULL},
    {SYSTEM, "CpuCores", NUMBER, NULL},
    {SYSTEM, "CpuArchitecture", WORD, "|x86_64|x64|aarch64|arm64|"},
    {SYSTEM, "CpuDescription", DESCRIPTION, NULL},
    {SYSTEM, "NvDriverVersion", NUMBER, NULL},
    {SYSTEM, "CudaDriverVersion", NUMBER, NULL},
    {SYSTEM, "OsDescription", DESCRIPTION, NULL},
};

enum {
  LONGEST_VALUE = 80
};

static bool is_made_of(const char *text, const char *characters) {
  return *text && text[strspn(text, characters)] == '\0';
}

/* Is it one of the words, in letters of any case? */
static bool is_among(const char *words, const char *text, size_t size) {
  char wanted[LONGEST_VALUE + 3];
  if (size == 0 || size > LONGEST_VALUE || memchr(text, *words, size))
    return false; /* no word, or several */
  snprintf(wanted, sizeof wanted, "%c%.*s%c", *words, (int)size, text, *words);
  return strcasestr(words, wanted) != NULL;
}

static bool has_form(const kept_row *row, const char *value) {
  if (strlen(value) > LONGEST_VALUE) return false;
  switch (row->form) {
  case BOOLEAN:
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) return true;
    return is_made_of(value, digits);
  case NUMBER:
    return is_made_of(value, "0123456789. -");
  case TIME:
    return is_made_of(value, "0123456789-:. TZ");
  case WORD:
    return is_among(row->words, value, strlen(value));
  case DESCRIPTION:
    break;
  }
  return is_made_of(value, LETTERS "0123456789 ().,@+-");
}

/* The name of a setting without the process it was given for. */
static const char *plain_name(const char *name) {
  static const char prefix[] = "PROCESS_";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return name;
  const char *after = name + sizeof prefix - 1;
  size_t number = strspn(after, digits);
  return number && after[number] == ':' ? after + number + 1 : name;
}

bool llmprof_scrub_keeps_value(const char *table, const char *name,
                               const char *value) {
  name = plain_name(name);
  if (strcmp(table, OLDER) == 0) table = EXPORT;
  for (size_t i = 0; i < COUNT(kept_rows); i++) {
    const kept_row *row = &kept_rows[i];
    if (strcmp(row->table, table) == 0 &&
        llmprof_edit_matches(&row->name, 1, name))
      return has_form(row, value);
  }
  return false;
}

/* ---- messages ---- */

/* What nsys says is made of these words; names of processes, files, hosts and
 * people are not among them. */
static const char message_words[] =
    " a absent access account activity after all allocated already an and any "
    "api application are as asynchronous at available base based be because "
    "been before behavior began block buffer buffers but by call calls can "
    "cannot captured capturing change changed clock collected collecting "
    "collection common complete completed control correctly could counters "
    "cpu cublas cuda cudaprofilerstart cudaprofilerstop cudnn cupti data "
    "deduced device devices did disabled discarded do does down driver "
    "dropped due during early enable enabled enabling end ended enough error "
    "errors event events exception exceeded faults failed first flush "
    "flush-on-cudaprofilerstop flushed for found frequency from full gpu gpus "
    "graph graphs had has have holding in inaccurate incomplete incorrect "
    "information initialized injection insufficient interrupts into invalid "
    "invoked is it its kernel kernels large last launch launches left "
    "libraries library limit limited lost low made may memory message "
    "messages metrics might missing more name names ncu no node not number "
    "nvtx of off on one only openacc openmp operating or os out over overflow "
    "overlap overwritten permission permissions please process processes "
    "produced profiler profiling ranges range rate read reached received "
    "record recorded records report reports request required runtime samples "
    "sampling scheduling see session set short signal size skipped small some "
    "source start started starting stop stopped stopping success successfully "
    "support supported system take target than that the their them there "
    "these this thread threads time timestamp timestamps to too trace traced "
    "traces tracing trigger unavailable unified unknown unsupported up use "
    "used user using value was were when which while will with within without "
    "write writing ";

/* Letters, and hyphens inside. */
static size_t word_size(const char *at) {
  return strspn(at, "-" LETTERS);
}

bool llmprof_scrub_keeps_message(const char *text) {
  for (const char *at = text; *at;) {
    at += strspn(at, " \t\n.,:;?!()%'\"-");
    size_t number = strspn(at, digits), word = word_size(at);
    if (!*at) break;
    if (number > 12 || (!number && !is_among(message_words, at, word)))
      return false;
    at += number ? number : word;
    if (number && word_size(at)) return false; /* digits and letters: a key? */
  }
  return true;
}

/* ---- programs ---- */

void llmprof_scrub_thread(llmprof_buffer *out, const char *name) {
  if (strpbrk(name, "/=") || strstr(name, " -"))
    llmprof_text_program(out, name);
  else
    llmprof_buffer_puts(out, name);
}

/* ---- places ---- */

/* Where a name of a file or folder may begin after what is no part of it. */
static bool begins_path(const char *text, const char *at) {
  static const char before[] = " (<,'\"@[{:=|";
  bool alone = at == text || strchr(before, at[-1]);
  return *at == '/' && alone && at[1] && !strchr(" /=", at[1]);
}

/* Up to what ends the path of a file within a name of a function. A blank may
 * be a part of it. */
static size_t path_size(const char *path, bool is_all) {
  return is_all ? strlen(path) : strcspn(path, ":)>,'\"]}|");
}

void llmprof_scrub_place(llmprof_buffer *out, const char *text) {
  for (const char *at = text; *at;) {
    if (!begins_path(text, at)) {
      llmprof_buffer_putc(out, *at++);
      continue;
    }
    const char *end = at + path_size(at, at == text), *last = end;
    while (last > at && last[-1] != '/') last--;
    llmprof_buffer_add(out, last, (size_t)(end - last));
    at = end;
  }
}

/* ---- as functions of SQL ---- */

static const char *text_of(sqlite3_value *value) {
  const char *text = (const char *)sqlite3_value_text(value);
  return text ? text : "";
}

static void sql_keeps(sqlite3_context *context, int count,
                      sqlite3_value **values) {
  (void)count;
  sqlite3_result_int(context, llmprof_scrub_keeps_value(text_of(values[0]),
                                                        text_of(values[1]),
                                                        text_of(values[2])));
}

/* Makes a text of another; how SQL calls it. */
typedef struct changer {
  const char *name;
  void (*change)(llmprof_buffer *out, const char *text);
} changer;

static void change_message(llmprof_buffer *out, const char *text) {
  bool kept = llmprof_scrub_keeps_message(text);
  llmprof_buffer_puts(out, kept ? text : "a message was left out");
}

static const changer changers[] = {
    {"scrub_message", change_message},
    {"scrub_program", llmprof_text_program},
    {"scrub_thread", llmprof_scrub_thread},
    {"scrub_place", llmprof_scrub_place},
};

static void sql_change(sqlite3_context *context, int count,
                       sqlite3_value **values) {
  const changer *of = sqlite3_user_data(context);
  llmprof_buffer out = {0};
  (void)count;
  of->change(&out, text_of(values[0]));
  if (out.failed)
    sqlite3_result_error_nomem(context);
  else
    sqlite3_result_text(context, out.bytes ? out.bytes : "", -1,
                        SQLITE_TRANSIENT);
  llmprof_buffer_free(&out);
}

int llmprof_scrub_functions(sqlite3 *db) {
  const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  int rc = sqlite3_create_function_v2(db, "scrub_keeps", 3, flags, NULL,
                                      sql_keeps, NULL, NULL, NULL);
  for (size_t i = 0; i < COUNT(changers) && rc == SQLITE_OK; i++)
    rc = sqlite3_create_function_v2(db, changers[i].name, 1, flags,
                                    (void *)&changers[i], sql_change, NULL,
                                    NULL, NULL);
  return rc;
}
