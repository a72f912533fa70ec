-- Counters of whole ranges, as range replay measures them, and of launches of CUDA graphs:
-- a result is all that ran between a begin and an end, and belongs to no kernel.
local json = require "llmprof.json"

local ranges = {}

local flop_kinds = { "fp64", "fp32", "fp16", "tensor", "total" }


-- The range that a result is of: the innermost that was open; nil where ranges
-- are marked by cudaProfilerStart and Stop.
local function name_of(result)
  return result.ranges[#result.ranges] or result.started[#result.started]
end


-- FLOP by kind, as far as they were measured; nil if none was.
local function flop_of(launches, row)
  local flop = {}
  for _, kind in ipairs(flop_kinds) do flop[kind] = launches:get(row, "flop." .. kind) end
  return next(flop) and flop or nil
end


local function record(launches, row, occurrence, class, stage)
  local bytes, ns = launches:get(row, "bytes.dram"), launches:get(row, "duration_ns")
  return {
    range = name_of(class), stage = stage, occurrence = occurrence,
    duration_ns = ns and ns + 0.0,
    sm_percent = launches:get(row, "throughput.sm"),
    tensor_percent = launches:get(row, "throughput.tensor"),
    dram_percent = launches:get(row, "throughput.dram"),
    memory_percent = launches:get(row, "throughput.memory"),
    dram_bytes = bytes and math.tointeger(math.floor(bytes + 0.5)),
    flop = flop_of(launches, row), intensity = launches:get(row, "intensity.dram"),
  }
end


-- The rows that are whole ranges, in order: { row, class }.
local function whole(launches)
  local list = {}
  for _, class in ipairs(launches.classes) do
    for _, row in ipairs(class.whole_range and class.rows or {}) do
      list[#list + 1] = { row = row, class = class }
    end
  end
  table.sort(list, function(a, b) return a.row < b.row end)
  return list
end


-- Those of the launches (of llmprof.nvidia.ncu.launches) that are whole ranges, in their
-- order, as results.json has them: times in ns, percentages 0..100, absent what was not
-- measured. occurrence counts those of a range from 1. stage_of(class): the
-- stage it is in, or nil.
function ranges.list(launches, stage_of)
  local list, seen = json.list {}, {}
  for i, result in ipairs(whole(launches)) do
    local name = name_of(result.class) or ""
    seen[name] = (seen[name] or 0) + 1
    list[i] = record(launches, result.row, seen[name], result.class, stage_of(result.class))
  end
  return list
end


return ranges
