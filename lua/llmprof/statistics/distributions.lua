-- Student's t and Fisher's F, by the regularised incomplete beta function.
local distributions = {}

local TINY, CLOSE, MOST = 1e-300, 1e-15, 500


-- ln of the gamma function for x > 0: Stirling's series, after x was raised to
-- where it is exact to the last digits (gamma(x + 1) = x gamma(x)).
local function log_gamma(x)
  local shift = 0
  while x < 15 do
    shift, x = shift - math.log(x), x + 1
  end
  local square = 1 / (x * x)
  local series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
  return shift + (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi) + series
end


-- The term of the continued fraction of step `m`, even and odd.
local function terms(a, b, x, m)
  return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
    -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
end


local function away_from_zero(value)
  return math.abs(value) < TINY and TINY or value
end


-- The continued fraction of the incomplete beta function (Abramowitz and Stegun,
-- 26.5.8), from the front by the method of Lentz.
local function fraction(a, b, x)
  local c, d = 1, 1 / away_from_zero(1 - (a + b) * x / (a + 1))
  local value = d
  for m = 1, MOST do
    local ratio = 1
    for _, term in ipairs { terms(a, b, x, m) } do
      d, c = 1 / away_from_zero(1 + term * d), away_from_zero(1 + term / c)
      ratio = c * d
      value = value * ratio
    end
    if math.abs(ratio - 1) < CLOSE then break end
  end
  return value
end


-- The share of a beta distribution below x, for a, b > 0 and 0 <= x <= 1.
function distributions.beta(x, a, b)
  if x <= 0 then return 0 end
  if x >= 1 then return 1 end
  local front = math.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * math.log(x)
    + b * math.log(1 - x))
  if x < (a + 1) / (a + b + 2) then return front * fraction(a, b, x) / a end
  return 1 - front * fraction(b, a, 1 - x) / b
end


-- How likely |t| is as large or larger, for df > 0 degrees of freedom, whole or not.
function distributions.t_both_tails(t, df)
  return distributions.beta(df / (df + t * t), df / 2, 0.5)
end


local function t_density(t, df)
  return math.exp(log_gamma((df + 1) / 2) - log_gamma(df / 2) - (df + 1) / 2
    * math.log(1 + t * t / df)) / math.sqrt(df * math.pi)
end


-- Newton's method; a step that leaves what brackets the answer halves it instead.
local function solve(low, high, value, slope)
  local x = (low + high) / 2
  for _ = 1, MOST do
    local y = value(x)
    if y > 0 then low = x else high = x end
    local step = x - y / slope(x)
    if not (step > low and step < high) then step = (low + high) / 2 end
    if math.abs(step - x) <= CLOSE * x then return step end
    x = step
  end
  return x
end


local function find_t(both_tails, df)
  local high = 1
  while distributions.t_both_tails(high, df) > both_tails do high = high * 2 end
  return solve(high > 1 and high / 2 or 0, high,
    function(t) return distributions.t_both_tails(t, df) - both_tails end,
    function(t) return -2 * t_density(t, df) end)
end


local found = {} -- by probability: by whole degrees of freedom

-- The t that |t| passes with a probability of `both_tails` (0.05 for intervals of
-- 95 %).
function distributions.t_quantile(both_tails, df)
  local known = found[both_tails] or {}
  found[both_tails] = known
  local t = known[df] or find_t(both_tails, df)
  if df % 1 == 0 then known[df] = t end
  return t
end


-- How likely a ratio of two variances is as far from 1 or farther, on either side.
function distributions.f_both_tails(ratio, df1, df2)
  if ratio ~= ratio then return 1 end
  if ratio == math.huge then return 0 end
  local below = distributions.beta(df1 * ratio / (df1 * ratio + df2), df1 / 2, df2 / 2)
  return 2 * math.min(below, 1 - below)
end


return distributions
