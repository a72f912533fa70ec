/* What an event is of, and its times. */
#include <math.h>
#include <string.h>

#include "text/lex.h"
#include "torch/chrome_internal.h"

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

/* Until PyTorch 1.10 the steps of its schedule were operators. */
static bool is_step(const llmprof_chrome_event *event) {
  static const char step[] = "ProfilerStep#";
  return event->name && strncmp(event->name, step, sizeof step - 1) == 0;
}

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
    if (strcmp(known[i].category, event->category) == 0)
      return known[i].kind == CHROME_OPERATOR && is_step(event) ? CHROME_MARK
                                                                : known[i].kind;
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
