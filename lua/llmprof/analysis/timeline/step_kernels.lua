-- Do the steps of a stage run the same kernels? A step of a decode is the same work
-- each time, so that most kernels run equally often in all steps. Where launches were
-- lost together with their calls, nothing else of the capture tells.
--
-- A kernel that runs equally often in nearly all steps is missing in a step that has
-- fewer of it, and fewer kernels in all: one that only gives way to another variant is
-- not. Where too many were lost for that, not one of the frequent kernels is left that
-- runs equally often, though steps are about as long as each other.
--
-- The first and the last step of a decode may do other things, and are not looked at.
local errors = require "llmprof.process.errors"
local statistics = require "llmprof.statistics"

local step_kernels = {}

local LEAST_STEPS = 8

-- In this part of the steps a kernel runs as often as in most, where it is regular.
local REGULAR = 0.9

-- Kernels of a step that are many, and names of such kernels that tell.
local FREQUENT, ENOUGH = 8, 5

-- A step with fewer kernels than this percentile of the steps has fewer than usual.
local FULL = 75

-- Steps of the same work differ by less than this part of their kernels.
local ALIKE = 0.1


local check = errors.check


-- Rows of the ranges that mark the inner steps of these instances, as a set; and how
-- many they are.
local function inner_ranges(instances)
  local set, count = {}, 0
  for _, instance in ipairs(instances) do
    local steps = instance.steps or {}
    for i = 2, #steps - 1 do set[steps[i].range], count = true, count + 1 end
  end
  return set, count
end


-- By name, how often a kernel runs in each of these ranges; and how many run in each.
local function counts_in(trace, tag, ranges)
  local kernels = check(trace:frame "kernels")
  check(trace:label(kernels, "step", { tag }))
  local grouped = check(kernels:group { by = { "step_range", "name" },
    columns = { { "calls", "count" } } })
  local by_name, totals = {}, {}
  for row = 1, #grouped do
    local range, name = grouped:get(row, "step_range"), grouped:get(row, "name")
    if ranges[range] and name then
      local calls = grouped:get(row, "calls")
      by_name[name] = by_name[name] or {}
      by_name[name][range] = calls
      totals[range] = (totals[range] or 0) + calls
    end
  end
  return by_name, totals
end


-- How often a kernel runs in most of the ranges, and in how many of them.
local function usual(own, ranges)
  local seen, most, at = {}, 0, 0
  for range in pairs(ranges) do
    local calls = own[range] or 0
    seen[calls] = (seen[calls] or 0) + 1
    if seen[calls] > most or (seen[calls] == most and calls > at) then
      most, at = seen[calls], calls
    end
  end
  return at, most
end


local function values(set)
  local list = {}
  for _, value in pairs(set) do list[#list + 1] = value end
  return list
end


-- What a regular kernel lacks in steps with fewer kernels than a full one.
local function lacking(own, ranges, at, totals, full)
  local missing = 0
  for range in pairs(ranges) do
    local calls = own[range] or 0
    if calls < at and (totals[range] or 0) < full then missing = missing + at - calls end
  end
  return missing
end


-- { steps, kernels (in all of them), missing, frequent (names that run many times a
-- step), regular (of those, that run equally often in nearly all) }.
local function judged(ranges, count, by_name, totals)
  local made = { steps = count, kernels = statistics.sum(values(totals)), missing = 0,
    frequent = 0, regular = 0 }
  local full = statistics.percentile(values(totals), FULL)
  for _, own in pairs(by_name) do
    local at, most = usual(own, ranges)
    local regular = most >= REGULAR * count
    if regular then made.missing = made.missing + lacking(own, ranges, at, totals, full) end
    if statistics.sum(values(own)) >= FREQUENT * count then
      made.frequent = made.frequent + 1
      if regular then made.regular = made.regular + 1 end
    end
  end
  local described = statistics.describe(values(totals))
  made.alike = described.max - described.min < ALIKE * described.max
  return made
end


-- Of the instances of a stage whose ranges of this text mark steps: { steps, kernels,
-- missing, irregular (not one frequent kernel runs equally often) }; nil where there are
-- too few steps to tell.
function step_kernels.judge(trace, tag, instances)
  local ranges, count = inner_ranges(instances)
  if count < LEAST_STEPS then return nil end
  local by_name, totals = counts_in(trace, tag, ranges)
  if not next(totals) then return nil end
  local made = judged(ranges, count, by_name, totals)
  made.irregular = made.frequent >= ENOUGH and made.regular == 0 and made.alike
  return made
end


return step_kernels
