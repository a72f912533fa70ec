-- The machine that llmprof runs on, and the one a capture came from.
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


-- env.json: { analysed_on, captured_on }; captured_on is what a recorded
-- capture says of itself, or absent when the capture was made here.
function environment.record(about)
  return json.ordered({ analysed_on = this_machine(),
    captured_on = about and about.environment }, { "captured_on", "analysed_on" })
end


return environment
