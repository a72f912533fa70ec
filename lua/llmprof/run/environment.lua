-- The machine that llmprof runs on, and the one that a capture came from.
local gpu = require "llmprof.gpu"
local json = require "llmprof.json"
local sys = require "llmprof.sys"
local version = require "llmprof.version"

local environment = {}


local function this_machine()
  local uname, cpu = sys.uname(), sys.cpu()
  return {
    kernel = ("%s %s"):format(uname.sysname, uname.release),
    machine = uname.machine,
    cpu = cpu.model, cores = cpu.cores, memory_bytes = cpu.memory,
    container = sys.in_container(),
    llmprof = version.version, compiler = version.compiler,
  }
end


-- The GPUs, by NVML, and the driver; what NVML does not say is absent.
local function gpus()
  local devices, reason = gpu.list()
  local list = json.list {}
  for i, device in ipairs(devices) do
    if device.throttle then device.throttle = json.list(device.throttle) end
    list[i] = device
  end
  return list, reason
end


-- This machine, for a capture made now. tools: by name, of llmprof.nvidia.tools.
function environment.captured_here(tools)
  local devices, reason = gpus()
  local captured = this_machine()
  captured.gpus, captured.gpus_reason = devices, #devices == 0 and reason or nil
  if devices[1] then
    captured.driver, captured.cuda = devices[1].driver_version, devices[1].cuda_version
  end
  for name, tool in pairs(tools) do captured[name] = tool.version end
  return captured
end


-- What env.json holds. captured: the machine that was measured, or nil; model: of
-- llmprof.run.identity.
function environment.record(captured, model)
  return { model = model, captured_on = captured, analysed_on = this_machine() }
end


return environment
