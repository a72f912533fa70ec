-- The workload under Nsight Compute: the selected launches, replayed for their
-- counters. Whatever goes wrong here loses counters and nothing else.
local categories = require "llmprof.analysis.categories"
local counter_plan = require "llmprof.analysis.counter_plan"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local metric_cache = require "llmprof.nvidia.ncu.metric_cache"
local ncu = require "llmprof.nvidia.ncu.command"
local range_name = require "llmprof.base.range_name"
local process = require "llmprof.base.process"
local tool = require "llmprof.run.capture.tool"
local tools = require "llmprof.nvidia.tools"
local workload = require "llmprof.run.workload"

local files = layout.ncu

-- Printing a page of a report that takes longer hangs, in seconds.
local PATIENCE = 600


-- ---- what to ask for ----

-- Ranges to measure in when no timeline says which: the user's, or the stages.
local function stage_ranges(ctx)
  local include, stages, ranges = ctx.cfg.ncu.nvtx_include, ctx.recipe.stages, {}
  local focus = counter_plan.focus(include, { declared = stages, instances = {} })
  if include and not focus then return include end
  for _, stage in ipairs(stages) do
    if not stage.parent and (not focus or focus[stage.name]) then
      ranges[#ranges + 1] = range_name.ncu_filter(stage.name)
    end
  end
  return ranges
end


-- The filters of a counter run: from the selection; without a timeline any
-- kernel that needs no other GPU, as often as one of the selection in each launch
-- configuration.
local function filters(ctx)
  local plan = ctx.state.plan
  if not plan then
    return { ranges = stage_ranges(ctx), launches = ctx.cfg.top_n.launches_per_kernel,
      name_base = "function",
      kernels = ncu.names_without(categories.patterns(categories.COMMUNICATION)) }
  end
  return { ranges = plan.ranges, instances = plan.instances, kernels = plan.kernels,
    name_base = plan.name_base, launches = plan.launches }
end


-- The chip as the timeline names it; nil lets ncu look at the GPU that is there.
local function chip_of(ctx)
  local device = ctx.state.trace and ctx.state.trace:devices()[1]
  return device and device.chip
end


-- Base names of a chip's metrics as ncu tells them, and whether that is all.
local function query_metrics(path, chip)
  local output, result = tools.capture(ncu.query_argv(path, chip))
  local names = ncu.read_query(output or "")
  return next(names) and names, output and result.ok
end


-- Base names of the chip's metrics as a set, asked for once; nil when ncu did
-- not tell. The metrics of a GPU whose chip is not known are not kept.
local function available_metrics(ctx)
  local found, chip = tool.of(ctx, ncu), chip_of(ctx)
  local kept = chip and metric_cache.load(found.version, chip)
  if kept then return kept end
  local names, whole = query_metrics(found.path, chip)
  if not names then
    ctx.note "ncu --query-metrics told nothing: the whole minimal request is made"
    return nil
  end
  if chip and whole then metric_cache.save(found.version, chip, names) end
  return names
end


-- What "roofline" among the metrics stands for: what the chip has of the minimal
-- request.
local function roofline_metrics(ctx)
  return ncu.roofline_metrics(available_metrics(ctx), ncu.measures_ranges(ctx.cfg.ncu))
end


-- Before a tool was asked: what every chip has of it.
local function roofline_on_paper(ctx)
  return ncu.roofline_metrics(nil, ncu.measures_ranges(ctx.cfg.ncu))
end


-- The metrics to ask for; roofline(ctx) gives those behind that word, the others are
-- taken as they are.
local function metrics_of(ctx, roofline)
  local list = {}
  for _, metric in ipairs(ctx.cfg.ncu.metrics or {}) do
    local names = metric == "roofline" and roofline(ctx) or { metric }
    table.move(names, 1, #names, #list + 1, list)
  end
  return list
end


-- ---- the run ----

-- The call of ncu with these filters and metrics around the workload.
local function profile_argv(ctx, spec, given)
  given.path, given.output, given.argv = tool.of(ctx, ncu).path, ctx.run:absolute(files.stem),
    spec.argv
  return ncu.profile_argv(ctx.cfg.ncu, given)
end


local function profile(ctx, spec, given)
  local argv = profile_argv(ctx, spec, given)
  local count, wanted = 0, ctx.state.plan and ctx.state.plan.expected
  fs.remove(ctx.run:path(files.report))
  local result, lines = workload.run(ctx, { argv = argv, spec = spec,
    folder = files.workload, log = files.log, command = files.command,
    timeout = ctx.cfg.ncu.timeout_s, on_line = function(line)
      if ncu.is_launch(line) then
        count = count + 1
        ctx.progress(wanted and ("launch %d of about %d"):format(count, wanted)
          or ("%s %d"):format(ncu.measures_ranges(ctx.cfg.ncu) and "range" or "launch", count))
      end
    end })
  return ncu.read_output(lines), result
end


-- As the filters say; when no kernel was in them, once more without NVTX filter
-- and sections. A failure that has another cause is not tried again, nor are
-- ranges that were not found.
local function profile_twice(ctx, spec)
  local given = filters(ctx)
  given.metrics = metrics_of(ctx, roofline_metrics)
  local said, result = profile(ctx, spec, given)
  if not said.none or said.failure or said.application_exit
    or ncu.measures_ranges(ctx.cfg.ncu) then return said, result end
  ctx.note("no kernel matched the filters: run once more without NVTX filter and sections")
  given.ranges, given.instances, given.no_sections = nil, nil, true
  return profile(ctx, spec, given)
end


local NO_RANGE = "no range was profiled; ncu.nvtx_include names others than the stages, and "
  .. "ncu.replay_mode=app-range also measures those whose CUDA calls cannot be repeated"


-- What went wrong, as a reason.
local function failure_text(ctx, said, result)
  local failure, ended = said.failure, workload.complaint(result)
  if failure then return ("%s; %s"):format(failure.message, failure.hint) end
  if said.application_exit then
    return ("the workload returned %d under ncu; its output is in %s"):format(
      said.application_exit, files.log)
  elseif said.none then
    return ncu.measures_ranges(ctx.cfg.ncu) and NO_RANGE or "no kernel was profiled"
  end
  return said.last_error or (ended and "ncu: " .. ended) or "ncu made no report"
end


-- ---- its report ----

-- One page into a file of the run; argv prints it.
local function print_page(ctx, name, argv)
  local result, message = process.run(argv, { stdout = ctx.run:path(name), timeout = PATIENCE },
    ctx.tick)
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
  if not result or not result.ok then
    fs.remove(ctx.run:path(name))
    return nil, message or workload.complaint(result)
  end
  return true
end


-- The raw page is needed; the others are left out with a note.
local function print_pages(ctx)
  local path, report = tool.of(ctx, ncu).path, ctx.run:path(files.report)
  ctx.outputs[#ctx.outputs + 1] = files.report
  local printed, why = print_page(ctx, layout.counters, ncu.import_argv(path, report, "raw"))
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


local function nothing_planned(ctx, plan)
  local first = plan.dropped[1]
  if not first then return "no kernel was selected" end
  if first.why then return first.why end
  return ("ncu.budget_s=%g is too little for a single kernel"):format(ctx.cfg.ncu.budget_s)
end


-- The workload as it is measured: with fewer tokens where that is asked for.
local function spec_of(ctx, run)
  return workload.describe(ctx.recipe, ctx.cfg, run, ctx.cfg.ncu.max_new_tokens)
end


-- ---- as a table ----

local under_ncu = { vendor = ncu }


-- Puts the pages of the report into the run: true, or false and why not.
function under_ncu.capture(ctx)
  if ctx.cfg.counters == "off" then return false, "counters=off" end
  local found, lack = tool.try(ctx, ncu)
  if not found then return false, lack end
  local plan = ctx.state.plan
  if plan and plan.expected == 0 then return false, nothing_planned(ctx, plan) end
  local said, result = profile_twice(ctx, spec_of(ctx, ctx.run))
  if not ctx.state.trace then workload.keep_inputs(ctx, files.workload) end
  if not ctx.run:has(files.report) or said.profiled == 0 then
    return false, failure_text(ctx, said, result)
  end
  if said.failure or said.last_error or not result.ok then
    ctx.note(failure_text(ctx, said, result))
  end
  return print_pages(ctx)
end


-- What the command of a preview lacks, in words.
local function unknown_yet(ctx)
  local notes = {}
  if not ctx.state.plan and not ncu.measures_ranges(ctx.cfg.ncu) then
    notes[1] = "and --kernel-name-base, --kernel-name: the kernels that select takes from the "
      .. "timeline"
  end
  for _, metric in ipairs(ctx.cfg.ncu.metrics or {}) do
    if metric == "roofline" then
      notes[#notes + 1] = ("and among --metrics those of the tensor cores of %s"):format(
        chip_of(ctx) or "the GPU that is there")
    end
  end
  return notes
end


-- The command that capture would start, and in words what is not known of it before
-- there is a timeline.
function under_ncu.preview(ctx)
  local given, list = filters(ctx), unknown_yet(ctx)
  given.metrics = metrics_of(ctx, roofline_on_paper)
  table.insert(list, 1, profile_argv(ctx, spec_of(ctx), given))
  return list
end


return under_ncu
