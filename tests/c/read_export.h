/* Reading all there is in an export; fuzz targets link it too. */
#ifndef TEST_READ_EXPORT_H
#define TEST_READ_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"
#include "llmprof/trace.h"

/* Load every table, frame and column, label, group and sum up what is there.
 * True if all of it could be read. */
bool read_export(const char *path, llmprof_error *err);

/* The same of an open trace. */
bool read_trace(llmprof_trace *trace, llmprof_error *err);

/* The same of one part of it: each frame is one, and the steps are the last.
 */
size_t read_parts(void);
bool read_part(llmprof_trace *trace, size_t part, llmprof_error *err);

/* The same of one frame. */
bool read_export_frame(const char *path, const char *name, llmprof_error *err);

#endif
