/* The tables of a trace: which columns each has, whose rows these are of and
 * what they refer to; and a trace as bytes, which a cache keeps so that it can
 * be opened without reading its file again. Private to the core. */
#ifndef LLMPROF_TRACE_TABLES_H
#define LLMPROF_TRACE_TABLES_H

#include "trace/trace_events.h"

/* What is loaded, or computed, in one go: the parts, and what follows from
 * them. */
enum {
  LLMPROF_PIECE_ATTRIBUTION = LLMPROF_PARTS,
  LLMPROF_PIECE_PROJECTIONS,
  LLMPROF_PIECES
};

/* All dimensions, empty; and without their rows. */
void llmprof_dimensions_begin(llmprof_trace *trace);
void llmprof_dimensions_free(llmprof_trace *trace);

/* Columns of a piece, as far as they are none yet, before rows are added; and
 * once all were. False when out of memory. */
bool llmprof_columns_begin(llmprof_trace *trace, int piece);
bool llmprof_columns_end(llmprof_trace *trace, int piece);

/* The piece has no rows any more. */
void llmprof_columns_free(llmprof_trace *trace, int piece);

/* Once: load the piece and what it follows from, or fail and leave it empty. */
bool llmprof_trace_load(llmprof_trace *trace, int piece, llmprof_error *err);

/* Rows of a piece, once it is loaded. */
size_t llmprof_piece_rows(const llmprof_trace *trace, int piece);

/* What the column AT() this offset belongs to; -1: there is none. */
int llmprof_column_piece(size_t at);

/* ---- as bytes, which are of one build on one machine ---- */

/* Takes an array; false ends it. */
typedef bool (*llmprof_array_put)(void *user, const char *name,
                                  const void *data, size_t size);

/* Where arrays lie, aligned for any number, by name; both of an array that is
 * not there are false. They outlive the trace. */
typedef struct llmprof_arrays {
  const void *(*find)(const void *user, const char *name, size_t *size);
  bool (*is_sound)(const void *user, const char *name); /* as it was written */
  const void *user;
} llmprof_arrays;

/* What all pieces refer to, and what the trace says of itself; taken by a trace
 * that has nothing yet. False when it is not there or no good, or when out of
 * memory: of no use then. */
bool llmprof_trace_put(const llmprof_trace *trace, llmprof_array_put put,
                       void *user);
bool llmprof_trace_take(llmprof_builder *builder, const llmprof_arrays *from);

/* A piece, if it is loaded; CPU samples never are put. */
bool llmprof_piece_put(const llmprof_trace *trace, int piece,
                       llmprof_array_put put, void *user);
bool llmprof_piece_is_there(int piece, const llmprof_arrays *from);

/* Its columns are used where they lie; what they refer to is loaded. False
 * where it is not there, or could not be of this trace: it has no rows then. */
bool llmprof_piece_take(llmprof_trace *trace, int piece,
                        const llmprof_arrays *from);

/* Bytes of its columns, 0 where it is not loaded. */
size_t llmprof_piece_size(const llmprof_trace *trace, int piece);

/* ---- a reader that has such pieces ---- */

/* Take a piece that follows from others; false: it is computed. */
typedef bool (*llmprof_derived)(void *state, llmprof_trace *trace, int piece);

/* As llmprof_reader_open, with a state that is there already and goes to the
 * reader's `close` in any case. bare: it takes a trace, as above. */
llmprof_trace *llmprof_reader_open_with(const llmprof_reader *reader,
                                        void *state, llmprof_derived derived,
                                        bool bare, const char *path,
                                        llmprof_error *err);

/* The state, where the trace was opened with this reader's `load`; else NULL.
 */
void *llmprof_trace_state(const llmprof_trace *trace,
                          bool (*load)(void *, llmprof_builder *, llmprof_part,
                                       llmprof_error *));

/* The builder's trace; and devices are said again, as another reader opens. */
llmprof_trace *llmprof_builder_trace(llmprof_builder *builder);
void llmprof_builder_forget_devices(llmprof_builder *builder);

#endif
