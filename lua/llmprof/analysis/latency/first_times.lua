-- Which time stands for a figure: that of runs without the profiler wherever they
-- were timed; the profiled one is the second number.
local overhead = require "llmprof.analysis.latency.overhead"

local first_times = {}

local FIGURES = { "ttft", "tpot", "tokens_per_s" }


-- { ttft, tpot, tokens_per_s }, each { first, profiled, plain }: distributions, as
-- results.latency has them. first is the plain one where there is one; profiled and
-- plain tell which there are. A TPOT that two clocks disagree on is not there.
function first_times.latency(results)
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
function first_times.stage(results, stage)
  local plain, profiled = overhead.plain_ns(results, stage), stage.wall and stage.wall.mean_ns
  if plain then return plain, profiled end
  return profiled, nil
end


-- ns of that time in which the GPU did nothing, and their share of it. What the GPU works
-- is the same without the profiler, so that of a plain time the rest is idle.
function first_times.idle(results, stage)
  local time, profiled = first_times.stage(results, stage)
  if not profiled or not stage.gpu_busy_ns then return stage.gpu_idle_ns, stage.idle_share end
  local idle = math.max(time - stage.gpu_busy_ns, 0)
  return idle, time > 0 and idle / time or nil
end


return first_times
