-- What measuring counters costs here: how much of the budget goes before and between
-- the measured launches, and what a finished run says of the next one's.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local live = require "llmprof.run.capture.live"
local ncu = require "llmprof.nvidia.ncu.command"
local folders = require "llmprof.io.files"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local counter_plan = require "llmprof.analysis.counters.plan"
local statistics = require "llmprof.statistics"
local workload = require "llmprof.run.workload"

local ncu_cost = {}

-- ---- what is kept between runs ----

-- What a launch and a pass cost, in a file for each version of ncu and chip. A run does without
-- it: what cannot be read is as predicted, what cannot be written is not kept.

-- Of a launch that is not measured, eager or in a graph, inside the filters: 0.07 to
-- 0.16 ms.
local LAUNCH_S = 0.15e-3

-- Of a pass beside the kernel itself: 0.022 s for a toy, 0.038 s for models with 8 and
-- with 17 GB on the GPU, and in between what saving and restoring memory takes.
local PASS_S, PASS_S_PER_BYTE, MOST_BYTES = 0.023, 5e-12, 3e9

-- What a program starts later under ncu.
local START_S = 3

-- A figure further from these than so is taken for a mistake.
local MOST = 5


local function cost_path_of(version, chip)
  local folder = folders.folder "cache"
  local name = ("ncu-cost-%s-%s.json"):format(version, chip):gsub("[^%w._-]", "_")
  return folder and folder .. "/" .. name
end


-- A factor that can be believed; else 1.
local function factor(value)
  return type(value) == "number" and value >= 1 / MOST and value <= MOST and value or 1
end


local function load(version, chip)
  local path = version and chip and cost_path_of(version, chip)
  local kept = path and json.load(path)
  if type(kept) ~= "table" or kept.ncu ~= version or kept.chip ~= chip then kept = {} end
  return { pass = factor(kept.pass), launch = factor(kept.launch) }
end


-- { pass_s, launch_s, start_s } of a machine. memory: bytes that the workload has on the
-- GPU, a model's where that is nil; version and chip may be nil.
function ncu_cost.figures(version, chip, memory)
  local kept = load(version, chip)
  local restored = math.min(memory or MOST_BYTES, MOST_BYTES)
  return { pass_s = kept.pass * (PASS_S + PASS_S_PER_BYTE * restored),
    launch_s = kept.launch * LAUNCH_S, start_s = START_S }
end


-- Keep what a run took, as factors of what was predicted for it: pass, launch (either
-- may be nil).
function ncu_cost.keep_factors(version, chip, took)
  local path = version and chip and cost_path_of(version, chip)
  if not path or not (took.pass or took.launch) then return end
  local kept = load(version, chip)
  kept.ncu, kept.chip = version, chip
  kept.pass = factor(kept.pass * (took.pass or 1))
  kept.launch = factor(kept.launch * (took.launch or 1))
  local text = json.encode(json.ordered(kept, { "ncu", "chip", "pass", "launch" }),
    { pretty = true })
  if text and fs.mkdirs((path:match "^(.*)/")) then fs.write(path, text .. "\n") end
end


-- ---- the cost of a run ----

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
  local found = live.try_tool(ctx, ncu)
  return ncu_cost.figures(found and found.version, ncu_cost.chip(ctx), memory_of(ctx))
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
  ncu_cost.keep_factors(live.tool(ctx, ncu).version, ncu_cost.chip(ctx), { pass = each / predicted,
    launch = launch_factor(plan, said, each * #times) })
end


-- Two where the largest stage is to be measured before others: of llmprof.analysis
-- .largest_first.
local function repeats_needed(ctx)
  local stages = {}
  for _, kernel in ipairs(ctx.state.kernels) do stages[kernel.stage] = true end
  return counter_plan.range_order(stages, ctx.state.found, ctx.state.kernels) and 2 or 1
end


-- What a run costs beside its passes, and how the recipe's workload can be shortened.
function ncu_cost.room(ctx)
  local figures, cfg = figures_of(ctx), ctx.cfg
  local kernels = errors.check(ctx.state.trace:frame "kernels")
  local tokens = counter_plan.tokens(cfg)
  return { pass_s = figures.pass_s, launch_s = figures.launch_s, launches = #kernels,
    start_s = figures.start_s + start_of(ctx), tokens = tokens,
    ways = counter_plan.ways(ctx.recipe.options, cfg, not cfg.ncu.max_new_tokens and tokens or nil,
      repeats_needed(ctx)) }
end


-- ---- pages of results ----

-- The pages of ncu's report, printed into the run.

local files = layout.ncu

-- Printing a page of a report that takes longer hangs, in seconds.
local PATIENCE = 600


-- One page into a file of the run; argv prints it. ncu writes numbers as the locale has them.
local function print_page(ctx, name, argv)
  local result, message = process.run(argv, { stdout = ctx.run:path(name), timeout = PATIENCE,
    env = { LC_ALL = "C" } }, ctx.tick)
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
  if not result or not result.ok then
    fs.remove(ctx.run:path(name))
    return nil, message or workload.complaint(result)
  end
  return true
end


-- The page of numbers alone.
function ncu_cost.print_raw(ctx)
  ctx.outputs[#ctx.outputs + 1] = files.report
  return print_page(ctx, layout.counters, ncu.import_argv(live.tool(ctx, ncu).path,
    ctx.run:path(files.report), "raw"))
end


-- The raw page is needed; the others are left out with a note.
function ncu_cost.print_all(ctx)
  local path, report = live.tool(ctx, ncu).path, ctx.run:path(files.report)
  local printed, why = ncu_cost.print_raw(ctx)
  if not printed then return false, "ncu could not print its report: " .. why end
  for _, page in ipairs { { files.details, ncu.import_argv(path, report, "details") },
    { files.sections, ncu.sections_argv(path, report) } } do
    printed, why = print_page(ctx, page[1], page[2])
    if printed then
      ctx.outputs[#ctx.outputs + 1] = page[1]
    else
      ctx.note(("%s is left out: %s"):format(page[1], why))
    end
  end
  return true
end


-- Nobody else may read the report, in which ncu keeps how the workload was called.
function ncu_cost.guard_report(ctx)
  if not ctx.run:has(files.report) then return end
  errors.check(fs.chmod(ctx.run:path(files.report), private.FILE_MODE))
end


return ncu_cost
