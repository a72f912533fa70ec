-- Captures made now: the workload under Nsight Systems, under Nsight Compute,
-- and once more under its own profiler. Never two of them at once: a process
-- has one CUPTI subscriber.
local artifacts = require "llmprof.artifacts"
local command_line = require "llmprof.command_line"
local errors = require "llmprof.errors"
local fs = require "llmprof.fs"
local gpu_watch = require "llmprof.gpu_watch"
local json = require "llmprof.json"
local ncu = require "llmprof.vendor.ncu"
local nsys = require "llmprof.vendor.nsys"
local operators = require "llmprof.operators"
local scrub = require "llmprof.scrub"
local spawn = require "llmprof.spawn"
local text = require "llmprof.text"
local tools = require "llmprof.vendor.tools"
local workload = require "llmprof.workload"

local live = { name = "live" }


-- ---- tools ----

local function describe_missing_libraries(found)
  local libraries = tools.missing_libraries(found)
  if not libraries or #libraries == 0 then return end
  errors.raise("tool", ("nsys %s cannot import its own captures: it lacks %s"):format(found.version,
    table.concat(libraries, ", ")), { hint = "install them (Debian: libdw1 brings libdw.so.1)" })
end


function live.open(ctx)
  local state = ctx.state
  state.nsys = tools.ensure_nsys(ctx.cfg)
  describe_missing_libraries(state.nsys)
  local tried
  state.ncu, tried = tools.find("ncu", ctx.cfg.tools.ncu)
  state.ncu_tried = tried
  state.about = { tool = "Nsight Systems " .. state.nsys.version,
    counters_tool = state.ncu and "Nsight Compute " .. state.ncu.version or nil,
    date = artifacts.timestamp() }
end


-- The commands of each step, as far as they are known before anything ran.
function live.preview(made, cfg)
  nsys.check(cfg.nsys)
  local argv = workload.describe(made, cfg).argv
  local timeline = {
    nsys.profile_argv(cfg.nsys, { path = cfg.tools.nsys or "nsys", output = "<run>/nsys/run",
      argv = argv }),
    nsys.export_argv(cfg.tools.nsys or "nsys", "<run>/nsys/run.nsys-rep", "<run>/nsys/run.sqlite"),
  }
  if cfg.overhead == "measure" then
    table.insert(timeline, 1, argv)
    table.insert(timeline, argv)
  end
  return {
    timeline = timeline,
    counters = cfg.counters == "on" and { ncu.profile_argv(cfg.ncu, { path = cfg.tools.ncu or "ncu",
      output = "<run>/ncu/run", metrics = cfg.ncu.metrics, kernels = "<the selected kernels>",
      ranges = { cfg.ncu.nvtx_include or "<their stages>" }, name_base = cfg.ncu.kernel_name_base,
      launches = cfg.top_n.launches_per_kernel,
      argv = workload.describe(made, workload.representative(cfg)).argv }) } or nil,
    operators = cfg.operators == "on"
      and { table.move(argv, 1, #argv, 2, { "LLMPROF_OPERATORS=1" }) } or nil,
  }
end


function live.inputs()
  return { source = "workload", files = {} }
end


-- ---- timeline ----

local function write_command(ctx, name, argv)
  ctx.run:write(name, command_line.show(argv) .. "\n")
end


-- Why there is no report, as an error with the tool's last words.
local function no_report(said, result, lines)
  local complaint = said.complaints[1]
  local ended = workload.complaint(result)
  local message = complaint and complaint.message
    or (ended and "nsys made no report; the workload: " .. ended) or "nsys made no report"
  errors.raise("failed", message, { detail = workload.tail(lines),
    hint = complaint and complaint.hint or "the whole output is in nsys/log.txt" })
end


local function check_reports(ctx, said, result, lines)
  local reports, others = nsys.reports(said)
  if #reports > 0 then return reports end
  if ctx.cfg.nsys.capture_range ~= "none" and not said.range_started then
    errors.raise("nothing", ("nothing was captured: the capture range (%s) never started"):format(
      ctx.cfg.nsys.nvtx_capture or ctx.cfg.nsys.capture_range),
      { detail = workload.tail(lines), hint = "does the workload reach it?" })
  elseif #others > 0 then
    describe_missing_libraries(ctx.state.nsys)
    errors.raise("failed", "nsys captured, but could not import what it captured: " .. others[1],
      { detail = workload.tail(lines) })
  end
  return no_report(said, result, lines)
end


-- Reports go where they were asked to; on a name clash nsys puts them in /tmp.
local function settle_reports(ctx, reports)
  local names = {}
  for i, path in ipairs(reports) do
    local name = #reports == 1 and "nsys/run.nsys-rep" or ("nsys/run.%d.nsys-rep"):format(i)
    if fs.realpath(path) ~= fs.realpath(ctx.run:path(name)) then
      errors.check("failed", fs.copy(path, ctx.run:path(name)))
      fs.remove(path)
    end
    names[i], ctx.outputs[#ctx.outputs + 1] = name, name
  end
  return names
end


-- The export holds the whole environment of the workload; the bundle keeps a
-- copy without it.
local function export(ctx, report, target)
  local raw = ctx.cfg.nsys.scrub and target:gsub("%.sqlite$", ".unscrubbed.sqlite") or target
  local argv = nsys.export_argv(ctx.state.nsys.path, ctx.run:path(report), ctx.run:path(raw))
  local output, result = tools.capture(argv, { timeout = ctx.cfg.nsys.export_timeout_s })
  local info = fs.stat(ctx.run:path(raw))
  if not output or not info or info.size == 0 then
    errors.raise("failed", ("nsys could not export %s"):format(report),
      { detail = output or result })
  end
  if raw ~= target then
    local taken, message = scrub.copy(ctx.run:path(raw), ctx.run:path(target))
    fs.remove(ctx.run:path(raw))
    errors.check("failed", taken, message)
  end
end


-- One run without any profiler; its metrics are read with the timeline.
local function measure_plain(ctx, spec, folder)
  if ctx.cfg.overhead ~= "measure" then return end
  ctx.progress("plain run, " .. folder)
  local result = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = folder .. "/log.txt" })
  local metrics, message = workload.metrics(ctx.run, folder)
  if metrics then
    ctx.outputs[#ctx.outputs + 1] = folder .. "/metrics.json"
  else
    ctx.note(("%s: %s"):format(folder, message or workload.complaint(result)
      or "it wrote no metrics.json"))
  end
end


-- What the GPUs did meanwhile; nothing without NVML.
local function keep_samples(ctx, samples)
  if #samples == 0 then return end
  ctx.run:write_json("nsys/gpu_samples.json", json.list(samples))
  ctx.outputs[#ctx.outputs + 1] = "nsys/gpu_samples.json"
end


function live.timeline(ctx)
  local cfg, state = ctx.cfg, ctx.state
  local spec = workload.describe(ctx.recipe, cfg, ctx.run)
  measure_plain(ctx, spec, "workload/before")
  local argv = nsys.profile_argv(cfg.nsys, { path = state.nsys.path,
    output = ctx.run:path "nsys/run", argv = spec.argv })
  write_command(ctx, "nsys/cmd.txt", argv)
  local watch = gpu_watch.start()
  local result, lines = workload.run(ctx, { argv = argv, spec = spec, folder = "workload",
    log = "nsys/log.txt", on_line = function(line)
      watch.sample()
      local progress = nsys.progress(line)
      if progress then ctx.progress(progress) end
    end, on_idle = watch.sample })
  keep_samples(ctx, watch.stop())
  local said = nsys.read_output(lines)
  local reports = settle_reports(ctx, check_reports(ctx, said, result, lines))
  state.traces = {}
  for i, report in ipairs(reports) do
    local target = i == 1 and "nsys/run.sqlite" or ("nsys/run.%d.sqlite"):format(i)
    ctx.progress(("exporting %s"):format(report))
    export(ctx, report, target)
    state.traces[i] = target
  end
  state.about.command = table.concat(argv, " ")
  state.nsys_complaints = said.complaints
  local ended = workload.complaint(result)
  if ended then ctx.fail_later("failed", "the workload under nsys: " .. ended) end
  measure_plain(ctx, spec, "workload/after")
  return true
end


-- ---- counters ----

-- The filters of a counter run: from the selection, or none without a timeline.
local function filters(ctx)
  local plan = ctx.state.counter_plan
  if not plan then return {} end
  return { ranges = plan.ranges, instances = plan.instances, kernels = plan.kernels,
    name_base = plan.name_base, launches = plan.launches }
end


local function available_metrics(ctx)
  local cfg = ctx.cfg.ncu
  local wants = false
  for _, metric in ipairs(cfg.metrics or {}) do wants = wants or metric == "roofline" end
  if not wants then return {} end
  local chip = ctx.state.chip or "gh100"
  local output = tools.capture(ncu.query_argv(ctx.state.ncu.path, chip))
  return ncu.read_query(output or "")
end


-- "roofline" among the metrics stands for what the chip has of the minimal
-- request; the others are taken as they are.
local function metrics(ctx)
  local list, available = {}, available_metrics(ctx)
  for _, metric in ipairs(ctx.cfg.ncu.metrics or {}) do
    local names = metric == "roofline" and ncu.roofline_metrics(available) or { metric }
    table.move(names, 1, #names, #list + 1, list)
  end
  return list
end


local function profile(ctx, spec, given)
  local argv = ncu.profile_argv(ctx.cfg.ncu, {
    path = ctx.state.ncu.path, output = ctx.run:path "ncu/run", argv = spec.argv,
    metrics = given.plain and {} or metrics(ctx), ranges = given.ranges,
    instances = given.instances, kernels = given.kernels, name_base = given.name_base,
    launches = given.launches })
  write_command(ctx, "ncu/cmd.txt", argv)
  local count, wanted = 0, ctx.state.counter_plan and ctx.state.counter_plan.expected
  local result, lines = workload.run(ctx, { argv = argv, spec = spec, folder = "ncu/workload",
    log = "ncu/log.txt", timeout = ctx.cfg.ncu.timeout_s, on_line = function(line)
      if ncu.is_launch(line) then
        count = count + 1
        ctx.progress(wanted and ("launch %d of about %d"):format(count, wanted)
          or ("launch %d"):format(count))
      end
    end })
  return ncu.read_output(lines), result, lines
end


local function import(ctx, page, name)
  local argv = ncu.import_argv(ctx.state.ncu.path, ctx.run:path "ncu/run.ncu-rep", page)
  local result, message = spawn.run(argv, { stdout = ctx.run:path(name), timeout = 600 })
  if not result or not result.ok then
    errors.raise("failed", ("ncu could not print the %s page of its report"):format(page),
      { detail = message })
  end
  ctx.outputs[#ctx.outputs + 1] = name
end


local function import_all(ctx)
  import(ctx, "raw", "ncu/raw.csv")
  import(ctx, "details", "ncu/details.csv")
  local argv = ncu.sections_argv(ctx.state.ncu.path, ctx.run:path "ncu/run.ncu-rep")
  spawn.run(argv, { stdout = ctx.run:path "ncu/sections.txt", timeout = 600 })
  ctx.outputs[#ctx.outputs + 1] = "ncu/run.ncu-rep"
  ctx.outputs[#ctx.outputs + 1] = "ncu/sections.txt"
end


-- What went wrong, as a reason: counters are lost, the rest of the run is not.
local function failure_text(said, result)
  local failure = said.failure
  if failure then return ("%s; %s"):format(failure.message, failure.hint) end
  local ended = workload.complaint(result)
  if said.application_exit then
    return ("the workload returned %d under ncu"):format(said.application_exit)
  end
  return said.last_error or (ended and "ncu: " .. ended) or "ncu made no report"
end


function live.counters(ctx)
  if ctx.cfg.counters == "off" then return false, "counters=off" end
  if not ctx.state.ncu then return false, "Nsight Compute (ncu) was not found" end
  local plan = ctx.state.counter_plan
  if plan and plan.expected == 0 then return false, "no kernel was selected" end
  local spec = workload.describe(ctx.recipe, workload.representative(ctx.cfg), ctx.run)
  local said, result = profile(ctx, spec, filters(ctx))
  if said.none then
    ctx.note("no kernel matched the filters: run once more without NVTX filter and sections")
    local wider = filters(ctx)
    wider.ranges, wider.instances, wider.plain = nil, nil, true
    said, result = profile(ctx, spec, wider)
  end
  if not ctx.run:has "ncu/run.ncu-rep" or said.profiled == 0 then
    return false, said.none and "no kernel was profiled" or failure_text(said, result)
  end
  import_all(ctx)
  if said.failure then ctx.note(failure_text(said, result)) end
  return true
end


-- ---- operators ----

function live.operators(ctx)
  if ctx.cfg.operators == "off" then return false, "operators=off" end
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  local result, lines = workload.run(ctx, { argv = spec.argv, spec = spec,
    folder = "workload/operators", log = "workload/operators/log.txt",
    env = { LLMPROF_OPERATORS = "1" } })
  if operators.find(ctx.run:path "workload/operators") then return true end
  local ended = workload.complaint(result)
  return false, ended and ("the operators pass failed: %s: %s"):format(ended,
    text.clean(workload.tail(lines, 1))) or "the workload wrote neither operators.json nor a trace"
end


return live
