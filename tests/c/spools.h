/* Spools, written by hand: for tests, for a fuzz target and for a stand-in of a
 * program under the collector. */
#ifndef TEST_SPOOLS_H
#define TEST_SPOOLS_H

#include <stdbool.h>

#include "collector/spool.h"

/* Zero-initialise it. */
typedef struct spool_maker {
  unsigned char *file; /* whole blocks */
  size_t size, cap;
  unsigned char *records; /* of the block at hand */
  size_t length, records_cap;
  uint32_t count, sequence, strings;
} spool_maker;

/* A record of that kind; its header is filled in. */
void spool_put(spool_maker *m, spool_kind kind, void *record, size_t fixed,
               const void *more, size_t more_size);
#define SPOOL_PUT(m, kind, ...) \
  spool_put(m, kind, &(__VA_ARGS__), sizeof(__VA_ARGS__), NULL, 0)

/* A new string's number. */
uint32_t spool_put_string(spool_maker *m, const char *text);

/* Any bytes as records. */
void spool_put_bytes(spool_maker *m, const void *bytes, size_t size);

void spool_end_block(spool_maker *m);

/* The next block begins another spool. */
void spool_end_section(spool_maker *m);

void spool_free(spool_maker *m);

/* A process that says who it is: pid, started at `start` of its clock, which
 * was `realtime` and, on a host called `boot`, `monotonic`. */
typedef struct spool_who {
  uint32_t pid;
  const char *name, *boot;
  int64_t start, realtime, monotonic;
} spool_who;
void spool_put_process(spool_maker *m, const spool_who *who);

void spool_put_nvtx(spool_maker *m, spool_nvtx_type type, int64_t time,
                    uint32_t tid, uint32_t message, uint64_t range);
void spool_put_unit(spool_maker *m, uint32_t unit, spool_unit_type type,
                    bool end, int64_t time);

/* A call and the kernel that it launches, `late` ns after the call ended. */
typedef struct spool_launch {
  uint32_t call, kernel; /* strings */
  uint32_t tid, correlation, device, stream;
  int64_t start, late, duration;
} spool_launch;
void spool_put_launch(spool_maker *m, const spool_launch *launch);

/* A small model on one GPU: `repeats` of a prefill and `steps` decode steps. */
typedef struct spool_model {
  spool_who who;
  uint32_t repeats, steps;
} spool_model;
void spool_put_model(spool_maker *m, const spool_model *model);

/* The process ended in order, and its spool is whole. */
void spool_put_end(spool_maker *m);

/* Writes the whole blocks to a new file; false: errno says why. */
bool spool_save(const spool_maker *m, const char *path);

#endif
