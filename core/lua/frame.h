/* Frames as userdata, for the modules that make them. */
#ifndef LLMPROF_LUA_FRAME_H
#define LLMPROF_LUA_FRAME_H

#include "frame/group_by.h"
#include "llmprof/frame.h"
#include "llmprof_lua.h"

/* Push an empty frame box that keeps the value at `owner` alive (its user
 * value 1; user value 2 is for what is added to the frame later); the caller
 * stores the frame into it. */
llmprof_frame **llmprof_lua_new_frame(lua_State *L, int owner);

/* Free frames that nobody refers to, where this number of bytes was asked for
 * since this was done last. */
void llmprof_lua_collect_frames(lua_State *L, size_t asked);

/* Push an empty pool of strings, to own a frame. */
llmprof_strings *llmprof_lua_new_pool(lua_State *L);

/* Register the classes; idempotent. */
void llmprof_lua_frame_classes(lua_State *L);

/* Keep the value on top of the stack as long as the frame at `frame`, which is
 * no relative index; popped. */
void llmprof_lua_keep_with(lua_State *L, int frame);

/* The frame; raises when it, or what it was made from, is closed. */
llmprof_frame *llmprof_lua_check_frame(lua_State *L, int arg);

/* The number of the column named at `index`, or of this name; raises when there
 * is none. */
size_t llmprof_lua_check_column(lua_State *L, llmprof_frame *frame, int index);
size_t llmprof_lua_column_named(lua_State *L, llmprof_frame *frame,
                                const char *name);

/* The column, loaded; raises when it cannot be. */
const llmprof_column *
llmprof_lua_load_column(lua_State *L, llmprof_frame *frame, size_t number);

/* Push a cell of a loaded column; nil for an absent one. */
void llmprof_lua_push_cell(lua_State *L, const llmprof_frame *frame,
                           const llmprof_column *column, size_t row);

/* Push zeroed memory for the length of one call, in a box that frees it also
 * when the call raises. */
void *llmprof_lua_scratch(lua_State *L, size_t count, size_t size);

/* Push such a box, empty, for a block of llmprof_alloc. */
void **llmprof_lua_scratch_box(lua_State *L);

/* Column numbers of the list at `list`, in a box left on the stack. */
size_t *llmprof_lua_check_columns(lua_State *L, llmprof_frame *frame, int list,
                                  size_t *count);

/* The number of the column named by a field of the table at `arg`; raises when
 * there is none. The optional one is SIZE_MAX when the field is nil. */
size_t llmprof_lua_column_field(lua_State *L, int arg, llmprof_frame *frame,
                                const char *field);
size_t llmprof_lua_opt_column_field(lua_State *L, int arg, llmprof_frame *frame,
                                    const char *field);

/* Column numbers of the list in that field, none where it is nil; in a box left
 * on the stack. */
size_t *llmprof_lua_column_list(lua_State *L, int arg, llmprof_frame *frame,
                                const char *field, size_t *count);

/* The type that a column is declared with: string, number or integer. */
llmprof_column_type llmprof_lua_column_type(lua_State *L, const char *name,
                                            const char *type);

/* The field `name` of the options at 2, of a column that the frame is to get.
 */
const char *llmprof_lua_new_name(lua_State *L, llmprof_frame *frame);

/* Raises when the frame has a column of that name. */
void llmprof_lua_check_new(lua_State *L, llmprof_frame *frame,
                           const char *name);

/* Raises when a column holds strings. */
void llmprof_lua_check_numbers(lua_State *L, const llmprof_frame *frame,
                               size_t column);

/* Push groups by these columns, freed by the collector; raises when out of
 * memory. */
llmprof_groups *llmprof_lua_new_groups(lua_State *L, llmprof_frame *frame,
                                       const size_t *keys, size_t count);

/* The frame just made into its box on top of the stack, or the failure, which
 * is raised. */
int llmprof_lua_made_frame(lua_State *L, llmprof_frame **box,
                           llmprof_frame *made, const llmprof_error *err);

/* frame:close(), and the classes without their methods: frame_box.c. */
int llmprof_lua_close_frame(lua_State *L);
void llmprof_lua_box_classes(lua_State *L);

/* The methods of core/lua/group.c, query.c, frame_make.c, relate.c,
 * lazy_columns.c and compute.c, the class that group.c needs, and the
 * functions of llmprof.frame. */
extern const luaL_Reg llmprof_lua_group_methods[];
void llmprof_lua_group_class(lua_State *L);
extern const luaL_Reg llmprof_lua_query_methods[];
extern const luaL_Reg llmprof_lua_make_methods[];
extern const luaL_Reg llmprof_lua_make_functions[];
extern const luaL_Reg llmprof_lua_relate_methods[];
extern const luaL_Reg llmprof_lua_lazy_methods[];
extern const luaL_Reg llmprof_lua_compute_methods[];

#endif
