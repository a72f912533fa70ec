-- The timeline: nsys/run.sqlite.
local errors = require "llmprof.process.errors"
local document = require "llmprof.io.document"
local identity = require "llmprof.run.identity"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local engines = require "llmprof.engines"
local outermost = require "llmprof.analysis.stages.outermost"
local own_times = require "llmprof.analysis.latency.own_times"
local stages = require "llmprof.analysis.stages.find"
local text = require "llmprof.text"
local trace_file = require "llmprof.trace.file"
local workload = require "llmprof.run.workload"

local step = { name = "timeline", summary = "capture the timeline and read it",
  requires = { "plan", "tools" }, makes = { layout.timeline },
  reads = { "capture", "tools", "folder", "environment", "about" },
  gives = {
    trace = "the timeline, opened: llmprof.trace",
    found = "the stages in it: llmprof.analysis.stages.find",
    taken = "how it was taken: { command, date, complaints }, as far as known",
    metrics = "the workload's own numbers; nil without",
    engine_log = "what lines of the server's log say of its load; nil without",
    plain = "list of the same of its runs without any profiler; nil without",
    samples = "how the GPU did meanwhile; nil without",
  } }


local function check_captured(ctx, trace)
  local ops = errors.check(trace:frame "gpu")
  local ranges = errors.check(trace:frame "ranges")
  if #ops == 0 and #ranges == 0 then
    trace_file.check(trace) -- they may have had no time
    errors.raise("nothing", "nothing was captured: no GPU operation and no NVTX range",
      { hint = "did the workload use the GPU, and was CUDA traced?"
        .. (ctx.run:has(layout.collector.spool) and " capture=nsys uses Nsight Systems" or "") })
  end
end


function step.left_out(ctx) return ctx.state.capture.untimed(ctx) end


function step.restore(ctx)
  local trace = trace_file.open(ctx.run:source(layout.timeline))
  check_captured(ctx, trace)
  ctx.state.trace = trace
  if ctx.recipe.unwritten then ctx.recipe.stages = outermost.or_inferred(trace) end
  local metrics, message = workload.metrics(ctx.run, layout.workload.folder)
  ctx.state.metrics = metrics
  if not metrics then -- broken ones are said and left out
    ctx.lack("the workload's own numbers", message or ctx.cfg.capture == "files"
      and "neither metrics.json nor a load generator's result lies next to the trace"
      or "it wrote no metrics.json",
      "write $LLMPROF_WORKLOAD_DIR/metrics.json as docs/workload.md describes")
  end
  ctx.state.engine_log = engines.read_log(ctx.run:path(layout.workload.server_log))
    or engines.read_log(ctx.run:path(layout.workload.log_found), "found")
  ctx.state.found = stages.find(trace, ctx.recipe.stages, ctx.cfg.repeats.skip_first,
    own_times.requests_overlap(ctx.state.metrics))
  local recall = ctx.state.capture.recall
  ctx.state.taken = recall and recall(ctx) or {}
  -- of the runs without a profiler, those that gave numbers
  local plain = lists.map({ layout.workload.before, layout.workload.after }, function(folder)
    return (workload.metrics(ctx.run, folder))
  end)
  ctx.state.plain = #plain > 0 and plain or nil
  if ctx.run:has(layout.gpu_samples) then
    ctx.state.samples = errors.check(document.read(ctx.run:path(layout.gpu_samples),
      "gpu_samples"))
  end
end


-- What ranges that are no stage hold, where a stage is missing or none is marked; "" without.
local function other_ranges(ctx, found)
  if #found.missing == 0 and not (found.whole or found.inferred) then return "" end
  local said = outermost.unmatched_words(outermost.unmatched(ctx.state.trace, found.declared),
    found.missing[1])
  return said and (" (%s)"):format(said) or ""
end


-- "6,846 kernels", and of which file where each rank has one.
local function kernel_count(ctx)
  local kernels = errors.check(ctx.state.trace:frame "kernels")
  local files = ctx.state.capture.rank_files and ctx.state.capture.rank_files(ctx) or {}
  return text.count(#kernels) .. " kernels" .. (#files > 1 and (" of %s, the first of %d files")
    :format(files[1]:match "[^/]*$", #files) or "")
end


local function note(ctx)
  local found = ctx.state.found
  if found.whole then
    return ("%s, no stage of the recipe in the trace: the whole run is one%s"):format(
      kernel_count(ctx), other_ranges(ctx, found))
  end
  local names = lists.map(found.declared, function(stage)
    return not lists.has(found.missing, stage.name) and stage.name or nil
  end)
  local lack = #found.missing > 0 and ", not in it: " .. table.concat(found.missing, " ") or ""
  local marked = found.inferred and (" inferred with confidence %s of 1"):format(
    text.number(found.inferred.confidence, 2)) or ""
  return ("%s, %d repeat%s, stages%s %s%s%s"):format(kernel_count(ctx), found.repeats.count,
    found.repeats.count == 1 and "" or "s", marked, table.concat(names, " "), lack,
    other_ranges(ctx, found))
end


function step.run(ctx)
  local ok, err = errors.call(function()
    ctx.state.capture.timeline(ctx)
    step.restore(ctx)
  end)
  local whole, lost = errors.call(ctx.run.end_taking, ctx.run)
  if not (ok and whole) then
    ctx.state.trace, ctx.state.found = nil, nil -- of what the bundle lacks nothing is told
    -- what the workload said of itself stays, whatever became of the capture
    ctx.state.metrics = workload.metrics(ctx.run, layout.workload.folder)
    if ctx.state.metrics then identity.keep(ctx, ctx.state.metrics) end
    error(ok and lost or err, 0)
  end
  identity.keep(ctx, ctx.state.metrics)
  return note(ctx)
end


return step
