-- Files that somebody made before, of any format that is read: a trace or one for each rank,
-- and what belongs to it. llmprof.trace.handed says which; llmprof.run.capture says what a
-- source of captures is.
local lazy = require "llmprof.io.lazy"
local collector_counters = lazy "llmprof.run.capture.collector_counters"
local collector = require("llmprof.collector").vendor
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local generators = lazy "llmprof.analysis.serving.generators"
local nsys = lazy "llmprof.nvidia.nsys"
local fs = require "llmprof.fs"
local handed = require "llmprof.trace.handed"
local launches = lazy "llmprof.nvidia.ncu.launches"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local members = lazy "llmprof.ranks.members"
local merged = lazy "llmprof.ranks.merged"
local marked_operators = lazy "llmprof.run.marked_operators"
local operators = require "llmprof.run.operators"
local recorded = require "llmprof.run.capture.recorded"
local text = require "llmprof.text"
local live = lazy "llmprof.run.capture.live"
local trace_file = require "llmprof.trace.file"
local under_ncu = lazy "llmprof.run.capture.under_ncu"
local yaml = require "llmprof.yaml"

local files = { name = "files" }

-- What reports call what made a timeline, by format; an export of nsys says it itself.
local TOOLS = { spool = collector.product, torch = "torch.profiler", xplane = "jax.profiler" }


-- Ranks of a run were recorded with less than this many ns between them.
local SAME_RUN = 60 * 1000000000


-- What one of several files is: { file, ranks, first and last (when something ran, ns since
-- 1970; nil where the clock is not known), is_capture (of a graph) }; the file alone where it
-- cannot be read: that is said when ranks are put together.
local function look_into(path, format)
  local ok, result = errors.call(function()
    local trace <close> = trace_file.open(path)
    trace_file.check(trace)
    local first, last = errors.check(trace:frame "gpu"):union():span()
    local epoch = first and trace:info().epoch
    return { file = path, ranks = members.find(trace), first = epoch and epoch + first,
      last = epoch and epoch + last,
      is_capture = format == "torch" and marked_operators.is_capture(trace) }
  end)
  if ok then return result end
  if result.bug or result.kind == "interrupted" then error(result, 0) end
  return { file = path }
end


-- Why a file is of no rank of the first one's run; nil where it may be.
local function why_apart(one, first)
  if not one.ranks or one == first then return nil end
  if #one.ranks == 0 then return "no kernel in it" end
  if not (one.first and first.first) then return nil end
  local apart = math.max(one.first - first.last, first.first - one.last)
  return apart > SAME_RUN and ("of another run: %s apart from %s"):format(text.duration(apart),
    first.file:match "[^/]*$") or nil
end


-- Put traces of the capture of graphs, which are no ranks, by themselves, and leave out what
-- is of another run; of the others the first that can be read is the timeline.
local function divide(found)
  local list, parts, captures, traces = {}, {}, {}, {}
  for i, path in ipairs(found.traces) do
    list[i] = look_into(path, found.format)
    if list[i].is_capture then
      captures[#captures + 1] = path
    elseif list[i].ranks and #list[i].ranks > 0 then
      parts[#parts + 1] = { about = list[i] }
    end
  end
  local first = merged.in_order(parts)[1]
  if not first then return end
  for _, one in ipairs(list) do
    local why = not one.is_capture and why_apart(one, first.about)
    if why then
      found:leave_out(one.file, why)
    elseif not one.is_capture then
      traces[#traces + 1] = one.file
    end
  end
  found.traces, found.captures, found.timeline = traces, captures, first.about.file
end


-- What was handed over, looked at once, with the file of the timeline, and captures: traces
-- of the capture of graphs.
local function given(ctx)
  if ctx.handed then return ctx.handed end
  local found = ctx.cfg.capture == "recorded"
    and handed.captured(recorded.folder(ctx.cfg, ctx.recipe))
    or handed.look(ctx.cfg.files or {}, nsys.exported, generators.document_of)
  found.captures = {}
  if #found.traces > 1 then divide(found) end
  found.timeline = found.timeline or found.traces[1]
  ctx.handed = found
  return found
end


function files.machine() return nil end
function files.untimed(ctx) return config.untimed(ctx.cfg) end


function files.about(ctx)
  local used = given(ctx)
  local name = TOOLS[used.format]
  local elsewhere = used.files[layout.counters] or used.files[layout.ncu.report]
  return { tool = name, counters_tool = not elsewhere and name or nil }
end


-- Every file that is used, with its size.
function files.inputs(ctx)
  local made, used = yaml.list {}, given(ctx)
  for i, path in ipairs(lists.joined(used.traces, used:others(), used.captures)) do
    made[i] = { file = path, bytes = fs.stat(path).size }
  end
  return { source = "files", files = made }
end


-- "a trace of torch.profiler, with metrics.json".
function files.note(ctx)
  local used = given(ctx)
  local others = lists.map(lists.joined(used:others(), used.captures),
    function(path) return path:match "[^/]*$" end)
  return handed.TITLES[used.format] .. (#used.traces > 1 and ", %d files" or ""):format(
    #used.traces) .. (#others > 0 and ", with " .. table.concat(others, ", ") or "")
end


-- What a recorded capture lacks; nil for other files.
local function lack_of(ctx, target)
  return ctx.cfg.capture == "recorded"
    and "the recorded capture has no " .. layout.recorded_name(target) or nil
end


-- The timeline that is there before anything runs.
function files.kept(ctx)
  local path = given(ctx).timeline
  if path or config.untimed(ctx.cfg) then return path end
  return errors.raise("usage", ("%s: %s"):format(recorded.folder(ctx.cfg, ctx.recipe),
    lack_of(ctx, layout.timeline)))
end


-- Nothing is started: which files are taken, and how the kernels that are selected would be
-- measured.
function files.preview(ctx)
  local used = given(ctx)
  local function taken(path) return "takes " .. path end
  local list = { timeline = lists.map(used.traces, taken) }
  for _, file in ipairs(layout.recorded) do
    list[file.step] = list[file.step] or {}
    lists.add(list[file.step], lists.map({ used.files[file.target] }, taken))
  end
  if ctx.state.plan and ctx.cfg.capture == "recorded" then
    list.select = lists.joined({ "these would be measured on a GPU by" }, under_ncu.preview(ctx))
  end
  return list
end


-- The files of ranks, where there are several, that of the timeline first.
function files.rank_files(ctx)
  local used = given(ctx)
  if #used.traces < 2 then return {} end
  return lists.stable(used.traces, function(path) return path == used.timeline and 0 or 1 end)
end


function files.left_out(ctx) return lists.first(given(ctx).left_out) end


-- ---- the timeline ----

function files.timeline(ctx)
  local path, used = files.kept(ctx), given(ctx)
  if used.format == "nsys" then
    ctx.run:begin_taking(path, layout.timeline)
  else -- as the tables of an export, which every other command reads in a bundle
    live.convert(ctx, path, function(said)
      table.insert(used.left_out, ("%s: %s"):format(path:match "[^/]*$", said))
    end)
  end
  if used.format == "spool" then
    ctx.run:take(path, layout.collector.spool)
    ctx.outputs[#ctx.outputs + 1] = layout.collector.spool
  end
  for _, file in ipairs(layout.recorded) do
    local from = used.files[file.target]
    if file.step == "timeline" and from then ctx.run:take(from, file.target) end
  end
  local log, target = used:log()
  if log then ctx.run:take(log, target) end
  if used.load then
    local metrics = errors.check(generators.read(used.load))
    ctx.run:write_document(layout.workload.metrics, "metrics", metrics)
  end
  for _, stacks in ipairs(used.stacks) do
    ctx.run:take(stacks, layout.stacks .. "/" .. stacks:match "[^/]*$")
  end
  return true
end


-- ---- what belongs to it ----

local WITHOUT = { nsys = "an export of Nsight Systems has none",
  torch = "traces of torch.profiler have none", xplane = "profiles of XLA have none",
  spool = "the recording has none" }

files.remedies = { counters = "a raw page of ncu (.csv) next to the trace",
  operators = "operators.json or a trace of torch.profiler next to the trace",
  ["the model's cost"] = "--model names a config.json, or a model of conf/model",
  ["the workload's own numbers"] = "metrics.json, or what a load generator wrote, next to the "
    .. "trace" }


function files.counters(ctx)
  if ctx.cfg.counters.by == "off" then return false, "counters=off" end
  local used = given(ctx)
  local page, report = used.files[layout.counters], used.files[layout.ncu.report]
  if page then
    ctx.run:take(page, layout.counters)
    return true
  elseif used.format == "spool" and #launches.recorded(used.timeline) > 0 then
    return collector_counters.keep(ctx)
  elseif not report then
    return false, lack_of(ctx, layout.counters)
      or WITHOUT[used.format] .. ", and there is no raw page of ncu next to it"
  end
  local found, why = live.try_tool(ctx, under_ncu.vendor) -- the ncu of this machine
  if not found then
    return false, ("%s is to be printed first (ncu --import %s --csv --page raw): %s"):format(
      report:match "[^/]*$", report, why)
  end
  ctx.run:take(report, layout.ncu.report)
  local printed, message = under_ncu.print_raw(ctx)
  return printed or false, message
end


local NO_FILE = ", and there is no operators.json or trace of torch.profiler next to it"

local NO_OPERATORS = { nsys = "an export of Nsight Systems names no operators" .. NO_FILE,
  spool = WITHOUT.spool .. NO_FILE, xplane = "no instruction of a program is marked in it" }

-- Of a trace of torch.profiler, or what a workload wrote, else of ranges that are marked.
function files.operators(ctx)
  if ctx.cfg.operators == "off" then return false, "operators=off" end
  local used, lack = given(ctx), lack_of(ctx, layout.workload.operators)
  local found, why
  local path = used.files[layout.workload.operators] or used.format == "torch" and used.timeline
  if path then
    found, why = errors.unless_systems(operators.load(path))
  elseif not lack then
    found = used.format == "spool" and marked_operators.read(used.timeline, ctx.recipe.stages)
      or marked_operators.read_xla(used.timeline, ctx.recipe.stages)
  end
  if not found then return nil, why or lack or NO_OPERATORS[used.format] end
  if #used.captures > 0 then
    local joined, all = marked_operators.add_replayed(found, used.timeline, used.captures)
    ctx.note(("%s of %s operations of CUDA graphs have operators, by the trace of the capture")
      :format(text.count(joined), text.count(all)))
  end
  if #found.operators == 0 then return nil, "there are none in the trace" end
  return found
end


-- A recorded capture is taken the same way.
files.recorded = setmetatable(recorded, { __index = files })


return files
