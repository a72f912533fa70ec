-- Can the capture be trusted? Each check looks at what a blind or broken
-- capture leaves behind, says what it saw, and how to capture again.
--
-- A check gives nothing when it does not apply, else { name, level = "ok" |
-- "warning" | "problem", text, fix }. The verdict is the worst level.
local collectives = require "llmprof.ranks.collectives"
local check = require("llmprof.process.errors").check
local trace_file = require "llmprof.trace.file"
local invariants = require "llmprof.analysis.timeline.invariants"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local members = require "llmprof.ranks.members"
local rows = require "llmprof.ranks.rows"
local sorted_keys = require("llmprof.tables.keys").sorted
local text = require "llmprof.text"

local integrity = { where = { "trace" },
  reads = { "found", "samples", "complaints", "recorder", "totals", "overhead" },
  gives = { integrity = "whether the capture can be relied on" } }

-- Above these shares a check warns, or calls it a problem.
local LOST_WARNING, LOST_PROBLEM = 0.001, 0.05
local OUTSIDE_WARNING = 0.5
local THROTTLE_WARNING = 0.05


local function percent(share) return text.number(share * 100, share < 0.1 and 1 or 0) .. " %" end


local function level_of(share, warning)
  if share > LOST_PROBLEM then return "problem" end
  return share > warning and "warning" or "ok"
end


-- What to do, and what where nsys recorded the timeline: with its option.
local function remedy(state, what, by_nsys) return state.by_nsys and by_nsys or what end


-- ---- CUDA graphs ----

local function count_launches(by_name)
  local count = 0
  for name, calls in pairs(by_name) do
    if name:find "GraphLaunch" then count = count + calls end
  end
  return count
end


-- A trace in which graphs are recorded has this many times as many launches into them as kernels.
local CAPTURED = 2

local function graphs(state)
  local launches = count_launches(state.api_calls)
  local captured = state.captured_launches
  if launches == 0 and captured > CAPTURED * state.kinds.kernels then
    return { level = "problem", text = ("a graph is captured here and never replayed: %s launches "
      .. "record it, and %s kernels ran"):format(text.count(captured),
      text.count(state.kinds.kernels)), fix = "record steps that replay the graph; this trace "
      .. "beside that one names the operators of its kernels" }
  end
  if launches == 0 or not state.knows "calls" then return nil end
  local served = count_launches(state.served_calls)
  local replays, nodes = state.kinds.graphs, state.graph_kernels
  local seen = ("%s graph launches, %s graph rows, %s kernels from graphs"):format(
    text.count(launches), text.count(replays), text.count(nodes))
  local visible = remedy(state, "record each kernel of a graph", "nsys.cuda_graph_trace=node")
  if served == 0 then
    return { level = "problem", text = seen .. ": what ran in the graphs is invisible",
      fix = visible }
  elseif replays > 0 or (nodes == 0 and state.knows "graph_nodes") then
    return { level = "warning", text = seen .. ": kernels inside graphs are not seen one by one",
      fix = visible }
  elseif served < launches then
    return { level = level_of((launches - served) / launches, LOST_WARNING),
      text = ("%s; %s launches have no GPU work"):format(seen, text.count(launches - served)),
      fix = remedy(state, "capture a shorter range",
        "capture a shorter range, or compare with nsys.cuda_graph_trace=graph") }
  end
  return { level = "ok", text = seen }
end


-- ---- launches and kernels ----

local function is_launch(name)
  return name:find "LaunchKernel" ~= nil or name:find "LaunchCooperativeKernel" ~= nil
end


-- Launches recorded into a graph run nothing by themselves: those between the
-- start and the end of a stream capture on the same thread. names: of the calls.
local function captured_launches(api, names)
  local function called(wanted) return check(api:where { name = lists.filtered(names, wanted) }) end
  local begun = called(function(name) return name:find("BeginCapture", 1, true) end)
  if #begun == 0 then return 0 end
  local ended = called(function(name) return name:find("EndCapture", 1, true) end)
  local all, count = called(is_launch), 0
  for _, thread in ipairs(begun:group { by = { "pid", "tid" } }) do
    local own, captures = { pid = thread.pid, tid = thread.tid }, {}
    local stops = ended:where(own):values "end"
    for i, start in ipairs(thread.tid and begun:where(own):values "start" or {}) do
      captures[#captures + 1] = stops[i] and { start = start, stop = stops[i] }
    end
    count = count + #check(check(all:where(own)):within(captures))
  end
  return count
end


local function launches(state)
  local issued, served = -state.captured_launches, 0
  for name, calls in pairs(state.api_calls) do
    if is_launch(name) then
      issued = issued + calls
      served = served + (state.served_calls[name] or 0)
    end
  end
  if issued <= 0 or not state.knows "calls" then return nil end
  if state.ops == 0 then
    return { level = "problem", text = ("GPU activity was not recorded: %s kernel launches, and "
      .. "no operation of a GPU"):format(text.count(issued)), fix = remedy(state,
      "record the GPU's activity, with no other client of its tracing library in the program",
      "profile with no other client of CUPTI in the program (torch.profiler); trace forked "
        .. "workers (nsys.trace_fork_before_exec=true); see what the recorder says of GPU clocks") }
  end
  local lost = (issued - served) / issued
  return { level = level_of(lost, LOST_WARNING),
    text = ("%s kernel launches, %s without a kernel"):format(text.count(issued),
      text.count(issued - served)),
    fix = "let the workload synchronise before it exits; capture a shorter range" }
end


local function orphans(state)
  if state.ops == 0 or not state.knows "calls" then return nil end
  local share = state.orphan_ops / state.ops
  if state.orphans_first then
    return { level = share > LOST_WARNING and "warning" or "ok",
      text = ("%s of %s GPU operations were launched before the capture began"):format(
        text.count(state.orphan_ops), text.count(state.ops)),
      fix = "let the program synchronise before the capture begins" }
  end
  return { level = level_of(share, LOST_WARNING),
    text = ("%s of %s GPU operations have no API call"):format(text.count(state.orphan_ops),
      text.count(state.ops)),
    fix = remedy(state, "begin the capture before the work is launched, and record all API calls",
      "begin the capture before the work is launched, and record all API calls "
        .. "(nsys.trace=[cuda,nvtx])") }
end


-- ---- processes ----

local function processes(state)
  if not state.knows "calls" then return nil end
  local with, without = {}, {}
  for pid in pairs(state.api_pids) do table.insert(state.gpu_pids[pid] and with or without, pid) end
  if #with == 0 or #with + #without < 2 then return nil end
  table.sort(without)
  if #without == 0 then
    return { level = "ok", text = ("%d processes, all with GPU work"):format(#with) }
  end
  return { level = "warning", text = ("%d of %d processes that used CUDA have no GPU work: %s")
    :format(#without, #with + #without, table.concat(without, ", ")),
    fix = remedy(state, "trace these processes too",
      "nsys.trace_fork_before_exec=true, or start workers with spawn instead of fork") }
end


-- ---- what the recorder itself noticed ----

-- What it says of captures that were asked to leave something out.
local expected = { "Scheduling information is absent" }

-- What it says of nearly every capture, whether or not something was lost.
local stock = { "events might have been collected",
  "events collected. Does the process use", "CUDA profiling might have not been started correctly" }

local function holds(message, patterns)
  return lists.any(patterns, function(pattern) return message:find(pattern, 1, true) end)
end


-- Is nothing missing, as far as the rows themselves tell?
local function lost_nothing(state)
  return state.ops > 0 and not lists.any({ graphs, launches, orphans }, function(check_of)
    local result = check_of(state)
    return result and result.level ~= "ok"
  end)
end


local function diagnostics(state)
  local said, complete, usual = {}, lost_nothing(state), 0
  for _, entry in ipairs(state.diagnostics) do
    local words = entry.text or ""
    local lower = words:lower()
    if complete and holds(words, stock) then
      usual = usual + 1
    elseif not holds(words, expected) and (entry.severity ~= "info" or lower:find "dropped"
      or lower:find "lost" or lower:find "missing") then
      said[#said + 1] = text.clean(words):gsub("%.$", "")
    end
  end
  for _, complaint in ipairs(state.complaints) do said[#said + 1] = complaint.message end
  if #said == 0 then
    if not state.knows "diagnostics" then return nil end
    local form = usual == 0 and "%s reported no lost records and no errors"
      or "%s says that events might be missing, as it often does; every launch has its work"
    return { level = "ok", text = form:format(state.reader) }
  end
  local words = text.truncate(table.concat(said, "; "), 300, "end")
  if not state.by_profiler then words = state.reader .. " reported: " .. words end
  return { level = "warning", text = words,
    fix = state.by_profiler and "record it again if you need what was left out"
      or "capture a shorter range" .. (state.log
        and ("; %s of the run that captured has the rest"):format(state.log) or "") }
end


-- ---- ranges ----

-- Stages that ranges mark, that count and launch nothing, as where other threads launch for them.
local function idle_stages(state)
  local found = state.found
  if not found or found.inferred or found.whole or not next(state.api_calls) then return {} end
  local own = lists.filtered(found.instances, function(one) return one.used and not one.parent end)
  return lists.sort(lists.map(lists.grouped(own, "stage"), function(alike)
    return lists.sum(alike, "launches") == 0 and alike[1].stage or nil
  end))
end


local function open_ranges(state)
  if state.ranges == 0 then return nil end
  local said = {}
  if state.open_ranges > 0 then
    said[1] = ("%s of %s NVTX ranges were still open at the end"):format(
      text.count(state.open_ranges), text.count(state.ranges))
  end
  for _, instance in ipairs(state.found and state.found.instances or {}) do
    if instance.tail then
      said[#said + 1] = ("%s goes on for %s after all that the GPU did, as where a capture ends "
        .. "in it"):format(instance.stage, text.duration(instance.tail))
    elseif instance.cut then
      said[#said + 1] = ("the capture ended in %s"):format(instance.stage)
    end
  end
  for _, name in ipairs(idle_stages(state)) do
    said[#said + 1] = ("the thread that marks %s launches nothing"):format(name)
  end
  return { level = #said > 0 and "warning" or "ok",
    text = #said > 0 and table.concat(said, "; ")
      or ("0 of %s NVTX ranges were still open at the end"):format(text.count(state.ranges)),
    fix = remedy(state, "end the capture after the ranges",
      "end the capture after the ranges (nsys.capture_range_end=stop)") }
end


local function coverage(state)
  local share = state.stage_share
  if not share then return nil end
  return { level = share < OUTSIDE_WARNING and "warning" or "ok",
    text = percent(share) .. " of the GPU time lies inside a stage",
    fix = "mark the rest with NVTX ranges, or name it in the recipe's stages" }
end


-- Stages that are inferred are those of the rank that runs most; other ranks of the same file keep
-- step with it where they meet in collectives.
local function inferred_ranks(state)
  if not (state.found and state.found.inferred) then return nil end
  local ranks = members.find(state.trace)
  local kernels = check(state.trace:frame "kernels")
  if #ranks < 2 or lists.any(kernels:group { by = { "name" } }, function(group)
    return collectives.describe(group.name or "").library ~= "other"
  end) then
    return nil
  end
  return { level = "warning", text = ("no range marks the stages: they are inferred from one of %d "
    .. "ranks, and include what the other ranks ran meanwhile"):format(#ranks),
    fix = "mark the stages with ranges; llmprof ranks tells the steps of each rank" }
end


-- ---- what the profiler cost ----

-- A stage that takes longer by this share or more is not what runs in production.
local INFLATED = 0.2

-- How to trace less with what recorded a timeline: recorder.name, or a name of a tool; nil: nsys.
local function trace_less(name)
  if name and name:find("collector", 1, true) then return "trace less (collector.sources=off)" end
  return name and name:find "%.profiler$" and "trace less" or "trace less (nsys=light)"
end


local function inflation(state)
  if not state.overhead then return nil end
  local slowed = lists.filtered(state.overhead.stages, function(stage)
    return stage.certain ~= false and stage.inflation >= INFLATED
  end)
  if #slowed == 0 then return nil end
  local said = lists.map(lists.sort(slowed, "-inflation", "name"), function(stage)
    return ("%s %s"):format(stage.name, percent(stage.inflation))
  end)
  said[1] = ("%s is %s slower under the profiler than without it"):format(slowed[1].name,
    percent(slowed[1].inflation))
  return { level = "warning", text = table.concat(said, ", "),
    fix = "take times from the plain runs, as reports do; what the CPU did and how long the GPU "
      .. "was idle are the profiled run's: " .. trace_less(state.reader)
      .. " to see them as they are" }
end


-- ---- the GPU's clocks ----

local harmless = { gpu_idle = true, applications_clocks_setting = true, sync_boost = true }

local function throttle(state)
  if #state.samples == 0 then return nil end
  local reasons, slowed = {}, 0
  for _, sample in ipairs(state.samples) do
    local held = lists.filtered(sample.throttle or {}, function(one) return not harmless[one] end)
    slowed = slowed + (#held > 0 and 1 or 0)
    lists.add(reasons, held)
  end
  if slowed == 0 then
    return { level = "ok", text = ("clocks were held down in none of %d samples")
      :format(#state.samples) }
  end
  local share = slowed / #state.samples
  return { level = share > THROTTLE_WARNING and "warning" or "ok",
    text = ("clocks were held down in %s of %d samples (%s)"):format(percent(share),
      #state.samples, table.concat(sorted_keys(lists.set(reasons)), ", ")),
    fix = "let the GPU cool, or raise its power limit; compare runs at the same clocks only" }
end


-- ---- gathering ----

-- Calls by name, those that GPU operations came from, and processes.
local function gather_calls(state, api, ops)
  for _, row in ipairs(api:group { by = { "name" } }) do
    state.api_calls[row.name or ""] = row.count
  end
  for _, row in ipairs(api:group { by = { "pid" } }) do state.api_pids[row.pid or -1] = true end
  for _, row in ipairs(ops:group { by = { "api" }, distinct = { "call" } }) do
    if row.api then
      state.served_calls[row.api] = row.distinct.call
    else
      state.orphan_ops = state.orphan_ops + row.count
    end
  end
  -- did all operations without a call begin before all that have one?
  local first = rows.extent(ops:where { { "api", "~=", false } })
  local orphans_after = first and ops:where { { "start", ">=", first }, api = false }
  state.orphans_first = first and state.orphan_ops > 0 and #orphans_after == 0
  for _, row in ipairs(ops:group { by = { "pid" } }) do state.gpu_pids[row.pid or -1] = true end
end


local function gather(given)
  local trace, recorder = given.trace, given.recorder or {}
  local state = { trace = trace, found = given.found,
    api_calls = {}, served_calls = {}, api_pids = {}, gpu_pids = {},
    graph_kernels = 0, orphan_ops = 0, stage_share = given.stage_share,
    overhead = given.overhead, samples = given.samples or {}, complaints = given.complaints or {},
    diagnostics = check(trace:diagnostics()),
    reader = recorder.name or trace:info().reader or "the recorder",
    log = recorder.log or not recorder.name and layout.nsys.log or nil,
    by_nsys = not recorder.name, by_profiler = (recorder.name or ""):find "%.profiler$" ~= nil }
  function state.knows(fact)
    local knows, message, code = trace:knows(fact)
    if knows == nil then check(knows, message, code) end
    return knows
  end
  local ops, api = check(trace:frame "gpu"), check(trace:frame "api")
  state.ops = #ops
  gather_calls(state, api, ops)
  state.kinds = trace_file.count_kinds(ops, {})
  local ranges = check(trace:frame "ranges")
  state.ranges = #ranges
  state.open_ranges = #ranges:where { open = 1 }
  state.captured_launches = captured_launches(api, sorted_keys(state.api_calls))
  if count_launches(state.api_calls) > 0 then
    local kernels = check(trace:frame "kernels")
    state.graph_kernels = #kernels:where { { "graph_node", "~=", false } }
  end
  return state
end


local checks = {
  { "graphs", graphs }, { "launches", launches }, { "orphans", orphans },
  { "processes", processes }, { "diagnostics", diagnostics }, { "ranges", open_ranges },
  { "coverage", coverage }, { "inferred", inferred_ranks }, { "inflation", inflation },
  { "clocks", throttle },
}

local rank = { ok = 0, warning = 1, problem = 2 }
local verdicts = { [0] = "good", "fair", "poor" }

-- A check of what holds in every capture: any row that breaks it is worth a word.
local function invariant(examine)
  return function(state)
    local seen = examine(state)
    if not seen then return nil end
    return { level = level_of(seen.share, 0), text = seen.text, fix = seen.fix }
  end
end


for _, entry in ipairs(invariants.list) do
  table.insert(checks, #checks, { entry[1], invariant(entry[2]) })
end


-- { verdict = "good" | "fair" | "poor", checks }. given: trace, found (of
-- analysis.stages.find; optional), stage_share (of the GPU time), overhead (of
-- llmprof.analysis.latency.overhead; optional), samples (of
-- llmprof.gpu_watch), complaints (of nsys), recorder ({ name, log } of what recorded it,
-- where that is not what reads it).
function integrity.judge(given)
  local state, list, worst = gather(given), {}, 0
  for _, entry in ipairs(checks) do
    local result = entry[2](state)
    if result then
      result.name = entry[1]
      if result.level == "ok" then result.fix = nil end
      worst = math.max(worst, rank[result.level])
      list[#list + 1] = result
    end
  end
  return { verdict = verdicts[worst], checks = list }
end


function integrity.run(state)
  state.integrity = integrity.judge { trace = state.trace, found = state.found,
    samples = state.samples, complaints = state.complaints, recorder = state.recorder,
    stage_share = state.totals.stage_share, overhead = state.overhead }
end


return integrity
