/* What is in a spool, counted: a reader that shares no code with the one of
 * llmprof. */
#ifndef SPOOL_TALLY_H
#define SPOOL_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TALLY_KINDS = 64,
  TALLY_STRINGS = 4096,
  TALLY_VALUES = 64,
};

typedef struct tally {
  unsigned blocks;
  size_t torn;                 /* bytes after the last good block */
  uint64_t kinds[TALLY_KINDS]; /* records of each kind */
  uint64_t events[8];          /* NVTX events of each type */
  uint64_t units[8][2];        /* begins and ends of each type */
  uint64_t drops[8];           /* lost, by kind */
  uint32_t domains;            /* of NVTX that follow each other from 1 */
  uint64_t measured, failed;   /* records of counters */
  uint64_t graphs, waiting;    /* of these, of graphs; that may wait */
  uint64_t flushed;            /* of these, with an empty cache */
  uint64_t measured_on[2];     /* by device */
  uint64_t samples_on[2];
  double values[TALLY_VALUES];     /* of the last measured launch */
  uint32_t ordinals[TALLY_VALUES]; /* of the measured launches */
  uint64_t blob[2];                /* of the first event that has one */
  double payload;                  /* of the last event with a double */
  uint32_t runtime_calls, driver_calls;
  bool in_order; /* NVTX times of each thread never go back */
  char *strings[TALLY_STRINGS];
  char end[32]; /* the reason, "" without an end */
} tally;

/* Reads a file; false and a line on stderr when it breaks the format. */
bool tally_read(const char *path, tally *out);
void tally_free(tally *t);

/* Is there a string of this text? */
bool tally_has(const tally *t, const char *text);

#endif
