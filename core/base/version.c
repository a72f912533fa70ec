#include "llmprof/version.h"

const char *llmprof_version(void) {
  return LLMPROF_VERSION;
}
