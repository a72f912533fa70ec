/* What a program would take if something in it were different.
 *
 * A replay keeps of a trace what is given and derives the rest. Given are, on
 * each thread, the gaps between API calls and the time that a call takes by
 * itself, and on the GPU how long each operation runs. Derived are waits
 * (synchronising calls and copies that block), the order on a stream, waits of
 * a stream for another, room in the queue of launches, collectives (all end
 * when the last has arrived and the work is done), and gaps inside CUDA graphs.
 * One pass in recorded order evaluates it; a change overrides what is given.
 *
 * Times are ns. Frames are read when they are added and not kept. Functions
 * fail with NOMEM, INTERRUPTED, NOTFOUND (a column is missing), LIMIT (more
 * than 2^30 events), RANGE (times lie more than 104 days apart) or what loading
 * a column says. Rows whose end is before their start, or whose times are 2^61
 * ns and more, are left out. */
#ifndef LLMPROF_REPLAY_H
#define LLMPROF_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "llmprof/frame.h"

typedef struct llmprof_replay llmprof_replay;
typedef struct llmprof_change llmprof_change;

/* One process, or all processes of one file. Columns by name:
 *
 * operations  op, start, end, device, stream, pid, call (row of `calls`), kind,
 *             name, direction, host_memory; collective, if there: rows of all
 *             parts with one value are one collective
 * calls       start, end, pid, tid, correlation, name
 * ranges      start, end, pid, tid: what is to be measured, such as steps
 * waits       pid, correlation, stream, event of calls that synchronise or make
 *             a stream wait; absent where it is not known. May be NULL.
 * records     the same of calls that record an event. May be NULL.
 *
 * `offset` is added to all times. Of calls those that start in [from, to) are
 * taken, and what they launch, times without the offset; from == to: all. */
typedef struct llmprof_replay_part {
  llmprof_frame *operations, *calls, *ranges, *waits, *records;
  int64_t offset, from, to;
} llmprof_replay_part;

llmprof_replay *llmprof_replay_new(void); /* NULL when out of memory */
void llmprof_replay_free(llmprof_replay *replay);

/* Add parts, then link them once: finds what waits for what. */
bool llmprof_replay_add(llmprof_replay *replay, const llmprof_replay_part *part,
                        llmprof_error *err);
bool llmprof_replay_link(llmprof_replay *replay, llmprof_error *err);

/* What the model rests on. */
typedef struct llmprof_replay_basis {
  size_t calls, operations, orphans; /* orphans: no call launched them */
  size_t collectives;                /* that were seen on several ranks */
  size_t links;        /* gaps that end with another thread's wait */
  int64_t cpu;         /* time on all threads, from first to last event */
  int64_t derived;     /* of it, waits that the replay works out */
  int64_t waits;       /* time in calls that wait, as recorded */
  int64_t unexplained; /* of it, in waits of 50 us and more for which nothing
                          that ran was found */
} llmprof_replay_basis;
llmprof_replay_basis llmprof_replay_basis_of(const llmprof_replay *replay);

/* Waits that nothing explains, ns, inside row `row` of part `part`'s ranges,
 * and the whole time in calls that wait there. */
void llmprof_replay_waits_in(const llmprof_replay *replay, size_t part,
                             size_t row, int64_t *waits, int64_t *unexplained);

/* ---- changes ---- */

/* A change that changes nothing yet; it borrows from the replay. NULL when out
 * of memory. */
llmprof_change *llmprof_change_new(const llmprof_replay *replay);
void llmprof_change_free(llmprof_change *change);

/* What goes together with an operation that is removed. */
typedef enum llmprof_removal {
  LLMPROF_REMOVE_WORK, /* its time on the GPU only */
  LLMPROF_REMOVE_CALL, /* and the call that launched it */
  LLMPROF_REMOVE_GAP,  /* and calls without an operation just before that one,
                          the CPU time before them, and, right after the call
                          of a copy, the wait for its stream */
} llmprof_removal;

/* Operations, by their `op` in `rows`, a frame with such a column; *count is
 * set to how many there are. Factors are 0 or more. */
bool llmprof_change_scale(llmprof_change *change, size_t part,
                          llmprof_frame *rows, double factor, size_t *count,
                          llmprof_error *err);
bool llmprof_change_remove(llmprof_change *change, size_t part,
                           llmprof_frame *rows, llmprof_removal removal,
                           size_t *count, llmprof_error *err);

/* One operation in place of those that belong together: rows in order with one
 * value of a column `group`, or, without such a column, those that follow each
 * other on a stream with no other, no wait and no edge of a range in between.
 * It takes as long as all of them (`sum`) or as the longest. Those that were
 * removed or take no time are passed over. *count of those that go, as by
 * llmprof_change_remove. */
bool llmprof_change_merge(llmprof_change *change, size_t part,
                          llmprof_frame *rows, bool sum,
                          llmprof_removal removal, size_t *count,
                          llmprof_error *err);

/* Nobody waits for these operations of collectives to arrive. */
bool llmprof_change_ignore(llmprof_change *change, size_t part,
                           llmprof_frame *rows, size_t *count,
                           llmprof_error *err);

/* CPU time inside ranges (pid, tid, start, end): gaps between calls and what
 * calls take by themselves, times `gap` and `call`. NULL: everywhere. */
bool llmprof_change_cpu(llmprof_change *change, size_t part,
                        llmprof_frame *ranges, double gap, double call,
                        llmprof_error *err);

/* Calls inside ranges neither wait nor, where all they do is wait, take time;
 * *count of them. All of them, the last of each range, or all but that. */
typedef enum llmprof_which {
  LLMPROF_ALL,
  LLMPROF_LAST,
  LLMPROF_INNER
} llmprof_which;
bool llmprof_change_no_waits(llmprof_change *change, size_t part,
                             llmprof_frame *ranges, llmprof_which which,
                             size_t *count, llmprof_error *err);

/* CPU time and work on the GPU of ranges that take longer than half of them do
 * are as much as there; *count of the ranges that are changed. */
bool llmprof_change_even(llmprof_change *change, size_t part,
                         llmprof_frame *ranges, size_t *count,
                         llmprof_error *err);

/* One launch of a CUDA graph in each of the ranges, in place of the calls from
 * the first to the last one that launches a kernel which runs there at least
 * `least` times. The launch takes `launch` + `node` for each of its operations,
 * in ns, and `between` lies between two of them on the GPU. *count is set to
 * the calls that are replaced. */
typedef struct llmprof_graph_cost {
  double launch, node, between; /* ns */
  size_t least;
} llmprof_graph_cost;
bool llmprof_change_graph(llmprof_change *change, size_t part,
                          llmprof_frame *ranges, const llmprof_graph_cost *cost,
                          size_t *count, llmprof_error *err);

/* Inside the ranges, launches of graphs of which each operation was traced, as
 * without that: they take `launch` at most, and `between` less lies between two
 * operations (ns). *count is set to these launches. */
bool llmprof_change_untraced(llmprof_change *change, size_t part,
                             llmprof_frame *ranges, double launch,
                             double between, size_t *count, llmprof_error *err);

/* Inside ranges of a thread that hold the same calls, those of every second one
 * take what the same call took on average in the others: what the replay says
 * of a step whose own CPU times it was not given. *count of ranges that were
 * changed, and in `blind` (as many as the part has ranges), which. */
bool llmprof_change_blind(llmprof_change *change, size_t part, bool *blind,
                          size_t *count, llmprof_error *err);

/* ---- replaying ---- */

/* Times of the ranges of a part, in its order, with room for its rows;
 * LLMPROF_ABSENT where a range has no start or end, or launched nothing. */
typedef struct llmprof_replayed_ranges {
  int64_t *start, *end;         /* on the CPU */
  int64_t *gpu_start, *gpu_end; /* of operations launched inside, on any
                                   stream */
} llmprof_replayed_ranges;

/* As recorded, of all parts: ranges[part]. */
void llmprof_replay_recorded(const llmprof_replay *replay,
                             llmprof_replayed_ranges *ranges);

/* Replay with a change, or NULL for none, and write the times of the ranges of
 * all parts: ranges[part]. `missing`, which may be NULL: dependencies that were
 * not there when they were needed, which a sound model has none of. */
bool llmprof_replay_run(llmprof_replay *replay, const llmprof_change *change,
                        llmprof_replayed_ranges *ranges, size_t *missing,
                        llmprof_error *err);

/* How the last run ended: time of each part's operations, on each device, in
 * its ranges' whole extent: window, and busy inside of it. */
typedef struct llmprof_replay_busy {
  int64_t window, busy; /* ns */
} llmprof_replay_busy;
bool llmprof_replay_busy_of(const llmprof_replay *replay, bool replayed,
                            llmprof_replay_busy *busy, llmprof_error *err);

/* Time in calls that wait, in the last run and as recorded. */
void llmprof_replay_waits(const llmprof_replay *replay, int64_t *recorded,
                          int64_t *replayed);

size_t llmprof_replay_parts(const llmprof_replay *replay);
size_t llmprof_replay_ranges(const llmprof_replay *replay, size_t part);

#endif
