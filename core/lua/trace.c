/* llmprof.trace: a timeline as frames. Times are ns since the trace began.
 *
 *   local opened = assert(trace.open "run.sqlite")
 *   local kernels = assert(opened:frame "kernels")
 *   print(opened:info().reader, #kernels > 0)     --> nsys  true
 *   opened:close()
 */
#include <string.h>

#include "cache/cache.h"
#include "llmprof/readers.h"
#include "spool/spool.h"

#include "export/perfetto.h"
#include "export/stacks_file.h"
#include "frame.h"
#include "llmprof/version.h"
#include "lua_buffer.h"
#include "nsys/nsys_write.h"
#include "readers/readers.h"
#include "trace/trace_events.h"

#define TRACE "llmprof.trace"

static llmprof_trace *check_trace(lua_State *L) {
  return llmprof_lua_unbox(L, 1, TRACE);
}

/* An option that is a number of bytes. */
static uint64_t check_bytes(lua_State *L, int options, const char *field) {
  lua_Integer bytes = llmprof_lua_opt_integer(L, options, field, -1);
  if (bytes < 0) luaL_argerror(L, options, "a number of bytes is expected");
  return (uint64_t)bytes;
}

/* trace.open(path [, cache]) -> trace | nil, message, code
 * cache: { folder, least (bytes: of smaller files nothing is kept), most (bytes
 * of all that is kept) }: columns that were kept there are used, and what is
 * loaded is kept there when the trace is closed */
static int trace_open(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  bool cached = !lua_isnoneornil(L, 2);
  llmprof_cache_options options = {0};
  if (cached) {
    options.folder = llmprof_lua_opt_string(L, 2, "folder", NULL);
    luaL_argcheck(L, options.folder, 2, "option 'folder' is missing");
    options.least = check_bytes(L, 2, "least");
    options.most = check_bytes(L, 2, "most");
  }
  void **box = llmprof_lua_box(L, TRACE, 1);
  llmprof_error err;
  *box = llmprof_cache_open(path, cached ? &options : NULL, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

/* trace.operators(path) -> trace | nil, message, code: of a spool the units of
 * operators, which it leaves out when it is opened as another trace */
LLMPROF_LUA_OPEN(trace_operators, TRACE, 1, llmprof_spool_operators)

/* trace:save() -> true | nil, message, code: keep what is not in the cache yet;
 * closing does it, too, and says nothing when it cannot */
static int f_save(lua_State *L) {
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_cache_save(check_trace(L), &err), &err);
}

static int f_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, TRACE);
  if (*box && !llmprof_lua_is_ending()) llmprof_cache_save(*box, NULL);
  llmprof_trace_close(*box);
  *box = NULL;
  return 0;
}

static void set_id(lua_State *L, const llmprof_trace *trace, const char *field,
                   uint32_t string) {
  llmprof_lua_set_string(
      L, field,
      llmprof_strings_get(llmprof_trace_strings(trace), string, NULL));
}

/* trace:info() -> { path, reader, schema, product, epoch (ns since 1970),
 * cached (true: its columns were in the cache), keeps (true: what is loaded of
 * it goes there) }; what the file does not say is
 * nil */
static int f_info(lua_State *L) {
  const llmprof_trace *trace = check_trace(L);
  lua_newtable(L);
  llmprof_lua_set_string(L, "path", llmprof_trace_path(trace));
  llmprof_lua_set_string(L, "reader", llmprof_trace_reader(trace));
  llmprof_lua_set_string(L, "schema", llmprof_trace_schema(trace));
  llmprof_lua_set_string(L, "product", llmprof_trace_product(trace));
  llmprof_lua_set_integer(L, "epoch", llmprof_trace_epoch(trace));
  if (llmprof_cache_was_used(trace)) llmprof_lua_set_bool(L, "cached", true);
  if (llmprof_cache_keeps_columns(trace))
    llmprof_lua_set_bool(L, "keeps", true);
  return 1;
}

/* trace:devices() -> list of { id, name, chip, uuid, bus, memory (bytes),
 * bandwidth (bytes/s), clock (Hz), sm_count, l2 (bytes), compute } */
static int f_devices(lua_State *L) {
  const llmprof_trace *trace = check_trace(L);
  size_t count;
  const llmprof_device *devices = llmprof_trace_devices(trace, &count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const llmprof_device *d = &devices[i];
    lua_newtable(L);
    llmprof_lua_set_integer(L, "id", d->id);
    set_id(L, trace, "name", d->name);
    set_id(L, trace, "chip", d->chip);
    set_id(L, trace, "uuid", d->uuid);
    set_id(L, trace, "bus", d->bus);
    llmprof_lua_set_integer(L, "memory", d->memory);
    llmprof_lua_set_integer(L, "bandwidth", d->bandwidth);
    llmprof_lua_set_integer(L, "clock", d->clock);
    llmprof_lua_set_integer(L, "sm_count", d->sm_count);
    llmprof_lua_set_integer(L, "l2", d->l2_size);
    if (d->compute_major != LLMPROF_ABSENT &&
        d->compute_minor != LLMPROF_ABSENT) {
      lua_pushfstring(L, "%I.%I", (LUAI_UACINT)d->compute_major,
                      (LUAI_UACINT)d->compute_minor);
      lua_setfield(L, -2, "compute");
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* trace:processes() -> list of { pid, name }, as far as tables are loaded */
static int f_processes(lua_State *L) {
  const llmprof_trace *trace = check_trace(L);
  size_t count;
  const llmprof_process *processes = llmprof_trace_processes(trace, &count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_newtable(L);
    llmprof_lua_set_integer(L, "pid", processes[i].pid);
    set_id(L, trace, "name", processes[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* trace:threads() -> list of { pid, tid, name }, as far as tables are loaded */
static int f_threads(lua_State *L) {
  const llmprof_trace *trace = check_trace(L);
  size_t count, processes;
  const llmprof_process *of = llmprof_trace_processes(trace, &processes);
  const llmprof_thread *threads = llmprof_trace_threads(trace, &count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_newtable(L);
    if (threads[i].process < processes)
      llmprof_lua_set_integer(L, "pid", of[threads[i].process].pid);
    llmprof_lua_set_integer(L, "tid", threads[i].tid);
    set_id(L, trace, "name", threads[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const char *const table_names[] = {
    [LLMPROF_TABLE_KERNELS] = "kernels",
    [LLMPROF_TABLE_COPIES] = "copies",
    [LLMPROF_TABLE_SETS] = "sets",
    [LLMPROF_TABLE_GRAPHS] = "graphs",
    [LLMPROF_TABLE_CALLS] = "api",
    [LLMPROF_TABLE_RANGES] = "ranges",
    [LLMPROF_TABLE_SAMPLES] = "samples",
    [LLMPROF_TABLE_CPU_SAMPLES] = "cpu_samples",
    [LLMPROF_TABLES] = NULL,
};

/* trace:has(table) -> were such events recorded; table is one of kernels,
 * copies, sets, graphs, api, ranges, samples, cpu_samples */
static int f_has(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  int table = luaL_checkoption(L, 2, NULL, table_names);
  llmprof_error err;
  int has = llmprof_trace_recorded(trace, (llmprof_trace_table)table, &err);
  if (has < 0) return llmprof_lua_fail(L, &err);
  lua_pushboolean(L, has);
  return 1;
}

/* trace:knows(fact) -> can the trace say so; fact is one of calls (which
 * launched an operation), graph_nodes, host_memory (of copies), payloads (of
 * ranges), allocations, diagnostics */
static int f_knows(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  const char *names[LLMPROF_FACTS + 1];
  for (int i = 0; i <= LLMPROF_FACTS; i++)
    names[i] = llmprof_fact_name((llmprof_fact)i);
  int fact = luaL_checkoption(L, 2, NULL, names);
  llmprof_error err;
  int knows = llmprof_trace_knows(trace, (llmprof_fact)fact, &err);
  if (knows < 0) return llmprof_lua_fail(L, &err);
  lua_pushboolean(L, knows);
  return 1;
}

/* trace:timeless() -> by table, as trace:has() names them, how many of its
 * events had no start or no end and were left out; 0 before they are loaded */
static int f_timeless(lua_State *L) {
  const llmprof_trace *trace = check_trace(L);
  lua_createtable(L, 0, LLMPROF_TABLES);
  for (int table = 0; table < LLMPROF_TABLES; table++) {
    size_t count = llmprof_trace_timeless(trace, (llmprof_trace_table)table);
    lua_pushinteger(L, (lua_Integer)count);
    lua_setfield(L, -2, table_names[table]);
  }
  return 1;
}

/* trace:diagnostics() -> list of { severity ("info", "warning" or "problem"),
 * text }: what the recorder noticed of itself */
static int f_diagnostics(lua_State *L) {
  static const char *const severities[] = {
      [LLMPROF_INFO] = "info",
      [LLMPROF_WARNING] = "warning",
      [LLMPROF_PROBLEM] = "problem",
  };
  llmprof_trace *trace = check_trace(L);
  size_t count;
  llmprof_error err;
  const llmprof_diagnostic *all =
      llmprof_trace_diagnostics(trace, &count, &err);
  if (!all) return llmprof_lua_fail(L, &err);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_newtable(L);
    llmprof_lua_set_string(L, "severity", severities[all[i].severity]);
    set_id(L, trace, "text", all[i].text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Push the trace's table of the frames that are in use, by name. */
static void push_shared(lua_State *L) {
  if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  llmprof_lua_set_string(L, "__mode", "v");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, 1);
}

/* Push the frame of this name that all are views of; false on failure. */
static bool push_base(lua_State *L, llmprof_trace *trace, const char *name,
                      llmprof_error *err) {
  push_shared(L);
  if (lua_getfield(L, -1, name) == LUA_TUSERDATA) return true;
  lua_pop(L, 1);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  *made = llmprof_trace_frame(trace, name, err);
  if (!*made) return false;
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, name);
  return true;
}

/* trace:frame(name) -> frame | nil, message, code
 *
 * Frames of one name are views of one that lives as long as any of them: what
 * one has worked out the others have, and what is added to one is its own. */
static int f_frame(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  const char *name = luaL_checkstring(L, 2);
  llmprof_error err;
  if (!push_base(L, trace, name, &err)) return llmprof_lua_fail(L, &err);
  llmprof_frame *base = llmprof_lua_check_frame(L, -1);
  llmprof_frame **view = llmprof_lua_new_frame(L, -1);
  *view = llmprof_frame_slice(base, 0, llmprof_frame_rows(base), &err);
  return *view ? 1 : llmprof_lua_fail(L, &err);
}

/* trace:renew(name): frames of this name that are asked for from here on share
 * nothing with those before, so that what they work out goes with them. */
static int f_renew(lua_State *L) {
  check_trace(L);
  const char *name = luaL_checkstring(L, 2);
  push_shared(L);
  lua_pushnil(L);
  lua_setfield(L, -2, name);
  return 0;
}

/* The string at index `i` of the list on top. */
static const char *check_string(lua_State *L, int arg, lua_Integer i) {
  int type = lua_rawgeti(L, -1, i);
  luaL_argexpected(L, type == LUA_TSTRING, arg, "list of tags");
  const char *text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text;
}

/* The list of tags at `arg`, each a string or { tag, label }; the array is a
 * userdata left on the stack, the strings are kept alive by the list. */
static const llmprof_trace_tag *check_tags(lua_State *L, int arg,
                                           size_t *count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *count = lua_rawlen(L, arg);
  llmprof_trace_tag *tags = lua_newuserdatauv(L, *count * sizeof *tags, 0);
  for (size_t i = 0; i < *count; i++) {
    tags[i].label = NULL;
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) == LUA_TTABLE) {
      tags[i].tag = check_string(L, arg, 1);
      tags[i].label = check_string(L, arg, 2);
    } else {
      luaL_argexpected(L, lua_type(L, -1) == LUA_TSTRING, arg, "list of tags");
      tags[i].tag = lua_tostring(L, -1);
    }
    lua_pop(L, 1);
  }
  return tags;
}

/* trace:steps(tags) -> frame of the ranges with one of these tags as the GPU
 * ran them, see llmprof_trace_steps | nil, message, code */
static int f_steps(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  size_t count;
  const llmprof_trace_tag *tags = check_tags(L, 2, &count);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_trace_steps(trace, tags, count, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

/* trace:label(frame, name, tags) -> frame with two more columns: `name`, the
 * tag, or the label given for it, of the innermost of those ranges around each
 * operation's launch, or from each range outwards, and `name`_range, that
 * range's row. */
static int f_label(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  llmprof_frame *frame = llmprof_lua_check_frame(L, 2);
  const char *name = luaL_checkstring(L, 3);
  size_t count;
  const llmprof_trace_tag *tags = check_tags(L, 4, &count);
  llmprof_error err;
  if (!llmprof_trace_label(trace, frame, name, tags, count, &err))
    return llmprof_lua_fail(L, &err);
  lua_settop(L, 2);
  return 1;
}

/* trace:stack_tree(frame [, { least, most }]) -> frame of the stacks of CPU
 * samples, or of operations, as a tree, see llmprof_trace_stack_tree | nil,
 * message, code. least: samples, or ns, of what is there, 1 unless set; most:
 * rows. */
static int f_stack_tree(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  llmprof_frame *samples = llmprof_lua_check_frame(L, 2);
  lua_Integer least = llmprof_lua_opt_integer(L, 3, "least", 1);
  lua_Integer most = llmprof_lua_opt_integer(L, 3, "most", INT32_MAX);
  luaL_argcheck(L, least >= 1 && most >= 1, 3, "numbers of 1 or more");
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_trace_stack_tree(trace, samples, least, (size_t)most, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

/* trace:stack_functions(frame) -> frame of the functions on the stacks of CPU
 * samples, see llmprof_trace_stack_functions | nil, message, code */
static int f_stack_functions(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  llmprof_frame *samples = llmprof_lua_check_frame(L, 2);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_trace_stack_functions(trace, samples, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

/* The list of spans at `arg`; the array is a userdata left on the stack, names
 * are kept alive by the list. */
static const llmprof_span *check_spans(lua_State *L, int arg, size_t *count) {
  luaL_checktype(L, arg, LUA_TTABLE);
  *count = lua_rawlen(L, arg);
  llmprof_span *spans = lua_newuserdatauv(L, (*count + 1) * sizeof *spans, 0);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, arg, (lua_Integer)i + 1);
    luaL_argexpected(
        L, lua_istable(L, -1) && lua_getfield(L, -1, "name") == LUA_TSTRING,
        arg, "list of named spans");
    spans[i].name = lua_tostring(L, -1);
    lua_pop(L, 1);
    spans[i].start = llmprof_lua_opt_integer(L, -1, "start", INT64_MIN);
    spans[i].end = llmprof_lua_opt_integer(L, -1, "stop", INT64_MAX);
    lua_pop(L, 1);
    if (spans[i].end < spans[i].start ||
        (i && spans[i].start < spans[i - 1].end))
      luaL_argerror(L, arg, "spans are in order and do not overlap");
  }
  return spans;
}

/* trace:label_spans(frame, name, spans) -> frame with two more columns: `name`,
 * the name of the span in which each operation starts, and `name`_range, the
 * span's number from 0. spans: list of { name, start, stop }, ns. */
static int f_label_spans(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  llmprof_frame *frame = llmprof_lua_check_frame(L, 2);
  const char *name = luaL_checkstring(L, 3);
  size_t count;
  const llmprof_span *spans = check_spans(L, 4, &count);
  llmprof_error err;
  if (!llmprof_trace_label_spans(trace, frame, name, spans, count, &err))
    return llmprof_lua_fail(L, &err);
  lua_settop(L, 2);
  return 1;
}

/* trace:write_stacks(frame, path [, options]) -> { stacks, weight,
 * without_stack } of the stacks of CPU samples, or of operations by ns, that
 * were written | nil, message, code. options: format ("folded": collapsed
 * stacks, or "speedscope", for speedscope.app), packed (boolean: as gzip) */
static int f_write_stacks(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  llmprof_frame *rows = llmprof_lua_check_frame(L, 2);
  const char *path = llmprof_lua_check_path(L, 3);
  const char *format = llmprof_lua_opt_string(L, 4, "format", "folded");
  bool packed = llmprof_lua_opt_bool(L, 4, "packed", false);
  llmprof_stacks_counts written;
  llmprof_error err;
  if (!llmprof_stacks_write(trace, rows, path,
                            *format == 's' ? LLMPROF_SPEEDSCOPE
                                           : LLMPROF_FOLDED,
                            packed, &written, &err))
    return llmprof_lua_fail(L, &err);
  lua_newtable(L);
  llmprof_lua_set_integer(L, "stacks", (int64_t)written.stacks);
  llmprof_lua_set_integer(L, "weight", written.weight);
  llmprof_lua_set_integer(L, "without_stack", written.without_stack);
  return 1;
}

/* ---- perfetto ---- */

/* trace:perfetto(path [, options]) -> counts of what was written:
 * { operations, ranges, calls, flows, lanes, long_names (of more than 8 KiB,
 * which were cut) } | nil, message, code
 * options: packed (boolean: as gzip) */
static int f_perfetto(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  const char *path = llmprof_lua_check_path(L, 2);
  bool packed = llmprof_lua_opt_bool(L, 3, "packed", false);
  llmprof_perfetto_counts written;
  llmprof_error err;
  if (!llmprof_perfetto_write(trace, path, packed, &written, &err))
    return llmprof_lua_fail(L, &err);
  lua_newtable(L);
  llmprof_lua_set_integer(L, "operations", (int64_t)written.operations);
  llmprof_lua_set_integer(L, "ranges", (int64_t)written.ranges);
  llmprof_lua_set_integer(L, "calls", (int64_t)written.calls);
  llmprof_lua_set_integer(L, "flows", (int64_t)written.flows);
  llmprof_lua_set_integer(L, "lanes", (int64_t)written.lanes);
  llmprof_lua_set_integer(L, "long_names", (int64_t)written.long_names);
  return 1;
}

/* trace:sqlite(path) -> counts of what was written, in the schema of nsys:
 * { operations, ranges, calls } | nil, message, code */
static int f_sqlite(lua_State *L) {
  llmprof_trace *trace = check_trace(L);
  const char *path = llmprof_lua_check_path(L, 2);
  llmprof_nsys_counts written;
  llmprof_error err;
  if (!llmprof_nsys_write(trace, path, "llmprof", LLMPROF_VERSION, &written,
                          &err))
    return llmprof_lua_fail(L, &err);
  lua_newtable(L);
  llmprof_lua_set_integer(L, "operations", (int64_t)written.operations);
  llmprof_lua_set_integer(L, "ranges", (int64_t)written.ranges);
  llmprof_lua_set_integer(L, "calls", (int64_t)written.calls);
  return 1;
}

static const luaL_Reg methods[] = {
    {"info", f_info},
    {"devices", f_devices},
    {"processes", f_processes},
    {"threads", f_threads},
    {"has", f_has},
    {"knows", f_knows},
    {"timeless", f_timeless},
    {"diagnostics", f_diagnostics},
    {"frame", f_frame},
    {"renew", f_renew},
    {"steps", f_steps},
    {"label", f_label},
    {"label_spans", f_label_spans},
    {"stack_tree", f_stack_tree},
    {"stack_functions", f_stack_functions},
    {"perfetto", f_perfetto},
    {"write_stacks", f_write_stacks},
    {"sqlite", f_sqlite},
    {"save", f_save},
    {"close", f_close},
    {NULL, NULL},
};

/* trace.reader(path) -> name of the reader that claims the file ("nsys",
 * "spool", "torch", "ncu", "folded") | nil, message, code; true behind the name
 * where it holds a timeline */
static int trace_reader(lua_State *L) {
  llmprof_error err;
  const llmprof_reader *reader =
      llmprof_reader_of(llmprof_lua_check_path(L, 1), &err);
  if (!reader) return llmprof_lua_fail(L, &err);
  lua_pushstring(L, reader->name);
  lua_pushboolean(L, reader->open != NULL);
  return 2;
}

/* trace.hint(path) -> what to do about a file that could not be opened, in one
 * line; nil: nothing is known */
static int trace_hint(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  llmprof_buffer *hint = llmprof_lua_buffer(L);
  llmprof_reader_hint_for(path, hint);
  if (!hint->size) return 0;
  return llmprof_lua_text(L, true, hint, NULL);
}

static const luaL_Reg functions[] = {
    {"open", trace_open},
    {"hint", trace_hint},
    {"operators", trace_operators},
    {"reader", trace_reader},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(trace) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, TRACE, methods, f_close);
  luaL_newlib(L, functions);
  return 1;
}
