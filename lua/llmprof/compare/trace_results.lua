-- A trace without a bundle, analysed on the fly: its stages are its outermost
-- ranges; without any, prefill and decode as far as they can be inferred, else the
-- whole run.
local analysis = require "llmprof.analysis"
local breakdown = require "llmprof.analysis.stages.breakdown"
local errors = require "llmprof.process.errors"
local interrupt = require "llmprof.interrupt"
local kernels = require "llmprof.analysis.kernels.table"
local outermost = require "llmprof.analysis.stages.outermost"
local process_pool = require "llmprof.process.pool"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

local trace_results = {}

-- For process_pool.map. Tests change these.
trace_results.shares = { least = 64 << 20, weight = 1.5 }


local function results_of(trace, path)
  local found = stages.find(trace, outermost.or_inferred(trace), "auto")
  if #found.instances == 0 then
    errors.raise("nothing", path .. ": no GPU operation and no NVTX range: nothing to compare")
  end
  local list, info = kernels.list(trace, found), trace:info()
  breakdown.categorize(list)
  return analysis.results { run_id = path:match "([^/]+)$", recipe = "none", model = {},
    source = { timeline = { from = "trace", file = path, export_schema = info.schema,
      export_product = info.product } },
    trace = trace, found = found, kernels = list, gpu = {} }
end


-- Results of a trace, as llmprof.analysis makes them. What they were made of is given back
-- before another trace is read.
function trace_results.results(path)
  local trace = trace_file.open_whole(path)
  local results = results_of(trace, path)
  trace:close()
  interrupt.collect()
  return results
end


-- A function from a path to results, for these paths above all, which are analysed by several
-- processes. What is asked for twice is the same table.
function trace_results.read_all(paths)
  local made = {}
  local read = process_pool.map(process_pool.sizes(paths), trace_results.shares, function(number)
    local ok, results = errors.call(trace_results.results, paths[number])
    if not ok and errors.is_interrupt(results) then error(results, 0) end
    return ok and results or nil
  end)
  for number, results in pairs(read) do made[paths[number]] = results end
  return function(path)
    made[path] = made[path] or trace_results.results(path)
    return made[path]
  end
end


return trace_results
