-- An engine that somebody else started with our collector inside: its window is a unit
-- (unit.by = profiler) of the spools that it leaves in a folder, from which they are
-- copied once the window has ended; the engine goes on.
local live = require "llmprof.run.capture.live"
local errors = require "llmprof.process.errors"
local folders = require "llmprof.io.files"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local spool = require "llmprof.spool"
local collector = require "llmprof.collector"
local sys = require "llmprof.sys"
local tools = require "llmprof.nvidia.tools"
local workload = require "llmprof.run.workload"

local files = layout.collector

-- From the window's end until all of it is in the spool (flush_s of the plan is half of
-- it), and how long an end that is not there is waited for, in seconds.
local SETTLE, PATIENCE = 1, 30

local under_spools = { vendor = collector.vendor }


-- ---- the recording as a timeline ----

-- Writes the timeline of the run's spool, and what the collector noticed as notes. Raises why it
-- recorded nothing of the GPU, where it says so.
function under_spools.keep_timeline(ctx)
  ctx.outputs[#ctx.outputs + 1] = files.spool
  local why = live.convert(ctx, ctx.run:path(files.spool), function(said)
    ctx.note("collector: " .. said)
  end)
  if why then
    errors.raise("nothing", "nothing was captured: " .. why, { hint = collector.vendor.without })
  end
end


-- What an earlier attempt of the run left, for a run that goes on with it.
function under_spools.recall(ctx) return live.recall(ctx, layout.collector.command) end


-- ---- spools ----

-- How many windows the spools of the folder have, and how many have not ended.
local function windows_in(ctx)
  errors.check(fs.mkdirs(ctx.run:path(files.folder)))
  local scratch <close> = collector.scratch(ctx.run:absolute(files.folder))
  local so_far = scratch.path .. "/so_far"
  local folder = ctx.cfg.server.spools
  local count = #collector.list(folder)
  if collector.gather(folder, so_far) == 0 then return 0, 0, count end
  local opened = errors.check(spool.open(so_far))
  local units = errors.check(opened:frame "units"):where { type = "timeline" }
  return #units, #units:where { ["end"] = false }, count
end


-- Raise unless an engine has begun spools there, and no window of before is in them, which
-- would be taken for this one's.
function under_spools.ready(ctx)
  local folder = ctx.cfg.server.spools
  local windows, _, count = 0, 0, 0
  if folders.is_folder(folder) then windows, _, count = windows_in(ctx) end
  if count == 0 then
    errors.raise("failed", ("no spool in %s"):format(folder), { hint = "start the engine with "
      .. "the collector: llmprof help serving has its environment" })
  elseif windows > 0 then
    errors.raise("failed", ("the spools in %s have a window already"):format(folder),
      { hint = "start the engine again: what one recorded before is not taken twice" })
  end
end


-- ---- the run ----

-- Until the window has ended in the spools. One that never does is taken as it is.
local function await_window(ctx, result, lines)
  tools.pause(SETTLE, ctx.tick)
  local limit = sys.monotonic() + PATIENCE * 1e9
  local windows, open = windows_in(ctx)
  if windows == 0 then
    local ended = workload.complaint(result)
    errors.raise(ended and "failed" or "nothing", ended
      and "no window in the spools; the workload: " .. ended
      or "nothing was captured: the engine's window did not reach its collector",
      { detail = workload.tail(lines), hint = "is unit.by = profiler or socket in its "
        .. "plan, and does its start of the profiler call cudaProfilerStart?" })
  end
  while open > 0 and result.ok and sys.monotonic() < limit do
    tools.pause(SETTLE, ctx.tick)
    open = select(2, windows_in(ctx))
  end
  if open > 0 then ctx.note "the window has no end in the spools: it is cut" end
end


-- Puts the timeline into the run, and the spools as one; raises when there is none.
function under_spools.capture(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  live.plain(ctx, spec, "before")
  local result, lines = live.run(ctx, { argv = spec.argv, spec = spec, log = files.log,
    command = files.command })
  await_window(ctx, result, lines)
  local folder = ctx.cfg.server.spools
  local _, generated = collector.gather(folder, ctx.run:path(files.spool))
  for _, line in ipairs(generated) do ctx.note(line) end
  for _, line in ipairs(collector.lost(folder)) do ctx.note(line) end
  under_spools.keep_timeline(ctx)
  workload.note_end(ctx, result, lines, files.log)
  live.plain(ctx, spec, "after")
  return true
end


function under_spools.preview(ctx) return { workload.describe(ctx.recipe, ctx.cfg).argv } end


return under_spools
