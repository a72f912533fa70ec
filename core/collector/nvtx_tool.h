/* The NVTX functions of a tool: what the program marks, copied into the log of
 * its thread. */
#ifndef LLMPROF_COLLECTOR_NVTX_TOOL_H
#define LLMPROF_COLLECTOR_NVTX_TOOL_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stdint.h>

/* Fill in the function tables of one module of the program. Called for each
 * module that has NVTX in it. False: it has none that we know. */
bool nvtx_tool_attach(NvtxGetExportTableFunc_t get_table);

/* The same for the payload extension; info is nvtxExtModuleInfo_t. */
bool nvtx_tool_attach_extension(void *info);

/* From now on functions do something, or nothing. Where there are files one
 * after the other, each begins with the domains, categories, schemas and
 * threads of before. */
void nvtx_tool_on(bool on);

/* May a thread look at the plan still, after nvtx_tool_on(false) in a process
 * that nvtx_tool_keep was called of? */
bool nvtx_tool_busy(void);

/* This is such a process: what is only defined is kept while nothing is on. */
void nvtx_tool_keep(void);

/* In the child of a fork: nothing is on, and the first call of a function
 * calls `again`, once. */
void nvtx_tool_forget(void (*again)(void));

#endif
