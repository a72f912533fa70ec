-- The workload under Nsight Systems: reports, their exports, one timeline.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local merge = require "llmprof.merge"
local nsys = require "llmprof.nvidia.nsys"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local scrub = require "llmprof.scrub"
local sys = require "llmprof.sys"
local live = require "llmprof.run.capture.live"
local tools = require "llmprof.nvidia.tools"
local workload = require "llmprof.run.workload"

local under_nsys = { vendor = nsys }

local files = layout.nsys

-- After a signal nsys still writes its report, in seconds.
local GRACE = 30

local OUTPUT = "the whole output is in " .. files.log


-- ---- reports ----

-- What nsys leaves, of any session: reports settled in the run, exported,
-- scrubbed and made one timeline.

-- Permission bits of what only its owner may read.
local PRIVATE_FOLDER = tonumber("700", 8)


-- What a failure is raised with: what nsys complains of goes before what is lacking, and hint.
local function failure(said, lines, lacking, hint)
  local complaint = said.complaints[1]
  return "failed", complaint and complaint.message or lacking,
    { detail = workload.tail(lines), hint = complaint and complaint.hint or hint }
end


-- Raise why there is no report, with the tool's last words.
local function no_report(said, result, lines, lacking, hint)
  local ended = workload.complaint(result)
  errors.raise(failure(said, lines, lacking .. (ended and "; the workload: " .. ended or ""), hint))
end


-- The reports that nsys named, an empty list where it named none, and what else it did. Raises
-- where that is all.
local function reports_in(ctx, said, lines)
  local reports, others = nsys.reports(said)
  local path = #reports == 0 and others[1]
  if not path then return reports, others end
  nsys.check_importer(live.tool(ctx, nsys))
  local name = path:match "[^/]+$"
  return errors.raise("failed", path:find "%.qdstrm$"
    and ("nsys captured, but could not import what it captured (%s)"):format(name)
    or ("nsys's report %s is empty or not there"):format(name),
    { detail = workload.tail(lines), hint = OUTPUT })
end


-- Reports go where they were asked to; on a name clash nsys puts them in /tmp.
local function settle(ctx, reports)
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


-- The export holds the whole environment of the workload; the bundle keeps a copy
-- without it, and the export is gone whatever happens.
local function export(ctx, report, target)
  ctx.progress(("exporting %s"):format(report))
  local folder <close> = private.folder(ctx.run:absolute(files.folder))
  local raw = folder.path .. "/run.sqlite"
  nsys.export(live.tool(ctx, nsys).path, ctx.run:path(report), raw, { name = report,
    timeout = ctx.cfg.nsys.export_timeout_s, on_command = ctx.command, on_idle = ctx.tick })
  if ctx.cfg.nsys.scrub then return errors.check(scrub.copy(raw, target)) end
  errors.check(fs.rename(raw, target))
end


-- Several reports of one run, one per capture range, become one timeline.
local function export_all(ctx, reports)
  local timeline = ctx.run:path(layout.timeline)
  if not ctx.cfg.nsys.scrub then ctx.run:keep_private(layout.timeline) end
  if #reports == 1 then return export(ctx, reports[1], timeline) end
  local folder <close> = private.folder(ctx.run:absolute(files.folder))
  local parts = {}
  for i, report in ipairs(reports) do
    parts[i] = ("%s/part.%d.sqlite"):format(folder.path, i)
    export(ctx, report, parts[i])
  end
  errors.check(merge.files(parts, timeline))
  if not ctx.cfg.nsys.scrub then errors.check(fs.chmod(timeline, private.FILE_MODE)) end
  ctx.note(("%d reports, one per capture range, make one timeline"):format(#reports))
end


-- Puts the timeline into the run; raises when there is none. way: run(ctx, spec) gives what nsys
-- said, how the workload ended and its last lines; find(ctx, said, result, lines) the reports, and
-- whether they are settled and exported; judge(ctx, said, result, lines) says how the workload
-- ended, where that was not well. Until the reports are settled nobody else may look into nsys's
-- folder, since nsys makes its report for all to read; after an error it stays so.
local function capture(ctx, way)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  live.plain(ctx, spec, "before")
  local folder = ctx.run:path(files.folder)
  local mode = errors.check(fs.stat(folder)).mode
  errors.check(fs.chmod(folder, PRIVATE_FOLDER))
  local said, result, lines = way.run(ctx, spec)
  local reports, is_done = way.find(ctx, said, result, lines)
  if not is_done then
    reports = settle(ctx, reports)
    export_all(ctx, reports)
  end
  -- the reports hold the environment, too, and nothing scrubs them: nobody else may read them,
  -- and the manifest says so; or they go
  for _, name in ipairs(reports) do
    if ctx.cfg.nsys.keep_report then
      ctx.run:keep_private(name)
    else
      errors.check(fs.remove(ctx.run:path(name)))
    end
  end
  errors.check(fs.chmod(folder, mode))
  way.judge(ctx, said, result, lines)
  live.plain(ctx, spec, "after")
  return true
end


-- Run what nsys records. given: argv, spec and more for workload.run; begins(line): does the window
-- begin there? Returns what nsys said, with `begun` where it did, how the workload ended and its
-- last lines.
local function run(ctx, given, begins)
  local began, read, said = sys.monotonic(), nsys.reader()
  given.log, given.grace, given.passing = files.log, GRACE, nsys.progress
  function given.on_line(line)
    read(line)
    if begins(line) then
      said.begun = true
      ctx.time("window_s", (sys.monotonic() - began) / 1e9)
    end
    local progress = nsys.progress(line)
    if progress then ctx.progress(progress) end
  end
  return said, live.run(ctx, given)
end


-- ---- the program under nsys ----

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


-- The ranks, from 0, of which a file of this name is there, and those of which none is.
local function ranks_with(ctx, name_of)
  local ranks = {}
  for rank = 0, ctx.cfg.launch.ranks - 1 do ranks[#ranks + 1] = rank end
  return lists.parted(ranks, function(rank) return ctx.run:has(name_of(rank)) end)
end


local NO_REPORT = "nsys made no report"

local of_program = {}


function of_program.run(ctx, spec)
  return run(ctx, { argv = profile_argv(ctx, spec), spec = spec, command = files.command },
    nsys.begins_range)
end


function of_program.find(ctx, said, result, lines)
  if workload.has_ranks(ctx.cfg) then
    -- every rank's report as a file of its own; the first one's is the timeline
    local ranks, missing = ranks_with(ctx, layout.rank_report)
    if #ranks == 0 then no_report(said, result, lines, NO_REPORT, OUTPUT) end
    for i, rank in ipairs(ranks) do
      local name, target = layout.rank_report(rank), layout.rank_export(rank)
      errors.check(fs.chmod(ctx.run:path(name), private.FILE_MODE))
      export(ctx, name, ctx.run:path(target))
      if i == 1 then
        errors.check(fs.copy(ctx.run:path(target), ctx.run:path(layout.timeline)))
      end
      lists.add(ctx.outputs, { name, target })
    end
    if #missing > 0 then ctx.note("no capture of rank " .. table.concat(missing, ", ")) end
    return lists.map(ranks, layout.rank_report), true
  end
  local reports, others = reports_in(ctx, said, lines)
  for _, path in ipairs(others) do ctx.note("not imported, so not analysed: " .. path) end
  if #reports == 0 and result.ok and ctx.cfg.nsys.capture_range ~= "none"
    and not said.range_started then
    errors.raise("nothing", ("nothing was captured: the capture range (%s) never started"):format(
      ctx.cfg.nsys.nvtx_capture or ctx.cfg.nsys.capture_range),
      { detail = workload.tail(lines), hint = "does the workload reach it?" })
  elseif #reports == 0 then
    no_report(said, result, lines, NO_REPORT, OUTPUT)
  end
  return reports
end


-- How the workload ended is no failure where the capture range was to end it.
function of_program.judge(ctx, said, result, lines)
  if nsys.ends_workload(ctx.cfg.nsys) and said.range_ended and nsys.was_terminated(result) then
    ctx.note("nsys ended the workload with the capture range "
      .. "(nsys.capture_range_end=stop lets it finish)")
  else
    workload.note_end(ctx, result, lines, files.log, "the workload under nsys")
  end
end


function under_nsys.ready(_, found) nsys.check_importer(found) end


function under_nsys.capture(ctx) return capture(ctx, of_program) end


-- The exports of ranks that were captured by themselves, in order.
function under_nsys.rank_files(ctx)
  return lists.map(ranks_with(ctx, layout.rank_export), function(rank)
    return ctx.run:path(layout.rank_export(rank))
  end)
end


function under_nsys.recall(ctx)
  local read, said = nsys.reader()
  for line in ctx.run:lines(files.log) do read(line) end
  return live.recall(ctx, files.command, said.complaints)
end


-- The commands that capture would start.
function under_nsys.preview(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg)
  local report, target = layout.report(1, 1, ".nsys-rep"), layout.timeline
  if spec.ranks then
    report, target = layout.rank_report(workload.RANK), layout.rank_export(workload.RANK)
  end
  local plain = { spec.argv }
  return lists.joined(live.runs(ctx, "before") and plain or {}, { profile_argv(ctx, spec),
    nsys.export_argv(live.tool(ctx, nsys).path, ctx.run:path(report), ctx.run:path(target)) },
    live.runs(ctx, "after") and plain or {})
end


-- ---- a session of somebody else ----

-- An engine that somebody else started under `nsys launch --session-new=NAME`: the
-- workload sends its load and tells the session's collection to begin and to end where
-- its window does; what nsys then writes goes on as ever.
local session = { vendor = nsys, recall = under_nsys.recall }

under_nsys.of_session = session

-- An nsys whose engine has died writes its report by itself; for so long it is waited
-- for, in seconds, and looked for so often.
local PATIENCE, BETWEEN_LOOKS = 60, 0.5


-- The session of that name or number, nil where there is none; and all that there are.
local function find_session(ctx)
  local argv = { live.tool(ctx, nsys).path, "sessions", "list" }
  local said, message = tools.capture(argv, nil, ctx.tick)
  if not said then errors.raise("tool", message) end
  local list, name = nsys.read_sessions(said), ctx.cfg.server.session
  return lists.find(list, "name", name) or lists.find(list, "id", name), list
end


-- Raise unless the session is there and collects nothing: nsys starts one that is not
-- there without a word.
function session.ready(ctx, found)
  nsys.check_importer(found)
  local name = ctx.cfg.server.session
  local there, others = find_session(ctx)
  if not there then
    local names = lists.map(others, "name")
    errors.raise("failed", ("nsys has no session %s%s"):format(name, #names > 0
      and ", but " .. table.concat(names, ", ") or ""),
      { hint = "start the engine with it, as this user on this machine: "
        .. process.shown(nsys.launch_argv(ctx.cfg.nsys, name)) .. " ENGINE..." })
  elseif there.state ~= nsys.IDLE then
    errors.raise("failed", ("the nsys session %s is busy already (%s)"):format(name, there.state),
      { hint = ("end what it collects, then try again: nsys stop --session=%s"):format(name) })
  end
end


local function window(ctx)
  local path, name = live.tool(ctx, nsys).path, ctx.cfg.server.session
  return nsys.start_argv(ctx.cfg.nsys, path, name, ctx.run:absolute(files.stem)),
    nsys.stop_argv(path, name)
end


local of_session = {}


function of_session.run(ctx, spec)
  local open, close = window(ctx)
  local said, result, lines = run(ctx, { argv = spec.argv, spec = spec,
    env = { [workload.WINDOW_OPEN] = json.encode(json.list(open)),
      [workload.WINDOW_CLOSE] = json.encode(json.list(close)) } }, nsys.begins_window)
  ctx.run:write(files.command, ("%s && %s && %s\n"):format(process.shown(open),
    process.shown(spec.argv), process.shown(close)))
  return said, result, lines
end


function of_session.find(ctx, said, result, lines)
  local reports = reports_in(ctx, said, lines)
  if #reports > 0 then return reports end
  -- a session whose engine has died within the window writes its report by itself
  local has_died = not result.ok and said.begun
  local until_ns = sys.monotonic() + PATIENCE * 1e9
  while has_died and find_session(ctx) and sys.monotonic() < until_ns do
    ctx.progress "waiting for the report of the session"
    tools.pause(BETWEEN_LOOKS, ctx.tick)
  end
  local path = ctx.run:absolute(layout.report(1, 1, ".nsys-rep"))
  local info = has_died and fs.stat(path)
  if not info or info.size == 0 then
    no_report(said, result, lines, "no report of the session",
      "nsys writes it where the engine runs, as its user; " .. OUTPUT)
  end
  ctx.note("the session ended within the window; its report has what it saw until then")
  return { path }
end


function of_session.judge(ctx, said, result, lines)
  local ended = workload.complaint(result)
  if ended then ctx.fail_later(failure(said, lines, "the workload: " .. ended, OUTPUT)) end
end


function session.capture(ctx) return capture(ctx, of_session) end


function session.preview(ctx)
  local open, close = window(ctx)
  return { open, workload.describe(ctx.recipe, ctx.cfg).argv, close,
    nsys.export_argv(live.tool(ctx, nsys).path, ctx.run:path(layout.report(1, 1, ".nsys-rep")),
      ctx.run:path(layout.timeline)) }
end


return under_nsys
