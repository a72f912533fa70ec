-- What measuring counters costs here: how much of the budget goes before and between
-- the measured launches, and what a finished run says of the next one's.
local metric_cache = require "llmprof.nvidia.ncu.metric_cache"
local errors = require "llmprof.process.errors"
local largest_first = require "llmprof.analysis.counters.largest_first"
local ncu = require "llmprof.nvidia.ncu.command"
local shorter = require "llmprof.analysis.counters.shorten"
local statistics = require "llmprof.statistics"
local tool = require "llmprof.run.capture.tool"

local ncu_cost = {}

-- Launches that say what one costs.
local ENOUGH = 6


-- The chip as the timeline names it; nil lets ncu look at the GPU that is there.
function ncu_cost.chip(ctx)
  local device = ctx.state.trace and ctx.state.trace:devices()[1]
  return device and device.chip
end


-- Bytes that the workload had on the GPU that it used most, as sampled; nil when nobody
-- looked.
local function memory_of(ctx)
  local least, most = {}, 0
  for _, sample in ipairs(ctx.state.samples or {}) do
    local used, index = sample.memory_used_bytes, sample.index
    if used then
      least[index] = math.min(least[index] or used, used)
      most = math.max(most, used - least[index])
    end
  end
  return most > 0 and most or nil
end


-- Seconds until the workload comes to what is measured, without ncu.
local function start_of(ctx)
  local times = (ctx.run:recorded "timeline" or {}).times
  if times and times.window_s then return times.window_s end
  local first = ctx.state.found.instances[1]
  return first and math.max(first.start, 0) / 1e9 or 0
end


local function figures_of(ctx)
  local found = tool.try(ctx, ncu)
  return metric_cache.figures(found and found.version, ncu_cost.chip(ctx), memory_of(ctx))
end


-- Of a run that ended by itself, what a launch cost that was not measured, as a factor
-- of what was predicted; nil where that cannot be told.
local function launch_factor(plan, said, measuring)
  local besides = plan.overhead_s - plan.start_s
  return not said.why and besides > 0
    and math.max(said.wall - plan.start_s - measuring, 0) / besides or nil
end


-- The next prediction learns from this run: what is between two measured launches is
-- mostly the second.
function ncu_cost.learn(ctx, said)
  local plan, times = ctx.state.plan, said.times
  if not plan or not plan.start_s or #times < ENOUGH or plan.expected == 0 then return end
  local gaps = {}
  for i = 2, #times do gaps[i - 1] = times[i] - times[i - 1] end
  local each = statistics.median(gaps)
  local predicted = (plan.seconds - plan.overhead_s) / plan.expected
  metric_cache.learn(tool.of(ctx, ncu).version, ncu_cost.chip(ctx), { pass = each / predicted,
    launch = launch_factor(plan, said, each * #times) })
end


-- Two where the largest stage is to be measured before others: of llmprof.analysis
-- .largest_first.
local function repeats_needed(ctx)
  local stages = {}
  for _, kernel in ipairs(ctx.state.kernels) do stages[kernel.stage] = true end
  return largest_first.order(stages, ctx.state.found, ctx.state.kernels) and 2 or 1
end


-- What a run costs beside its passes, and how the recipe's workload can be shortened.
function ncu_cost.room(ctx)
  local figures, cfg = figures_of(ctx), ctx.cfg
  local kernels = errors.check(ctx.state.trace:frame "kernels")
  local tokens = shorter.tokens(cfg)
  return { pass_s = figures.pass_s, launch_s = figures.launch_s, launches = #kernels,
    start_s = figures.start_s + start_of(ctx), tokens = tokens,
    ways = shorter.ways(ctx.recipe.options, cfg, not cfg.ncu.max_new_tokens and tokens or nil,
      repeats_needed(ctx)) }
end


return ncu_cost
