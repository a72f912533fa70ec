/* The processes of a file of spools: who they are, when their clocks began, and
 * what their numbers mean. Private to the module. */
#ifndef LLMPROF_SPOOL_SECTIONS_H
#define LLMPROF_SPOOL_SECTIONS_H

#include "llmprof/trace_builder.h"
#include "spool/spool_file.h"

typedef struct spool_section {
  spool_process process; /* zeros: the spool has no such record */
  spool_clock clock;     /* the first one */
  bool has_clock, has_end;
  int64_t shift; /* what makes a time of the spool one of the trace */
  int64_t id;    /* of the process, as nsys numbers them */
  struct spool_edge *edges; /* of units, by time */
  size_t edge_count, edge_cap;
  int64_t last; /* when the last unit that is wanted ends, on its clock */
} spool_section;

/* A number that means something in a section. */
typedef struct spool_name {
  uint32_t section, kind; /* of the record that says what it means */
  uint32_t a, b;          /* domain, category; device; thread */
} spool_name;

typedef struct spool_sections {
  spool_file file;
  uint16_t wanted;       /* spool_unit_type of the units that are shown */
  spool_section *all;    /* by section */
  spool_numbers names;   /* by spool_name: string, or a device's number in the
                            trace */
  spool_device *devices; /* as recorded */
  uint32_t *device_section;
  size_t device_count, device_cap, device_section_cap;
  uint64_t recorded; /* bit k: there are records of kind k */
  int64_t epoch;     /* wall clock at time 0 of the trace, or ABSENT */
} spool_sections;

/* Reads what describes, for units of the type `wanted`; spool_sections_close
 * also after a failure. */
bool spool_sections_open(spool_sections *s, const char *path, uint16_t wanted,
                         spool_keep_text keep, void *user, llmprof_error *err);
void spool_sections_close(spool_sections *s);

/* A time of the spool as one of the trace; ABSENT: not known. */
int64_t spool_time(const spool_section *section, int64_t time);

/* Are there units, and is it in none that is wanted? NVTX events are recorded
 * in all, and before the first. */
bool spool_excludes(const spool_section *section, int64_t time);

/* Is it in a unit that recorded operations and is not wanted? What ran on after
 * a unit belongs to that one. */
bool spool_hides(const spool_section *section, int64_t time);

/* Is it later than all units that are wanted? */
bool spool_is_after(const spool_section *section, int64_t time);

/* The string that names a domain (category 0) or a category; LLMPROF_NO_STRING:
 * none. */
uint32_t spool_scope_name(const spool_sections *s, uint32_t section,
                          uint32_t domain, uint32_t category);

/* The number in the trace of a process's device. */
uint32_t spool_device_number(const spool_sections *s, uint32_t section,
                             uint32_t device);

/* Rows of the trace. */
bool spool_process_row(llmprof_builder *builder, const spool_section *section,
                       uint32_t *row);
bool spool_thread_row(llmprof_builder *builder, const spool_section *section,
                      uint32_t tid, uint32_t *row);

#endif
