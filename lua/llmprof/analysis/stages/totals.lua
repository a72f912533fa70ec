-- What of a trace belongs to its stages: repeats that count, and totals of operations.
local categories = require "llmprof.analysis.kernels.categories"
local check = require("llmprof.process.errors").check
local lists = require "llmprof.tables.lists"
local trace_file = require "llmprof.trace.file"

local totals = { reads = { "trace", "found", "metrics", "kernels" },
  gives = { repeats = "how many repeats there are, and which count",
    inferred = "how stages were told that no range marks",
    totals = "operations of the whole trace" } }


-- Time in which operations ran, each GPU by itself, added up.
local function busy_of(ops)
  return lists.sum(ops:group { by = { "device" }, union = true }, "busy")
end


-- What runs beside what: time of each class, and the part of it in which nothing of a class
-- before it ran on that GPU: { computation_ns, communication_ns, exposed_communication_ns,
-- transfers_ns (copies and sets), exposed_transfers_ns }. nil where graphs were traced whole.
local function overlap_of(ops, kernels)
  if #check(ops:where { kind = "graph" }) > 0 then return nil end
  local launched = check(ops:where { kind = "kernel" })
  local all, both = busy_of(ops), busy_of(launched)
  local made = { computation_ns = both, transfers_ns = busy_of(check(ops:where {
    kind = { "copy", "set" } })), exposed_transfers_ns = all - both }
  if lists.find(kernels or {}, "category", categories.COMMUNICATION) then
    categories.marker(nil, categories.COMMUNICATION)(launched, "name", "is_communication")
    made.computation_ns = busy_of(check(launched:where { { "is_communication", "~=", 1 } }))
    made.communication_ns = busy_of(check(launched:where { is_communication = 1 }))
    made.exposed_communication_ns = both - made.computation_ns
  end
  return made
end


local function totals_of(trace, found, kernels)
  local ops = found.ops
  local all = ops:group { total = { "duration" }, union = true }[1]
  local result = trace_file.count_kinds(ops, all and { gpu_time_ns = all.duration.total,
    busy_ns = all.busy, span_ns = all.last and all.last - all.first } or {})
  if all and not found.whole then
    local inside = lists.sum(ops:group { by = { "stage" }, total = { "duration" } }, function(row)
      return row.stage and row.duration.total
    end)
    result.stage_share = all.duration.total > 0 and inside / all.duration.total or nil
  end
  result.overlap = all and overlap_of(ops, kernels)
  result.api_calls = #check(trace:frame "api")
  result.graph_kernels = #check(trace:frame "kernels"):where { { "graph_node", "~=", false } }
  return result
end


function totals.run(state)
  local found = state.found
  if state.trace then
    state.repeats, state.inferred = found.repeats, found.inferred
    state.repeats.whole_run = found.whole
    state.totals = totals_of(state.trace, found, state.kernels)
  elseif found then -- by the workload's own clock
    state.repeats = found.repeats
    state.repeats.whole_run = false
  elseif state.metrics then
    local count = #state.metrics.repeats
    state.repeats = { count = count, used = count, skipped_first = false, whole_run = false }
  end
end


return totals
