-- Small statistics over Lua lists of numbers.

local statistics = {}


-- The first place of 1 to count for which holds(place) is true, as it is for all behind
-- it; count + 1 where there is none.
function statistics.first_place(count, holds)
  local low, high = 1, count + 1
  while low < high do
    local middle = (low + high) // 2
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return low
end


-- The first place of a rising list whose value is above `limit`; behind it for none.
function statistics.first_above(list, limit)
  return statistics.first_place(#list, function(place) return list[place] > limit end)
end


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


-- Are this many values enough for a percentile: 50, 90 or 99?
function statistics.supports(count, wanted) return count >= LEAST[wanted] end


-- Fields p50_ns, p90_ns and p99_ns of values in ns, as far as these are enough, laid over
-- a record.
function statistics.add_percentiles(record, values)
  for wanted in pairs(LEAST) do
    record[("p%d_ns"):format(wanted)] = statistics.supports(#values, wanted)
      and statistics.percentile(values, wanted) or nil
  end
  return record
end


-- More values than this of one sequence are taken together, this many at a time.
local MOST_POINTS = 256

-- A sequence as medians of neighbours: list of { x, y }, x from 1.
local function points_of(values)
  local size, points = math.ceil(#values / MOST_POINTS), {}
  for first = 1, #values, size do
    local last = math.min(first + size - 1, #values)
    points[#points + 1] = { x = (first + last) / 2,
      y = statistics.median(table.move(values, first, last, 1, {})) }
  end
  return points
end


-- This many percent of values are off by a standard deviation or less.
local WITHIN = 68

-- Points of one sequence that are enough to tell its warm-up and its outliers from the others; how
-- many median deviations off the line an outlier is; how often they are looked for, each time by
-- the line through what is left.
local FEWEST, FAR, FITS = 8, 5, 3


-- How far points are off a line of this slope, by point, and the median of that.
local function distances(points, slope)
  local rest = {}
  for i, point in ipairs(points) do rest[i] = point.y - slope * point.x end
  local level, off = statistics.median(rest), {}
  for i, value in ipairs(rest) do rest[i], off[i] = value - level, math.abs(value - level) end
  return rest, statistics.median(off)
end


-- The points of a sequence without its outliers and its warm-up: what lies above the line by more
-- than the median deviation, one behind the other from the start, in the first half.
local function kept_of(points, slope)
  if #points < FEWEST then return points end
  local at, deviation = distances(points, slope)
  local first = 1
  while first <= #points // 2 and at[first] > deviation do first = first + 1 end
  local most, kept = FAR * deviation + 1e-9 * math.abs(points[1].y), {}
  for i = first, #points do
    if math.abs(at[i]) <= most then kept[#kept + 1] = points[i] end
  end
  return #kept >= 3 and kept or points
end


-- The median of the slopes between any two points of a sequence (Theil and Sen).
local function median_slope(sequences)
  local slopes = {}
  for _, points in ipairs(sequences) do
    for i, left in ipairs(points) do
      for j = i + 1, #points do
        slopes[#slopes + 1] = (points[j].y - left.y) / (points[j].x - left.x)
      end
    end
  end
  return statistics.median(slopes)
end


-- What values scatter by around lines of one slope, by a line of its own for each sequence.
local function scatter(sequences, slope)
  local off, squares = {}, 0
  for _, points in ipairs(sequences) do
    local middle = (points[1].x + points[#points].x) / 2
    for i, distance in ipairs((distances(points, slope))) do
      off[#off + 1] = math.abs(distance)
      squares = squares + (points[i].x - middle) ^ 2
    end
  end
  return statistics.percentile(off, WITHIN) / math.sqrt(squares)
end


-- How much each value is larger than the one before it, over lists of values, and the
-- standard error of that: by the median of slopes between values of a list, without warm-up and
-- outliers. nil without a list of three.
function statistics.slope(lists)
  local sequences = {}
  for _, values in ipairs(lists) do
    if #values >= 3 then sequences[#sequences + 1] = points_of(values) end
  end
  if #sequences == 0 then return nil end
  for _ = 1, FITS do
    local slope = median_slope(sequences)
    for i, points in ipairs(sequences) do sequences[i] = kept_of(points, slope) end
  end
  local slope = median_slope(sequences)
  return slope, scatter(sequences, slope)
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
