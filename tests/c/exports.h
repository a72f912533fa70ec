/* Databases and exports of Nsight Systems, made with SQLite. */
#ifndef TEST_EXPORTS_H
#define TEST_EXPORTS_H

#include "llmprof/readers.h"
#include "support.h"

/* The path of a new database in test_folder() that `sql` fills; valid until
 * exit or 64 files later. Pages have 512 bytes, so that little is enough. */
const char *test_database(const char *name, const char *sql);

/* Its bytes; the caller frees them. */
unsigned char *test_read(const char *path, size_t *size);

/* A trace of a new export; the caller closes it. Fails the test on error. */
llmprof_trace *test_trace(const char *sql);

/* The path of an export made of tests/fixtures/export.sql; valid until exit. */
const char *test_export(void);

/* nsys's global ids in SQL: processes 100 and 200 and their threads. */
#define P1  "0x0001000064000000"
#define T11 "0x0001000064000065"
#define T12 "0x0001000064000066"
#define P2  "0x00010000c8000000"
#define T21 "0x00010000c80000c9"

/* The tables that attribution needs, empty. */
#define EXPORT_TABLES                                                      \
  "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"           \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "  \
  "deviceId INTEGER, correlationId INTEGER, globalPid INTEGER, "           \
  "demangledName INTEGER);"                                                \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, " \
  "globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"             \
  "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType "       \
  "INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER);"

/* A row each. */
#define KERNEL(start, end, pid, correlation)                         \
  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" #start ", " #end \
  ", 0, " #correlation ", " pid ", NULL);"
#define CALL(start, end, tid, correlation)                                     \
  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" #start ", " #end ", " tid \
  ", " #correlation ", NULL);"
#define RANGE_OF(type, start, end, tid, text, end_tid)                      \
  "INSERT INTO NVTX_EVENTS VALUES (" #start ", " #end ", " #type ", '" text \
  "', " tid ", " end_tid ");"
#define RANGE(start, end, tid, text) RANGE_OF(59, start, end, tid, text, "NULL")

#endif
