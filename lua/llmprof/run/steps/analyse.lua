-- Everything that was found out, as one file: results.json.
local advice = require "llmprof.advice"
local analysis = require "llmprof.analysis"
local models = require "llmprof.model"
local cold = require "llmprof.analysis.stages.warmup"
local collector = require("llmprof.collector").vendor
local errors = require "llmprof.process.errors"
local events = require "llmprof.analysis.timeline.events"
local fs = require "llmprof.fs"
local hardware = require "llmprof.model.hardware"
local identity = require "llmprof.run.identity"
local layout = require "llmprof.bundle.layout"
local overhead = require "llmprof.analysis.latency.overhead"
local own_times = require "llmprof.analysis.latency.own_times"
local process_pool = require "llmprof.process.pool"
local range_name = require "llmprof.trace.nvtx_names"
local recipe = require "llmprof.recipe"
local results_file = require "llmprof.bundle.results_file"
local session_source = require "llmprof.query.session.source"
local stages = require "llmprof.analysis.stages.find"
local trace = require "llmprof.trace"
local version = require "llmprof.version"
local whatif = require "llmprof.whatif"
local outermost = require "llmprof.analysis.stages.outermost"

local step = { name = "analyse", summary = "put everything together: results.json",
  requires = { "plan", "tools" }, makes = { layout.results },
  needs = { layout.timeline, layout.ranks.record, layout.counters, layout.workload.operators,
    layout.gpu_samples, layout.stacks, layout.workload.metrics,
    layout.metrics_in(layout.workload.before), layout.metrics_in(layout.workload.after),
    layout.environment },
  reads = { "capture", "folder", "environment", "about", "trace", "found", "taken", "metrics",
    "engine_log", "plain", "own", "samples", "kernels", "selection", "plan", "launches",
    "counters", "measured", "ran", "operators", "ranks", "merged", "missing" },
  gives = { results = "everything that was found out: llmprof.analysis" } }


-- ---- sampled stacks ----

-- Collapsed stacks that samplers took beside the profiler: the files of `cpu_stacks` into
-- the bundle, and those of the bundle opened. A file that is no use costs its own figures
-- and the exit status, nothing else.

local function refuse(ctx, message, hint)
  ctx.fail_later("usage", message, { hint = hint })
  ctx.lack("sampled stacks", message, hint)
end


local HOW = "py-spy record -f raw, or perf script through a stackcollapse script, writes such a "
  .. "file; llmprof help capture says how"


-- The stacks of a file, or nil and why: a pipe could keep the run waiting for ever.
local function open(path)
  local info = fs.stat(path)
  if info and info.type ~= "file" then return nil, path .. ": not a regular file" end
  local reader, message, code = trace.reader(path)
  if reader == "folded" then return trace.open(path) end
  return nil, message or path .. ": no collapsed stacks", code
end


-- The same, or nil: it was said why.
local function read(ctx, path)
  local made, message = errors.unless_systems(open(path))
  if not made then refuse(ctx, message, HOW) end
  return made
end


-- The stacks of the bundle: list of { stage, file, trace }. Files that are named on the way of the
-- run go there first. One that is there under the whole word has "=" in its name.
local function open_stacks(ctx)
  local taken, list = {}, {}
  for _, word in ipairs(ctx.cfg.cpu_stacks or {}) do
    local stage, file = word:match "^([^=/]+)=(.+)$"
    if not stage or fs.stat(word) then stage, file = stages.WHOLE_RUN, word end
    local made = read(ctx, file)
    if made and taken[stage] then
      refuse(ctx, ("cpu_stacks: two files of %s: %s and %s"):format(stage, taken[stage], file),
        "one file may follow the other in a third: cat A B > C")
    elseif made then
      made:close()
      taken[stage] = file
      ctx.run:take(file, layout.stacks_of(stage))
    end
  end
  for _, name in ipairs(layout.stacks_in(ctx.run.dir)) do
    local made = read(ctx, errors.check(fs.beneath(ctx.run.dir, name)))
    list[#list + 1] = made and { stage = layout.stage_of_stacks(name), file = name, trace = made }
      or nil
  end
  return list
end


-- ---- what was found out ----

local function source(ctx)
  local about, taken = ctx.state.about, ctx.state.taken
  local info = ctx.state.trace and ctx.state.trace:info()
  local from = ctx.state.capture.name
  local timeline = info and { from = from, tool = about.tool, file = layout.timeline,
    export_schema = info.schema, export_product = info.product, recorded = taken.date,
    command = taken.command }
  local counters = ctx.state.launches and { from = from, tool = about.counters_tool,
    file = layout.counters } or nil
  return { timeline = timeline, counters = counters }
end


-- What the results lack: the timeline, stages, what steps would have given that were interrupted,
-- or not begun after that.
local function note_lacks(ctx)
  local found, failed = ctx.state.found, ctx.run:recorded "timeline"
  if not found then -- there are no times; what was measured lies in the bundle
    table.insert(ctx.state.missing, 1, { what = "the timeline",
      why = failed and failed.message or "it was not captured",
      how = failed and failed.hint or "llmprof doctor says what is wrong with nsys" })
  end
  local missing = found and not ctx.recipe.unwritten and found.missing or {}
  local others = #missing > 0 and outermost.unmatched(ctx.state.trace, found.declared) or {}
  for _, name in ipairs(missing) do
    local said = outermost.unmatched_words(others, name)
    ctx.lack(("stage '%s'"):format(name), "the trace has no NVTX range of that name",
      "mark it in the workload, or take it out of the recipe's stages"
        .. (said and " (" .. said .. ")" or ""))
  end
  for _, name in ipairs { "counters", "operators" } do
    local entry = ctx.run:recorded(name)
    if entry and entry.message == "interrupted" and not ctx.state[name] then
      ctx.lack(name, "interrupted", ctx.run:continuation())
    end
  end
end


-- Times of stages by repeat, as a workload's numbers have them: those of the timeline, of its
-- first rank, where it wrote none of the profiled run.
local function profiled_of(found)
  local repeats = {}
  for i = 1, found.repeats and found.repeats.count or 0 do repeats[i] = { stages = {} } end
  for _, instance in ipairs(found.instances) do
    local rep = instance.rank == found.instances[1].rank and repeats[instance.rep]
    if rep then
      local before = rep.stages[instance.stage]
      local ms = (instance.stop - instance.start) / 1e6 + (before and before.ms or 0)
      rep.stages[instance.stage] = { ms = ms }
    end
  end
  return { repeats = repeats }
end


-- results.overhead is there when it was measured, and only then.
local function overhead_of(ctx)
  local found, plain, parents, measured = ctx.state.found, ctx.state.plain, {}, nil
  for _, stage in ipairs(found and found.declared or {}) do
    parents[stage.name] = stage.parent
    parents[range_name.role(stage.name)] = stage.parent or stage.name
  end
  if found and plain then
    measured = overhead.compare(ctx.state.metrics or profiled_of(found), plain, function(rep, name)
      return cold.left_out(found.repeats, rep, name, parents[name])
    end)
  end
  if ctx.cfg.overhead == "measure" and not measured then
    ctx.lack("what profiling costs", "no stage has times of a plain and of the profiled run",
      "overhead=measure, and a workload that writes metrics.json")
  end
  return measured
end


-- The model's description and what the run did with it, as far as known; and
-- what is wrong with the one that there is.
local function describe(ctx)
  local state = ctx.state
  local arch, complaint = models.description { cfg = ctx.cfg.model, metrics = state.metrics,
    chosen = ctx.config.origins["model.arch"] ~= ctx.recipe.file, about = state.about,
    folder = state.folder }
  return arch, arch and models.of_run(arch, state.metrics, state.about), complaint
end


-- What was captured on, as far as anything says: the capture, the workload.
local function environment_of(ctx)
  local environment = {}
  local said = ctx.state.environment.captured_on or {}
  for _, key in ipairs { "driver", "cuda", "kernel", "cpu", "nsys", "ncu", "gpus", "commit",
    "commit_changed" } do
    environment[key] = said[key]
  end
  local own = ctx.state.metrics or ctx.state.own
  for key, value in pairs(own and own.environment or {}) do
    if type(value) == "number" then value = tostring(value) end -- a version: 13
    environment[key] = environment[key] or value
  end
  return environment
end


-- ---- the recipe's hooks ----

-- The recipe's own advice. An error in it costs its findings and the exit
-- status, not the reports.
local function advise_of(ctx)
  if not ctx.recipe.advise then return nil end
  local rule = advice.of_recipe(ctx.recipe.advise)
  local function examine(...)
    local ok, err = errors.call(rule.examine, ...)
    if ok then return end
    if err.kind == "interrupted" then error(err, 0) end
    ctx.fail_later(err.kind, err.message, { detail = err.detail, hint = err.hint })
  end
  return { { name = rule.name, where = rule.where, examine = examine } }
end


-- What recorded a timeline that only looks like an export of nsys; nil for others.
local function recorder_of(about)
  local tool = about.tool or ""
  if tool:find(collector.product, 1, true) == 1 then
    return { name = "the collector", log = layout.collector.log }
  end
  return (tool == "torch.profiler" or tool == "jax.profiler") and { name = tool } or nil
end


-- What results are made of: see llmprof.analysis.
local function given_of(ctx)
  local state = ctx.state
  local arch, run, complaint = describe(ctx)
  local hook = ctx.recipe.flops
  -- FLOP of a stage as the recipe counts them, by its record and the workload's metrics
  local flops = hook and function(stage, metrics)
    return recipe.call("flops", hook, stage, metrics, ctx.cfg)
  end
  local given = {
    run_id = ctx.run.id, recipe = ctx.recipe.name, top_n = ctx.cfg.top_n.kernels,
    model = identity.full { cfg = ctx.cfg.model, metrics = state.metrics or state.own or state.ran,
      workload = state.about.workload, arch = arch },
    source = source(ctx), environment = environment_of(ctx), trace = state.trace,
    found = state.found or state.own
      and own_times.found(state.own, ctx.recipe.stages, ctx.cfg.repeats.skip_first),
    kernels = state.kernels or state.measured, selection = state.selection,
    plan = state.plan, counters = state.counters, operators = state.operators,
    workload = state.about.workload, metrics = state.metrics or state.own, missing = state.missing,
    samples = state.samples, engine_log = state.engine_log,
    complaints = state.taken and state.taken.complaints,
    recorder = recorder_of(state.about),
    flops = flops,
    arch = arch, arch_complaint = complaint, run = run, gpu = ctx.cfg.hardware,
    price = ctx.cfg.price,
    launches = state.launches, plain = state.plain,
    overhead = overhead_of(ctx), stacks = open_stacks(ctx), beside = ctx.is_divided,
  }
  -- what another process may still work on is asked for when it is needed
  local late = { ranks = function() return state.ranks end,
    merged = function() return state.merged and state.merged() end }
  return setmetatable(given, { __index = function(_, key) return late[key] and late[key]() end })
end


-- Files of ranks that are in memory at once.
local MOST_RANKS = 8

-- What replays changes over the trace, with the files of other ranks.
local function replayer_of(ctx, given, results)
  local capture = ctx.state.capture
  return given.trace and whatif.replayer(function()
    local list = { session_source.of(given.trace, { results = results, found = given.found }) }
    local files = capture.rank_files and capture.rank_files(ctx) or {}
    if #files > MOST_RANKS then
      return nil, ("%d ranks are more than are replayed with a report"):format(#files)
    end
    for i = 2, #files do
      if not fs.stat(files[i]) then return nil, "the files of the other ranks are not there" end
      local ok, made = errors.call(function()
        local one = session_source.all(files[i])[1]
        return one.trace and one
      end)
      if not ok and (made.bug or made.kind == "interrupted") then error(made, 0) end
      list[#list + 1] = ok and made or nil -- `ranks` says which cannot be read
    end
    return list
  end) or nil
end


function step.restore(ctx)
  ctx.state.results = results_file.load(ctx.run:path(layout.results))
end


function step.run(ctx)
  note_lacks(ctx)
  local given = given_of(ctx)
  local results = analysis.results(given)
  local function work() return events.packed(given, results) or "" end
  local pool <close> = process_pool.begin(given.beside and { { work } } or {})
  results.advice = advice.examine(results, advise_of(ctx), replayer_of(ctx, given, results))
  local ok, packed = pool:take(1)
  -- of a trace that somebody hands over, what would fill a lack; nothing here reads AMD's counters
  local timeline, remedies = ctx.state.trace, ctx.state.capture.remedies
  local amd = timeline and hardware.is_amd(timeline:devices())
  for _, lack in ipairs(remedies and results.missing or {}) do
    if not (amd and lack.what == "counters") then lack.how = remedies[lack.what] or lack.how end
  end
  local bytes = ok and packed or work() -- for the page; "" where there are none
  if bytes ~= "" then
    ctx.run:write(layout.events, bytes)
  elseif ctx.run:has(layout.events) then
    errors.check(fs.remove(ctx.run:path(layout.events)))
  end
  results_file.write(ctx.run, results)
  step.restore(ctx)
  return ("%d stage%s, %d kernels"):format(#results.stages, #results.stages == 1 and "" or "s",
    #results.kernels)
end


-- What another llmprof found out, what cannot be read any more, what the recipe may
-- say otherwise now. With modules from disk they may have changed.
function step.stale(ctx)
  local written = ctx.recipe.path and fs.stat(ctx.recipe.path)
  local made = fs.stat(ctx.run:path(layout.results))
  if os.getenv "LLMPROF_HOME" or written and made and written.mtime_ns > made.mtime_ns then
    return true
  end
  local results = results_file.read(ctx.run:path(layout.results))
  return results == nil or results.run.llmprof ~= version.version
end


return step
