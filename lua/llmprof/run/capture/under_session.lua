-- An engine that somebody else started under `nsys launch --session-new=NAME`: the
-- workload sends its load and tells the session's collection to begin and to end where
-- its window does; what nsys then writes goes on as ever.
local process = require "llmprof.process.child"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local nsys = require "llmprof.nvidia.nsys"
local sys = require "llmprof.sys"
local live = require "llmprof.run.capture.live"
local tools = require "llmprof.nvidia.tools"
local under_nsys = require "llmprof.run.capture.under_nsys"
local workload = require "llmprof.run.workload"

local files = layout.nsys

-- An nsys whose engine has died writes its report by itself; for so long it is waited
-- for, in seconds, and looked for so often.
local PATIENCE, BETWEEN_LOOKS = 60, 0.5

local under_session = { vendor = nsys }


-- The session that the configuration names, or nil.
function under_session.wanted(cfg)
  local name = cfg.server and cfg.server.session
  return name and name ~= "" and name or nil
end


-- ---- the session ----

-- The session of that name or number, nil where there is none; and all that there are.
local function find(ctx, name)
  local argv = { live.tool(ctx, nsys).path, "sessions", "list" }
  local said, message = tools.capture(argv, nil, ctx.tick)
  if not said then errors.raise("tool", message) end
  local list = nsys.read_sessions(said)
  return lists.find(list, "name", name) or lists.find(list, "id", name), list
end


-- Raise unless the session is there and collects nothing: nsys starts one that is not
-- there without a word.
function under_session.ready(ctx, found)
  nsys.check_importer(found)
  local name = under_session.wanted(ctx.cfg)
  local session, others = find(ctx, name)
  if not session then
    local names = lists.map(others, "name")
    errors.raise("failed", ("nsys has no session %s%s"):format(name, #names > 0
      and ", but " .. table.concat(names, ", ") or ""),
      { hint = "start the engine with it, as this user on this machine: "
        .. process.shown(nsys.launch_argv(ctx.cfg.nsys, name)) .. " ENGINE..." })
  elseif session.state ~= nsys.IDLE then
    errors.raise("failed", ("the nsys session %s is busy already (%s)"):format(name, session.state),
      { hint = ("end what it collects, then try again: nsys stop --session=%s"):format(name) })
  end
end


local function window(ctx)
  local path, name = live.tool(ctx, nsys).path, under_session.wanted(ctx.cfg)
  return nsys.start_argv(ctx.cfg.nsys, path, name, ctx.run:absolute(files.stem)),
    nsys.stop_argv(path, name)
end


-- ---- the run ----

local function run(ctx, spec)
  local open, close = window(ctx)
  local said, result, lines = under_nsys.run(ctx, { argv = spec.argv, spec = spec,
    env = { [workload.WINDOW_OPEN] = json.encode(json.list(open)),
      [workload.WINDOW_CLOSE] = json.encode(json.list(close)) } }, nsys.begins_window)
  ctx.run:write(files.command, ("%s && %s && %s\n"):format(process.shown(open),
    process.shown(spec.argv), process.shown(close)))
  return said, result, lines
end


-- The report that a session whose engine has died writes by itself, or nil.
local function report_of_the_dead(ctx)
  local until_ns = sys.monotonic() + PATIENCE * 1e9
  local path = ctx.run:absolute(layout.report(1, 1, ".nsys-rep"))
  while find(ctx, under_session.wanted(ctx.cfg)) and sys.monotonic() < until_ns do
    ctx.progress "waiting for the report of the session"
    tools.pause(BETWEEN_LOOKS, ctx.tick)
  end
  local info = fs.stat(path)
  return info and info.size > 0 and path or nil
end


local function reports_of(ctx, said, result, lines)
  local reports, others = nsys.reports(said)
  if #reports > 0 then return reports end
  if #others > 0 then under_nsys.no_good(ctx, others[1], lines) end
  local kept = not result.ok and said.begun and report_of_the_dead(ctx)
  if not kept then
    under_nsys.no_report(said, result, lines, "no report of the session",
      "nsys writes it where the engine runs, as its user; the whole output is in " .. files.log)
  end
  ctx.note("the session ended within the window; its report has what it saw until then")
  return { kept }
end


local function capture(ctx, spec)
  local said, result, lines = run(ctx, spec)
  workload.keep_inputs(ctx, layout.workload.folder)
  local reports = under_nsys.settle(ctx, reports_of(ctx, said, result, lines))
  under_nsys.export_all(ctx, reports)
  under_nsys.guard(ctx, reports)
  return said, result, lines
end


local function judge_end(ctx, said, result, lines)
  local ended, complaint = workload.complaint(result), said.complaints[1]
  if not ended then return end
  ctx.fail_later("failed", complaint and complaint.message or "the workload: " .. ended,
    { detail = workload.tail(lines),
      hint = complaint and complaint.hint or "the whole output is in " .. files.log })
end


-- Puts the timeline into the run; raises when there is none.
function under_session.capture(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  live.before(ctx, spec)
  judge_end(ctx, under_nsys.guarded(ctx, capture, ctx, spec))
  live.after(ctx, spec)
  return true
end


under_session.recall = under_nsys.recall


function under_session.preview(ctx)
  local open, close = window(ctx)
  return { open, workload.describe(ctx.recipe, ctx.cfg).argv, close,
    under_nsys.export_argv(ctx, layout.report(1, 1, ".nsys-rep"), ctx.run:path(layout.timeline)) }
end


return under_session
