/* A process that can leave no word in the folder for recordings gives it to who
 * started the program: it may have changed its user or its root folder, and
 * nobody could tell it from one that uses neither CUDA nor NVTX. */
#ifndef LLMPROF_COLLECTOR_REFUSAL_H
#define LLMPROF_COLLECTOR_REFUSAL_H

/* Why, a line, to the socket that LLMPROF_COLLECTOR_REFUSALS tells of; nothing
 * without it. By who may call files.h. */
void refusal_tell(const char *why);

#endif
