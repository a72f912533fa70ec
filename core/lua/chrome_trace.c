/* llmprof.chrome_trace: event files of torch.profiler.
 *
 *   local reader = assert(chrome_trace.open "run.pt.trace.json")
 *   for event in reader:events() do
 *     print(event.category, event.name)  --> user_annotation  prefill
 *     break
 *   end
 *   reader:close()
 *   local recorded = assert(chrome_trace.operators "run.pt.trace.json")
 *   local host = assert(recorded:frame "host")
 */
#include "torch/chrome_trace.h"

#include "frame.h"
#include "lua_buffer.h"
#include "torch/operators.h"

#define READER    "llmprof.chrome_trace.reader"
#define OPERATORS "llmprof.chrome_trace.operators"

static void set_string(lua_State *L, const char *field, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}

static void set_integer(lua_State *L, const char *field, int64_t value) {
  if (value != LLMPROF_ABSENT) llmprof_lua_set_integer(L, field, value);
}

/* ---- events ---- */

/* chrome_trace.open(path) -> reader | nil, message, code */
static int chrome_trace_open(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  void **box = llmprof_lua_box(L, READER, 0);
  llmprof_error err;
  *box = llmprof_chrome_open(path, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

/* chrome_trace.parse(text) -> reader | nil, message, code: of a string, plain
 * or gzip */
static int chrome_trace_parse(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  void **box = llmprof_lua_box(L, READER, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1); /* keeps the text alive */
  llmprof_error err;
  *box = llmprof_chrome_open_bytes("trace", text, size, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

static int reader_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, READER);
  llmprof_chrome_close(*box);
  *box = NULL;
  return 0;
}

/* Iterator step: raises on a broken event, since a for loop has no place for
 * an error value. */
static int next_event(lua_State *L) {
  llmprof_chrome *reader = llmprof_lua_unbox(L, 1, READER);
  llmprof_chrome_event event;
  llmprof_error err;
  int got = llmprof_chrome_next(reader, &event, &err);
  if (got < 0) {
    lua_pushstring(L, err.message);
    return lua_error(L);
  }
  if (!got) return 0;
  lua_createtable(L, 0, 14);
  set_string(L, "phase", event.phase);
  set_string(L, "category", event.category);
  set_string(L, "name", event.name);
  set_integer(L, "start", event.start);
  set_integer(L, "duration", event.duration);
  set_integer(L, "pid", event.pid);
  set_integer(L, "tid", event.tid);
  set_integer(L, "external_id", event.external_id);
  set_integer(L, "correlation", event.correlation);
  set_integer(L, "device", event.device);
  set_integer(L, "stream", event.stream);
  set_string(L, "shapes", event.shapes);
  set_integer(L, "line", (int64_t)event.line);
  set_integer(L, "column", (int64_t)event.column);
  return 1;
}

/* reader:events() -> iterator over tables with the fields of
 * llmprof_chrome_event; what an event lacks is nil */
static int f_events(lua_State *L) {
  llmprof_lua_unbox(L, 1, READER);
  lua_pushcfunction(L, next_event);
  lua_pushvalue(L, 1);
  return 2;
}

/* ---- operators ---- */

/* chrome_trace.operators(path) -> operators | nil, message, code */
static int chrome_trace_operators(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  void **box = llmprof_lua_box(L, OPERATORS, 0);
  llmprof_error err;
  *box = llmprof_operators_load(path, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

static int operators_close(lua_State *L) {
  void **box = luaL_checkudata(L, 1, OPERATORS);
  llmprof_operators_free(*box);
  *box = NULL;
  return 0;
}

/* operators:info() -> { host, gpu, left_out (events), first, last (ns) } */
static int f_info(lua_State *L) {
  llmprof_operators_info info =
      llmprof_operators_about(llmprof_lua_unbox(L, 1, OPERATORS));
  lua_newtable(L);
  set_integer(L, "host", (int64_t)info.host);
  set_integer(L, "gpu", (int64_t)info.gpu);
  set_integer(L, "left_out", (int64_t)info.left_out);
  set_integer(L, "first", info.first);
  set_integer(L, "last", info.last);
  return 1;
}

/* operators:frame(name) -> frame | nil, message, code; name: host,
 * gpu or marks */
static int f_frame(lua_State *L) {
  llmprof_operators *operators = llmprof_lua_unbox(L, 1, OPERATORS);
  const char *name = luaL_checkstring(L, 2);
  llmprof_frame **made = llmprof_lua_new_frame(L, 1);
  llmprof_error err;
  *made = llmprof_operators_frame(operators, name, &err);
  return *made ? 1 : llmprof_lua_fail(L, &err);
}

static const luaL_Reg reader_methods[] = {
    {"events", f_events},
    {"close", reader_close},
    {NULL, NULL},
};

static const luaL_Reg operators_methods[] = {
    {"info", f_info},
    {"frame", f_frame},
    {"close", operators_close},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"open", chrome_trace_open},
    {"parse", chrome_trace_parse},
    {"operators", chrome_trace_operators},
    {NULL, NULL},
};

int luaopen_llmprof_chrome_trace(lua_State *L);
int luaopen_llmprof_chrome_trace(lua_State *L) {
  llmprof_lua_frame_classes(L);
  llmprof_lua_class(L, READER, reader_methods, reader_close);
  llmprof_lua_class(L, OPERATORS, operators_methods, operators_close);
  luaL_newlib(L, functions);
  return 1;
}
