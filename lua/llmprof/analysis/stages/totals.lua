-- What of a trace belongs to its stages: repeats that count, and totals of operations.
local errors = require "llmprof.process.errors"
local trace_file = require "llmprof.trace.file"

local totals = { reads = { "trace", "found", "metrics" },
  gives = { repeats = "how many repeats there are, and which count",
    inferred = "how stages were told that no range marks",
    totals = "operations of the whole trace" } }

local check = errors.check


local function totals_of(trace, found)
  local ops = found.ops
  local all = ops:group { total = { "duration" }, union = true }[1]
  local result = all and trace_file.count_kinds(ops, { gpu_time_ns = all.duration.total,
    busy_ns = all.busy, span_ns = all.last and all.last - all.first })
    or trace_file.no_kinds {}
  if all and not found.whole then
    local inside = 0
    for _, row in ipairs(ops:group { by = { "stage" }, total = { "duration" } }) do
      if row.stage then inside = inside + row.duration.total end
    end
    result.stage_share = all.duration.total > 0 and inside / all.duration.total or nil
  end
  result.api_calls = #check(trace:frame "api")
  result.graph_kernels = #check(trace:frame "kernels"):where { { "graph_node", "~=", false } }
  return result
end


function totals.run(state)
  local found = state.found
  if state.trace then
    state.repeats, state.inferred = found.repeats, found.inferred
    state.repeats.whole_run = found.whole
    state.totals = totals_of(state.trace, found)
  elseif found then -- by the workload's own clock
    state.repeats = found.repeats
    state.repeats.whole_run = false
  elseif state.metrics then
    local count = #state.metrics.repeats
    state.repeats = { count = count, used = count, skipped_first = false, whole_run = false }
  end
end


return totals
