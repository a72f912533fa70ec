-- Captures by llmprof's own collector: timeline and counters from one run of the
-- workload; the counters from ncu where that is asked for.
--
-- The workload is one process, which loads its model once.
-- Units are repeats, told by the range of the recipe's first stage: some for the
-- timeline, then, where counters are wanted of it, a pause in which kernels are selected
-- from what was recorded so far, and units for the counters of these. Of a serving engine
-- they are its windows, which the load opens twice.
local collector_counters = require "llmprof.run.capture.collector_counters"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local listen = require "llmprof.listen"
local lists = require "llmprof.tables.lists"
local marked_operators = require "llmprof.run.marked_operators"
local under_ncu = require "llmprof.run.capture.under_ncu"
local under_spools = require "llmprof.run.capture.under_spools"
local collector = require "llmprof.collector"
local text = require "llmprof.text"
local live = require "llmprof.run.capture.live"
local workload = require "llmprof.run.workload"

local files = layout.collector

-- Repeats for the timeline where others are for counters, and those: the first repeat
-- may be a cold one, but there may be no more than two.
local WITH_COUNTERS = "timeline:%d pause counters:%d"

-- The same of windows.
local WINDOWS = "timeline:1 pause counters:%d"

-- Repeats before these where plain times come from the same process, the first of
-- which may be a cold one; and how many they are.
local PLAIN, PLAIN_REPEATS = "skip:1 plain:1 ", 2

-- The range around a capture of CUDA graphs after these.
local CAPTURE = "capture"

-- Why a workload is ended whose collector says that it is stalled.
local STUCK = "a measurement did not come to its end (stall_s of the collector's plan)"

-- Paths of sockets are short, so it lies here.
local SOCKETS = "/tmp"


-- ---- the plan ----

-- What is asked of the workload:
--   stage      the range that begins a unit; the stages of a served load are told by the engine's
--              steps, and no range is called so
--   by_window  is the profiler's window a unit
--   again      are repeats of the workload units
--   counted    does the collector measure counters
--   counts     how many units these take
--   windows    does the load open further windows for them
--   repeats    how many, where it can be told to make more of them, and nobody said what units are
--   plain      do plain times come from repeats of the same process
--   operators  is it to mark its operators, in a unit of their own
--   eagerly    is it to repeat once without CUDA graphs, of whose kernels nothing else has counters
--   captures   after how many repeats it is to capture its CUDA graphs again: lines of graphs are
--              those of a capture that CUPTI sees, and plain repeats want a process without it
local function asked_of(ctx)
  local cfg = ctx.cfg
  local top = not cfg.server and lists.filtered(ctx.recipe.stages, function(stage)
    return not stage.parent
  end)[1]
  local asked = { stage = top and top.name or nil,
    by_window = cfg.nsys.capture_range == "cudaProfilerApi",
    counted = collector_counters.wanted(cfg), counts = collector_counters.units(cfg) }
  local own_units, rounds = cfg.collector.units, cfg.load and cfg.load.counter_rounds
  asked.again = not asked.by_window and asked.stage ~= nil
  asked.windows = asked.by_window and asked.counted and not own_units and (rounds or 0) > 0
  asked.repeats = cfg.infer and asked.again and not own_units
    and math.tointeger(cfg.infer.repeats) or nil
  asked.plain = live.runs(ctx, "before") and asked.repeats ~= nil
  asked.operators = cfg.operators ~= "off" and cfg.timeline ~= "off" and asked.again
    and not cfg.workload.operators_trace
  asked.eagerly = asked.counted and asked.again
  if cfg.collector.sources == "auto" and asked.again and not own_units then
    asked.captures = asked.plain and PLAIN_REPEATS or 0
  end
  return asked
end


-- The workload, with the repeats that plain times and counters take on top of those that were asked
-- for, and told of further windows.
local function describe(ctx, run)
  local asked = asked_of(ctx)
  local more = asked.plain and PLAIN_REPEATS or 0
  if asked.repeats and asked.counted then more = more + asked.counts - 1 end
  local spec = workload.describe(ctx.recipe, ctx.cfg, run,
    more > 0 and { ["infer.repeats"] = asked.repeats + more } or nil)
  if asked.windows then spec.env[workload.COUNTERS] = tostring(asked.counts) end
  return spec
end


local function plan_text(ctx)
  local cfg, asked, lines = ctx.cfg.collector, asked_of(ctx), {}
  local function add(key, value) lines[#lines + 1] = collector.plan_line(key, value) end
  local repeats = ctx.cfg.infer and ctx.cfg.infer.repeats
  -- without units that come again there are none for counters
  local units = (asked.plain and PLAIN or "") .. (asked.eagerly
    and WITH_COUNTERS:format(repeats == 2 and 1 or 2, asked.counts) or "timeline")
  add("memory", cfg.memory)
  add("graphs", cfg.graphs)
  add("sources", cfg.sources)
  add("unit.by", asked.by_window and "profiler" or asked.stage and "range" or "process")
  if asked.again then add("unit.range", asked.stage) end
  add("units", cfg.units or asked.windows and WINDOWS:format(asked.counts) or units)
  add("samples.hz", cfg.samples_hz)
  add("yield", cfg.yield)
  add("counters.budget_s", collector_counters.budget(ctx.cfg))
  add("counters.flush", ctx.cfg.ncu.cache_control == "all" and "on" or "off")
  if asked.operators then add("unit.operators", marked_operators.RANGE) end
  if asked.captures then add("unit.capture", CAPTURE) end
  if asked.eagerly then add("unit.eager", collector_counters.EAGER) end
  return table.concat(lines) .. (asked.counted and collector_counters.metric_lines(ctx.cfg) or "")
    .. collector.plan_of_words(cfg.plan or {})
end


-- ---- the run ----

-- Launches to measure, from what all processes have written so far; none when that
-- cannot be told, which is no reason to end the workload.
local function select_now(ctx, folder)
  local so_far = folder .. "/so_far"
  local ok, lines = errors.call(function()
    collector.gather(folder, so_far)
    return collector_counters.launch_lines(ctx, so_far)
  end)
  if ok then return lines end
  ctx.note("no kernel was selected: " .. text.clean(lines.message))
  return ""
end


local function environment(ctx, folder)
  local asked = asked_of(ctx)
  local named = ctx.run:absolute(files.plan)
  local made = collector.environment(live.tool(ctx, collector.vendor).path, {
    folder = folder.path, plan = named, socket = folder.socket, refusals = folder.refusals,
    sources = ctx.cfg.collector.sources })
  for name, value in pairs(asked.operators and marked_operators.ASKED or {}) do
    made[name] = value
  end
  made[workload.EAGER] = asked.eagerly and tostring(asked.counts) or nil
  made[workload.CAPTURE] = asked.captures and tostring(asked.captures) or nil
  return made
end


local function run(ctx, spec, folder)
  local listener <close>, chosen = errors.check(listen.open(folder.socket)), nil
  local function hear(guard)
    for _, heard in ipairs(errors.check(listener:poll())) do
      if heard.line == "pause" then -- a process is held until it has more lines of the plan
        chosen = chosen or select_now(ctx, folder.path)
        listener:send(heard.peer, chosen .. "go\n") -- one that is gone needs no answer
      elseif heard.line == "stalled" then
        guard:stall(STUCK)
      end
    end
  end
  return live.run(ctx, { argv = spec.argv, spec = spec, env = environment(ctx, folder),
    log = files.log, command = files.command, on_idle = hear })
end


-- ---- what it left ----

-- said: of processes that could not write theirs.
local function check_spools(ctx, count, said, result, lines)
  for _, line in ipairs(said) do ctx.note("collector: " .. line) end
  if count > 0 then return end
  local ended = workload.complaint(result)
  errors.raise(ended and "failed" or "nothing", ended
    and "the workload recorded nothing: " .. ended
    or "nothing was captured: " .. (said[1] or "no process loaded the collector"),
    { detail = workload.tail(lines), hint = #said == 0 and not ended
      and collector.NOT_LOADED .. "; " .. collector.vendor.without
      or "the whole output is in " .. files.log })
end


-- Of the workload's own numbers only those of repeats that are in the timeline: the
-- others were slowed down by what was measured in them. Those of plain units are those of
-- a run without a profiler. A window has many repeats, and the load numbers none of
-- those for counters.
local function keep_metrics(ctx)
  if asked_of(ctx).by_window then return end
  local metrics = workload.metrics(ctx.run, layout.workload.folder)
  local all = metrics and metrics.repeats
  local types = all and collector_counters.unit_types(ctx.run:path(files.spool)) or {}
  local of = { timeline = {}, plain = {} }
  for i, type in ipairs(types) do
    if of[type] and all[i] then table.insert(of[type], all[i]) end
  end
  if #of.timeline == 0 or #of.timeline == #all then return end
  ctx.note(("the workload's numbers are of %d of its %d repeats: those in the timeline"):format(
    #of.timeline, #all))
  local plain = layout.metrics_in(layout.workload.before)
  if #of.plain > 0 then
    errors.check(fs.mkdirs(ctx.run:path(layout.workload.before)))
    metrics.repeats = of.plain
    ctx.run:write_document(plain, "metrics", metrics)
    ctx.outputs[#ctx.outputs + 1] = plain
  end
  metrics.repeats = of.timeline
  ctx.run:write_document(layout.workload.metrics, "metrics", metrics)
end


local timeline = { vendor = collector.vendor, recall = under_spools.recall }


-- Puts the timeline into the run, and the spool; raises when there is none.
function timeline.capture(ctx)
  local spec = describe(ctx, ctx.run)
  if asked_of(ctx).plain then
    fs.remove(ctx.run:path(layout.metrics_in(layout.workload.before))) -- of an earlier attempt
  else
    live.plain(ctx, spec, "before")
  end
  errors.check(fs.mkdirs(ctx.run:path(files.folder)))
  local folder <close> = collector.scratch(ctx.run:absolute(files.folder))
  local sockets <close> = collector.scratch(SOCKETS)
  local refused <close> = collector.refusals()
  folder.socket, folder.refusals = sockets.path .. "/socket", refused.key
  ctx.run:write(files.plan, plan_text(ctx))
  local result, lines = run(ctx, spec, folder)
  local count, generated = collector.gather(folder.path, ctx.run:path(files.spool))
  for _, line in ipairs(generated) do ctx.note(line) end
  check_spools(ctx, count, refused:said(folder.path), result, lines)
  under_spools.keep_timeline(ctx)
  keep_metrics(ctx)
  workload.note_end(ctx, result, lines, files.log, "the workload under the collector")
  live.plain(ctx, workload.describe(ctx.recipe, ctx.cfg, ctx.run), "after")
  return true
end


function timeline.preview(ctx)
  local list = { lists.joined({ "CUDA_INJECTION64_PATH=" .. collector.NAME,
    "NVTX_INJECTION64_PATH=" .. collector.NAME }, describe(ctx).argv) }
  local alone = workload.describe(ctx.recipe, ctx.cfg).argv
  if live.runs(ctx, "before") and not asked_of(ctx).plain then table.insert(list, 1, alone) end
  if live.runs(ctx, "after") then table.insert(list, alone) end
  return list
end


-- ---- the source ----

local builtin = live.new(timeline, under_ncu)


local function by_ncu(ctx) return ctx.cfg.counters.by == "ncu" end


function builtin.find(ctx)
  if not builtin.untimed(ctx) then live.tool(ctx, collector.vendor) end
  if by_ncu(ctx) or ctx.cfg.timeline == "off" then live.tool(ctx, under_ncu.vendor) end
end


function builtin.note(ctx)
  local found = ctx.state.tools[collector.vendor.name]
  return found and "collector " .. found.version or "no collector"
end


-- Nothing of the workload is left out for the counters: they cost its other launches
-- little.
function builtin.room(ctx) return by_ncu(ctx) and under_ncu.room(ctx) or nil end


-- Does it cost little to measure a kernel?
function builtin.cheap(ctx) return collector_counters.wanted(ctx.cfg) end


function builtin.counters(ctx)
  if ctx.cfg.counters.by == "off" then return false, "counters=off" end
  if collector_counters.wanted(ctx.cfg) then return collector_counters.keep(ctx) end
  if not by_ncu(ctx) and ctx.cfg.timeline ~= "off" then
    return false, "collector.yield=on leaves CUPTI to others; counters=ncu takes a run of its own"
  end
  return under_ncu.capture(ctx)
end


local in_a_run_of_its_own = builtin.operators

-- From the run of the timeline where its workload marked them, else in one of its own.
function builtin.operators(ctx)
  if not asked_of(ctx).operators then return in_a_run_of_its_own(ctx) end
  local spool = ctx.run:path(layout.collector.spool)
  local made = fs.stat(spool) and marked_operators.read(spool, ctx.recipe.stages)
  if not made then
    ctx.note "the workload marked no operators: they take a run of its own"
    return in_a_run_of_its_own(ctx)
  end
  return made
end


local about = builtin.about

function builtin.about(ctx)
  local said = about(ctx)
  if collector_counters.wanted(ctx.cfg) then said.counters_tool = said.tool end
  return said
end


local preview = builtin.preview

function builtin.preview(ctx)
  local list = preview(ctx)
  if collector_counters.wanted(ctx.cfg) then
    list.counters = { "in the same run of the workload" }
  end
  if asked_of(ctx).operators then
    table.insert(list.operators, 1, "in the same run of the workload, where it marks them; else")
  end
  return list
end


return builtin
