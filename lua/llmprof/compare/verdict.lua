-- Did a figure change, or is it noise? Two sets of samples, and what can be said
-- of them.
--
-- Samples come in groups: the repeats of one process. Between processes more
-- differs than between repeats of one, so the bootstrap draws groups first, then
-- repeats within each. Its 95 % interval is that of the difference of the means,
-- by percentiles, widened by sqrt(n / (n - 1)) with n the smaller number of
-- groups (of repeats, where a side has one group only): resampling n values
-- shows too little of their spread by that factor.
local random = require "llmprof.base.random"
local statistics = require "llmprof.base.statistics"

local verdict = {}

verdict.UNKNOWN = "can't tell"

local DRAWS, SEED = 2000, 1
local MOST_WORK = 2000000 -- values drawn for an interval; thousands of samples need fewer draws
local LOW, HIGH = 2.5, 97.5 -- percentiles

-- With one sample: the difference must be as many times the spread of the steps
-- inside the run, as a share of their mean.
local TIMES_SPREAD = 3


-- ---- the bootstrap ----

-- The mean of the groups' means.
function verdict.mean(groups)
  local sum = 0
  for _, group in ipairs(groups) do sum = sum + statistics.sum(group) / #group end
  return sum / #groups
end


local function count_of(groups)
  local count = 0
  for _, group in ipairs(groups) do count = count + #group end
  return count
end


local function redrawn_mean(groups, draw)
  local sum = 0
  for _ = 1, #groups do
    local group = groups[draw(#groups)]
    local inner = 0
    for _ = 1, #group do inner = inner + group[draw(#group)] end
    sum = sum + inner / #group
  end
  return sum / #groups
end


local function units(groups)
  return #groups > 1 and #groups or #groups[1]
end


local function draws_for(samples)
  return math.max(math.min(MOST_WORK // samples, DRAWS), DRAWS // 10)
end


-- The interval of mean(after) - mean(before): low, high.
function verdict.interval(before, after)
  local draw, differences = random.new(SEED), {}
  for i = 1, draws_for(count_of(before) + count_of(after)) do
    local old = redrawn_mean(before, draw)
    differences[i] = redrawn_mean(after, draw) - old
  end
  local centre = verdict.mean(after) - verdict.mean(before)
  local n = math.min(units(before), units(after))
  local widen = n > 1 and math.sqrt(n / (n - 1)) or 1
  local low = statistics.percentile(differences, LOW)
  local high = statistics.percentile(differences, HIGH)
  return centre + (low - centre) * widen, centre + (high - centre) * widen
end


-- ---- words ----

local words = {
  lower = { [-1] = "faster", [1] = "slower" },
  higher = { [-1] = "slower", [1] = "faster" },
  count = { [-1] = "fewer", [1] = "more" },
  amount = { [-1] = "less", [1] = "more" },
}

local function word(better, sign)
  return sign == 0 and "same" or words[better][sign]
end


local function sign_of(value)
  return value > 0 and 1 or value < 0 and -1 or 0
end


-- ---- judging ----

local function by_interval(result, better, before, after)
  result.low, result.high = verdict.interval(before, after)
  if result.low > 0 then
    result.verdict = word(better, 1)
  elseif result.high < 0 then
    result.verdict = word(better, -1)
  elseif result.low == 0 and result.high == 0 then
    result.verdict = word(better, 0)
  else
    result.verdict, result.why = verdict.UNKNOWN, "the interval holds 0"
  end
end


local function by_spread(result, better, spread)
  result.verdict = verdict.UNKNOWN
  if not spread then
    result.why = "one sample, and no steps show how much it varies"
  elseif not result.share or math.abs(result.share) <= TIMES_SPREAD * spread then
    result.why = ("one sample, and the steps vary by %.1f %%"):format(spread * 100)
  else
    result.verdict = word(better, sign_of(result.difference))
    result.why = ("one sample; far more than the steps vary (%.1f %%)"):format(spread * 100)
  end
end


-- before, after: lists of groups of samples, none of them empty. given: better
-- ("lower" or "higher" for times and rates, "amount" or "count" for what is
-- neither good nor bad), exact (the figure does not vary from run to run: one
-- sample is enough), spread (standard deviation of the steps inside the run over
-- their mean, or nil). Returns before, after and difference in the unit of the
-- samples, share (difference over before; nil when that is 0), low and high (the
-- interval of the difference; nil without repeats), verdict, why (nil when plain
-- to see), samples_before and samples_after.
function verdict.judge(before, after, given)
  local old, new = verdict.mean(before), verdict.mean(after)
  local result = { before = old, after = new, difference = new - old,
    share = old ~= 0 and (new - old) / math.abs(old) or nil,
    samples_before = count_of(before), samples_after = count_of(after) }
  if given.exact and (result.samples_before == 1 or result.samples_after == 1) then
    result.verdict = word(given.better, sign_of(result.difference))
  elseif result.samples_before > 1 and result.samples_after > 1 then
    by_interval(result, given.better, before, after)
  else
    by_spread(result, given.better, given.spread)
  end
  return result
end


return verdict
