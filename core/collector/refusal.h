/* A process that cannot write into the folder for recordings tells llmprof why:
 * it may have changed its user or its root folder, and would look like one that
 * uses neither CUDA nor NVTX. */
#ifndef LLMPROF_COLLECTOR_REFUSAL_H
#define LLMPROF_COLLECTOR_REFUSAL_H

/* Take LLMPROF_COLLECTOR_REFUSALS from the environment: on a thread of the
 * program, which may change that meanwhile. */
void refusal_init(void);

/* Why, a line, to the socket that this variable names; nothing without it. By
 * the thread that may call files.h. */
void refusal_tell(const char *why);

#endif
