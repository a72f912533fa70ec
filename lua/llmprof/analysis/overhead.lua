-- What profiling cost: the workload's own stage times, plain and profiled.
local statistics = require "llmprof.base.statistics"

local overhead = {}


-- Mean ms by stage over the repeats of a metrics.json; the first is left out
-- when the timeline leaves it out too.
local function stage_means(metrics, skip_first)
  local values = {}
  for i, rep in ipairs(metrics.repeats) do
    if not (skip_first and i == 1) then
      for name, stage in pairs(rep.stages) do
        values[name] = values[name] or {}
        if stage.ms then table.insert(values[name], stage.ms) end
      end
    end
  end
  local means = {}
  for name, list in pairs(values) do
    if #list > 0 then means[name] = statistics.describe(list).mean end
  end
  return means
end


-- A stage's row. certain: is it more than the plain runs differ by among
-- themselves? Absent when there was one.
local function row_of(name, plain, profiled_ms)
  local certain
  if plain.count > 1 then
    certain = math.abs(profiled_ms - plain.mean) > plain.max - plain.min
  end
  return { name = name, plain_ms = plain.mean, plain_min_ms = plain.min, plain_max_ms = plain.max,
    profiled_ms = profiled_ms, inflation = profiled_ms / plain.mean - 1, certain = certain }
end


-- { runs, stages = list of { name, plain_ms, plain_min_ms, plain_max_ms,
-- profiled_ms, inflation, certain } } from the metrics of the profiled run and
-- of the plain ones; inflation is profiled over plain, less one. nil when no
-- stage has both.
function overhead.compare(profiled, plain, skip_first)
  local with, sums, order = stage_means(profiled, skip_first), {}, {}
  for _, metrics in ipairs(plain) do
    for name, ms in pairs(stage_means(metrics, skip_first)) do
      if not sums[name] then
        sums[name] = {}
        order[#order + 1] = name
      end
      table.insert(sums[name], ms)
    end
  end
  table.sort(order)
  local list = {}
  for _, name in ipairs(order) do
    local base = statistics.describe(sums[name])
    if with[name] and base.mean > 0 then list[#list + 1] = row_of(name, base, with[name]) end
  end
  return #list > 0 and { runs = #plain, stages = list } or nil
end


-- How long one instance of a stage takes without the profiler, in ns; nil when
-- no plain run was timed. A repeat may hold several instances.
function overhead.plain_ns(results, stage)
  local repeats = results.repeats and results.repeats.used
  local per_repeat = repeats and stage.wall and stage.wall.count / repeats or 1
  for _, plain in ipairs(results.overhead and results.overhead.stages or {}) do
    if plain.name == stage.name then return plain.plain_ms * 1e6 / per_repeat end
  end
  return nil
end


return overhead
