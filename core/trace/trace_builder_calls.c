/* The builder: API calls. */
#include "trace/trace_internal.h"

/* A value of each call into a column. */
#define PUT(column, value)                                                \
  static bool put_##column(llmprof_values *column,                        \
                           const llmprof_call_row *calls, size_t count) { \
    for (size_t n; count; calls += n, count -= n) {                       \
      int64_t *room = llmprof_values_room(column, &n);                    \
      if (!room) return false;                                            \
      if (n > count) n = count;                                           \
      for (size_t i = 0; i < n; i++) room[i] = value;                     \
      column->opened += n;                                                \
    }                                                                     \
    return true;                                                          \
  }
PUT(start, calls[i].start)
PUT(duration, llmprof_between(calls[i].start, calls[i].end))
PUT(thread, llmprof_widen(calls[i].thread))
PUT(correlation, llmprof_widen(calls[i].correlation))
PUT(name, llmprof_widen(calls[i].name))

bool llmprof_builder_add_calls(llmprof_builder *b,
                               const llmprof_call_row *calls, size_t count,
                               llmprof_error *err) {
  llmprof_calls *all = &b->trace->calls;
  if (count &&
      !llmprof_builder_may_add(b, all->count + count - 1, "API calls", err))
    return false;
  all->count += count;
  return (put_start(all->start, calls, count) &&
          put_duration(all->duration, calls, count) &&
          put_thread(all->thread, calls, count) &&
          put_correlation(all->correlation, calls, count) &&
          put_name(all->name, calls, count)) ||
         llmprof_fail_nomem(err);
}

bool llmprof_builder_add_call(llmprof_builder *b, const llmprof_call_row *call,
                              llmprof_error *err) {
  return llmprof_builder_add_calls(b, call, 1, err);
}
