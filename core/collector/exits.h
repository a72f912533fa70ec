/* What is to be done when the program exits, early enough: handlers run from
 * the last to the first, and after those of CUDA nothing can be had any more.
 */
#ifndef LLMPROF_COLLECTOR_EXITS_H
#define LLMPROF_COLLECTOR_EXITS_H

/* The one thing to do; it bears being called again. */
void exits_set(void (*handler)(void));

/* Have it done before all handlers that there are now. */
void exits_register(void);

#endif
