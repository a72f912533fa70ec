/* llmprof.replay: what a program would take if something in it were different.
 *
 *   local opened = assert(require("llmprof.trace").open "run.sqlite")
 *   local gpu = assert(opened:frame "gpu")
 *   local r = replay.new { { operations = gpu,
 *     calls = assert(opened:frame "api"),
 *     ranges = assert(opened:frame "ranges") } }
 *   local change = r:change()
 *   print(change:scale(1, gpu, 0.5) == #gpu)      --> true
 *   local changed = r:run(change)[1]              -- of the first part
 *   print(changed:get(1, "end"), r:recorded()[1]:get(1, "end"))
 *
 * Times are ns. Parts count from 1. Failures are raised. */
#include "replay/replay.h"

#include "base/alloc.h"
#include "frame.h"

#define REPLAY "llmprof.replay"
#define CHANGE "llmprof.replay.change"

LLMPROF_LUA_CLOSE(close_replay, REPLAY, llmprof_replay_free)

LLMPROF_LUA_CLOSE(close_change, CHANGE, llmprof_change_free)

/* A frame in a field of the table on top of the stack; NULL where it is nil and
 * may be. */
static llmprof_frame *frame_field(lua_State *L, const char *field,
                                  bool needed) {
  llmprof_frame *frame = NULL;
  if (lua_getfield(L, -1, field) != LUA_TNIL)
    frame = llmprof_lua_check_frame(L, lua_gettop(L));
  else if (needed)
    luaL_error(L, "a part has no '%s'", field);
  lua_pop(L, 1);
  return frame;
}

/* replay.new(parts) -> replay; parts: { { operations, calls, ranges [, waits,
 * records, offset, from, to] }, ... }, frames with the columns of
 * replay/replay.h */
static int replay_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  void **box = llmprof_lua_box(L, REPLAY, 0);
  *box = llmprof_replay_new();
  if (!*box) return llmprof_lua_raise_nomem(L);
  llmprof_error err;
  lua_Integer count = (lua_Integer)lua_rawlen(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    luaL_checktype(L, -1, LUA_TTABLE);
    llmprof_replay_part part = {
        .operations = frame_field(L, "operations", true),
        .calls = frame_field(L, "calls", true),
        .ranges = frame_field(L, "ranges", true),
        .waits = frame_field(L, "waits", false),
        .records = frame_field(L, "records", false),
        .offset = llmprof_lua_opt_integer(L, -1, "offset", 0),
        .from = llmprof_lua_opt_integer(L, -1, "from", 0),
        .to = llmprof_lua_opt_integer(L, -1, "to", 0),
    };
    if (!llmprof_replay_add(*box, &part, &err))
      return llmprof_lua_raise(L, &err);
    lua_pop(L, 1);
  }
  if (!llmprof_replay_link(*box, &err)) return llmprof_lua_raise(L, &err);
  return 1;
}

/* replay:basis() -> { calls, operations, orphans, collectives, links, cpu (ns),
 * derived (ns), waits (ns), unexplained (ns) } */
static int r_basis(lua_State *L) {
  llmprof_replay_basis b =
      llmprof_replay_basis_of(llmprof_lua_unbox(L, 1, REPLAY));
  lua_createtable(L, 0, 9);
  llmprof_lua_set_integer(L, "calls", (int64_t)b.calls);
  llmprof_lua_set_integer(L, "operations", (int64_t)b.operations);
  llmprof_lua_set_integer(L, "orphans", (int64_t)b.orphans);
  llmprof_lua_set_integer(L, "collectives", (int64_t)b.collectives);
  llmprof_lua_set_integer(L, "links", (int64_t)b.links);
  llmprof_lua_set_integer(L, "cpu", b.cpu);
  llmprof_lua_set_integer(L, "derived", b.derived);
  llmprof_lua_set_integer(L, "waits", b.waits);
  llmprof_lua_set_integer(L, "unexplained", b.unexplained);
  return 1;
}

/* replay:change() -> a change that changes nothing yet */
static int r_change(lua_State *L) {
  const llmprof_replay *replay = llmprof_lua_unbox(L, 1, REPLAY);
  void **box = llmprof_lua_box(L, CHANGE, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  *box = llmprof_change_new(replay);
  return *box ? 1 : llmprof_lua_raise_nomem(L);
}

/* Push a frame of the part's ranges, whose columns are filled by the run. */
static void push_ranges(lua_State *L, size_t rows,
                        llmprof_replayed_ranges *columns) {
  static const char *const names[] = {"start", "end", "gpu_start", "gpu_end"};
  llmprof_strings *pool = llmprof_lua_new_pool(L);
  llmprof_frame **box = llmprof_lua_new_frame(L, lua_gettop(L));
  *box = llmprof_frame_new(rows, pool);
  if (!*box) llmprof_lua_raise_nomem(L);
  int64_t *data[4];
  for (size_t i = 0; i < 4; i++) {
    llmprof_error err;
    data[i] = llmprof_alloc(rows, sizeof **data);
    if (!llmprof_frame_give(*box, names[i], "ns", LLMPROF_I64, data[i], &err))
      llmprof_lua_raise(L, &err);
  }
  *columns = (llmprof_replayed_ranges){data[0], data[1], data[2], data[3]};
  lua_remove(L, -2);
}

/* Push a list of frames, one for each part, and what their columns are. */
static llmprof_replayed_ranges *push_parts(lua_State *L,
                                           const llmprof_replay *replay) {
  size_t parts = llmprof_replay_parts(replay);
  llmprof_replayed_ranges *ranges =
      llmprof_lua_scratch(L, parts, sizeof *ranges);
  lua_createtable(L, (int)parts, 0);
  for (size_t i = 0; i < parts; i++) {
    push_ranges(L, llmprof_replay_ranges(replay, i), ranges + i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return ranges;
}

/* replay:run([change]) -> list of frames, one for each part: its ranges with
 * start, end, gpu_start and gpu_end; dependencies that were missing */
static int r_run(lua_State *L) {
  llmprof_replay *replay = llmprof_lua_unbox(L, 1, REPLAY);
  const llmprof_change *change =
      lua_isnoneornil(L, 2) ? NULL : llmprof_lua_unbox(L, 2, CHANGE);
  llmprof_replayed_ranges *ranges = push_parts(L, replay);
  size_t missing;
  llmprof_error err;
  if (!llmprof_replay_run(replay, change, ranges, &missing, &err))
    return llmprof_lua_raise(L, &err);
  lua_pushinteger(L, (lua_Integer)missing);
  return 2;
}

/* replay:recorded() -> the same frames, as it was recorded */
static int r_recorded(lua_State *L) {
  const llmprof_replay *replay = llmprof_lua_unbox(L, 1, REPLAY);
  llmprof_replay_recorded(replay, push_parts(L, replay));
  return 1;
}

/* replay:busy([replayed]) -> ns from the first range's start to the last one's
 * end, summed over parts, and of it the time in which an operation ran, as
 * recorded or in the last run */
static int r_busy(lua_State *L) {
  llmprof_error err;
  llmprof_replay_busy busy;
  if (!llmprof_replay_busy_of(llmprof_lua_unbox(L, 1, REPLAY),
                              lua_toboolean(L, 2), &busy, &err))
    return llmprof_lua_raise(L, &err);
  lua_pushinteger(L, busy.window);
  lua_pushinteger(L, busy.busy);
  return 2;
}

/* replay:waits() -> ns in calls that waited, as recorded, and in the last run
 */
static int r_waits(lua_State *L) {
  int64_t recorded, replayed;
  llmprof_replay_waits(llmprof_lua_unbox(L, 1, REPLAY), &recorded, &replayed);
  lua_pushinteger(L, recorded);
  lua_pushinteger(L, replayed);
  return 2;
}

static size_t check_part(lua_State *L, int arg, const llmprof_replay *replay) {
  lua_Integer part = luaL_checkinteger(L, arg);
  luaL_argcheck(L, part >= 1 && (size_t)part <= llmprof_replay_parts(replay),
                arg, "no such part");
  return (size_t)part - 1;
}

/* replay:waits_in(part, range) -> ns in synchronising calls inside a range, and
 * of it the waits that nothing explains */
static int r_waits_in(lua_State *L) {
  const llmprof_replay *replay = llmprof_lua_unbox(L, 1, REPLAY);
  size_t part = check_part(L, 2, replay);
  lua_Integer row = luaL_checkinteger(L, 3);
  luaL_argcheck(L,
                row >= 1 && (size_t)row <= llmprof_replay_ranges(replay, part),
                3, "no such range");
  int64_t waits, unexplained;
  llmprof_replay_waits_in(replay, part, (size_t)row - 1, &waits, &unexplained);
  lua_pushinteger(L, waits);
  lua_pushinteger(L, unexplained);
  return 2;
}

/* A change at 1, the part at 2 of its replay, and a frame at 3, NULL for nil;
 * what comes of the change. */
typedef struct edit {
  llmprof_change *change;
  llmprof_frame *rows;
  size_t part, count;
  llmprof_error err;
} edit;

static edit check_edit(lua_State *L) {
  edit made = {.change = llmprof_lua_unbox(L, 1, CHANGE)};
  lua_getiuservalue(L, 1, 1);
  made.part = check_part(L, 2, llmprof_lua_unbox(L, lua_gettop(L), REPLAY));
  lua_pop(L, 1);
  made.rows = lua_isnoneornil(L, 3) ? NULL : llmprof_lua_check_frame(L, 3);
  return made;
}

/* The same of a method that needs the frame. */
static edit check_rows(lua_State *L) {
  llmprof_lua_check_frame(L, 3);
  return check_edit(L);
}

static double check_factor(lua_State *L, int arg) {
  double factor = luaL_checknumber(L, arg);
  luaL_argcheck(L, factor >= 0 && factor <= 1e6, arg, "a factor from 0");
  return factor;
}

/* Push how many there were, or raise. */
static int counted(lua_State *L, bool ok, const edit *made) {
  if (!ok) return llmprof_lua_raise(L, &made->err);
  lua_pushinteger(L, (lua_Integer)made->count);
  return 1;
}

static llmprof_removal check_removal(lua_State *L, int arg) {
  static const char *const names[] = {"work", "call", "gap", NULL};
  return (llmprof_removal)luaL_checkoption(L, arg, "gap", names);
}

/* change:scale(part, operations, factor) -> how many: their time on the GPU */
static int c_scale(lua_State *L) {
  edit e = check_rows(L);
  bool ok = llmprof_change_scale(e.change, e.part, e.rows, check_factor(L, 4),
                                 &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:remove(part, operations [, "work" | "call" | "gap"]) -> how many */
static int c_remove(lua_State *L) {
  edit e = check_rows(L);
  bool ok = llmprof_change_remove(e.change, e.part, e.rows, check_removal(L, 4),
                                  &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:merge(part, operations, sum [, "work" | "call" | "gap"]) -> how many
 * go: one in place of those with one value of a column `group`, which lie
 * together, or, without it, of those that follow each other on a stream. It
 * takes as long as all of them, or as the longest */
static int c_merge(lua_State *L) {
  edit e = check_rows(L);
  bool ok = llmprof_change_merge(e.change, e.part, e.rows, lua_toboolean(L, 4),
                                 check_removal(L, 5), &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:ignore(part, operations) -> how many of collectives nobody waits for
 * any more */
static int c_ignore(lua_State *L) {
  edit e = check_rows(L);
  bool ok = llmprof_change_ignore(e.change, e.part, e.rows, &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:cpu(part, ranges or nil, gap, call): factors of CPU gaps and of what
 * calls take by themselves, inside ranges, or everywhere */
static int c_cpu(lua_State *L) {
  edit e = check_edit(L);
  if (!llmprof_change_cpu(e.change, e.part, e.rows, check_factor(L, 4),
                          check_factor(L, 5), &e.err))
    return llmprof_lua_raise(L, &e.err);
  return 0;
}

/* change:no_waits(part, ranges [, "all" | "last" | "inner"]) -> how many calls
 * wait no longer: all, the last of each range, or all but that */
static int c_no_waits(lua_State *L) {
  static const char *const names[] = {"all", "last", "inner", NULL};
  edit e = check_rows(L);
  llmprof_which which = (llmprof_which)luaL_checkoption(L, 4, "all", names);
  bool ok = llmprof_change_no_waits(e.change, e.part, e.rows, which, &e.count,
                                    &e.err);
  return counted(L, ok, &e);
}

/* change:even(part, ranges) -> how many ranges take no longer than half of them
 * do */
static int c_even(lua_State *L) {
  edit e = check_rows(L);
  bool ok = llmprof_change_even(e.change, e.part, e.rows, &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:graph(part, ranges, { launch, node, between (ns), least }) -> how many
 * calls one launch of a graph replaces in each of the ranges */
static int c_graph(lua_State *L) {
  edit e = check_rows(L);
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_Integer least = llmprof_lua_opt_integer(L, 4, "least", 12);
  luaL_argcheck(L, least >= 1, 4, "least is 1 or more");
  llmprof_graph_cost cost = {
      .launch = llmprof_lua_opt_number(L, 4, "launch", 15000),
      .node = llmprof_lua_opt_number(L, 4, "node", 0),
      .between = llmprof_lua_opt_number(L, 4, "between", 430),
      .least = (size_t)least,
  };
  luaL_argcheck(L, cost.launch >= 0 && cost.node >= 0 && cost.between >= 0, 4,
                "times are 0 or more");
  bool ok =
      llmprof_change_graph(e.change, e.part, e.rows, &cost, &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:untraced(part, ranges, launch, between) -> how many launches of graphs
 * take `launch` at most, and `between` less between two operations, in ns */
static int c_untraced(lua_State *L) {
  edit e = check_rows(L);
  double launch = luaL_checknumber(L, 4), between = luaL_checknumber(L, 5);
  luaL_argcheck(L, launch >= 0 && between >= 0, 4, "times are 0 or more");
  bool ok = llmprof_change_untraced(e.change, e.part, e.rows, launch, between,
                                    &e.count, &e.err);
  return counted(L, ok, &e);
}

/* change:blind(part) -> how many ranges were given the CPU times of others,
 * and a list of booleans: which */
static int c_blind(lua_State *L) {
  edit e = check_edit(L);
  lua_getiuservalue(L, 1, 1);
  size_t rows = llmprof_replay_ranges(
      llmprof_lua_unbox(L, lua_gettop(L), REPLAY), e.part);
  bool *blind = llmprof_lua_scratch(L, rows, sizeof *blind);
  counted(L, llmprof_change_blind(e.change, e.part, blind, &e.count, &e.err),
          &e);
  lua_createtable(L, (int)rows, 0);
  for (size_t i = 0; i < rows; i++) {
    lua_pushboolean(L, blind[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 2;
}

static const luaL_Reg replay_methods[] = {
    {"basis", r_basis},       {"recorded", r_recorded}, {"change", r_change},
    {"run", r_run},           {"busy", r_busy},         {"waits", r_waits},
    {"waits_in", r_waits_in}, {"close", close_replay},  {NULL, NULL},
};

static const luaL_Reg change_methods[] = {
    {"scale", c_scale}, {"ignore", c_ignore},     {"remove", c_remove},
    {"merge", c_merge}, {"cpu", c_cpu},           {"no_waits", c_no_waits},
    {"graph", c_graph}, {"untraced", c_untraced}, {"blind", c_blind},
    {"even", c_even},   {"close", close_change},  {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"new", replay_new},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(replay) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, REPLAY, replay_methods, close_replay);
  llmprof_lua_class(L, CHANGE, change_methods, close_change);
  luaL_newlib(L, functions);
  return 1;
}
