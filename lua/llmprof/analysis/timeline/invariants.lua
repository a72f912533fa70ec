-- What holds in every whole capture, whatever ran: nothing begins before the call
-- that launched it, no row is there twice, streams work one operation after the
-- other, none takes far longer than the same work elsewhere, each replay of a graph
-- runs all of its nodes, repeats and steps of a stage run about the same, and GPUs
-- that add something up together do it at one time.
--
-- Each function takes the state of llmprof.analysis.timeline.integrity and gives { share
-- (of rows that break it), text, fix }, or nil where it does not apply; some say nothing
-- where all is well.
local categories = require "llmprof.analysis.kernels.categories"
local check = require("llmprof.process.errors").check
local frame_rows = require "llmprof.ranks.rows"
local lists = require "llmprof.tables.lists"
local sorted_keys = require("llmprof.tables.keys").sorted
local spans = require "llmprof.spans"
local statistics = require "llmprof.statistics"
local steps = require "llmprof.analysis.stages.steps"
local text = require "llmprof.text"
local trace_file = require "llmprof.trace.file"
local tuple = require("llmprof.tables.keys").tuple

local invariants = {}

-- An operation under which this many others of its stream begin is too long: those
-- that launch their successors early overlap with one or two.
local OVERTAKEN = 8

-- The longest operations and kernels that are looked at.
local LONGEST = 16

-- A repeat, or a step, that runs less than this part of the kernels of the others.
local SHORT = 0.5

local AGAIN = "copy or export the capture again"
local ALONE = "see whether another program had a share of this GPU meanwhile, and measure without "
  .. "it; else " .. AGAIN
local SHORTER = "capture a shorter range, and let the workload synchronise before it ends"


local function part(count, of) return of > 0 and count / of or 0 end


-- ---- clocks ----

function invariants.order(state)
  local ops = check(state.trace:frame "gpu")
  if #ops == 0 or not state.knows "calls" then return nil end
  local early = #check(ops:where { { "delay", "<", 0 } })
  return { share = part(early, #ops), text = ("%s of %s GPU operations begin before their launch")
    :format(text.count(early), text.count(#ops)),
    fix = "the clocks of GPU and CPU do not agree: record it again" }
end


-- ---- times ----

-- Every event has a time of the trace, every operation takes some.
function invariants.times(state)
  local ops, took = check(state.trace:frame "gpu"), {}
  local said, worst = trace_file.without_time(state.trace)
  local short = #check(ops:where { duration = 0 })
  local nowhere = #check(ops:where { duration = 0, start = 0 })
  if short + #said == 0 then return nil end
  if short > nowhere then took[1] = text.count(short - nowhere) .. " take 0 ns" end
  if nowhere > 0 then took[#took + 1] = text.count(nowhere) .. " have no time" end
  if #took > 0 then
    said[#said + 1] = ("of %s GPU operations %s, which no figure of time holds"):format(
      text.count(#ops), table.concat(took, " and "))
  end
  return { share = math.max(worst, part(short, #ops)), text = table.concat(said, "; "),
    fix = SHORTER .. "; " .. AGAIN }
end


-- ---- rows ----

-- Frames by themselves, as kernels alone ascend in start, and, where not all rows are looked at,
-- which. An operator that calls itself within a unit of time of its trace looks as if it were there
-- twice.
local unique = {
  { { "kernels", "transfers", "graphs" }, "GPU operations",
    { "start", "end", "pid", "device", "stream", "name", "correlation" } },
  { { "api" }, "API calls", { "start", "end", "pid", "tid", "name", "correlation" } },
  { { "ranges" }, "NVTX ranges", { "start", "end", "pid", "tid", "text", "domain" },
    { { domain = false }, { { "domain", "~=", "PyTorch" } } } },
}


local function doubled(state, names, columns, conditions)
  local count, rows = 0, 0
  for _, name in ipairs(names) do
    local all = check(state.trace:frame(name))
    for _, condition in ipairs(conditions or { false }) do
      local frame = condition and check(all:where(condition)) or all
      rows = rows + #frame
      count = count + #frame - #frame:group { by = columns, columns = {} }
    end
  end
  return count, rows
end


function invariants.rows(state)
  local all, twice, said = 0, 0, {}
  for _, entry in ipairs(unique) do
    local count, rows = doubled(state, entry[1], entry[3], entry[4])
    all, twice = all + rows, twice + count
    if count > 0 then said[#said + 1] = ("%s %s"):format(text.count(count), entry[2]) end
  end
  if all == 0 then return nil end
  -- ranges of stages that are part of another one
  local inner = lists.sum(state.found and state.found.instances or {}, function(instance)
    return instance.ranges and #instance.ranges - 1
  end)
  return { share = part(twice, all), text = (twice == 0 and "no row is there twice"
    or table.concat(said, " and ") .. " are there twice") .. (inner > 0
      and ("; %s that lie inside another of their name, or are there twice, count once"):format(
        inner == 1 and "1 range of a stage" or ("%s ranges of stages"):format(text.count(inner)))
      or ""), fix = AGAIN }
end


-- ---- nesting ----

local PUSH_POP = 0 -- style of a range

-- Traces that count in us round times by this much, in ns.
local ROUNDED = 1000


-- The ranges that mark stages and their steps, by start, the longest first.
local function marks(state)
  local found = state.found
  return check(check(state.trace:frame "ranges"):where(found.by_engine
    and { range = lists.map(found.instances, "range") }
    or { tag = lists.flat(found.declared, function(stage)
      return lists.joined(stage.tags or { stage.name }, { stage.step })
    end) })):sort { { "start" }, { "end", true } }
end


-- Do these begin in another one of their thread and domain, and end behind it? Those by start and
-- end may overlap any but those of their name.
function invariants.nesting(state)
  if not state.found or state.found.whole or state.found.inferred then return nil end
  local around, count, list = {}, 0, frame_rows.list(check(marks(state)), { "start", "end", "pid",
    "tid", "domain", "style", "tag" })
  for _, row in ipairs(list) do
    local open = lists.entry({}, around, tuple(row.pid, row.tid, row.domain,
      row.style ~= PUSH_POP and row.tag or nil), {})
    while #open > 0 and open[#open] <= row.start + ROUNDED do open[#open] = nil end
    if #open > 0 and row["end"] > open[#open] + ROUNDED then count = count + 1 end
    open[#open + 1] = row["end"]
  end
  return count > 0 and { share = part(count, #list),
    text = ("%s of %s ranges of stages and steps begin in another one of their thread and end "
      .. "after it: the time in both may count twice"):format(text.count(count), text.count(#list)),
    fix = "end a range before the one that is around it, on its thread" } or nil
end


-- ---- streams ----

-- This many times as long as the longest other launch of the same kernel and shape
-- nothing takes, from this time on (ns).
local FAR_LONGER, LONG = 10, 1000000

-- Others that say how long a kernel takes.
local LEAST_OTHERS = 3


-- Does the row take far longer than any other launch of its kernel in its shape? A
-- collective waits for other ranks as long as they need.
local function is_stretched(kernels, long, row, classify)
  local name, ns = long:get(row, "name"), long:get(row, "duration")
  if not name or ns < LONG or classify(name) == categories.COMMUNICATION then return false end
  local same = {}
  for _, column in ipairs { "name", "grid_x", "grid_y", "grid_z", "block_x", "block_y",
    "block_z" } do
    same[column] = long:get(row, column) or false
  end
  local others = check(check(kernels:where(same)):sort({ { "duration", true } },
    LEAST_OTHERS + 1))
  return #others > LEAST_OTHERS and ns >= FAR_LONGER * others:get(2, "duration")
end


-- Of the longest kernels those that are stretched: the longest of them (ns), and the share of
-- the time of all kernels that they take; nil where none is.
local function stretched(kernels)
  local longest = check(kernels:sort({ { "duration", true } }, LONGEST))
  local classify, most, sum = categories.classifier(), nil, 0
  for row = 1, #longest do
    if is_stretched(kernels, longest, row, classify) then
      local ns = longest:get(row, "duration")
      most, sum = math.max(most or 0, ns), sum + ns
    end
  end
  if not most then return nil, 0 end
  local all = check(kernels:group { columns = { { "ns", "sum", "duration" } } })
  return most, part(sum, all:get(1, "ns"))
end


local STREAM = { "pid", "device", "context", "stream" }

-- How many of the longest operations go on while others of their stream begin, in words for the one
-- with the most (nil for none), and their share of these.
local function overtaken(ops)
  local longest, count, worst, ns = check(ops:sort({ { "duration", true } }, LONGEST)), 0, 0, 0
  for row = 1, #longest do
    local wanted = { { "start", ">", longest:get(row, "start") },
      { "start", "<", longest:get(row, "end") } }
    for _, column in ipairs(STREAM) do wanted[column] = longest:get(row, column) or false end
    local under = #check(ops:where(wanted))
    if under >= OVERTAKEN then count = count + 1 end
    if under > worst then worst, ns = under, longest:get(row, "duration") end
  end
  return count > 0 and ("an operation of %s runs on while %s others of its stream begin"):format(
    text.duration(ns), text.count(worst)) or nil, part(count, #longest)
end


-- How many kernels run inside another one of their stream, from its start to its end: one that
-- starts early still ends behind the one before it. Those of a graph run side by side.
local function count_inside(kernels)
  local plain = check(kernels:where { { "graph_node", "==", false }, { "duration", ">", 0 } })
  local are_beside = lists.any(plain:group { by = STREAM, total = { "duration" }, union = true },
    function(group) return group.duration.total ~= group.busy end)
  if not are_beside then return 0 end
  plain:overlap { by = STREAM, name = "shared" }
  plain:less { column = "duration", by = "shared", name = "alone" }
  return #check(plain:where { alone = 0 })
end


function invariants.streams(state)
  local ops, kernels, said = check(state.trace:frame "gpu"), check(state.trace:frame "kernels"), {}
  if #ops == 0 then return nil end
  local inside, long_ns, long_share = count_inside(kernels), stretched(kernels)
  local under, under_share = overtaken(ops)
  said[1] = under
  if long_ns then
    said[#said + 1] = ("a kernel takes %s, more than %d times as long as any other launch of it")
      :format(text.duration(long_ns), FAR_LONGER)
  end
  if inside > 0 then
    said[#said + 1] = ("%s of %s kernels run inside another one of their stream"):format(
      text.count(inside), text.count(#kernels))
  end
  return { share = math.max(under_share, long_share, part(inside, #kernels)), text = #said > 0
    and table.concat(said, "; ") or "streams run one operation after the other",
    fix = (under or inside > 0) and AGAIN or ALONE }
end


-- ---- graphs ----

-- Replays that were launched, and those that ran a kernel.
local function launched(state, kernels)
  local names = lists.filtered(sorted_keys(state.api_calls), function(name)
    return name:find("GraphLaunch", 1, true)
  end)
  local calls = #check(check(state.trace:frame "api"):where { name = names })
  return calls, #kernels:group { by = { "call" }, columns = {} }
end


function invariants.replays(state)
  local kernels = check(state.trace:frame "kernels")
  kernels = check(kernels:where { { "graph_node", "~=", false } })
  if #kernels == 0 then return nil end
  local lost, wanted = 0, 0
  -- nodes of one graph of a process have numbers that differ in their lower half only
  for _, nodes in ipairs(lists.grouped(kernels:group { by = { "pid", "graph_node" } },
    function(node) return ("%s/%d"):format(node.pid or "", node.graph_node >> 32) end)) do
    local _, replays = lists.largest(nodes, "count") -- at least
    wanted = wanted + replays * #nodes
    lost = lost + replays * #nodes - lists.sum(nodes, "count")
  end
  local calls, served = launched(state, kernels)
  local said = ("%s of %s kernels of replayed graphs are missing"):format(text.count(lost),
    text.count(wanted))
  if served >= calls then return { share = part(lost, wanted), text = said, fix = SHORTER } end
  return { share = math.max(part(lost, wanted), part(calls - served, calls)),
    text = ("%s; %s of %s replays ran none"):format(said, text.count(calls - served),
      text.count(calls)), fix = SHORTER }
end


-- ---- repeats and steps ----

-- By stage, without what the capture ended in: a list of lists, and these by name.
local function by_stage(instances)
  return lists.grouped(lists.filtered(instances, function(one) return not one.cut end), "stage")
end


-- Of numbers, those below SHORT of the median.
local function count_short(numbers)
  local middle = statistics.median(numbers)
  return #lists.filtered(numbers, function(number) return number < SHORT * middle end)
end


-- How many ranges of one tag there are, without those that lie inside another of their thread.
local function count_outer(ranges)
  local sorted = check(ranges:sort { { "start" }, { "end", true } })
  local starts, stops = sorted:values "start", sorted:values "end"
  local pids, tids = sorted:values "pid", sorted:values "tid"
  local count, last = 0, {}
  for i in ipairs(starts) do
    local thread = frame_rows.thread_of(pids[i] or nil, tids[i] or nil) or -1
    if not last[thread] or stops[i] > last[thread] then
      count, last[thread] = count + 1, stops[i]
    end
  end
  return count
end


-- Marked ranges of steps within the instances that launched nothing at all, where this many did
-- something.
local function idle_steps(state, stage, instances, marked)
  local declared = lists.find(state.found.declared, "name", stage)
  local name = declared and declared.step
  if not name or state.found.inferred then return 0 end
  local ranges = check(check(state.trace:frame "ranges"):where { tag = name })
  return math.max(count_outer(steps.within(ranges, instances)) - marked, 0)
end


-- The same work, again: { short, all, said }.
local function add_stage(sums, state, stage, instances)
  local kernels, ran = {}, {} -- of instances, and of their steps: a decode of more tokens runs more
  for i, instance in ipairs(instances) do
    kernels[i] = instance.kernels + instance.graphs
    lists.add(ran, lists.map(instance.steps or {}, "kernels"))
  end
  local short = #kernels > 1 and count_short(kernels) or 0
  local idle = idle_steps(state, stage, instances, #ran)
  local poor = (#ran > 1 and count_short(ran) or 0) + idle
  if short > 0 then sums.said[#sums.said + 1] = ("%d of %d %s"):format(short, #kernels, stage) end
  if poor > 0 then
    sums.said[#sums.said + 1] = ("%d of %d steps of %s"):format(poor, #ran + idle, stage)
  end
  sums.short, sums.all = sums.short + short + poor, sums.all + #kernels + #ran + idle
end


function invariants.work(state)
  local found = state.found
  if not found or found.whole or found.inferred or state.ops == 0 then return nil end
  local sums = { short = 0, all = 0, said = {} }
  for _, own in ipairs(by_stage(found.instances)) do
    add_stage(sums, state, own[1].stage, own)
  end
  if sums.all < 2 then return nil end
  return { share = part(sums.short, sums.all), text = sums.short == 0
    and "repeats and steps of a stage run about as many kernels"
    or table.concat(sums.said, ", ") .. " ran less than half of the kernels of the others",
    fix = SHORTER }
end


-- A stage works no longer than it takes.
function invariants.walls(state)
  local all = lists.filtered(state.found and state.found.instances or {}, "wall")
  local wrong = lists.filtered(all, function(one) return one.busy > one.wall or one.idle < 0 end)
  if #wrong == 0 then return nil end
  return { share = part(#wrong, #all),
    text = ("%s of %s stages are busy for longer than they take"):format(text.count(#wrong),
      text.count(#all)), fix = AGAIN }
end


-- Kernels that are missing in steps, though their calls are, too.
function invariants.steps(state)
  local found = state.found
  if not found or found.whole or found.inferred or found.by_engine then return nil end
  local said, share, _, list = {}, nil, by_stage(found.instances)
  for _, stage in ipairs(found.declared) do
    local made = stage.step and list[stage.name]
      and steps.kernels_lacking(state.trace, stage.step, list[stage.name])
    if made then
      share = math.max(share or 0, made.irregular and 1 or part(made.missing, made.kernels))
      if made.irregular then
        said[#said + 1] = ("no kernel runs equally often in the steps of %s"):format(stage.name)
      elseif made.missing > 0 then
        said[#said + 1] = ("kernels are missing in the steps of %s: %s of %s"):format(stage.name,
          text.count(made.missing), text.count(made.missing + made.kernels))
      end
    end
  end
  return share and { share = share, text = #said > 0 and table.concat(said, "; ")
    or "steps run the same kernels", fix = SHORTER }
end


-- ---- GPUs together ----

-- Kernels of collectives that several GPUs ran, and these GPUs; nil where there are
-- none, as where there is one GPU.
local function shared(kernels)
  if #check(kernels:group { by = { "device" }, columns = {} }) < 2 then return nil end
  categories.marker(nil, categories.COMMUNICATION)(kernels, "name", "collective")
  local found = check(kernels:where { collective = 1 })
  local devices = lists.sort(lists.map(found:group { by = { "device" } }, "device"))
  return #devices > 1 and found or nil, devices
end


-- The rows that lie within the time from when all GPUs run some until one no longer does; all rows
-- where none do.
local function shared_time(rows, devices)
  local from, to = 0, math.huge
  for _, device in ipairs(devices) do
    local first, last = frame_rows.extent(rows:where { device = device, { "duration", ">", 0 } })
    from, to = math.max(from, first), math.min(to, last)
  end
  local inside = check(rows:where { { "start", ">=", from }, { "end", "<=", to } })
  return #inside > 0 and inside or rows
end


-- A collective runs while it runs on another GPU, too: all of them end together.
function invariants.together(state)
  local all, devices = shared(check(state.trace:frame "kernels"))
  if not all then return nil end
  local rows, alone = shared_time(all, devices), 0
  for _, device in ipairs(devices) do
    local others = check(all:where { device = lists.filtered(devices, function(other)
      return other ~= device
    end) }):union()
    local mine = check(rows:where { device = device })
    spans.cover(mine, { start = "start", ["end"] = "end" }, { others }, "met")
    alone = alone + #check(mine:where { met = 0 })
  end
  return { share = part(alone, #rows), text =
    ("%s of %s collectives run while no other GPU is in one"):format(text.count(alone),
      text.count(#rows)),
    fix = "the clocks of the ranks do not agree: record them in one run of nsys" }
end


invariants.list = { { "order", invariants.order }, { "times", invariants.times },
  { "rows", invariants.rows }, { "nesting", invariants.nesting }, { "streams", invariants.streams },
  { "replays", invariants.replays }, { "work", invariants.work }, { "walls", invariants.walls },
  { "steps", invariants.steps }, { "together", invariants.together } }

return invariants
