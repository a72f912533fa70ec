-- What profiling cost: the workload's own stage times, plain and profiled.
local cold = require "llmprof.analysis.stages.warmup"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local statistics = require "llmprof.statistics"

local overhead = {}


-- What the repeats of a metrics.json that count, as those of the timeline do, took: list of the
-- mean of each stage, { name, ms }.
local function stage_means(metrics, profiled, is_left_out)
  local timed = {}
  for i, rep in ipairs(metrics.repeats) do
    for name, stage in pairs(rep.stages) do
      local counts = stage.ms and not is_left_out(cold.place_of(profiled, rep, i), name)
      if counts then timed[#timed + 1] = { name = name, ms = stage.ms } end
    end
  end
  return lists.map(lists.grouped(timed, "name"), function(own)
    return { name = own[1].name, ms = statistics.describe(lists.map(own, "ms")).mean }
  end)
end


-- { runs, stages = list of { name, plain_ms, plain_min_ms, plain_max_ms,
-- profiled_ms, inflation, certain } } from the metrics of the profiled run and
-- of the plain ones; inflation is profiled over plain, less one; certain: is it more than the plain
-- runs differ by among themselves? Absent where there was one. is_left_out(repeat,
-- stage): what the timeline leaves out as a cold start counts nowhere. nil when no
-- stage has both.
function overhead.compare(profiled, plain, is_left_out)
  local with = stage_means(profiled, profiled, is_left_out)
  local means = lists.flat(plain, function(metrics)
    return stage_means(metrics, profiled, is_left_out)
  end)
  local list = lists.map(lists.grouped(means, "name"), function(own)
    local base = statistics.describe(lists.map(own, "ms"))
    local one, certain = lists.find(with, "name", own[1].name), nil
    if not one or base.mean <= 0 then return nil end
    if base.count > 1 then certain = math.abs(one.ms - base.mean) > base.max - base.min end
    return { name = one.name, plain_ms = base.mean, plain_min_ms = base.min,
      plain_max_ms = base.max, profiled_ms = one.ms, inflation = one.ms / base.mean - 1,
      certain = certain }
  end)
  return #list > 0 and { runs = #plain, stages = lists.sort(list, "name") } or nil
end


-- How many ranks run a stage of the timeline, which is the first file, side by side.
function overhead.ranks_in_trace(results)
  local list = results.ranks and results.ranks.ranks or {}
  return math.max(#lists.filtered(list, function(rank) return rank.file == list[1].file end), 1)
end


-- How long one instance of a stage takes without the profiler, in ns; nil when
-- no plain run was timed. A repeat may hold several instances, and those of each rank.
function overhead.plain_ns(results, stage)
  local list, per_repeat = results.overhead and results.overhead.stages or {}, 1
  local row = lists.find(list, "name", stage.name)
    or lists.find(list, "name", range_name.role(stage.name)) -- without its domain
  local repeats = stage.repeats or (results.repeats and results.repeats.used)
  if stage.wall and repeats then
    per_repeat = math.max(stage.wall.count / repeats / overhead.ranks_in_trace(results), 1)
  end
  return row and row.plain_ms * 1e6 / per_repeat
end


-- ---- which time comes first ----

-- Which time stands for a figure: that of runs without the profiler wherever they
-- were timed; the profiled one is the second number.

local FIGURES = { "ttft", "tpot", "tokens_per_s" }


-- { ttft, tpot, tokens_per_s }, each { first, profiled, plain }: distributions, as
-- results.latency has them. first is the plain one where there is one; profiled and
-- plain tell which there are. A TPOT that two clocks disagree on is not there.
function overhead.latency_of(results)
  local latency, made = results.latency or {}, {}
  for _, key in ipairs(FIGURES) do
    local plain, profiled = latency.plain and latency.plain[key], latency[key]
    local doubtful = latency.contradiction and key ~= "ttft"
    if (plain or profiled) and not doubtful then
      made[key] = { first = plain or profiled, plain = plain, profiled = profiled }
    end
  end
  return made
end


-- ns of one instance of a stage, and the profiled one where the first is plain.
function overhead.time_of(results, stage)
  local plain = stage.own and stage.own.mean_ns or overhead.plain_ns(results, stage)
  local profiled = stage.wall and stage.wall.mean_ns
  if plain then return plain, profiled end
  return profiled, nil
end


-- The stage in which most of the run's time goes, no part of another, and ns of one instance.
function overhead.longest(results)
  local stage, taken, most = nil, nil, 0
  for _, one in ipairs(results.stages) do
    local time = not one.parent and one.wall and overhead.time_of(results, one)
    if time and time * one.wall.count > most then
      stage, taken, most = one, time, time * one.wall.count
    end
  end
  return stage, taken
end


-- ns of that time in which the GPU did nothing, and their share of it. What the GPU works
-- is the same without the profiler, so that of a plain time the rest is idle.
function overhead.idle_of(results, stage)
  local time, profiled = overhead.time_of(results, stage)
  if not profiled or not stage.gpu_busy_ns then return stage.gpu_idle_ns, stage.idle_share end
  local idle = math.max(time - stage.gpu_busy_ns, 0)
  return idle, time > 0 and idle / time or nil
end


-- The same without what is idle within replays of graphs, where no CPU can help.
function overhead.waits_of(results, stage)
  local idle = overhead.idle_of(results, stage)
  local time, graph = overhead.time_of(results, stage), (stage.waiting or {}).graph_ns or 0
  local waits = idle and math.max(idle - graph, 0)
  return waits, waits and time > 0 and waits / time or nil
end


return overhead
