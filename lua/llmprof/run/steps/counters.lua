-- Hardware counters: of the collector's recording or of ncu/raw.csv, joined to the kernels of
-- the timeline.
local counters = require "llmprof.analysis.counters.join"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local hardware = require "llmprof.model.hardware"
local identity = require "llmprof.run.identity"
local layout = require "llmprof.bundle.layout"
local breakdown = require "llmprof.analysis.stages.breakdown"
local lists = require "llmprof.tables.lists"
local measured = require "llmprof.analysis.counters.measured"
local ncu = require "llmprof.nvidia.ncu"
local counter_plan = require "llmprof.analysis.counters.plan"
local words = require "llmprof.report.words"
local workload = require "llmprof.run.workload"

local step = { name = "counters",
  summary = "measure them with hardware counters, join those to the timeline",
  requires = { "plan", "tools" }, needs = { layout.selection }, makes = { layout.counters },
  reads = { "capture", "tools", "folder", "environment", "about", "trace", "found", "kernels",
    "plan" },
  gives = {
    launches = "launches and ranges that were measured: llmprof.nvidia.ncu.launches; nil without",
    counters = "the same, joined to the kernels: llmprof.analysis.counters.join; nil without",
    measured = "without a timeline, the kernels of those launches: "
      .. "llmprof.analysis.counters.measured",
    ran = "without a timeline, what the workload wrote under ncu; nil without",
  }, dispensable = true }


local function lack(ctx, why)
  if ctx.state.trace and hardware.is_amd(ctx.state.trace:devices()) then
    why = "llmprof reads none of AMD's GPUs"
    ctx.lack("counters", why, "rocprofv3 takes them; its files are not read here")
    return "not measured: " .. why
  elseif ctx.state.trace and #errors.check(ctx.state.trace:frame "gpu") == 0 then
    return "not measured: no GPU operation is in the timeline"
  end
  ctx.lack("counters", why, (ctx.cfg.counters.by == "off" and "counters=on, " or "")
    .. "a GPU, Nsight Compute or llmprof's collector, and the right to read counters: every "
    .. ("kernel of %s is then measured"):format(layout.selection))
  return "not measured: " .. why
end


-- Those of the recording where the collector took them, else of ncu/raw.csv; or nil and why
-- there are none. Raises what the system failed at.
local function read_launches(ctx)
  local trace, environment = ctx.state.trace, ctx.state.environment
  local machine = environment and environment.captured_on
  -- the GPUs of the timeline, or else of the machine that the capture is of
  local devices = trace and trace:devices() or lists.map(machine and machine.gpus or {},
    function(gpu) return { id = gpu.index, name = gpu.name } end)
  local recording = ctx.run:path(layout.collector.spool)
  local limits = counters.limits(devices, ctx.cfg.hardware or {})
  local found = fs.stat(recording) and ncu.launches_of_recording(recording, limits)
  if found and #found > 0 then return found end
  local path = ctx.run:path(layout.counters)
  local info = fs.stat(path)
  if info and info.size == 0 then return nil, path .. ": an empty file" end
  local launches, message, code = ncu.launches(path, limits)
  if not launches and info then errors.raise_systems(message, code) end
  return launches, message
end


-- What the results stand for.
local function note(joined, plan)
  local notes = {}
  if joined.launches > 0 then
    notes[1] = ("%d launches stand for %d kernels%s"):format(joined.matched, joined.kernels,
      joined.coverage and (", cover %.0f %% of the kernels' time"):format(joined.coverage * 100)
        or "")
    if joined.by_correlation then
      notes[1] = ("%s, %d by correlation id"):format(notes[1], joined.by_correlation)
    end
    if (joined.elsewhere or 0) >= 0.005 then
      notes[1] = notes[1] .. (", %.0f %% more in another stage"):format(joined.elsewhere * 100)
    end
    notes[1] = notes[1] .. words.lacking(joined.lacking)
  end
  if joined.ranges then
    notes[#notes + 1] = ("whole ranges were measured %d times"):format(#joined.ranges)
  end
  local shortened = plan and counter_plan.shortened_text(plan.changes)
  notes[#notes + 1] = shortened and "the workload shortened: " .. shortened
  return table.concat(notes, ", ")
end


function step.restore(ctx)
  local state, launches, message = ctx.state, read_launches(ctx)
  if not launches then return lack(ctx, message) end
  state.launches = launches
  if state.kernels then
    state.counters = counters.join(state.kernels, launches, state.found, state.trace)
    return note(state.counters, state.plan)
  end
  -- without a timeline the launches themselves say which kernels there are
  local found = measured.found(ctx.recipe.stages, launches)
  local list = measured.kernels(launches, found)
  breakdown.categorize(list, ctx.recipe.categories)
  state.measured, state.counters = list, measured.join(list, launches, found)
  state.ran = workload.metrics(ctx.run, layout.ncu.workload)
  return ("%d launches of %d kernel%s, without a timeline"):format(#launches, #list,
    #list == 1 and "" or "s")
end


function step.run(ctx)
  local ok, taken, why = errors.call(ctx.state.capture.counters, ctx)
  if not ok then
    -- of an interrupted run the launches that were measured are kept
    if errors.is(taken) and ctx.run:has(layout.counters) then step.restore(ctx) end
    error(taken, 0)
  end
  if not taken then return lack(ctx, why) end
  local said = step.restore(ctx)
  if ctx.state.ran then identity.keep(ctx, ctx.state.ran) end
  return said
end


return step
