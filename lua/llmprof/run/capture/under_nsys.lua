-- The workload under Nsight Systems: reports, their exports, one timeline.
local clock = require "llmprof.io.clock"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local supervise = require "llmprof.run.supervise"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local merge = require "llmprof.merge"
local nsys = require "llmprof.nvidia.nsys"
local private = require "llmprof.bundle.private"
local scrub = require "llmprof.scrub"
local sys = require "llmprof.sys"
local live = require "llmprof.run.capture.live"
local workload = require "llmprof.run.workload"

local under_nsys = { vendor = nsys }


-- ---- reports ----

-- What nsys leaves, of any session: reports settled in the run, exported,
-- scrubbed and made one timeline.

-- Permission bits of what only its owner may read.
local PRIVATE_FOLDER = tonumber("700", 8)


-- Nsys named a file that is no report, or is not there.
function under_nsys.no_good(ctx, path, lines)
  nsys.check_importer(live.tool(ctx, nsys))
  local name = path:match "[^/]+$"
  errors.raise("failed", path:find "%.qdstrm$"
    and ("nsys captured, but could not import what it captured (%s)"):format(name)
    or ("nsys's report %s is empty or not there"):format(name),
    { detail = workload.tail(lines), hint = "the whole output is in " .. layout.nsys.log })
end


-- Reports go where they were asked to; on a name clash nsys puts them in /tmp.
function under_nsys.settle(ctx, reports)
  local names = {}
  for i, path in ipairs(reports) do
    local name = layout.report(i, #reports, path:match "%.[^.]+$")
    if fs.realpath(path) ~= fs.realpath(ctx.run:path(name)) then
      errors.check(fs.copy(path, ctx.run:path(name)))
      fs.remove(path)
    end
    names[i], ctx.outputs[#ctx.outputs + 1] = name, name
    errors.check(fs.chmod(ctx.run:path(name), private.FILE_MODE))
  end
  return names
end


function under_nsys.export_argv(ctx, report, target, plain)
  return nsys.export_argv(live.tool(ctx, nsys).path, ctx.run:path(report), target, plain)
end


-- The export holds the whole environment of the workload; the bundle keeps a copy
-- without it, and the export is gone whatever happens.
local function export(ctx, report, target)
  ctx.progress(("exporting %s"):format(report))
  local folder <close> = private.folder(ctx.run:absolute(layout.nsys.folder))
  local raw = folder.path .. "/run.sqlite"
  nsys.export(live.tool(ctx, nsys).path, ctx.run:path(report), raw, { name = report,
    timeout = ctx.cfg.nsys.export_timeout_s, on_command = ctx.command, on_idle = ctx.tick })
  if ctx.cfg.nsys.scrub then return errors.check(scrub.copy(raw, target)) end
  errors.check(fs.rename(raw, target))
end


-- Several reports of one run, one per capture range, become one timeline.
function under_nsys.export_all(ctx, reports)
  local timeline = ctx.run:path(layout.timeline)
  if not ctx.cfg.nsys.scrub then ctx.run:keep_private(layout.timeline) end
  if #reports == 1 then return export(ctx, reports[1], timeline) end
  local folder <close> = private.folder(ctx.run:absolute(layout.nsys.folder))
  local parts = {}
  for i, report in ipairs(reports) do
    parts[i] = ("%s/part.%d.sqlite"):format(folder.path, i)
    export(ctx, report, parts[i])
  end
  errors.check(merge.files(parts, timeline))
  if not ctx.cfg.nsys.scrub then errors.check(fs.chmod(timeline, private.FILE_MODE)) end
  ctx.note(("%d reports, one per capture range, make one timeline"):format(#reports))
end


-- The reports hold the environment, too, and nothing scrubs them: nobody else may read
-- them, and the manifest says so; or they go.
function under_nsys.guard(ctx, reports)
  for _, name in ipairs(reports) do
    if ctx.cfg.nsys.keep_report then
      ctx.run:keep_private(name)
    else
      errors.check(fs.remove(ctx.run:path(name)))
    end
  end
end


-- Calls what(...) while nobody else may look into nsys's folder, since nsys makes its
-- report for all to read. After an error it stays so.
function under_nsys.guarded(ctx, what, ...)
  local folder = ctx.run:path(layout.nsys.folder)
  local mode = errors.check(fs.stat(folder)).mode
  errors.check(fs.chmod(folder, PRIVATE_FOLDER))
  local made = table.pack(what(...))
  errors.check(fs.chmod(folder, mode))
  return table.unpack(made, 1, made.n)
end


-- ---- the program under nsys ----

local files = layout.nsys

-- After a signal nsys still writes its report, in seconds.
local GRACE = 30

-- ---- the run ----

-- Raise why there is no report, with the tool's last words. lacking, hint: what is said where nsys
-- does not complain.
function under_nsys.no_report(said, result, lines, lacking, hint)
  local complaint, ended = said.complaints[1], workload.complaint(result)
  errors.raise("failed", complaint and complaint.message
    or lacking .. (ended and "; the workload: " .. ended or ""),
    { detail = workload.tail(lines), hint = complaint and complaint.hint or hint })
end


local function no_report(said, result, lines)
  under_nsys.no_report(said, result, lines, "nsys made no report",
    "the whole output is in " .. files.log)
end


local function check_reports(ctx, said, result, lines)
  local reports, others = nsys.reports(said)
  if #reports > 0 then
    for _, path in ipairs(others) do ctx.note("not imported, so not analysed: " .. path) end
    return reports
  elseif #others > 0 then
    under_nsys.no_good(ctx, others[1], lines)
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
    return nsys.profile_argv(ctx.cfg.nsys, { path = live.tool(ctx, nsys).path,
      output = ctx.run:absolute(files.stem), argv = spec.argv })
  end
  local stem = layout.rank_report(workload.RANK):gsub("%.[^.]*$", "")
  return spec.ranks(nsys.profile_argv(ctx.cfg.nsys, { path = live.tool(ctx, nsys).path,
    output = ctx.run:absolute(stem), argv = spec.inner }))
end


-- Run what nsys records. given: argv, spec and more for workload.run; begins(line): does the window
-- begin there? Returns what nsys said, with `begun` where it did, how the workload ended and its
-- last lines.
function under_nsys.run(ctx, given, begins)
  local watch, began = supervise.watch_gpus(), sys.monotonic()
  local read, said = nsys.reader()
  given.folder, given.log, given.grace = layout.workload.folder, files.log, GRACE
  given.passing, given.on_idle = nsys.progress, watch.sample
  function given.on_line(line)
    read(line)
    watch.sample()
    if begins(line) then
      said.begun = true
      ctx.time("window_s", (sys.monotonic() - began) / 1e9)
    end
    local progress = nsys.progress(line)
    if progress then ctx.progress(progress) end
  end
  local result, lines = workload.run(ctx, given)
  live.keep_samples(ctx, watch.stop())
  return said, result, lines
end


-- How the workload ended is no failure where the capture range was to end it.
local function judge_end(ctx, said, result, lines)
  if nsys.ends_workload(ctx.cfg.nsys) and said.range_ended and nsys.was_terminated(result) then
    ctx.note("nsys ended the workload with the capture range "
      .. "(nsys.capture_range_end=stop lets it finish)")
  else
    workload.note_end(ctx, result, lines, files.log, "the workload under nsys")
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
    export(ctx, report.name, ctx.run:path(target))
    if i == 1 then errors.check(fs.copy(ctx.run:path(target), ctx.run:path(layout.timeline))) end
    for _, name in ipairs { report.name, target } do ctx.outputs[#ctx.outputs + 1] = name end
    names[i] = report.name
  end
  if #missing > 0 then
    ctx.note("no capture of rank " .. table.concat(lists.map(missing, "rank"), ", "))
  end
  return names
end


-- ---- as a table ----

function under_nsys.ready(_, found) nsys.check_importer(found) end


-- Runs nsys; returns what it said, the workload's end and the lines.
local function capture_reports(ctx, spec)
  local said, result, lines = under_nsys.run(ctx, { argv = profile_argv(ctx, spec), spec = spec,
    command = files.command }, nsys.begins_range)
  workload.keep_inputs(ctx, layout.workload.folder)
  local reports
  if spec.ranks then
    reports = export_ranks(ctx, said, result, lines)
  else
    reports = under_nsys.settle(ctx, check_reports(ctx, said, result, lines))
    under_nsys.export_all(ctx, reports)
  end
  under_nsys.guard(ctx, reports)
  return said, result, lines
end


-- Puts the timeline into the run; raises when there is none.
function under_nsys.capture(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  live.before(ctx, spec)
  local said, result, lines = under_nsys.guarded(ctx, capture_reports, ctx, spec)
  judge_end(ctx, said, result, lines)
  live.after(ctx, spec)
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
    under_nsys.export_argv(ctx, report, ctx.run:path(target)) }
  if live.runs_before(ctx) then table.insert(list, 1, spec.argv) end
  if live.runs_after(ctx) then table.insert(list, spec.argv) end
  return list
end


return under_nsys
