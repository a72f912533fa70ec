/* Plain scalars under the YAML 1.2 core schema, for reader and writer. */
#ifndef LLMPROF_CORE_YAML_SCALAR_H
#define LLMPROF_CORE_YAML_SCALAR_H

#include <stddef.h>
#include <stdint.h>

#include "base/value.h"
#include "llmprof/error.h"

/* What the text of a plain scalar stands for: null, boolean, integer, double
 * or string. */
llmprof_type llmprof_yaml_type(const char *text, size_t size);

/* The value of a text of that type; _int also takes base prefixes, _double
 * also decimal integers. LLMPROF_OK, _RANGE or _NOMEM. */
llmprof_code llmprof_yaml_int(const char *text, size_t size, int64_t *value);
llmprof_code llmprof_yaml_double(const char *text, size_t size, double *value);

#endif
