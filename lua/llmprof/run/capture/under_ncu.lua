-- The workload under Nsight Compute: the selected launches, replayed for their
-- counters. Whatever goes wrong here loses counters and nothing else.
local config = require "llmprof.recipe.config"
local categories = require "llmprof.analysis.kernels.categories"
local counter_plan = require "llmprof.analysis.counters.plan"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local supervise = require "llmprof.run.supervise"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local metrics = require "llmprof.nvidia.metrics"
local ncu = require "llmprof.nvidia.ncu.command"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local range_name = require "llmprof.trace.nvtx_names"
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local live = require "llmprof.run.capture.live"
local tools = require "llmprof.nvidia.tools"
local workload = require "llmprof.run.workload"

local under_ncu = { vendor = ncu }

local files = layout.ncu


-- ---- the cost of a run ----

-- Of a launch that is not measured, eager or in a graph, inside the filters: 0.07 to
-- 0.16 ms.
local LAUNCH_S = 0.15e-3

-- Of a pass beside the kernel itself: 0.022 s for a toy, 0.038 s for models with 8 and
-- with 17 GB on the GPU, and in between what saving and restoring memory takes.
local PASS_S, PASS_S_PER_BYTE, MOST_BYTES = 0.023, 5e-12, 3e9

-- What a program starts later under ncu.
local START_S = 3

-- Seconds of a pass. memory: bytes that the workload has on the GPU, a model's where that is nil.
function under_ncu.pass_s(memory)
  return PASS_S + PASS_S_PER_BYTE * math.min(memory or MOST_BYTES, MOST_BYTES)
end


-- The chip as the timeline names it; nil lets ncu look at the GPU that is there.
local function chip(ctx)
  local device = ctx.state.trace and ctx.state.trace:devices()[1]
  return device and device.chip
end


-- What a run costs beside its passes, and how the recipe's workload can be shortened.
function under_ncu.room(ctx)
  local cfg, first = ctx.cfg, ctx.state.found.instances[1]
  local least, most = {}, 0 -- bytes that the workload had on the GPU that it used most, as sampled
  for _, sample in ipairs(ctx.state.samples or {}) do
    local used, index = sample.memory_used_bytes, sample.index
    if used then
      least[index] = math.min(least[index] or used, used)
      most = math.max(most, used - least[index])
    end
  end
  local times = (ctx.run:recorded "timeline" or {}).times
  -- seconds until the workload comes to what is measured, without ncu
  local start_s = times and times.window_s or first and math.max(first.start, 0) / 1e9 or 0
  local kernels = errors.check(ctx.state.trace:frame "kernels")
  local tokens = counter_plan.tokens(cfg)
  return { pass_s = under_ncu.pass_s(most > 0 and most or nil), launch_s = LAUNCH_S,
    launches = #kernels, start_s = START_S + start_s, tokens = tokens,
    ways = counter_plan.ways(ctx.recipe.options, cfg,
      not cfg.ncu.max_new_tokens and tokens or nil) }
end


-- How far the time may go over the budget before ncu is ended.
local OVERTIME = 1.25


-- After the workload was ended ncu still writes its report, in seconds.
local GRACE = 20


-- ---- what to ask for ----

-- The filters of a counter run: from the selection; without a timeline any
-- kernel that needs no other GPU, as often as one of the selection in each launch
-- configuration, in the ranges that the user names, or the stages. Without ranges to measure in,
-- the calls of the profiler API that gated the timeline also gate the counters, so that a server's
-- start and warm-up are not measured.
local function filters(ctx)
  local plan, include, stages = ctx.state.plan, ctx.cfg.ncu.nvtx_include, ctx.recipe.stages
  if plan then
    return { ranges = plan.ranges, instances = plan.instances, kernels = plan.kernels,
      name_base = plan.name_base, launches = plan.launches,
      window = ctx.cfg.nsys.capture_range == "cudaProfilerApi" and #(plan.ranges or {}) == 0 }
  end
  local focus = counter_plan.focus(include, { declared = stages, instances = {} })
  local ranges = include and not focus and include or lists.map(stages, function(stage)
    return not stage.parent and (not focus or focus[stage.name])
      and range_name.ncu_filter(stage.name) or nil
  end)
  return { ranges = ranges, launches = ctx.cfg.top_n.launches_per_kernel, name_base = "function",
    kernels = ncu.names_without(categories.patterns(categories.COMMUNICATION)) }
end


-- The metrics to ask for: those of a set of counters, of names that stand for each other the
-- first that the chip has; else those that are named, of which "roofline" stands for what the chip
-- has of the minimal request. On paper nobody asks ncu what a chip has.
local function metrics_of(ctx, is_on_paper)
  local set, wanted = ctx.cfg.counters.set, ctx.cfg.ncu.metrics or {}
  local available -- base names of the chip's metrics as a set; nil when ncu did not tell
  if not is_on_paper and (set or lists.has(wanted, "roofline")) then
    available = ncu.read_query(tools.capture(ncu.query_argv(live.tool(ctx, ncu).path,
      chip(ctx))) or "")
    if not next(available) then
      ctx.note "ncu --query-metrics told nothing: the whole minimal request is made"
      available = nil
    end
  end
  if not set then
    return lists.flat(wanted, function(metric)
      return metric == "roofline"
        and ncu.roofline_metrics(available, ncu.measures_ranges(ctx.cfg.ncu)) or { metric }
    end)
  end
  return lists.joined(lists.map(metrics.of(set), function(names)
    return lists.filtered(names, function(name)
      return not available or available[name:match "^[^.]+"]
    end)[1]
  end), metrics.OF_LAUNCH)
end


-- ---- the run ----

-- The call of ncu with these filters and metrics around the workload; without sections where a set
-- of counters takes their place.
local function profile_argv(ctx, spec, given)
  given.path, given.output, given.argv = live.tool(ctx, ncu).path, ctx.run:absolute(files.stem),
    spec.argv
  local request = ctx.cfg.counters.set
    and setmetatable({ sections = {}, set = false }, { __index = ctx.cfg.ncu }) or ctx.cfg.ncu
  return ncu.profile_argv(request, given)
end


-- What is done with a line of ncu's: told to people, to the guard, which ends it when each of the
-- plan's launches has been measured as often as planned.
local function follow(ctx, watch)
  local plan, replays = ctx.state.plan, ctx.cfg.ncu.replay_mode == "kernel"
  local wanted, count, what = plan and plan.expected, 0,
    ncu.measures_ranges(ctx.cfg.ncu) and "range" or "launch"
  local open, left = {}, 0 -- launches that are to come, by name
  for name, launches in pairs(replays and plan and plan.names or {}) do
    open[name], left = launches, left + 1
  end
  return function(line)
    local name, pid = ncu.launch_name(line), ncu.connected(line)
    if pid then watch:target(pid) end
    if not name then return end
    count = count + 1
    if open[name] then
      open[name] = open[name] - 1
      if open[name] <= 0 then open[name], left = nil, left - 1 end
      if left == 0 then watch:satisfy() end
    end
    ctx.progress(wanted and ("launch %d of about %d"):format(count, wanted)
      or ("%s %d"):format(what, count))
  end
end


-- Seconds that a run of ncu may still take before it is ended; the budget's, and some
-- for what was not foreseen.
local function time_left(ctx, began)
  return ctx.cfg.ncu.budget_s * OVERTIME - (sys.monotonic() - began) / 1e9
end


local function profile(ctx, spec, given, began)
  local argv = profile_argv(ctx, spec, given)
  fs.remove(ctx.run:path(files.report))
  local watch = supervise.new { limit_s = time_left(ctx, began), stall_s = ctx.cfg.workload.stall_s,
    folder = ctx.run:path(files.workload), holds = true }
  local read, said = ncu.reader()
  local followed = follow(ctx, watch)
  local result, lines = workload.run(ctx, { argv = argv, spec = spec, guard = watch,
    folder = files.workload, log = files.log, command = files.command, grace = GRACE,
    timeout = ctx.cfg.ncu.timeout_s, on_line = function(line)
      read(line)
      followed(line)
    end })
  said.why, said.last_line = watch.why, lines[#lines]
  return said, result
end


-- Did no kernel match the filters, so that fewer of them may help? A failure that has another
-- cause is not tried again, nor are ranges that were not found, nor beyond the budget.
local function none_matched(ctx, said, began)
  return said.none and not (said.failure or said.application_exit or said.why)
    and not ncu.measures_ranges(ctx.cfg.ncu) and time_left(ctx, began) > 0
end


-- As the filters say; when no kernel was in them, once more without NVTX filter
-- and sections, then without names, a launch of each configuration.
local function profile_until_matched(ctx, spec)
  local given, began = filters(ctx), sys.monotonic()
  given.metrics = metrics_of(ctx)
  local said, result = profile(ctx, spec, given, began)
  if not none_matched(ctx, said, began) then return said, result end
  ctx.note("no kernel matched the filters: run once more without NVTX filter and sections")
  given.ranges, given.instances, given.no_sections = nil, nil, true
  said, result = profile(ctx, spec, given, began)
  if not given.kernels or not none_matched(ctx, said, began) then return said, result end
  ctx.note("no kernel had a name of the timeline's: run once more without the names")
  given.kernels, given.launches = nil, 1
  said, result = profile(ctx, spec, given, began)
  said.unfiltered = true
  return said, result
end


local NO_RANGE = "no range was profiled; ncu.nvtx_include names others than the stages, and "
  .. "ncu.replay_mode=app-range also measures those whose CUDA calls cannot be repeated"


local NOT_EVEN = "no kernel was profiled, not even without filters: the workload launched none "
  .. "where ncu sees it (ncu.target_processes)"

-- Kinds of failures of which ncu's own line says what of the request it was.
local NAMED = { option = true, section = true, metric = true }


-- What went wrong, as a reason: what ncu complained about, in our words and, where it names
-- something, in its own; else what came of it.
local function failure_text(ctx, said, result)
  local failure, ended = said.failure, workload.complaint(result)
  if failure then
    local own = NAMED[failure.kind] and (" (%s)"):format(text.clean(failure.line
      :gsub("^==%u+==%s*", ""))) or ""
    return ("%s%s; %s"):format(failure.message, own, failure.hint)
  end
  if said.why == "limit" then
    return ("ncu was ended after %s s (ncu.budget_s=%g); %d%s launches were measured"):format(
      text.number(ctx.cfg.ncu.budget_s * OVERTIME, 0), ctx.cfg.ncu.budget_s, said.profiled,
      ctx.state.plan and (" of about %d"):format(ctx.state.plan.expected or 0) or "")
  elseif said.why == "stalled" then
    return ("ncu and the workload made no progress for %g s and were ended "
      .. "(workload.stall_s); the last lines are in %s"):format(ctx.cfg.workload.stall_s, files.log)
  elseif result.timed_out then
    return "ncu: " .. ended
  elseif said.application_exit then
    return ("the workload returned %d under ncu; its output is in %s"):format(
      said.application_exit, files.log)
  elseif said.none then
    return ncu.measures_ranges(ctx.cfg.ncu) and NO_RANGE or said.unfiltered and NOT_EVEN
      or "no kernel was profiled"
  end
  local last = said.last_line or ""
  last = not last:find "^==PROF==" and last:find "%S" and ": " .. text.clean(last) or ""
  return said.last_error or (ended and "ncu: " .. ended or "ncu made no report") .. last
end


-- ---- what came of it ----

local function nothing_planned(ctx, plan)
  local first = plan.dropped[1]
  if not first then return "no kernel was selected" end
  if first.why then return first.why end
  local budget = ctx.cfg.ncu.budget_s
  if plan.overhead_s >= budget then
    return ("the workload would take about %s s under ncu without a launch measured, and "
      .. "ncu.budget_s is %g"):format(text.number(plan.overhead_s, 0), budget)
  end
  return ("ncu.budget_s=%g is too little for a single kernel"):format(budget)
end


-- The workload as it is measured: with fewer tokens where that is asked for, shorter
-- where the plan says so.
local function spec_of(ctx, run)
  local changes, plan = { ["infer.max_new_tokens"] = ctx.cfg.ncu.max_new_tokens }, ctx.state.plan
  for _, change in ipairs(plan and plan.changes or {}) do changes[change.key] = change.to end
  return workload.describe(ctx.recipe, ctx.cfg, run, changes)
end


-- ---- pages of results ----

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
function under_ncu.print_raw(ctx)
  ctx.outputs[#ctx.outputs + 1] = files.report
  return print_page(ctx, layout.counters, ncu.import_argv(live.tool(ctx, ncu).path,
    ctx.run:path(files.report), "raw"))
end


-- The raw page is needed; the others are left out with a note.
local function print_all(ctx)
  local path, report = live.tool(ctx, ncu).path, ctx.run:path(files.report)
  local printed, why = under_ncu.print_raw(ctx)
  if not printed then return false, "ncu could not print its report: " .. why end
  for _, page in ipairs { "details", "sections" } do
    printed, why = print_page(ctx, files[page], ncu.import_argv(path, report, page))
    if printed then
      ctx.outputs[#ctx.outputs + 1] = files[page]
    else
      ctx.note(("%s is left out: %s"):format(files[page], why))
    end
  end
  return true
end


-- Puts the pages of the report into the run: true, or false and why not.
function under_ncu.capture(ctx)
  if ctx.cfg.counters.by == "off" then return false, "counters=off" end
  local found, lack = live.try_tool(ctx, ncu)
  if not found then return false, lack end
  local plan = ctx.state.plan
  if plan and plan.expected == 0 then return false, nothing_planned(ctx, plan) end
  local shortened = plan and counter_plan.shortened_text(plan.changes)
  if shortened then ctx.note("the workload was shortened: " .. shortened) end
  local said, result = profile_until_matched(ctx, spec_of(ctx, ctx.run))
  if not ctx.state.trace then workload.keep_inputs(ctx, files.workload) end
  local is_there = ctx.run:has(files.report)
  -- nobody else may read it: ncu keeps in it how the workload was called
  if is_there then errors.check(fs.chmod(ctx.run:path(files.report), private.FILE_MODE)) end
  local measured = is_there and said.profiled > 0
  if said.why == "interrupted" then
    if measured then under_ncu.print_raw(ctx) end
    errors.raise("interrupted", "interrupted")
  elseif not measured then
    return false, failure_text(ctx, said, result)
  end
  -- of one that was ended as planned the exit status says nothing
  if said.failure or said.why ~= "satisfied" and (said.last_error or not result.ok) then
    ctx.note(failure_text(ctx, said, result))
  end
  return print_all(ctx)
end


-- The command that capture would start, and in words what is not known of it before
-- there is a timeline.
function under_ncu.preview(ctx)
  local awaits_timeline = not ctx.state.plan and not config.untimed(ctx.cfg)
  local given, notes = filters(ctx), {}
  if awaits_timeline then given.kernels = nil end
  if awaits_timeline and not ncu.measures_ranges(ctx.cfg.ncu) then
    notes[1] = "and --kernel-name-base, --kernel-name: the kernels that select takes from the "
      .. "timeline"
  end
  for _, metric in ipairs(not ctx.cfg.counters.set and ctx.cfg.ncu.metrics or {}) do
    if metric == "roofline" then
      notes[#notes + 1] = ("and among --metrics those of the tensor cores of %s"):format(
        chip(ctx) or "the GPU that is there")
    end
  end
  given.metrics = metrics_of(ctx, true)
  return lists.joined({ profile_argv(ctx, spec_of(ctx), given) }, notes)
end


return under_ncu
