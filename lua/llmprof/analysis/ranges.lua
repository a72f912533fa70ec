-- Counters of whole ranges, as range replay measures them: a result is all that
-- ran between a range's begin and end, and belongs to no kernel.
local json = require "llmprof.json"

local ranges = {}

local flop_kinds = { "fp64", "fp32", "fp16", "tensor", "total" }


-- "domain:name" of an NVTX range, or its name in the default domain.
function ranges.tag(range)
  return range.domain and range.domain .. ":" .. range.name or range.name
end


-- The range that a result is of: the innermost that was open; nil where ranges
-- are marked by cudaProfilerStart and Stop.
local function name_of(result)
  local range = (result.stages or {})[#(result.stages or {})]
    or (result.ranges or {})[#(result.ranges or {})]
  return range and ranges.tag(range)
end


-- FLOP by kind, as far as they were measured; nil if none was.
local function flop_of(result)
  local flop = {}
  for _, kind in ipairs(flop_kinds) do flop[kind] = result.flop[kind] end
  return next(flop) and flop or nil
end


local function record(result, occurrence, stage)
  local bytes = result.bytes.dram
  return {
    range = name_of(result), stage = stage, occurrence = occurrence,
    duration_ns = result.duration and result.duration * 1e9,
    sm_percent = result.throughput.sm, dram_percent = result.throughput.dram,
    memory_percent = result.throughput.memory,
    dram_bytes = bytes and math.tointeger(math.floor(bytes + 0.5)),
    flop = flop_of(result), intensity = result.intensity.dram,
  }
end


-- The results of llmprof.ncu that are whole ranges, in their order, as
-- results.json has them: times in ns, percentages 0..100, absent what was not
-- measured. occurrence counts those of a range from 1. stage_of(result): the
-- stage it is in, or nil.
function ranges.list(results, stage_of)
  local list, seen = json.list {}, {}
  for _, result in ipairs(results) do
    if result.whole_range then
      local name = name_of(result) or ""
      seen[name] = (seen[name] or 0) + 1
      list[#list + 1] = record(result, seen[name], stage_of(result))
    end
  end
  return list
end


return ranges
