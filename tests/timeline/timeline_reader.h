/* Timelines as text: a second reader of traces, for tests. It calls the builder
 * alone, as any reader does, and knows nothing of nsys.
 *
 *   timeline
 *   knows calls payloads
 *   device 0 NVIDIA H200
 *   process 1 python
 *   thread 1 pid=1 main
 *   range 0 100 thread=1 domain=LLM payload=3 decode
 *   call 10 12 thread=1 id=1 cudaLaunchKernel
 *   kernel 20 90 call=1 grid=4,2,1 block=128 stream=7 gemm<float>
 *   copy 90 95 call=2 bytes=4096 direction=h2d memory=pageable
 *   set 95 96 call=3 bytes=16
 *   graph 200 300 call=4
 *   diagnostic severity=warning 3 records were lost
 *
 * A line is a word, its numbers (times in ns; "-": absent), settings and, to
 * its end, a name. Lines may come in any order; those that begin with '#' are
 * not read. Left out are: pid=1 thread=1 device=0 context=1 stream=7, and for
 * kernels grid=1,1,1 block=1,1,1. More settings: end_thread, category,
 * payload_float and style=start_end of ranges; short, mangled, node, registers,
 * static and dynamic of kernels; memory, bandwidth, clock, sms and l2 of
 * devices. */
#ifndef TIMELINE_READER_H
#define TIMELINE_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader timeline_reader;

#endif
