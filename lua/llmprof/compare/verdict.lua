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
local lists = require "llmprof.tables.lists"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"

local verdict = {}

-- ---- distributions ----

-- Student's t and Fisher's F, by the regularised incomplete beta function.

local TINY, CLOSE, MOST = 1e-300, 1e-15, 500


-- ln of the gamma function for x > 0: Stirling's series, after x was raised to
-- where it is exact to the last digits (gamma(x + 1) = x gamma(x)).
local function log_gamma(x)
  local shift = 0
  while x < 15 do shift, x = shift - math.log(x), x + 1 end
  local square = 1 / (x * x)
  local series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
  return shift + (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi) + series
end


local function away_from_zero(value) return math.abs(value) < TINY and TINY or value end


-- The continued fraction of the incomplete beta function (Abramowitz and Stegun,
-- 26.5.8), from the front by the method of Lentz.
local function fraction(a, b, x)
  local c, d = 1, 1 / away_from_zero(1 - (a + b) * x / (a + 1))
  local value = d
  for m = 1, MOST do
    local ratio = 1
    for _, term in ipairs { m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
      -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) } do
      d, c = 1 / away_from_zero(1 + term * d), away_from_zero(1 + term / c)
      ratio = c * d
      value = value * ratio
    end
    if math.abs(ratio - 1) < CLOSE then break end
  end
  return value
end


-- The share of a beta distribution below x, for a, b > 0 and 0 <= x <= 1.
function verdict.beta(x, a, b)
  if x <= 0 then return 0 end
  if x >= 1 then return 1 end
  local front = math.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * math.log(x)
    + b * math.log(1 - x))
  if x < (a + 1) / (a + b + 2) then return front * fraction(a, b, x) / a end
  return 1 - front * fraction(b, a, 1 - x) / b
end


-- How likely |t| is as large or larger, for df > 0 degrees of freedom, whole or not.
function verdict.t_both_tails(t, df) return verdict.beta(df / (df + t * t), df / 2, 0.5) end


local found = {} -- by probability and degrees of freedom

-- The t that |t| passes with a probability of `both_tails` (0.05 for intervals of
-- 95 %): by false position (Illinois) between what brackets it.
function verdict.t_quantile(both_tails, df)
  local key = ("%a/%a"):format(both_tails, df)
  if found[key] then return found[key] end
  local function over(t) return math.log(verdict.t_both_tails(t, df) / both_tails) end
  local old, over_old, t, over_t = 0, over(0), 1, over(1)
  while over_t > 0 do old, over_old, t, over_t = t, over_t, 2 * t, over(2 * t) end
  for _ = 1, 60 do -- a dozen, but where beta is no finer
    if math.abs(over_t) < 1e-13 then break end
    local new = t - over_t * (t - old) / (over_t - over_old)
    local over_new = over(new)
    if over_new * over_t < 0 then old, over_old = t, over_t else over_old = over_old / 2 end
    t, over_t = new, over_new
  end
  found[key] = t
  return t
end


-- How likely a ratio of two variances is as far from 1 or farther, on either side.
function verdict.f_both_tails(ratio, df1, df2)
  if ratio ~= ratio then return 1 end
  if ratio == math.huge then return 0 end
  local below = verdict.beta(df1 * ratio / (df1 * ratio + df2), df1 / 2, df2 / 2)
  return 2 * math.min(below, 1 - below)
end


verdict.UNKNOWN = "can't tell"

-- Single runs of the same thing are taken to differ by up to this share.
verdict.ASSUMED = 0.1

local LEVEL = 0.05 -- of both tails: intervals of 95 %
local ENOUGH = 3 -- processes that tell the noise of their side
local UNEQUAL = 0.35 -- noise of fewer that is less likely to be equal than this is not pooled


-- ---- samples ----

local function means_of(groups)
  return lists.map(groups, function(group) return statistics.sum(group) / #group end)
end


function verdict.mean(groups) return statistics.sum(means_of(groups)) / #groups end


-- The groups' means as what has noise that is alike: logarithms, where all of both
-- sides are above 0 and show their noise themselves.
local function scale_of(before, after)
  local function as_it_is(value) return value end
  if #before == 1 and #after == 1 then return as_it_is, false end
  local means = lists.joined(means_of(before), means_of(after))
  if lists.any(means, function(value) return value <= 0 end) then return as_it_is, false end
  return math.log, true
end


-- { variance (of the groups' means on a scale), count, df }.
local function described(groups, scale)
  local made = statistics.describe(lists.map(means_of(groups), scale))
  return { variance = (made.std or 0) ^ 2, count = made.count, df = made.count - 1 }
end


-- ---- the standard error of a difference of means, and its degrees of freedom ----

local function pool(old, new)
  local df = old.df + new.df
  return (old.df * old.variance + new.df * new.variance) / df, df
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
  if old.df + new.df == 0 then
    if not noise then return nil end
    return math.sqrt(noise.before ^ 2 + noise.after ^ 2), noise.df
  end
  local is_own -- is the noise of each side its own?
  if math.min(old.count, new.count) >= ENOUGH then
    is_own = old.variance + new.variance > 0
  else
    is_own = old.df > 0 and new.df > 0
      and verdict.f_both_tails(old.variance / new.variance, old.df, new.df) < UNEQUAL
  end
  if is_own then -- Welch
    local a, b = old.variance / old.count, new.variance / new.count
    return math.sqrt(a + b), (a + b) ^ 2 / (a * a / old.df + b * b / new.df)
  end
  local variance, df = pool(old, new)
  return math.sqrt(variance * (1 / old.count + 1 / new.count)), df
end


local words = {
  lower = { [-1] = "faster", [1] = "slower" },
  higher = { [-1] = "slower", [1] = "faster" },
  count = { [-1] = "fewer", [1] = "more" },
  neither = { [-1] = "less", [1] = "more" },
}

local function word(better, difference)
  if difference == 0 then return "same" end
  return words[better][difference > 0 and 1 or -1]
end


-- ---- judging ----

-- The interval of the difference, from that of the ratio where it is one of logarithms.
local function by_interval(result, given, error, df, logarithmic)
  local change = logarithmic and math.log(result.after / result.before) or result.difference
  local half = error > 0 and verdict.t_quantile(given.level or LEVEL, df) * error or 0
  result.low, result.high = change - half, change + half
  if logarithmic then
    result.low = result.before * (math.exp(change - half) - 1)
    local high = result.before * (math.exp(change + half) - 1)
    result.high = high < math.huge and high or nil
  end
  -- how likely so large a change is where there is none; without any noise it is what it is
  local without_noise = change == 0 and 1 or 0
  result.df, result.p = df, error == 0 and without_noise or verdict.t_both_tails(change / error, df)
  if half == 0 or math.abs(change) > half then
    result.verdict = word(given.better, result.difference)
  else
    result.verdict, result.why = verdict.UNKNOWN, "the interval holds 0"
  end
end


-- Are the samples of both sides, or those of a group, the same?
local function are_same(before, after)
  if type(before) ~= "table" then return before == after end
  if #before ~= #after then return false end
  for i, value in ipairs(before) do
    if not are_same(value, after[i]) then return false end
  end
  return true
end


local function all_equal(groups)
  local values = lists.joined(table.unpack(groups))
  return not lists.any(values, function(value) return value ~= values[1] end)
end


-- before, after: lists of groups of samples, none of them empty. given: better
-- ("lower" or "higher" for times and rates, "neither" or "count" for what is
-- neither good nor bad), exact (the figure does not vary from run to run: where it
-- does not, one sample is enough), noise ({ before, after, df, from }: standard
-- deviations of processes on each side where the samples have one process each, from
-- what and with how many degrees of freedom; or nil), level (the rate of false positives, 0.05
-- unless given: intervals of 95 %), assumed (the share that
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
    samples_before = lists.sum(before, rawlen), samples_after = lists.sum(after, rawlen),
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
    -- one process on each side, of which nothing tells how much processes differ
    result.assumed = given.assumed or verdict.ASSUMED
    local is_beyond = math.abs(result.share or math.huge) > result.assumed
    result.verdict = is_beyond and word(given.better, result.difference) or verdict.UNKNOWN
    result.why = ("%s the %s %% that single runs are assumed to differ by"):format(
      is_beyond and "beyond" or "within", text.number(result.assumed * 100, 1):gsub("%.0$", ""))
  end
  if are_same(before, after) then
    result.verdict, result.why, result.assumed = word(given.better, 0), nil, nil
  end
  return result
end


-- ---- many at once ----

-- Holm's correction for many tests at once: every row with a p gets holm_p, its adjusted p. A
-- row that is significant alone but not after that gets the verdict "can't tell".
function verdict.correct(rows)
  local tested = lists.filtered(rows, "p")
  table.sort(tested, lists.by "p")
  local least = 0
  for i, row in ipairs(tested) do
    least = math.max(least, math.min((#tested - i + 1) * row.p, 1))
    row.holm_p = least
    if least >= LEVEL and row.p < LEVEL then
      row.verdict = verdict.UNKNOWN
      row.why = ("%d were tested: with as many, one looks like this by chance"):format(#tested)
    end
  end
end


-- Rows by how much they changed (difference_ns), the largest first, each with its share of all
-- changes; more: what orders those that changed as much, as lists.by takes it.
function verdict.by_change(rows, ...)
  local function size(row) return math.abs(row.difference_ns) end
  table.sort(rows, lists.by(function(row) return -size(row) end, ...))
  local all = lists.sum(rows, size)
  for _, row in ipairs(rows) do row.share = all > 0 and size(row) / all or nil end
  return rows
end


return verdict
