/* A set of NVIDIA's metrics on one chip, as CUPTI's host side computes them:
 * for launches and for samples alike. */
#ifndef LLMPROF_COLLECTOR_METRICS_H
#define LLMPROF_COLLECTOR_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cupti_api.h"
#include "collector/plan.h"

typedef struct metric_set {
  CUpti_Profiler_Host_Object *host;
  const char *names[PLAN_METRICS]; /* owned: those that the chip has */
  uint32_t ids[PLAN_METRICS];      /* in the spool */
  size_t count;
  size_t passes;
  uint8_t *config; /* owned */
  size_t config_size;
  uint8_t *data;  /* owned: the counter data image */
  uint8_t *blank; /* owned: what it is before a session; NULL: not kept */
  size_t data_size;
} metric_set;

/* Those of the names that the chip has, of "a|b" the first; what it lacks is a
 * diagnostic. False:
 * none, or CUPTI fails. chip is borrowed for as long as the set; available may
 * be NULL. single: no more of them, in their order, than one pass takes. */
bool metrics_make(metric_set *set, CUpti_ProfilerType type, const char *chip,
                  const uint8_t *available, char *const names[], size_t count,
                  bool single);
void metrics_free(metric_set *set);

/* The values of a range or sample of the data image. */
bool metrics_values(const metric_set *set, size_t index, double *values);

/* The same of any metrics for which it has the counters. */
bool metrics_evaluate(const metric_set *set, size_t index,
                      const char *const names[], size_t count, double *values);

/* Result of one of CUPTI's functions: false and a diagnostic when it failed.
 */
bool metrics_ok(CUptiResult result, const char *what);

/* The same of a call of the function with these parameters. */
#define METRICS_OK(function, parameters) \
  metrics_ok(cupti.function(&(parameters)), #function)

/* The chip's name, freed by the caller; NULL: not known. */
char *metrics_chip(size_t device);

/* Both profilers want this first. */
bool metrics_begin(void);

#endif
