-- What nsys leaves, whoever began its session: reports settled in the run, exported,
-- scrubbed and made one timeline.
local errors = require "llmprof.process.errors"
local exported = require "llmprof.nvidia.exported"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local merge = require "llmprof.merge"
local nsys = require "llmprof.nvidia.nsys"
local private = require "llmprof.bundle.private"
local scrub = require "llmprof.scrub"
local tool = require "llmprof.run.capture.tool"
local workload = require "llmprof.run.workload"

local nsys_reports = {}

-- Permission bits of what only its owner may read.
local PRIVATE_FOLDER = tonumber("700", 8)


-- Nsys named a file that is no report, or is not there.
function nsys_reports.no_good(ctx, path, lines)
  nsys.check_importer(tool.of(ctx, nsys))
  local name = path:match "[^/]+$"
  errors.raise("failed", path:find "%.qdstrm$"
    and ("nsys captured, but could not import what it captured (%s)"):format(name)
    or ("nsys's report %s is empty or not there"):format(name),
    { detail = workload.tail(lines), hint = "the whole output is in " .. layout.nsys.log })
end


-- Reports go where they were asked to; on a name clash nsys puts them in /tmp.
function nsys_reports.settle(ctx, reports)
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


function nsys_reports.export_argv(ctx, report, target, plain)
  return nsys.export_argv(tool.of(ctx, nsys).path, ctx.run:path(report), target, plain)
end


-- The export holds the whole environment of the workload; the bundle keeps a copy
-- without it, and the export is gone whatever happens.
function nsys_reports.export(ctx, report, target)
  ctx.progress(("exporting %s"):format(report))
  local folder <close> = private.folder(ctx.run:absolute(layout.nsys.folder))
  local raw = folder.path .. "/run.sqlite"
  exported.make(tool.of(ctx, nsys).path, ctx.run:path(report), raw, { name = report,
    timeout = ctx.cfg.nsys.export_timeout_s, on_command = ctx.command, on_idle = ctx.tick })
  if ctx.cfg.nsys.scrub then return errors.check(scrub.copy(raw, target)) end
  errors.check(fs.rename(raw, target))
end


-- Several reports of one run, one per capture range, become one timeline.
function nsys_reports.export_all(ctx, reports)
  local timeline = ctx.run:path(layout.timeline)
  if not ctx.cfg.nsys.scrub then ctx.run:keep_private(layout.timeline) end
  if #reports == 1 then return nsys_reports.export(ctx, reports[1], timeline) end
  local folder <close> = private.folder(ctx.run:absolute(layout.nsys.folder))
  local parts = {}
  for i, report in ipairs(reports) do
    parts[i] = ("%s/part.%d.sqlite"):format(folder.path, i)
    nsys_reports.export(ctx, report, parts[i])
  end
  errors.check(merge.files(parts, timeline))
  if not ctx.cfg.nsys.scrub then errors.check(fs.chmod(timeline, private.FILE_MODE)) end
  ctx.note(("%d reports, one per capture range, make one timeline"):format(#reports))
end


-- The reports hold the environment, too, and nothing scrubs them: nobody else may read
-- them, and the manifest says so; or they go.
function nsys_reports.guard(ctx, reports)
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
function nsys_reports.guarded(ctx, what, ...)
  local folder = ctx.run:path(layout.nsys.folder)
  local mode = errors.check(fs.stat(folder)).mode
  errors.check(fs.chmod(folder, PRIVATE_FOLDER))
  local made = table.pack(what(...))
  errors.check(fs.chmod(folder, mode))
  return table.unpack(made, 1, made.n)
end


return nsys_reports
