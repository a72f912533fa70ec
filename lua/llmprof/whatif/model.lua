-- A replay of one or many traces, the units that it measures, and how far it can be trusted.
local categories = require "llmprof.analysis.kernels.categories"
local clocks = require "llmprof.ranks.clocks"
local collectives = require "llmprof.collectives"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local lazy = require "llmprof.io.lazy"
local merged = require("llmprof.tables.keys").merged
local overhead = require "llmprof.analysis.latency.overhead"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"
local range_name = require "llmprof.trace.nvtx_names"
local replay = require "llmprof.replay"
local extend = require("llmprof.ranks.rows").extend
local spans = require "llmprof.spans"
local sqlite = lazy "llmprof.sqlite"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"
local units = require "llmprof.whatif.units"

local model = {}

-- A stage is predicted when the replay without a change is this near to the record, and no more
-- of its time than this is in waits that nothing explains.
model.MOST_ERROR, model.MOST_UNEXPLAINED = 0.015, 0.01

-- Calls and operations, of all parts together, that are replayed for findings: of a longer trace
-- steps from the first one that counts on, until there are about as many.
model.MOST_EVENTS = 300000

-- Runs that look for how much faster the CPU is without the profiler, and how near they come.
local TRIES, NEAR = 12, 0.02

-- No CPU is faster than by this factor without the profiler.
local FASTEST = 0.3


-- A kernel that begins later than this after its launch, in ns, was behind others.
local MOST_QUEUED = 100000

-- What launching a graph takes at most without the profiler, in ns, and by how much longer the GPU
-- takes for each of its operations that are traced.
local PLAIN_LAUNCH, NODE_TRACED = 15000, 160


local check = errors.check


-- ---- what nsys records of waits ----

-- Rows of a table of an export of nsys, of a time if there is one; nil where there is none.
local function sync_rows(trace, name, window)
  local info = trace:info()
  if info.reader ~= "nsys" then return nil end
  local database <close> = check(sqlite.open(info.path))
  if not database:has(name) then return nil end
  local event = database:has(name, "eventId") and "eventId" or "NULL"
  local columns, count = database:columns("SELECT (globalPid >> 24) & 16777215 AS pid, "
    .. "correlationId AS correlation, streamId AS stream, " .. event .. " AS event FROM " .. name
    .. (window and database:has(name, "start")
      and (" WHERE start >= %d AND start < %d"):format(window.from, window.to) or ""))
  for _, one in ipairs(columns) do one.type = "integer" end
  return frame.new(count, columns)
end


-- ---- collectives ----

-- What they are numbered and matched by.
local AT = { rank = "rank", start = "start", ["end"] = "end", key = "key" }
local MATCHED = merged(AT, { ordinal = "ordinal" })


-- A function that gives equal values one number, and how many numbers there are.
local function numbering()
  local numbers, count = {}, 0
  return function(value)
    if value and not numbers[value] then count, numbers[value] = count + 1, count + 1 end
    return value and numbers[value] or count
  end
end


-- The kernels of collectives of all parts on one clock, numbered, a frame of op, pid, part, rank (a
-- number of each process and device), start, end; nil where there is one rank.
local function all_collectives(parts)
  local mark, frames, moved = categories.marker(nil, categories.COMMUNICATION), {}, {}
  local rank, key = numbering(), numbering()
  for number, part in ipairs(parts) do
    local kernels = check(part.trace:frame "kernels")
    mark(kernels, "name", "is_collective")
    local own = check(kernels:where { is_collective = 1 })
    own = check(own:select { "op", "pid", "device", "name", "start", "end" })
    frames[number] = extend(own, { "pid", "device", "name" }, {
      { name = "part", type = "integer", get = function() return number end },
      { name = "rank", type = "integer", get = function(row)
        return rank(("%d %s %s"):format(number, row.pid, row.device))
      end },
      { name = "key", type = "integer", get = function(row) return key(row.name or "") end },
    })
    moved[number] = { offset = -part.offset, drift = 0, at = 0 }
  end
  if rank() < 2 then return nil end
  return collectives.number(pack.join(frames, moved, { "start", "end" }), AT, "ordinal")
end


-- Put the clocks of several files right by the ends of collectives that they share with the first.
local function align(parts)
  local all = all_collectives(#parts > 1 and parts or {})
  local ranks, first = all and all:values "rank", {} -- by part: the rank of its first one
  for i, number in ipairs(all and all:values "part" or {}) do
    first[number] = first[number] or ranks[i]
  end
  for number, rank in pairs(first[1] and first or {}) do
    local fit = number > 1 and clocks.fit_of(all, MATCHED, first[1], rank)
    local clock = clocks.correction(fit or nil)
    parts[number].offset = parts[number].offset - (clock and clock.offset or 0)
  end
end


-- Which kernels of several ranks are one collective: the n-th of a name on each, as `instance`. By
-- part, a frame of its kernels of collectives. Parts are told the rank of each: those of a part
-- with several processes count them.
local function match_collectives(parts)
  local all, by_part, before = all_collectives(parts), {}, 0
  if not all then return by_part end
  collectives.match(all, MATCHED)
  for number, part in ipairs(parts) do
    local own, rank_of = check(all:where { part = number }), {}
    local processes = lists.sort(own:group { by = { "pid" } }, "pid")
    for i, process in ipairs(processes) do rank_of[process.pid or false] = before + i - 1 end
    local ops, pids = own:values "op", own:values "pid"
    for i = 1, #own do part.collectives[ops[i]] = rank_of[pids[i]] end
    by_part[number], before = own, before + math.max(#processes, 1)
  end
  return by_part
end


-- The operations of a part, with the collective that each is of. own: of match_collectives.
local function operations(part, own)
  local ops = check(part.trace:frame "gpu")
  if not own then return ops end
  ops:match { by = { "op" }, other = own, keys = { "op" }, name = "in_collective" }
  return spans.look_up(ops, "in_collective", own, "instance", "collective")
end


-- ---- the model ----

-- Sources of llmprof.query.session whose traces are on one clock, as far as they say when they
-- were recorded.
local function parts_of(sources)
  local parts, first = {}, nil
  for _, source in ipairs(sources) do
    if source.trace then
      local epoch = source.trace:info().epoch
      first = first or epoch
      parts[#parts + 1] = { number = #parts + 1, source = source, trace = source.trace,
        collectives = {},
        offset = epoch and first and epoch - first or 0 }
    end
  end
  if #parts == 0 then
    errors.raise("usage", "whatif: no timeline was given",
      { hint = "a trace, or a run that has one" })
  end
  return parts
end


local function add_units(part)
  part.found = rawget(part.source, "found") or units.stages(part.source)
  rawset(part.source, "found", part.found)
  part.units, part.counts = units.list(part.trace, part.found), {}
  for _, one in ipairs(part.units) do part.counts[one.stage] = (part.counts[one.stage] or 0) + 1 end
end


-- Of a trace that is too long, leave the parts what is in one window, which has units of the stage,
-- or of any; nil and why not where one of them is too long.
local function shorten(parts, stage)
  local events, all = 0, {}
  for _, part in ipairs(parts) do
    events = events + #check(part.trace:frame "gpu") + #check(part.trace:frame "api")
    for _, one in ipairs(part.units) do
      all[#all + 1] = { stage = one.stage, first = one.first, start = one.start + part.offset,
        stop = one.stop + part.offset, thread = ("%d %s %s"):format(part.number, one.pid, one.tid) }
    end
  end
  if events <= model.MOST_EVENTS then return true end
  local from, to = units.window(all, stage, #all * model.MOST_EVENTS // events)
  if not from or #all * model.MOST_EVENTS < events then
    return nil, ("one step has more than %s calls and operations"):format(
      text.count(model.MOST_EVENTS))
  end
  for _, part in ipairs(parts) do
    part.window = { from = from - part.offset, to = to - part.offset }
    rawset(part.source, "window", part.window)
    part.units = units.within(part.units, part.window.from, part.window.to)
  end
  return true
end


local Model = {}
Model.__index = Model


-- The stage of that name, else the one that is this to the model: "LLM:decode" is found as
-- "decode". Nil where units of it are not known.
function Model:stage(name)
  return self.by_name[name] or self.by_name[range_name.role(name) or name]
end


-- How many units of a stage a part has, those that are not replayed, too.
function Model:count(stage, number)
  return lists.sum(self.parts, function(part)
    return (not number or part.number == number) and part.counts[stage.name]
  end)
end


-- Rows of a part that are replayed, by the time of their call.
function Model:within(part, rows, time)
  local window = part.window
  return window and check(rows:where { { time, ">=", window.from }, { time, "<", window.to } })
    or rows
end


-- The ranges of a stage's units, or of all, in a part, as of units.frame, and how many units.
function Model:ranges(part, stage, extent, helped)
  local name = stage and self:stage(stage).name
  local made = units.frame(part.units, name, extent, nil, helped)
  return made, helped and #units.frame(part.units, name, extent) or #made
end


-- The kernels of collectives of a part that has that rank, or of all (nil): a frame, empty for
-- other ranks.
function Model.collectives(_, part, rank)
  local ops = {}
  for op, own in pairs(part.collectives) do
    if not rank or own == rank then ops[#ops + 1] = op end
  end
  return frame.new(#ops, { { name = "op", type = "integer", values = ops } })
end


-- How long each unit takes, by the frames of a run: list by part of a list in ns, each from
-- when the one before it was done, or, of the first of a run, from its own start where that is
-- later. Done is what is later: the return of the CPU or the end of what it launched.
local function lengths_of(self, frames)
  local by_part = {}
  for number, part in ipairs(self.parts) do
    local made, done_before = {}, {}
    for i, one in ipairs(part.units) do
      local start, stop = frames[number]:get(i, "start"), frames[number]:get(i, "end")
      local done, last = math.max(stop, frames[number]:get(i, "gpu_end") or stop),
        done_before[one.pid]
      local from = last and (one.first and math.max(start, last) or last) or start
      made[i], done_before[one.pid] = math.max(done - from, 0), done
    end
    by_part[number] = made
  end
  return by_part
end


-- A change that changes nothing but what the CPU takes without the profiler, where that is known.
function Model:change()
  local change = self.replay:change()
  for _, part in ipairs(self.parts) do
    for _, one in ipairs(self.fitted) do
      local ranges = units.frame(part.units, one.stage, "whole", one.turn)
      change:cpu(part.number, ranges, one.factor, one.factor)
      change:untraced(part.number, ranges, PLAIN_LAUNCH, NODE_TRACED)
    end
  end
  return change
end


-- A run with a change, or without one. A change is large: it is closed unless it is run `again`.
function Model:run(change, again)
  local frames, missing = self.replay:run(change)
  if change and not again then change:close() end
  return lengths_of(self, frames), missing
end


-- A run with a change in which the CPU takes no time, too: what the GPU needs at least.
function Model:without_cpu(change)
  for _, part in ipairs(self.parts) do change:cpu(part.number, nil, 0, 0) end
  return self:run(change)
end


-- Where the CPU was before gaps of the GPU ended: ranges up to the calls that launched what ended
-- each. gaps: rows of the session.
function Model:before_launches(part, gaps)
  local pids, rows = {}, { pid = {}, tid = {}, start = {}, ["end"] = {} }
  for _, one in ipairs(part.units) do pids[one.tid] = one.pid end
  gaps = self:within(part, gaps, "start")
  local tid, start, before = gaps:values "launch_tid", gaps:values "start",
    gaps:values "unlaunched"
  for i = 1, #gaps do
    if pids[tid[i]] and before[i] and before[i] > 0 then
      local row = #rows.pid + 1
      rows.pid[row], rows.tid[row] = pids[tid[i]], tid[i]
      rows.start[row], rows["end"][row] = start[i] + 1, start[i] + before[i] + 1
    end
  end
  return units.frame_of(rows)
end


-- The same run, all of it as it was under the profiler, where the CPU takes `speed` as long.
function Model:profiled(speed)
  local own = merged(self)
  own.stages, own.by_name, own.fitted, own.lengths, own.speed = {}, {}, {}, self.replayed, speed
  for i, stage in ipairs(self.stages) do
    local copy = merged(stage)
    copy.plain, copy.misfit, copy.plain_ns = nil, nil, nil
    own.stages[i], own.by_name[stage.name] = copy, copy
  end
  return setmetatable(own, Model)
end


-- By the names of a kernel and of what the CPU launched or called before it: from the return of
-- that call to the return of the launch, as lists of ns. parts: what has a trace.
function model.launch_times(parts)
  local times = {}
  for _, part in ipairs(parts) do
    local calls = check(check(check(part.trace:frame "api"):select { "pid", "tid", "start", "end",
      "name" }):gaps { by = { "pid", "tid" }, before = "before", previous = "previous" })
    local launched, kernels = {}, check(part.trace:frame "kernels")
    local call, kernel = kernels:values "call", kernels:values "name"
    local begun, returned = kernels:values "start", kernels:values "api_end"
    for i = 1, #kernels do
      local row = (call[i] or -1) + 1
      local is_waiting = returned[i] and begun[i] - returned[i] > MOST_QUEUED
      -- of one kernel, not of a graph, nor behind so many others that the launch may have blocked
      launched[row] = launched[row] == nil and not is_waiting and kernel[i]
    end
    local name, previous = calls:values "name", calls:values "previous"
    local start, stop, before = calls:values "start", calls:values "end", calls:values "before"
    for i = 1, #calls do
      local earlier = previous[i] and previous[i] + 1
      if launched[i] and earlier and before[i] then
        local key = ("%s\0%s"):format(launched[earlier] or name[earlier], launched[i])
        times[key] = times[key] or {}
        table.insert(times[key], before[i] + stop[i] - start[i])
      end
    end
  end
  return times
end


-- By stage: { units, recorded, replayed (ns in all), waits, unexplained (ns), refused (why
-- it is not predicted; nil: it is) }.
local function judge_stages(self)
  local stages, order = {}, {}
  for number, part in ipairs(self.parts) do
    for i, one in ipairs(part.units) do
      local stage = lists.entry(order, stages, one.stage, { name = one.stage, units = 0,
        recorded = 0, replayed = 0, waits = 0, unexplained = 0 })
      local waits, unexplained = self.replay:waits_in(number, i)
      stage.units, stage.waits = stage.units + 1, stage.waits + waits
      stage.unexplained = stage.unexplained + unexplained
      stage.replayed = stage.replayed + self.lengths[number][i]
      stage.recorded = stage.recorded + self.recorded[number][i]
    end
  end
  for _, stage in ipairs(order) do
    stage.error = stage.recorded > 0 and stage.replayed / stage.recorded - 1 or nil
    local share = stage.replayed > 0 and stage.unexplained / stage.replayed or 0
    if not stage.error then
      stage.refused = "nothing that it launched was replayed"
    elseif math.abs(stage.error) > model.MOST_ERROR then
      stage.refused = ("its replay without a change is %.1f %% off"):format(stage.error * 100)
    elseif not self.knows_waits then
      stage.refused = "only calls that launch were recorded, not what the CPU waits for"
    elseif share > model.MOST_UNEXPLAINED then
      stage.refused = ("%.1f %% of its time are waits that nothing explains"):format(share * 100)
    end
  end
  return order, stages
end


-- What the replay says of units whose own CPU times it was not given: { units, error (median of
-- the relative differences) }; nil where fewer than four are alike.
function Model:blind()
  if self.blindly ~= nil then return self.blindly or nil end
  local differences = {}
  for number, part in ipairs(self.parts) do
    local change = self.replay:change()
    local count, which = change:blind(number)
    if count > 0 then
      local lengths, now = self:run(change), self.replayed[number]
      for i in ipairs(part.units) do
        if which[i] and now[i] > 0 then
          differences[#differences + 1] = math.abs(lengths[number][i] / now[i] - 1)
        end
      end
    end
  end
  self.blindly = #differences > 0
    and { units = #differences, error = statistics.median(differences) } or false
  return self.blindly or nil
end


-- Were calls recorded that launch nothing? Without them nobody knows when the CPU waited.
local function knows_waits(parts)
  for _, part in ipairs(parts) do
    local ops, api = check(part.trace:frame "gpu"), check(part.trace:frame "api")
    if #ops >= #api and #check(ops:group { by = { "pid", "call" }, columns = {} }) >= #api then
      return false
    end
  end
  return true
end


-- ---- without the profiler ----

-- By stage that was timed without the profiler, too, what part of its time is left then.
local function plain_shares(self)
  local wanted = {}
  local results = #self.parts == 1 and self.parts[1].source.results
  for _, own in ipairs(results and results.overhead and results.stages or {}) do
    local stage, plain = self:stage(own.name), overhead.plain_ns(results, own)
    if stage and plain and own.wall and own.wall.mean_ns > 0 then
      wanted[stage.name] = plain / own.wall.mean_ns
      stage.plain_ns = plain / (own.steps or 1)
    end
  end
  return wanted
end


-- ns of a stage, of all of its runs or of the one of that turn on each process.
local function total_of(self, name, lengths, turn)
  local sum = 0
  for number, part in ipairs(self.parts) do
    for i, one in ipairs(part.units) do
      if one.stage == name and (not turn or one.turn == turn) then
        sum = sum + lengths[number][i]
      end
    end
  end
  return sum
end


-- The runs of a stage that are alike, as the GPU needs the same for each: how many; else nil.
local function runs_alike(self, name, gpu)
  local _, most = lists.largest(lists.flat(self.parts, "units"), function(one)
    return one.stage == name and one.turn or nil
  end)
  local sum = total_of(self, name, gpu)
  for turn = 1, most do
    local own = total_of(self, name, gpu, turn)
    if math.abs(own * most / sum - 1) > NEAR then return nil end
  end
  return most
end


-- What is fitted: each of the runs of a stage that are alike, as the host may be slower in one than
-- in another, else all of them. List of { stage, turn, wanted (ns), low, high, factor }.
local function to_fit(self, wanted)
  local list, gpu = {}, nil
  for name, share in pairs(wanted) do
    gpu = gpu or self:without_cpu(self:change())
    local runs, sum = runs_alike(self, name, gpu), share * self.by_name[name].replayed
    for turn = 1, runs or 1 do
      list[#list + 1] = { stage = name, turn = runs and turn, wanted = sum / (runs or 1),
        low = FASTEST, high = 2, factor = 1 }
    end
  end
  return list
end


-- Find by how much the CPU is faster without the profiler, so that stages take what they do then:
-- factors of all of the CPU's time, 1 where that is near enough, as of a stage that the GPU limits.
-- Stages where there is none stay as they were recorded.
local function fit_to_plain(self)
  local wanted = plain_shares(self)
  if not next(wanted) then return end
  self.fitted = to_fit(self, wanted)
  local lengths = self:run(self:change())
  for _, one in ipairs(self.fitted) do
    local length = total_of(self, one.stage, lengths, one.turn)
    if math.abs(length - one.wanted) <= NEAR / 2 * one.wanted then one.low, one.high = 1, 1 end
  end
  for _ = 1, TRIES do
    for _, one in ipairs(self.fitted) do one.factor = (one.low + one.high) / 2 end
    lengths = self:run(self:change())
    for _, one in ipairs(self.fitted) do
      local is_long = total_of(self, one.stage, lengths, one.turn) > one.wanted
      one[is_long and "high" or "low"] = one.factor
    end
  end
  for name, share in pairs(wanted) do
    local stage = self.by_name[name]
    stage.misfit = math.abs(total_of(self, name, lengths) / stage.replayed / share - 1)
    stage.plain = stage.misfit <= NEAR
  end
  local kept = lists.filtered(self.fitted, function(one) return self.by_name[one.stage].plain end)
  self.fitted = kept
  self.lengths = self:run(self:change())
end


-- sources: of llmprof.query.session. Returns { parts, replay, basis, stages (list and by name),
-- lengths (of the replay without a change), missing, idle }. A stage is plain if its times
-- are those without the profiler; plain_ns is what a unit took then, where it is known, and misfit
-- what the replay is off by from that, as a part of it. in_part: a
-- long trace is replayed in part, from the first unit of `stage`, or of any, on; nil and why not
-- where that cannot be done.
function model.new(sources, in_part, stage)
  local self = setmetatable({ parts = parts_of(sources), fitted = {}, read = {}, speed = 1 }, Model)
  align(self.parts)
  for _, part in ipairs(self.parts) do add_units(part) end
  if in_part then
    local ok, why = shorten(self.parts, stage)
    if not ok then return nil, why end
  end
  local by_part = match_collectives(self.parts)
  local given = {}
  for number, part in ipairs(self.parts) do
    local window = part.window or {}
    part.operations = operations(part, by_part[number])
    given[number] = { operations = part.operations,
      calls = check(part.trace:frame "api"), ranges = units.frame(part.units, nil, "with_tail"),
      offset = part.offset, from = window.from, to = window.to,
      waits = sync_rows(part.trace, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", part.window),
      records = sync_rows(part.trace, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", part.window) }
  end
  self.replay = replay.new(given)
  self.basis = self.replay:basis()
  self.lengths, self.missing = self:run()
  self.replayed = self.lengths -- as recorded, under the profiler
  self.recorded = lengths_of(self, self.replay:recorded())
  self.window, self.busy = self.replay:busy(true)
  self.recorded_window, self.recorded_busy = self.replay:busy(false)
  self.recorded_waits, self.replayed_waits = self.replay:waits()
  self.knows_waits = knows_waits(self.parts)
  self.stages, self.by_name = judge_stages(self)
  fit_to_plain(self)
  return self
end


return model
