/* llmprof.gpu: what the driver says about the GPUs.
 *
 *   local list, reason = gpu.list()
 *   if #list == 0 then print(reason) end
 *   for _, device in ipairs(list) do
 *     local now = gpu.sample(device.index)
 *     print(device.name, now and now.power_w)
 *   end
 */
#include "device/gpu.h"

#include "llmprof_lua.h"

#define GPUS "llmprof.gpu"

typedef enum kind {
  NUMBER,
  INTEGER,
  BOOLEAN,
} kind;

/* The fields of a device's table, by llmprof_gpu_field. */
static const struct {
  const char *name;
  kind kind;
} fields[] = {
    [LLMPROF_GPU_SM_CLOCK] = {"sm_clock_mhz", INTEGER},
    [LLMPROF_GPU_MEMORY_CLOCK] = {"memory_clock_mhz", INTEGER},
    [LLMPROF_GPU_POWER] = {"power_w", NUMBER},
    [LLMPROF_GPU_ENERGY] = {"energy_j", NUMBER},
    [LLMPROF_GPU_TEMPERATURE] = {"temperature_c", INTEGER},
    [LLMPROF_GPU_UTILIZATION] = {"utilization_percent", INTEGER},
    [LLMPROF_GPU_MEMORY_BUSY] = {"memory_busy_percent", INTEGER},
    [LLMPROF_GPU_MEMORY_USED] = {"memory_used_bytes", INTEGER},
    [LLMPROF_GPU_MEMORY_TOTAL] = {"memory_total_bytes", INTEGER},
    [LLMPROF_GPU_SM_CLOCK_MAX] = {"sm_clock_max_mhz", INTEGER},
    [LLMPROF_GPU_MEMORY_CLOCK_MAX] = {"memory_clock_max_mhz", INTEGER},
    [LLMPROF_GPU_POWER_LIMIT] = {"power_limit_w", NUMBER},
    [LLMPROF_GPU_MIG] = {"mig", BOOLEAN},
    [LLMPROF_GPU_PERSISTENCE] = {"persistence", BOOLEAN},
};

/* Set field `name` of the table on top, unless the text is empty. */
static void set_text(lua_State *L, const char *name, const char *text) {
  if (*text) llmprof_lua_set_string(L, name, text);
}

/* Push the list of the names of the set bits. */
static void push_throttle(lua_State *L, uint64_t throttle) {
  lua_newtable(L);
  lua_Integer count = 0;
  for (unsigned bit = 0; bit < 64; bit++) {
    if (!(throttle >> bit & 1)) continue;
    const char *name = llmprof_gpu_throttle_name(bit);
    if (name)
      lua_pushstring(L, name);
    else
      lua_pushfstring(L, "bit_%d", (int)bit);
    lua_rawseti(L, -2, ++count);
  }
}

/* Set the known fields of the table on top. */
static void set_values(lua_State *L, const llmprof_gpu_values *now) {
  for (int i = 0; i < LLMPROF_GPU_FIELDS; i++) {
    if (!now->known[i]) continue;
    if (fields[i].kind == NUMBER)
      lua_pushnumber(L, now->values[i]);
    else if (fields[i].kind == INTEGER)
      lua_pushinteger(L, (lua_Integer)now->values[i]);
    else
      lua_pushboolean(L, now->values[i] > 0);
    lua_setfield(L, -2, fields[i].name);
  }
  if (!now->throttle_known) return;
  push_throttle(L, now->throttle);
  lua_setfield(L, -2, "throttle");
}

static void push_device(lua_State *L, llmprof_gpus *gpus, unsigned index) {
  llmprof_gpu_info info;
  llmprof_error err;
  bool ok = llmprof_gpu_describe(gpus, index, &info, &err);
  lua_newtable(L);
  llmprof_lua_set_integer(L, "index", index);
  if (!ok) {
    set_text(L, "error", err.message);
    return;
  }
  set_text(L, "name", info.name);
  set_text(L, "uuid", info.uuid);
  set_text(L, "pci_bus_id", info.pci_bus_id);
  set_text(L, "compute_capability", info.compute_capability);
  set_text(L, "driver_version", info.driver_version);
  set_text(L, "cuda_version", info.cuda_version);
  set_values(L, &info.now);
}

LLMPROF_LUA_CLOSE(f_close, GPUS, llmprof_gpus_close)

/* Loaded when first asked for. */
static llmprof_gpus *system_gpus(lua_State *L) {
  void **box = lua_touserdata(L, lua_upvalueindex(1));
  if (!*box) *box = llmprof_gpus_open(NULL, NULL);
  if (!*box) llmprof_lua_raise_nomem(L);
  return *box;
}

/* gpu.list() -> list of tables, and the reason in words when it is empty
 * Fields are absent where the device does not tell: index (from 0), name,
 * uuid, pci_bus_id, compute_capability ("9.0"), driver_version, cuda_version
 * ("13.0"), sm_clock_max_mhz, memory_clock_max_mhz, power_limit_w, mig,
 * persistence (booleans), and those of a sample. A device that cannot be used
 * has index and error (a message) only. */
static int gpu_list(lua_State *L) {
  llmprof_gpus *gpus = system_gpus(L);
  const char *reason;
  unsigned count = llmprof_gpus_count(gpus, &reason);
  lua_newtable(L);
  for (unsigned i = 0; i < count; i++) {
    push_device(L, gpus, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  if (!reason) return 1;
  lua_pushstring(L, reason);
  return 2;
}

/* gpu.sample(index) -> table | nil, message, code
 * sm_clock_mhz, memory_clock_mhz, power_w, energy_j, temperature_c,
 * utilization_percent, memory_busy_percent, memory_used_bytes,
 * memory_total_bytes, throttle (list of reasons, empty when there are none). */
static int gpu_sample(lua_State *L) {
  lua_Integer index = luaL_checkinteger(L, 1);
  luaL_argcheck(L, index >= 0 && index <= UINT32_MAX, 1,
                "index must not be negative");
  llmprof_gpu_values now;
  llmprof_error err;
  if (!llmprof_gpu_sample(system_gpus(L), (unsigned)index, &now, &err))
    return llmprof_lua_fail(L, &err);
  lua_newtable(L);
  set_values(L, &now);
  return 1;
}

static const luaL_Reg functions[] = {
    {"list", gpu_list},
    {"sample", gpu_sample},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(gpu) {
  llmprof_lua_class(L, GPUS, NULL, f_close);
  luaL_newlibtable(L, functions);
  llmprof_lua_box(L, GPUS, 0); /* upvalue: the system's NVML */
  luaL_setfuncs(L, functions, 1);
  return 1;
}
