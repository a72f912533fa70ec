-- What measuring counters costs here: how much of the budget goes before and between the measured
-- launches.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local live = require "llmprof.run.capture.live"
local ncu = require "llmprof.nvidia.ncu.command"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local counter_plan = require "llmprof.analysis.counters.plan"
local workload = require "llmprof.run.workload"

local ncu_cost = {}

-- Of a launch that is not measured, eager or in a graph, inside the filters: 0.07 to
-- 0.16 ms.
local LAUNCH_S = 0.15e-3

-- Of a pass beside the kernel itself: 0.022 s for a toy, 0.038 s for models with 8 and
-- with 17 GB on the GPU, and in between what saving and restoring memory takes.
local PASS_S, PASS_S_PER_BYTE, MOST_BYTES = 0.023, 5e-12, 3e9

-- What a program starts later under ncu.
local START_S = 3

-- { pass_s, launch_s, start_s } of a machine. memory: bytes that the workload has on the GPU, a
-- model's where that is nil.
function ncu_cost.figures(memory)
  return { pass_s = PASS_S + PASS_S_PER_BYTE * math.min(memory or MOST_BYTES, MOST_BYTES),
    launch_s = LAUNCH_S, start_s = START_S }
end


-- ---- the cost of a run ----

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


-- What a run costs beside its passes, and how the recipe's workload can be shortened.
function ncu_cost.room(ctx)
  local figures, cfg = ncu_cost.figures(memory_of(ctx)), ctx.cfg
  local kernels = errors.check(ctx.state.trace:frame "kernels")
  local tokens = counter_plan.tokens(cfg)
  return { pass_s = figures.pass_s, launch_s = figures.launch_s, launches = #kernels,
    start_s = figures.start_s + start_of(ctx), tokens = tokens,
    ways = counter_plan.ways(ctx.recipe.options, cfg,
      not cfg.ncu.max_new_tokens and tokens or nil) }
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
