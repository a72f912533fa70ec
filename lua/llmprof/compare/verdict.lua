-- Did a figure change, or is it noise? Two sets of samples, and what can be said
-- of them.
--
-- Samples come in groups: the repeats of one process. Processes of the same thing
-- differ by more than repeats of one do (memory, clocks, where the allocator put
-- things), so that a process counts once, by the mean of its repeats. The interval
-- is that of Student's t for the ratio of the means, in logarithms, since noise is a
-- share of a time; where a mean is not above 0, for their difference.
--
-- Each side keeps its own noise, with Welch's degrees of freedom, from three processes
-- a side on. Two tell too little of it: with fewer than three on a side noise is pooled,
-- unless the processes say that it differs (F test). With one process on each side
-- nothing tells how much processes differ, unless other runs of the same thing do
-- (`noise`): without an interval, a change beyond an assumed bound is one. Sides with the
-- same samples are the same.
local distributions = require "llmprof.statistics.distributions"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"

local verdict = {}

verdict.UNKNOWN = "can't tell"

-- Single runs of the same thing are taken to differ by up to this share.
verdict.ASSUMED = 0.1

local LEVEL = 0.05 -- of both tails: intervals of 95 %
local ENOUGH = 3 -- processes that tell the noise of their side
local UNEQUAL = 0.35 -- noise of fewer that is less likely to be equal than this is not pooled


-- ---- samples ----

local function means_of(groups)
  local list = {}
  for i, group in ipairs(groups) do list[i] = statistics.sum(group) / #group end
  return list
end


-- The mean of the groups' means.
function verdict.mean(groups)
  return statistics.sum(means_of(groups)) / #groups
end


local function count_of(groups)
  local count = 0
  for _, group in ipairs(groups) do count = count + #group end
  return count
end


-- The groups' means as what has noise that is alike: logarithms, where all of both
-- sides are above 0 and show their noise themselves.
local function scale_of(before, after)
  if #before == 1 and #after == 1 then return function(x) return x end, false end
  for _, groups in ipairs { before, after } do
    for _, value in ipairs(means_of(groups)) do
      if value <= 0 then return function(x) return x end, false end
    end
  end
  return math.log, true
end


-- { variance (of the groups' means on a scale), count, df }.
local function described(groups, scale)
  local list = means_of(groups)
  for i, value in ipairs(list) do list[i] = scale(value) end
  local made = statistics.describe(list)
  return { variance = (made.std or 0) ^ 2, count = made.count, df = made.count - 1 }
end


-- ---- the standard error of a difference of means, and its degrees of freedom ----

local function welch(old, new)
  local a, b = old.variance / old.count, new.variance / new.count
  return math.sqrt(a + b), (a + b) ^ 2 / (a * a / old.df + b * b / new.df)
end


local function pool(old, new)
  local df = old.df + new.df
  return (old.df * old.variance + new.df * new.variance) / df, df
end


local function pooled(old, new)
  local variance, df = pool(old, new)
  return math.sqrt(variance * (1 / old.count + 1 / new.count)), df
end


-- Is the noise of each side its own?
local function differ_in_noise(old, new)
  if math.min(old.count, new.count) >= ENOUGH then return old.variance + new.variance > 0 end
  return old.df > 0 and new.df > 0
    and distributions.f_both_tails(old.variance / new.variance, old.df, new.df) < UNEQUAL
end


-- How much processes differ as a share of their mean, and with how many degrees of
-- freedom; nil where neither list of groups (either may be nil) has two.
function verdict.noise(before, after)
  local scale, logarithmic = scale_of(before or {}, after or {})
  if not logarithmic then return nil end
  local none = { variance = 0, df = 0 }
  local old = before and described(before, scale) or none
  local new = after and described(after, scale) or none
  if old.df + new.df == 0 then return nil end
  local variance, df = pool(old, new)
  return math.sqrt(variance), df
end


-- nil where nothing says how much processes differ.
local function standard_error(old, new, noise)
  if old.df + new.df > 0 then return (differ_in_noise(old, new) and welch or pooled)(old, new) end
  if noise then return math.sqrt(noise.before ^ 2 + noise.after ^ 2), noise.df end
  return nil
end


-- ---- words ----

local words = {
  lower = { [-1] = "faster", [1] = "slower" },
  higher = { [-1] = "slower", [1] = "faster" },
  count = { [-1] = "fewer", [1] = "more" },
  amount = { [-1] = "less", [1] = "more" },
}

local function word(better, difference)
  if difference == 0 then return "same" end
  return words[better][difference > 0 and 1 or -1]
end


-- ---- judging ----

-- How likely a difference is as large where there is none; without any noise it is
-- what it is.
local function probability(difference, error, df)
  if error == 0 then return difference == 0 and 1 or 0 end
  return distributions.t_both_tails(difference / error, df)
end


-- The interval of the difference, from that of the ratio where it is one of logarithms.
local function add_interval(result, change, half, logarithmic)
  if logarithmic then
    result.low = result.before * (math.exp(change - half) - 1)
    local high = result.before * (math.exp(change + half) - 1)
    result.high = high < math.huge and high or nil
  else
    result.low, result.high = change - half, change + half
  end
end


local function by_interval(result, given, error, df, logarithmic)
  local change = logarithmic and math.log(result.after / result.before) or result.difference
  local half = error > 0 and distributions.t_quantile(given.level or LEVEL, df) * error or 0
  add_interval(result, change, half, logarithmic)
  result.df, result.p = df, probability(change, error, df)
  if half == 0 or math.abs(change) > half then
    result.verdict = word(given.better, result.difference)
  else
    result.verdict, result.why = verdict.UNKNOWN, "the interval holds 0"
  end
end


-- Are the samples of both sides the same?
local function are_same(before, after)
  if #before ~= #after then return false end
  for i, group in ipairs(before) do
    if #group ~= #after[i] then return false end
    for j, value in ipairs(group) do
      if value ~= after[i][j] then return false end
    end
  end
  return true
end


-- One process on each side, of which nothing tells how much processes differ.
local function by_assumption(result, better, assumed)
  result.assumed = assumed
  local bound = ("the %s %% that single runs are assumed to differ by"):format(
    text.number(assumed * 100, 1):gsub("%.0$", ""))
  if math.abs(result.share or math.huge) > assumed then
    result.verdict, result.why = word(better, result.difference), "beyond " .. bound
  else
    result.verdict, result.why = verdict.UNKNOWN, "within " .. bound
  end
end


local function all_equal(groups)
  for _, group in ipairs(groups) do
    for _, value in ipairs(group) do
      if value ~= groups[1][1] then return false end
    end
  end
  return true
end


-- before, after: lists of groups of samples, none of them empty. given: better
-- ("lower" or "higher" for times and rates, "amount" or "count" for what is
-- neither good nor bad), exact (the figure does not vary from run to run: where it
-- does not, one sample is enough), noise ({ before, after, df, from }: standard
-- deviations of processes on each side where the samples have one process each, from
-- what and with how many degrees of freedom; or nil), level (how often by chance a change seems
-- to be there that is none, 0.05 unless given: intervals of 95 %), assumed (the share that
-- single runs of the same thing are taken to differ by where nothing tells; ASSUMED unless
-- given). Returns
-- before, after and difference in the unit of the samples, share (difference over before; nil
-- when that is 0), low and high (the interval of that share, as a difference; nil where there
-- is none, high also where it has no end), df, p (how likely so large a difference is by
-- noise), noise (where it is from, if not from the samples), assumed (where the verdict rests
-- on it), verdict, why (nil when plain to see), samples_before, samples_after,
-- processes_before and processes_after.
function verdict.judge(before, after, given)
  local old, new = verdict.mean(before), verdict.mean(after)
  local result = { before = old, after = new, difference = new - old,
    share = old ~= 0 and (new - old) / math.abs(old) or nil,
    samples_before = count_of(before), samples_after = count_of(after),
    processes_before = #before, processes_after = #after }
  if given.exact and all_equal(before) and all_equal(after) then
    result.verdict = word(given.better, result.difference)
    return result
  end
  local scale, logarithmic = scale_of(before, after)
  local error, df = standard_error(described(before, scale), described(after, scale), given.noise)
  if error then
    by_interval(result, given, error, df, logarithmic)
    result.noise = #before == 1 and #after == 1 and given.noise.from or nil
  else
    by_assumption(result, given.better, given.assumed or verdict.ASSUMED)
  end
  if are_same(before, after) then
    result.verdict, result.why, result.assumed = word(given.better, 0), nil, nil
  end
  return result
end


-- ---- many at once ----

-- Holm's correction: of `rows` with a p, those whose change may be one that many tests
-- find by chance get the verdict "can't tell". Adds holm_p, p for all of them together.
function verdict.correct(rows)
  local tested = {}
  for _, row in ipairs(rows) do
    if row.p then tested[#tested + 1] = row end
  end
  table.sort(tested, function(a, b) return a.p < b.p end)
  local least = 0
  for i, row in ipairs(tested) do
    least = math.max(least, math.min((#tested - i + 1) * row.p, 1))
    row.holm_p = least
    if least >= LEVEL and row.p < LEVEL then
      row.verdict = verdict.UNKNOWN
      row.why = ("%d were tested, and one in so many looks like this by chance"):format(#tested)
    end
  end
end


return verdict
