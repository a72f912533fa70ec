-- Captures made now: the workload under the tool of the timeline, under that of the
-- counters, and once more under its own profiler. Never two of them at once: a
-- process has one CUPTI subscriber.
--
-- How one tool captures is a table: vendor (of llmprof.nvidia.vendors), capture(ctx),
-- preview(ctx), recall(ctx) where it captures timelines, and ready(ctx, found) where
-- finding the program is not enough.
local clock = require "llmprof.io.clock"
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local operators = require "llmprof.run.operators"
local supervise = require "llmprof.run.supervise"
local text = require "llmprof.text"
local tools = require "llmprof.nvidia.tools"
local trace_file = require "llmprof.trace.file"
local workload = require "llmprof.run.workload"

local live = {}


-- ---- a vendor's program ----

-- The program of a vendor, looked for when a run first needs it: { name, path, version }; raises
-- without it. env.json says what measured: a tool that is only found when a run is continued is
-- written down then.
function live.tool(ctx, vendor)
  local known = ctx.state.tools[vendor.name]
  if known then return known end
  local found = tools.ensure(vendor, ctx.cfg)
  ctx.state.tools[vendor.name] = found
  local machine = ctx.state.environment and ctx.state.environment.captured_on
  if machine and machine[found.name] ~= found.version then
    machine[found.name] = found.version
    ctx.run:write_document(layout.environment, "env", ctx.state.environment)
  end
  return found
end


-- The same, or nil and what is missing.
function live.try_tool(ctx, vendor)
  local ok, found = pcall(live.tool, ctx, vendor)
  if ok then return found end
  if not errors.is(found) or found.kind ~= "tool" then error(found, 0) end
  return nil, found.message
end


-- ---- operators ----

-- What a workload is told that is to profile its own operators.
local OPERATORS_PASS = "LLMPROF_OPERATORS"


local function run_operators(ctx)
  if ctx.cfg.operators == "off" then return false, "operators=off" end
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  local folder = layout.workload.operators_pass
  local result, lines = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = layout.log_in(folder), env = { [OPERATORS_PASS] = "1" } })
  local found = operators.find(ctx.run:path(folder))
  if found then return found end
  local ended = workload.complaint(result)
  return false, ended and ("the operators pass failed: %s: %s"):format(ended,
    text.clean(workload.tail(lines, 1))) or "the workload wrote neither operators.json nor a trace"
end


-- ---- the source ----

-- A source (of llmprof.run.capture) that takes the timeline and the counters so.
function live.new(timeline, counters)
  local source = { name = "live", timeline = timeline.capture, recall = timeline.recall,
    room = counters.room, operators = run_operators,
    rank_files = timeline.rank_files }

  function source.counters(ctx)
    if workload.has_ranks(ctx.cfg) then return false, workload.UNCOUNTED end
    return counters.capture(ctx)
  end

  -- Counters alone make do where a tool that nobody asked for by name is missing.
  local function can_do_without(ctx)
    return ctx.cfg.capture ~= timeline.vendor.name and not ctx.cfg.tools[timeline.vendor.name]
      and ctx.cfg.counters.by ~= "off" and live.try_tool(ctx, counters.vendor) ~= nil
  end

  function source.untimed(ctx)
    local why, hint = config.untimed(ctx.cfg)
    if why then return why, hint end
    local found, lack = live.try_tool(ctx, timeline.vendor)
    if not found and can_do_without(ctx) then return lack, timeline.vendor.install end
    live.tool(ctx, timeline.vendor)
    return nil
  end

  function source.find(ctx)
    if not source.untimed(ctx) then
      if timeline.ready then timeline.ready(ctx, live.tool(ctx, timeline.vendor)) end
      live.try_tool(ctx, counters.vendor)
    elseif ctx.cfg.counters.by ~= "off" then
      live.tool(ctx, counters.vendor)
    end
  end

  function source.about(ctx)
    local function shown(vendor)
      local known = ctx.state.environment.captured_on[vendor.name]
      return known and ("%s %s"):format(vendor.product, known) or nil
    end
    return { tool = shown(timeline.vendor), counters_tool = shown(counters.vendor) }
  end

  function source.note(ctx)
    local function said(vendor, without)
      local found = ctx.state.tools[vendor.name]
      return found and ("%s %s"):format(vendor.name, found.version) or "no " .. without
    end
    return ("%s, %s"):format(
      said(timeline.vendor, "timeline: kernels are those that are measured"),
      said(counters.vendor, counters.vendor.name .. ": counters will be left out"))
  end

  function source.preview(ctx)
    return { timeline = not config.untimed(ctx.cfg) and timeline.preview(ctx) or nil,
      counters = ctx.cfg.counters.by ~= "off" and counters.preview(ctx) or nil,
      operators = ctx.cfg.operators ~= "off" and { lists.joined({ OPERATORS_PASS .. "=1" },
        workload.describe(ctx.recipe, ctx.cfg).argv) } or nil }
  end

  return source
end


-- ---- around a timeline ----

-- What goes around the capture of a timeline, whatever takes it: runs of the workload
-- without any profiler, and what the GPUs did meanwhile.

-- Run what is captured, with the GPUs watched: workload.run, whose folder is not given.
function live.run(ctx, given)
  local watch, on_line, on_idle = supervise.watch_gpus(), given.on_line, given.on_idle
  given.folder = layout.workload.folder
  function given.on_line(line)
    watch.sample()
    if on_line then on_line(line) end
  end
  function given.on_idle(guard)
    watch.sample()
    if on_idle then on_idle(guard) end
  end
  local result, lines = workload.run(ctx, given)
  watch.sample()
  if #watch.samples > 0 then -- none without NVML
    ctx.run:write_document(layout.gpu_samples, "gpu_samples", watch.samples)
    ctx.outputs[#ctx.outputs + 1] = layout.gpu_samples
  else
    fs.remove(ctx.run:path(layout.gpu_samples)) -- of an earlier attempt
  end
  workload.keep_inputs(ctx, layout.workload.folder)
  return result, lines
end


-- Is there a run without any profiler "before" the timeline, or "after" it?
function live.runs(ctx, when)
  local overhead = ctx.cfg.overhead
  return overhead == "measure" or when == "before" and overhead ~= "off"
end


-- That run, if it is wanted; its metrics are read with the timeline.
function live.plain(ctx, spec, when)
  local folder = layout.workload[when]
  fs.remove(ctx.run:path(layout.metrics_in(folder))) -- of an earlier attempt
  if not live.runs(ctx, when) then return end
  ctx.progress("plain run, " .. folder)
  local result = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = layout.log_in(folder) })
  local metrics, message = workload.metrics(ctx.run, folder)
  if metrics then
    ctx.outputs[#ctx.outputs + 1] = layout.metrics_in(folder)
  else
    ctx.note(("%s: %s"):format(folder, message or workload.complaint(result)
      or "it wrote no metrics.json"))
  end
end


-- Write a recording as the timeline; say(text) is told what the reader noticed. Returns why
-- nothing of the GPU is in it, where the recording says so.
function live.convert(ctx, path, say)
  local trace <close> = trace_file.open(path)
  local list = errors.check(trace:diagnostics())
  for _, said in ipairs(list) do
    if said.severity ~= "info" then say(text.clean(said.text)) end
  end
  errors.check(trace:sqlite(ctx.run:path(layout.timeline)))
  local problem = lists.find(list, "severity", "problem")
  return problem and #errors.check(trace:frame "gpu") == 0 and text.clean(problem.text) or nil
end


-- What the files of a timeline that is there say of how it was captured. command: the file that
-- holds that.
function live.recall(ctx, command, complaints)
  local written = errors.check(fs.stat(ctx.run:path(layout.timeline)))
  local said = fs.read(ctx.run:path(command))
  return { date = clock.timestamp(written.mtime_ns),
    command = said and said:gsub("\n$", "") or nil, complaints = complaints or {} }
end


return live
