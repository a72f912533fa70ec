-- The GPUs of a trace, and what those that ran kernels of the stages could do at most.
local hardware = require "llmprof.model.hardware"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"

local gpus = { where = { "trace" },
  reads = { "environment", "kernels", "gpu", "launches", "samples", "arch", "missing" },
  gives = { hardware = "peaks of the GPUs that ran the stages",
    ["environment.devices"] = "the GPUs of the trace" } }


-- GPUs that nothing can refer to are left out: a damaged export may have such.
local function devices(trace)
  local known = lists.sort(lists.filtered(trace:devices(), "id"), "id")
  return json.list(lists.map(known, function(device)
    return { id = device.id, name = device.name, chip = device.chip, uuid = device.uuid,
      memory_bytes = device.memory, bandwidth_bytes_per_s = device.bandwidth,
      max_clock_hz = device.clock, sm_count = device.sm_count, l2_bytes = device.l2,
      compute_capability = device.compute }
  end))
end


-- GPUs that ran kernels of the stages.
local function count_devices(kernels)
  local _, most = lists.largest(kernels, "devices")
  return math.max(#lists.grouped(kernels, "device"), most or 0)
end


function gpus.run(state)
  state.environment.devices = devices(state.trace)
  local made = hardware.describe { device = state.environment.devices[1],
    count = count_devices(state.kernels or {}), cfg = state.gpu, launches = state.launches,
    samples = state.samples, format = state.arch and state.arch.formats.activations or "bf16" }
  -- nobody asks what a GPU could do that is nowhere to be seen
  if made.name or #(state.kernels or {}) > 0 then
    lists.add(state.missing, made.missing)
  end
  made.missing = nil
  state.hardware = made
end


return gpus
