/* What is in a spool, counted: a reader that shares no code with the one of
 * llmprof. */
#ifndef SPOOL_COUNTS_H
#define SPOOL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SPOOL_COUNTS_KINDS = 64,
  SPOOL_COUNTS_STRINGS = 4096,
  SPOOL_COUNTS_VALUES = 64,
};

typedef struct spool_counts {
  unsigned blocks;
  size_t torn;                        /* bytes after the last good block */
  uint64_t kinds[SPOOL_COUNTS_KINDS]; /* records of each kind */
  uint64_t events[8];                 /* NVTX events of each type */
  uint64_t units[8][2];               /* begins and ends of each type */
  uint64_t drops[8];                  /* lost, by kind */
  uint32_t domains;          /* of NVTX that follow each other from 1 */
  uint64_t measured, failed; /* records of counters */
  uint64_t graphs, waiting;  /* of these, of graphs; that may wait */
  uint64_t flushed;          /* of these, with an empty cache */
  uint64_t measured_on[2];   /* by device */
  uint64_t samples_on[2];
  double values[SPOOL_COUNTS_VALUES];         /* of the last measured launch */
  uint32_t ordinals[SPOOL_COUNTS_VALUES];     /* of the measured launches */
  uint32_t value_counts[SPOOL_COUNTS_VALUES]; /* of these, likewise */
  uint64_t blob[2]; /* of the first event that has one */
  double payload;   /* of the last event with a double */
  uint32_t runtime_calls, driver_calls;
  bool in_order; /* NVTX times of each thread never go back */
  char *strings[SPOOL_COUNTS_STRINGS];
  char end[32]; /* the reason, "" without an end */
} spool_counts;

/* Reads a file; false and a line on stderr when it breaks the format. */
bool spool_counts_read(const char *path, spool_counts *out);
void spool_counts_free(spool_counts *t);

/* Is there a string of this text? */
bool spool_counts_has(const spool_counts *t, const char *text);

#endif
