-- Small statistics over Lua lists of numbers.
local statistics = {}


function statistics.sum(values)
  local total = 0
  for _, value in ipairs(values) do total = total + value end
  return total
end


function statistics.median(values)
  if #values == 0 then return nil end
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local half = #sorted // 2
  if #sorted % 2 == 1 then return sorted[half + 1] end
  return (sorted[half] + sorted[half + 1]) / 2
end


-- The value at a percentile (0..100), linear between closest ranks, as llmprof's
-- frames give it; nil for no values.
function statistics.percentile(values, wanted)
  if #values == 0 then return nil end
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local rank = wanted / 100 * (#sorted - 1)
  local below = math.floor(rank)
  local low, high = sorted[below + 1], sorted[below + 2]
  return high and low + (rank - below) * (high - low) or low
end


-- From how many values on a percentile is one of them, and not a guess at what lies
-- beyond the largest.
local LEAST = { [50] = 2, [90] = 10, [99] = 100 }


-- Are so many values enough for a percentile: 50, 90 or 99?
function statistics.supports(count, wanted)
  return count >= LEAST[wanted]
end


-- Fields p50_ns, p90_ns and p99_ns of values in ns, as far as these are enough, laid over
-- a record.
function statistics.add_percentiles(record, values)
  for wanted in pairs(LEAST) do
    record[("p%d_ns"):format(wanted)] = statistics.supports(#values, wanted)
      and statistics.percentile(values, wanted) or nil
  end
  return record
end


-- Slope of a least-squares line through (1, values[1]), (2, values[2]), ..., and
-- its standard error; nil for fewer than three.
function statistics.slope(values)
  local n = #values
  if n < 3 then return nil end
  local mean_x, mean_y = (n + 1) / 2, statistics.sum(values) / n
  local xy, xx = 0, 0
  for i, value in ipairs(values) do
    xy = xy + (i - mean_x) * (value - mean_y)
    xx = xx + (i - mean_x) ^ 2
  end
  local slope, squares = xy / xx, 0
  for i, value in ipairs(values) do
    squares = squares + (value - mean_y - slope * (i - mean_x)) ^ 2
  end
  return slope, math.sqrt(squares / (n - 2) / xx)
end


-- { count, total, mean, std, min, max }; std is the sample's (n - 1) and
-- absent for fewer than two values. nil for none.
function statistics.describe(values)
  local n = #values
  if n == 0 then return nil end
  local total = statistics.sum(values)
  local mean, low, high = total / n, values[1], values[1]
  for _, value in ipairs(values) do low, high = math.min(low, value), math.max(high, value) end
  local described = { count = n, total = total, mean = mean, min = low, max = high }
  if n > 1 then
    local squares = 0
    for _, value in ipairs(values) do squares = squares + (value - mean) ^ 2 end
    described.std = math.sqrt(squares / (n - 1))
  end
  return described
end


return statistics
