/* Units as Nsight Compute prints them, made base units: byte, s, Hz. It scales
 * by 1000 ("Kbyte" is 1000 bytes), picks a prefix for each column, and has
 * spelled its units in two ways: "us" and "usecond", "byte/s" and
 * "byte/second", "Ghz" and "cycle/nsecond". Private to the core. */
#ifndef LLMPROF_METRIC_UNIT_H
#define LLMPROF_METRIC_UNIT_H

enum {
  LLMPROF_UNIT_SIZE = 64
};

/* A value in the unit that was read, times ten to the power, is in `base`. */
typedef struct llmprof_metric_unit {
  char base[LLMPROF_UNIT_SIZE];
  int power;
} llmprof_metric_unit;

/* "" is no unit. One that is not known, or is long, stays what it is (cut),
 * with power 0. */
llmprof_metric_unit llmprof_metric_unit_read(const char *text);

/* The unit that ncu prints a metric in without scaling, by its name. */
const char *llmprof_metric_unit_of(const char *metric);

/* A value in base units; NaN where these cannot hold it. */
double llmprof_metric_unit_scale(const llmprof_metric_unit *unit, double value);

#endif
