#include "collector/diagnose.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/log.h"
#include "collector/output.h"

void diagnose(spool_severity severity, const char *code, const char *format,
              ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t code_size = strlen(code) + 1, text_size = strlen(text) + 1;
  log_entry *entry =
      log_reserve(LOG_DIAGNOSTIC, sizeof *entry + code_size + text_size);
  if (!entry) return;
  entry->value = (uint32_t)severity;
  char *at = (char *)(entry + 1);
  memcpy(at, code, code_size);
  memcpy(at + code_size, text, text_size);
  log_commit();
}

void diagnose_drops(spool_lost what, uint64_t count) {
  spool_drops record = {
      .time = clock_now(), .what = (uint32_t)what, .count = count};
  output_record(SPOOL_DROPS, &record, sizeof record, NULL, 0);
}
