-- The workload under Nsight Systems: reports, their exports, one timeline.
local around = require "llmprof.run.capture.around"
local clock = require "llmprof.io.clock"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local guard = require "llmprof.run.guard"
local layout = require "llmprof.bundle.layout"
local nsys = require "llmprof.nvidia.nsys"
local nsys_reports = require "llmprof.run.capture.nsys_reports"
local private = require "llmprof.bundle.private"
local sys = require "llmprof.sys"
local tool = require "llmprof.run.capture.tool"
local workload = require "llmprof.run.workload"

local files = layout.nsys

-- After a signal nsys still writes its report, in seconds.
local GRACE = 30

-- ---- the run ----

-- Why there is no report, as an error with the tool's last words.
local function no_report(said, result, lines)
  local complaint = said.complaints[1]
  local ended = workload.complaint(result)
  local message = complaint and complaint.message
    or (ended and "nsys made no report; the workload: " .. ended) or "nsys made no report"
  errors.raise("failed", message, { detail = workload.tail(lines),
    hint = complaint and complaint.hint or "the whole output is in " .. files.log })
end


local function check_reports(ctx, said, result, lines)
  local reports, others = nsys.reports(said)
  if #reports > 0 then
    for _, path in ipairs(others) do ctx.note("not imported, so not analysed: " .. path) end
    return reports
  elseif #others > 0 then
    nsys_reports.no_good(ctx, others[1], lines)
  elseif result.ok and ctx.cfg.nsys.capture_range ~= "none" and not said.range_started then
    errors.raise("nothing", ("nothing was captured: the capture range (%s) never started"):format(
      ctx.cfg.nsys.nvtx_capture or ctx.cfg.nsys.capture_range),
      { detail = workload.tail(lines), hint = "does the workload reach it?" })
  end
  return no_report(said, result, lines)
end


-- Of several ranks each has an nsys of its own.
local function profile_argv(ctx, spec)
  if not spec.ranks then
    return nsys.profile_argv(ctx.cfg.nsys, { path = tool.of(ctx, nsys).path,
      output = ctx.run:absolute(files.stem), argv = spec.argv })
  end
  local stem = layout.rank_report(workload.RANK):gsub("%.[^.]*$", "")
  return spec.ranks(nsys.profile_argv(ctx.cfg.nsys, { path = tool.of(ctx, nsys).path,
    output = ctx.run:absolute(stem), argv = spec.inner }))
end


local function profile(ctx, spec)
  local argv = profile_argv(ctx, spec)
  local watch, began = guard.watch_gpus(), sys.monotonic()
  local read, said = nsys.reader()
  local result, lines = workload.run(ctx, { argv = argv, spec = spec,
    folder = layout.workload.folder, log = files.log, passing = nsys.progress,
    command = files.command, grace = GRACE,
    on_line = function(line)
      read(line)
      watch.sample()
      if nsys.begins_range(line) then
        ctx.time("window_s", (sys.monotonic() - began) / 1e9)
      end
      local progress = nsys.progress(line)
      if progress then ctx.progress(progress) end
    end, on_idle = watch.sample })
  return said, result, lines, watch.stop()
end


-- How the workload ended is no failure where the capture range was to end it.
local function judge_end(ctx, said, result, lines)
  local ended = workload.complaint(result)
  if not ended then return end
  if nsys.ends_workload(ctx.cfg.nsys) and said.range_ended and nsys.was_terminated(result) then
    ctx.note("nsys ended the workload with the capture range "
      .. "(nsys.capture_range_end=stop lets it finish)")
  else
    ctx.fail_later("failed", "the workload under nsys: " .. ended,
      { detail = workload.tail(lines), hint = "the whole output is in " .. files.log })
  end
end


-- ---- what it left ----

-- Every rank's report as a file of its own; the first one's is the timeline.
local function export_ranks(ctx, said, result, lines)
  local reports, missing = workload.rank_reports(ctx.run, ctx.cfg.launch.ranks)
  if #reports == 0 then no_report(said, result, lines) end
  local names = {}
  for i, report in ipairs(reports) do
    local target = layout.rank_export(report.rank)
    errors.check(fs.chmod(ctx.run:path(report.name), private.FILE_MODE))
    nsys_reports.export(ctx, report.name, ctx.run:path(target))
    if i == 1 then
      errors.check(fs.copy(ctx.run:path(target), ctx.run:path(layout.timeline)))
    end
    for _, name in ipairs { report.name, target } do ctx.outputs[#ctx.outputs + 1] = name end
    names[i] = report.name
  end
  if #missing > 0 then ctx.note("no capture of rank " .. table.concat(missing, ", ")) end
  return names
end


-- ---- as a table ----

local under_nsys = { vendor = nsys }


function under_nsys.ready(_, found) nsys.check_importer(found) end


-- Runs nsys; returns what it said, the workload's end and the lines.
local function capture_reports(ctx, spec)
  local said, result, lines, samples = profile(ctx, spec)
  around.keep_samples(ctx, samples)
  workload.keep_inputs(ctx, layout.workload.folder)
  local reports
  if spec.ranks then
    reports = export_ranks(ctx, said, result, lines)
  else
    reports = nsys_reports.settle(ctx, check_reports(ctx, said, result, lines))
    nsys_reports.export_all(ctx, reports)
  end
  nsys_reports.guard(ctx, reports)
  return said, result, lines
end


-- Puts the timeline into the run; raises when there is none.
function under_nsys.capture(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  around.before(ctx, spec)
  local said, result, lines = nsys_reports.guarded(ctx, capture_reports, ctx, spec)
  judge_end(ctx, said, result, lines)
  around.after(ctx, spec)
  return true
end


-- The exports of ranks that were captured by themselves, in order.
function under_nsys.rank_files(ctx)
  local list = {}
  for rank = 0, workload.has_ranks(ctx.cfg) and ctx.cfg.launch.ranks - 1 or -1 do
    local name = layout.rank_export(rank)
    if ctx.run:has(name) then list[#list + 1] = ctx.run:path(name) end
  end
  return list
end


-- What the files of a timeline that is there say of how it was captured.
function under_nsys.recall(ctx)
  local read, said = nsys.reader()
  for line in ctx.run:lines(files.log) do read(line) end
  local command = fs.read(ctx.run:path(files.command))
  local written = errors.check(fs.stat(ctx.run:path(layout.timeline)))
  return { date = clock.timestamp(written.mtime_ns),
    command = command and command:gsub("\n$", "") or nil,
    complaints = said.complaints }
end


-- The commands that capture would start.
function under_nsys.preview(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg)
  local report, target = layout.report(1, 1, ".nsys-rep"), layout.timeline
  if spec.ranks then
    report, target = layout.rank_report(workload.RANK), layout.rank_export(workload.RANK)
  end
  local list = { profile_argv(ctx, spec),
    nsys_reports.export_argv(ctx, report, ctx.run:path(target)) }
  if around.runs_before(ctx) then table.insert(list, 1, spec.argv) end
  if around.runs_after(ctx) then table.insert(list, spec.argv) end
  return list
end


return under_nsys
