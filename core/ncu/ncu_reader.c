#include "trace/built_in_readers.h"

#include <string.h>

/* The line that names the columns; messages of ncu may come before it. */
static bool is_header(const char *line, size_t size) {
  static const char *const starts[] = {"\"ID\",\"Process ID\"",
                                       "\"ID\";\"Process ID\"", "ID,Process ID",
                                       "ID;Process ID"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    size_t start = strlen(starts[i]);
    if (size > start && memcmp(line, starts[i], start) == 0) return true;
  }
  return false;
}

static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  const char *at = (const char *)file->bytes, *end = at + file->size;
  while (at && at < end) {
    if (is_header(at, (size_t)(end - at))) return LLMPROF_CLAIM_YES;
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: no page of Nsight Compute",
               file->path);
  return LLMPROF_CLAIM_NO;
}

static const llmprof_reader_hint hints[] = {
    {".ncu-rep", "export it first: ncu --import %s --csv --page raw > raw.csv"},
    {0},
};

const llmprof_reader llmprof_ncu_reader = {
    .name = "ncu",
    .what = "CSV page of Nsight Compute (ncu --csv)",
    .hints = hints,
    .instead = "llmprof repl %s looks at its counters; in a recorded capture "
               "they are joined to a timeline",
    .probe = probe,
};
