-- Steps that figures leave out, as those of a first repeat that pays one-time costs: intervals
-- on the clock that all files share, so that what ran then is left out of every rank.
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local statistics = require "llmprof.statistics"
local lists = require "llmprof.tables.lists"

local uncounted = {}

-- A first repeat whose steps take this many times as long as those of the others, in the
-- median, does not count, as of stages (llmprof.analysis.stages.warmup).
local OUTLIER = 1.5

-- Before and after all times, some 52 days; exact as a number of JSON.
local FIRST, LAST = -(1 << 52), 1 << 52


-- The repeats of each phase on the lowest rank, in order: by phase a list of { from, to, count, ns
-- (of its steps) }; nil without any. A repeat is all steps of a phase since the last of another.
local function repeats_of(steps)
  local own = rows.of_first_rank(steps, { "phase", "turn", "begin", "last", "length" })
  if not own then return nil end
  local by_phase = {}
  for i, phase in ipairs(own.phase) do
    local list = phase and by_phase[phase] or {}
    if phase then by_phase[phase] = list end
    if own.turn[i] == 0 or #list == 0 then
      list[#list + 1] = { from = own.begin[i], count = 0, ns = 0 }
    end
    local run = list[#list]
    run.to, run.count, run.ns = own.last[i], run.count + 1, run.ns + own.length[i]
  end
  return by_phase
end


local function mean_of(run) return run.ns / run.count end


-- The part with the lowest rank that has steps which its program marks, and their repeats; of
-- these the first, half of them at most, are left out that each take far longer than those behind.
local function judged(parts)
  for number, part in ipairs(parts) do
    local by_phase = part.about.source == "ranges" and part.steps and repeats_of(part.steps)
    if by_phase then
      for _, list in pairs(by_phase) do
        for i = 1, #list // 2 do
          local behind = lists.map(table.move(list, i + 1, #list, 1, {}), mean_of)
          if mean_of(list[i]) <= OUTLIER * statistics.median(behind) then break end
          list[i].left_out = true
        end
      end
      return number, by_phase
    end
  end
end


-- A time of a file on the common clock.
local function on(clock, time)
  return time - clock.offset - math.floor(clock.drift * (time - clock.at) + 0.5)
end


-- Half of the time to its neighbours belongs to each.
local function window_of(list, i, clock)
  local before, own, after = list[i - 1], list[i], list[i + 1]
  return before and on(clock, (before.to + own.from) // 2) or FIRST,
    after and on(clock, (own.to + after.from) // 2) or LAST
end


-- Intervals on the common clock: list of { phase, from, to }, nil where all counts. parts, their
-- clocks; told (of one file): { epoch, by_phase }, by phase its steps or repeats in their order:
-- { from, to, left_out }; nil, or of no file here: first repeats of marked steps are judged.
function uncounted.windows(parts, clocks, told)
  local number, by_phase
  for i, part in ipairs(told and parts or {}) do
    if #parts == 1 or told.epoch and part.about.epoch == told.epoch then
      number, by_phase = i, told.by_phase
      break
    end
  end
  if not number then number, by_phase = judged(parts) end
  local list = {}
  for phase, own in pairs(by_phase or {}) do
    for i, run in ipairs(own) do
      if run.left_out then
        local from, to = window_of(own, i, clocks[number])
        list[#list + 1] = { phase = phase, from = from, to = to }
      end
    end
  end
  return #list > 0 and lists.sort(list, "phase", "from") or nil
end


-- Rows with a phase and `uncounted`, which is absent in those that count. moment: the steps of a
-- formula (see llmprof.frame's compute) that gives the time that tells; windows: of
-- uncounted.windows, or nil. Returns a new frame.
function uncounted.mark(of, moment, windows)
  local names = lists.joined(rows.names(of), { "uncounted" })
  if not windows then return errors.check(rows.add(of, "uncounted", {}):select(names)) end
  local groups, numbers = lists.grouped(windows, "phase"), {}
  for number, own in ipairs(groups) do
    numbers[own[1].phase] = number
    for _, window in ipairs(own) do window.key = number end
  end
  local made = frame.new(#windows, lists.map({ "from", "to", "key" }, function(name)
    return { name = name, type = "integer", values = lists.map(windows, name) }
  end))
  rows.add(of, "phase_key", { "phase" }, function(row)
    return numbers[row.phase or false]
  end)
  of:compute { name = "moment", type = "integer", steps = moment }
  spans.assign(of, { time = "moment", key = "phase_key" }, made,
    { start = "from", ["end"] = "to", key = "key" }, "uncounted")
  return errors.check(of:select(names))
end


return uncounted
