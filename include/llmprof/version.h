/* Which llmprof this is. While the first number is 0, a change of the second
 * may change what is declared here; one of the third may only add. */
#ifndef LLMPROF_VERSION_H
#define LLMPROF_VERSION_H

#define LLMPROF_VERSION_MAJOR 0
#define LLMPROF_VERSION_MINOR 1
#define LLMPROF_VERSION_PATCH 0
#define LLMPROF_VERSION       "0.1.0"

/* One number for the preprocessor: 1.2.3 is 10203. */
#define LLMPROF_VERSION_NUMBER                                       \
  (100 * 100 * LLMPROF_VERSION_MAJOR + 100 * LLMPROF_VERSION_MINOR + \
   LLMPROF_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* LLMPROF_VERSION of the library that runs, which may be newer than that of
 * the headers. */
const char *llmprof_version(void);

#ifdef __cplusplus
}
#endif

#endif
