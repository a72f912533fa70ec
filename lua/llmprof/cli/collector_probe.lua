-- What of the collector works on this machine: a program of one kernel is run under it,
-- once for the timeline and once for counters.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local library = require "llmprof.collector.library"
local plan = require "llmprof.collector.plan"
local process = require "llmprof.process.child"
local spool = require "llmprof.spool"
local spools = require "llmprof.collector.spools"
local sys = require "llmprof.sys"
local trace_file = require "llmprof.trace.file"

local collector_probe = {}

-- Seconds for a kernel.
local PATIENCE = 120


-- What the collector said of a problem, or how the program ended.
local function complaint(trace, result)
  for _, said in ipairs(errors.check(trace:diagnostics())) do
    if said.severity ~= "info" then return said.text end
  end
  return result.ok and "nothing was recorded" or "the program of one kernel failed"
end


-- Runs it with a plan: read(trace, path) of what was recorded, or nil and why not.
local function try(path, words, read)
  local folder <close> = spools.scratch(os.getenv "TMPDIR" or "/tmp")
  local environment = library.environment(path, { folder = folder.path,
    plan = folder.path .. "/plan" })
  errors.check(fs.write(environment.LLMPROF_COLLECTOR_PLAN, plan.of_words(words)))
  local result, message = process.run({ sys.executable(), "probe" }, { env = environment,
    on_line = function() end, kill_group = true, helper = true,
    timeout = PATIENCE })
  if not result then return nil, message end
  local all = folder.path .. "/all"
  if spools.gather(folder.path, all) == 0 then
    return nil, "it was not loaded into a program that uses CUDA"
  end
  local trace = trace_file.open(all)
  local found = read(trace, all)
  local why = not found and complaint(trace, result) or nil
  trace:close()
  return found, why
end


-- { kernels }, or nil and why there is no timeline.
function collector_probe.timeline(path)
  return try(path, { "units=timeline" }, function(trace)
    local kernels = #errors.check(trace:frame "kernels")
    return kernels > 0 and { kernels = kernels } or nil
  end)
end


-- { metrics, passes } of one launch, or nil and why there are no counters.
function collector_probe.counters(path)
  return try(path, { "units=counters", "launch=*|*|*|*|*|0" }, function(_, all)
    local opened = errors.check(spool.open(all))
    local launches = errors.check(opened:frame "counters"):where { error = 0 }
    if #launches == 0 then return nil end
    return { passes = launches:values("passes")[1],
      metrics = #errors.check(opened:frame "metrics") }
  end)
end


return collector_probe
