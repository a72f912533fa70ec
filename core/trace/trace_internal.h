/* What the files of the trace room share: the model itself, and its builder. */
#ifndef LLMPROF_TRACE_INTERNAL_H
#define LLMPROF_TRACE_INTERNAL_H

#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/frame.h"
#include "llmprof/trace.h"
#include "llmprof/trace_builder.h"
#include "trace/trace_events.h"
#include "trace/trace_image.h"

/* Strings of columns that hold one of a few words. */
typedef struct llmprof_words {
  uint32_t kind[LLMPROF_OP_KINDS];
  uint32_t direction[LLMPROF_COPY_KINDS];
  uint32_t host_memory[LLMPROF_HOST_MEMORIES];
} llmprof_words;

/* The value of a column for one event; LLMPROF_ABSENT if it has none. */
typedef int64_t (*llmprof_getter)(const llmprof_trace *trace, size_t row);

/* Cells that were computed and are kept, since many frames have them. */
typedef struct llmprof_kept_cells {
  llmprof_getter get;
  const char *table, *column; /* NULL: they are not put away */
  size_t count;
  llmprof_column_type type;
  bool borrowed; /* data lies on the shelf, or is the trace's anyway */
  void *data;
} llmprof_kept_cells;

/* What is known of the cells of a column in rows first .. first + count - 1. */
typedef struct llmprof_kept_facts {
  const void *spec;
  size_t first, count;
  llmprof_cell_facts *facts;
} llmprof_kept_facts;

/* What is loaded, or computed, in one go: the parts, and what follows from
 * them. */
enum {
  LLMPROF_PIECE_ATTRIBUTION = LLMPROF_PARTS,
  LLMPROF_PIECE_PROJECTIONS,
  LLMPROF_PIECES
};

/* What of a trace lies on a shelf. Arrays are numbered as in trace_arrays.h, a
 * bit for each. */
typedef struct llmprof_image {
  llmprof_shelf shelf;
  bool has_shelf;
  bool pieces[LLMPROF_PIECES];  /* all arrays of the piece are there */
  uint64_t borrowed;            /* the trace's pointer is to the shelf */
  uint64_t sound;               /* it was looked at, and may be used */
  bool promised[LLMPROF_PARTS]; /* frames may have been told its rows: */
  size_t rows[LLMPROF_PARTS];
} llmprof_image;

/* What operations of a kind have in common: they are twins. */
typedef struct llmprof_twin {
  uint32_t name, place;
  uint32_t thread, api; /* of the call that launched them; LLMPROF_NONE: none
                           did */
} llmprof_twin;

/* Kinds of operations (trace_twins.c). */
typedef struct llmprof_twins {
  uint32_t *of_op; /* in place of ops.name, ops.place and what is kept of calls;
                      NULL: these are there */
  llmprof_intern kinds; /* of llmprof_twin */
  uint32_t *latest;     /* while they are found: by name, later by kind */
  size_t latest_count, latest_cap;
} llmprof_twins;

/* By operation, what is kept of the API call that launched it where calls are
 * not. */
typedef struct llmprof_launched {
  uint32_t *thread; /* LLMPROF_NONE: none did; NULL: twins say so */
  uint32_t *name;   /* the same */
  uint32_t *delay;  /* ns from LLMPROF_SOONEST before its start */
  uint32_t *took;   /* ns; both UINT32_MAX where none did */
  int64_t *start;   /* both instead of the two above, where one of these does */
  int64_t *end;     /* not fit; else NULL */
  uint64_t *again;  /* a bit: one before it has the same call */
} llmprof_launched;

enum {
  LLMPROF_SOONEST = 1 << 30 /* ns that a call may seem to be later */
};

/* Operations of one kind, in the order of their correlation ids. */
typedef struct llmprof_seeker {
  const uint32_t *ids;  /* by row, */
  uint32_t *rows;       /* in order; NULL: they are as they lie */
  uint32_t first;       /* operation */
  size_t count, at;     /* what was found last lies before this one */
  int64_t before, next; /* ids on both sides of it */
} llmprof_seeker;

/* Of kernels, by their name, in place of arrays of details (trace_names.c). */
typedef struct llmprof_names {
  size_t reach;                    /* names are below this */
  uint32_t *short_of, *mangled_of; /* NULL: the arrays are there */
} llmprof_names;

/* What is kept of API calls where not all of it will be asked for. */
typedef struct llmprof_narrow {
  unsigned kept;    /* of llmprof_calls_part; 0: all, as usual */
  unsigned loading; /* while they are read */
  unsigned loaded;  /* once, though a frame may have taken it since */
  size_t count;     /* calls that were read */
  size_t cap;       /* of these; 0 where a frame took them: */
  uint32_t *name;
  int64_t *duration;
  bool near, calls_near; /* ends are, as far as rows were read, kept as */
  uint32_t *op_duration, *call_duration; /* these, where all of them fit */
  bool whole[LLMPROF_PARTS]; /* their arrays are asked for: all ends are kept */
  llmprof_names names;
  bool twinned; /* operations are kept so, as far as they were read */
  llmprof_twins twins;
  llmprof_launched launched;
  llmprof_seeker seekers[LLMPROF_OP_KINDS]; /* while calls are read */
  int64_t before, next; /* between these ids no seeker has one, */
  llmprof_seeker *only; /* and this one alone has `next`; NULL: several do */
} llmprof_narrow;

struct llmprof_trace {
  char *path;
  llmprof_strings *strings;
  llmprof_words words;
  char *schema, *product; /* NULL when the file does not say */
  int64_t epoch;

  llmprof_builder *builder;
  const llmprof_reader *reader; /* NULL: built without one */
  bool reading;                 /* the reader has opened the file */
  void *reader_state;
  llmprof_image image;
  bool loaded[LLMPROF_PARTS];
  bool with_details; /* they are wanted with the operations */

  llmprof_device *devices;
  size_t device_count, device_cap;
  llmprof_diagnostic *diagnostics;
  size_t diagnostic_count, diagnostic_cap;

  llmprof_intern process_ids; /* the reader's ids -> row */
  llmprof_process *processes;
  size_t process_cap;
  llmprof_intern thread_ids; /* the reader's ids -> row */
  llmprof_thread *threads;
  size_t thread_cap;
  llmprof_intern places; /* of llmprof_place */
  llmprof_intern shapes; /* of llmprof_shape */

  bool has[LLMPROF_TABLES];
  bool knows[LLMPROF_FACTS];
  llmprof_ops ops;
  llmprof_details details;
  llmprof_calls calls;
  llmprof_narrow narrow;
  llmprof_ranges ranges;
  llmprof_samples samples;
  llmprof_cpu_samples cpu_samples;
  llmprof_intern stack_frames; /* of llmprof_stack_frame */
  llmprof_attribution attribution;
  llmprof_projection *projections;
  size_t projection_count;
  bool attributed, projected;

  llmprof_kept_cells *kept;
  size_t kept_count, kept_cap;
  llmprof_kept_facts *facts;
  size_t facts_count, facts_cap;
};

/* Rows that are being added; belongs to its trace. */
struct llmprof_builder {
  llmprof_trace *trace;
  size_t expected;          /* rows of the table that comes next */
  llmprof_op_kind kind;     /* of the operation before */
  size_t op_cap, other_cap; /* other: what kernels do not have */
  size_t detail_count, detail_cap;
  uint32_t
      *latest_shape;   /* by short name, of its last kernel: row + 1; NULL: */
  size_t latest_count; /* not known. Strings that came later have none */
  size_t call_cap;
  size_t range_cap;
  size_t sample_cap;
  size_t cpu_sample_cap;
  int64_t last_time; /* of any range event, LLMPROF_ABSENT before */
};

/* ---- words ---- */

bool llmprof_words_add(llmprof_words *words, llmprof_strings *strings);

/* ---- storage ---- */

llmprof_trace *llmprof_trace_new(const char *path, llmprof_error *err);

/* The same without a string in its pool. */
llmprof_trace *llmprof_trace_new_bare(const char *path, llmprof_error *err);

/* Arrays for `cap` rows. False when out of memory: what was there stays. */
bool llmprof_ops_resize(llmprof_trace *trace, size_t cap);
bool llmprof_ops_resize_others(llmprof_ops *ops, size_t cap);
bool llmprof_details_resize(llmprof_details *details, size_t cap);
bool llmprof_calls_resize(llmprof_trace *trace, size_t cap);
bool llmprof_ranges_resize(llmprof_ranges *ranges, size_t cap);
bool llmprof_samples_resize(llmprof_samples *samples, size_t cap);
bool llmprof_cpu_samples_resize(llmprof_cpu_samples *samples, size_t cap);

bool llmprof_durations_resize(llmprof_narrow *narrow, size_t cap);
void llmprof_durations_free(llmprof_narrow *narrow);
void llmprof_launched_free(llmprof_launched *launched);
void llmprof_attribution_free(llmprof_attribution *attribution);

/* Details of kernels are added no more: what only served for that goes. */
void llmprof_builder_forget_shapes(llmprof_builder *builder);

/* No rows of the part any more. */
void llmprof_trace_clear(llmprof_trace *trace, llmprof_part part);

/* By link of the attribution, which is loaded: the innermost range, from it
 * outwards, whose tag is one of `tags`, or LLMPROF_NONE. The caller frees; NULL
 * when out of memory. */
uint32_t *llmprof_trace_labelled_links(const llmprof_trace *trace,
                                       const llmprof_trace_tag *tags,
                                       size_t count);

/* By CPU sample: the innermost range around it whose tag has a name in `names`,
 * of its thread, else of another thread of its process, or LLMPROF_NONE; and
 * whether it is of its own thread. False when out of memory. */
bool llmprof_trace_ranges_around_samples(const llmprof_trace *trace,
                                         const uint32_t *names,
                                         uint32_t *ranges, uint32_t *own);
/* Rows of a part, as they are counted now; and that frames were told so. */
size_t llmprof_trace_rows(const llmprof_trace *trace, llmprof_part part);
void llmprof_trace_promise(llmprof_trace *trace, llmprof_part part);

/* ---- operations that are alike (trace_twins.c) ---- */

/* Before operations are read, and for each whose row there is room for: it has
 * the number of its kind, or, once there are too many, its name and place.
 * False when out of memory. */
void llmprof_twins_begin(llmprof_trace *trace);
bool llmprof_twins_put(llmprof_builder *b, size_t row,
                       const llmprof_op_row *op);

/* All operations were read, and calls come next. */
bool llmprof_twins_begin_calls(llmprof_twins *twins);

/* All calls were read; or not, and none launched anything. */
void llmprof_twins_end(llmprof_trace *trace, bool ok);
void llmprof_twins_free(llmprof_twins *twins);

/* A kind by its number. */
static inline const llmprof_twin *llmprof_twin_at(const llmprof_trace *trace,
                                                  size_t number) {
  const void *kinds = trace->narrow.twins.kinds.records;
  return (const llmprof_twin *)kinds + number;
}

/* An operation was launched by this call; false when out of memory. There may
 * be no twins any more then. */
bool llmprof_twins_vary(llmprof_trace *trace, size_t op,
                        const llmprof_call_row *call);
static inline bool llmprof_twins_launch(llmprof_trace *trace, size_t op,
                                        const llmprof_call_row *call) {
  const llmprof_twins *t = &trace->narrow.twins;
  uint32_t number = t->latest[t->of_op[op]];
  const llmprof_twin *last = number ? llmprof_twin_at(trace, number - 1) : NULL;
  if (!last || last->thread != call->thread || last->api != call->name)
    return llmprof_twins_vary(trace, op, call);
  t->of_op[op] = number - 1;
  return true;
}

/* ---- ends that are kept as durations (trace_ends.c) ---- */

/* Before operations, or calls, are read. */
void llmprof_ends_begin(llmprof_trace *trace, llmprof_part part);

/* The end of an operation whose start is there; the same of a call that is not
 * kept as a duration from here on. False when out of memory. */
bool llmprof_ends_put_op(llmprof_builder *b, size_t row,
                         const llmprof_op_row *op);
bool llmprof_ends_put_call(llmprof_builder *b, size_t row,
                           const llmprof_call_row *call);

/* Ends of so many rows in an array for `cap`, which the caller frees; NULL when
 * out of memory. */
int64_t *llmprof_ends_of(const int64_t *start, const uint32_t *took,
                         size_t count, size_t cap);

/* Have ops.end, or calls.end, where starts are there. False when out of
 * memory. */
bool llmprof_ends_widen(llmprof_trace *trace, llmprof_part part);

static inline int64_t llmprof_call_end(const llmprof_trace *trace,
                                       size_t call) {
  const llmprof_calls *calls = &trace->calls;
  return calls->end ? calls->end[call]
                    : calls->start[call] + trace->narrow.call_duration[call];
}

/* ---- names of kernels that their name tells (trace_names.c) ---- */

/* All details were read: keep them so, if that will do. */
void llmprof_names_fold(llmprof_trace *trace);

/* The same by kernel, which the caller frees; NULL when out of memory. */
uint32_t *llmprof_names_of(const llmprof_trace *trace, const uint32_t *of);

/* Have both arrays of details. False when out of memory. */
bool llmprof_names_unfold(llmprof_trace *trace);
void llmprof_names_free(llmprof_names *names);

/* ---- calls of which a part is kept (trace_narrow.c) ---- */

/* Is this part kept in place of all calls? */
bool llmprof_narrow_is_used(const llmprof_trace *trace, unsigned part);

/* Read what is kept of calls: this part of it, and what was not read yet. */
bool llmprof_narrow_load(llmprof_trace *trace, unsigned part,
                         llmprof_error *err);

/* Before operations are read: of their names and places kinds are kept. And for
 * each whose row there is room for. */
void llmprof_narrow_begin_ops(llmprof_trace *trace);
bool llmprof_narrow_put_op(llmprof_builder *b, size_t row,
                           const llmprof_op_row *op);

/* Before calls are read, for each of them, and afterwards. */
bool llmprof_narrow_begin(llmprof_trace *trace, llmprof_error *err);
bool llmprof_narrow_take_id(llmprof_trace *trace, const llmprof_call_row *call);
static inline bool llmprof_narrow_take(llmprof_trace *trace,
                                       const llmprof_call_row *call) {
  const llmprof_narrow *n = &trace->narrow;
  uint32_t id = call->correlation;
  if (call->thread == LLMPROF_NONE || id == LLMPROF_NONE) return true;
  return (id > n->before && id < n->next) ||
         llmprof_narrow_take_id(trace, call);
}
void llmprof_narrow_end(llmprof_trace *trace, bool ok);

/* Ranges are projected: what only served for that goes. */
void llmprof_narrow_projected(llmprof_trace *trace);

/* Are launches of operations known without calls? */
static inline bool llmprof_narrow_launches(const llmprof_trace *trace) {
  return trace->narrow.loaded & LLMPROF_CALLS_LAUNCHES;
}

/* And that by what lies between times, which is small? */
static inline bool llmprof_narrow_is_near(const llmprof_trace *trace) {
  return llmprof_narrow_launches(trace) && trace->narrow.op_duration &&
         !trace->narrow.launched.start;
}

/* How many calls there are, kept or not. */
static inline size_t llmprof_trace_calls_read(const llmprof_trace *trace) {
  return llmprof_narrow_launches(trace) ? trace->narrow.count
                                        : trace->calls.count;
}

/* Links of operations and their ranges, without the calls between them where
 * they were put away. */
bool llmprof_trace_load_links(llmprof_trace *trace, llmprof_error *err);

/* What launched operations, once it is loaded. */
bool llmprof_trace_load_launching(llmprof_trace *trace, llmprof_error *err);

static inline int64_t llmprof_op_end(const llmprof_trace *trace, size_t op) {
  const llmprof_ops *ops = &trace->ops;
  return ops->end ? ops->end[op]
                  : ops->start[op] + trace->narrow.op_duration[op];
}

/* Of the call that launched an operation: LLMPROF_NONE and absent where there
 * is none. */
static inline uint32_t llmprof_launch_thread(const llmprof_trace *trace,
                                             size_t op) {
  const llmprof_narrow *n = &trace->narrow;
  if (n->twins.of_op) return llmprof_twin_at(trace, n->twins.of_op[op])->thread;
  if (llmprof_narrow_launches(trace)) return n->launched.thread[op];
  uint32_t call = trace->attribution.call[op];
  return call == LLMPROF_NONE ? LLMPROF_NONE : trace->calls.thread[call];
}

static inline int64_t llmprof_narrow_start(const llmprof_trace *trace,
                                           size_t op) {
  const llmprof_launched *l = &trace->narrow.launched;
  if (l->start) return l->start[op];
  if (l->took[op] == UINT32_MAX) return LLMPROF_ABSENT;
  return trace->ops.start[op] + LLMPROF_SOONEST - (int64_t)l->delay[op];
}

/* Where launches are near: from the call's start to the operation's. */
static inline int64_t llmprof_near_delay(const llmprof_trace *trace,
                                         size_t op) {
  const llmprof_launched *l = &trace->narrow.launched;
  return l->took[op] == UINT32_MAX ? LLMPROF_ABSENT
                                   : (int64_t)l->delay[op] - LLMPROF_SOONEST;
}

static inline int64_t llmprof_launch_start(const llmprof_trace *trace,
                                           size_t op) {
  if (llmprof_narrow_launches(trace)) return llmprof_narrow_start(trace, op);
  uint32_t call = trace->attribution.call[op];
  return call == LLMPROF_NONE ? LLMPROF_ABSENT : trace->calls.start[call];
}

static inline int64_t llmprof_narrow_end_of(const llmprof_trace *trace,
                                            size_t op) {
  const llmprof_launched *l = &trace->narrow.launched;
  if (l->end) return l->end[op];
  if (l->took[op] == UINT32_MAX) return LLMPROF_ABSENT;
  return llmprof_narrow_start(trace, op) + l->took[op];
}

static inline int64_t llmprof_launch_end(const llmprof_trace *trace,
                                         size_t op) {
  if (llmprof_narrow_launches(trace)) return llmprof_narrow_end_of(trace, op);
  uint32_t call = trace->attribution.call[op];
  return call == LLMPROF_NONE ? LLMPROF_ABSENT : llmprof_call_end(trace, call);
}

/* ---- building ---- */

/* The capacity for one row more than `count`; fails (LIMIT) when there can be
 * none. what: "GPU operations". */
bool llmprof_builder_grow(const llmprof_builder *builder, size_t count,
                          size_t cap, const char *what, size_t *grown,
                          llmprof_error *err);

/* All rows of the part are there: what follows from them. */
void llmprof_builder_end_ops(llmprof_builder *builder);
bool llmprof_builder_end_details(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_ranges(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_cpu_samples(llmprof_builder *builder,
                                     llmprof_error *err);

/* ---- what lies on a shelf (trace_image.c) ---- */

/* Use all arrays of a piece; false when they are not there or no good. */
bool llmprof_image_take(llmprof_trace *trace, int piece);

/* Look at an array of those that lie there, once, before it is used. */
bool llmprof_image_is_sound(llmprof_trace *trace, size_t number);

/* As far as they were not taken, forget the arrays. */
void llmprof_image_leave(llmprof_trace *trace);

/* Cells of a shared column of a table, "ops" or "api", at least `count` of
 * them; false when they are not there or no good. */
bool llmprof_image_kept(llmprof_trace *trace, const char *table,
                        const char *column, size_t count,
                        llmprof_kept_cells *kept);

/* ---- loading ---- */

/* May the array AT() this offset be read? What it belongs to is loaded if it
 * is not at hand. */
bool llmprof_trace_have(llmprof_trace *trace, size_t at, llmprof_error *err);

/* Know how many rows a part has, which may be without loading it. */
bool llmprof_trace_count(llmprof_trace *trace, llmprof_part part,
                         llmprof_error *err);

/* Once: load the part, or fail and leave it empty. */
bool llmprof_trace_load(llmprof_trace *trace, llmprof_part part,
                        llmprof_error *err);

/* In ns; absent when either time is, or when they are more than 292 years
 * apart, as only a broken file says. */
static inline int64_t llmprof_between(int64_t start, int64_t end) {
  int64_t time;
  if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT ||
      __builtin_sub_overflow(end, start, &time))
    return LLMPROF_ABSENT;
  return time;
}

#endif
