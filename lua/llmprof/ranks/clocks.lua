-- The clocks of several files put on one: the session's UTC first, then offset and
-- drift from the ends of the collectives that two ranks share.
local collectives = require "llmprof.collectives"
local pack = require "llmprof.pack"
local sorted_keys = require "llmprof.base.sorted_keys"

local clocks = {}

-- Pairs of collectives' ends that a fit wants at least.
local LEAST_PAIRS = 8

-- Ends of one collective lie this near each other on one clock; clocks that do not
-- differ by more are left as they are. ns.
local NEAR = 10000

-- A fit whose pairs lie further from it than this says nothing. ns.
clocks.TRUSTED = 20000

-- So many shifts of the order are tried where a rank has fewer collectives.
local MOST_LAGS = 64

local at = { rank = "world", start = "start", ["end"] = "end", key = "key", ordinal = "ordinal" }


local function fit(frame, first, second, lag)
  return collectives.clock(frame, at, first, second, lag)
end


-- together: both ranks are of one file, whose clock is not to be put right.
local function is_good(made, together)
  return made.count >= LEAST_PAIRS and (together and made.raw or made.residual) <= clocks.TRUSTED
end


-- By rank and key how many rows there are, as counts[key][rank]; and the keys, the
-- most frequent first.
local function count(frame)
  local counts, most, keys = {}, {}, {}
  for _, group in ipairs(frame:group { by = { "world", "key" } }) do
    if not counts[group.key] then
      counts[group.key], most[group.key] = {}, 0
      keys[#keys + 1] = group.key
    end
    counts[group.key][group.world] = group.count
    most[group.key] = math.max(most[group.key], group.count)
  end
  table.sort(keys, function(a, b)
    if most[a] ~= most[b] then return most[a] > most[b] end
    return a < b
  end)
  return counts, keys
end


local function lags_between(difference)
  local lags, size = {}, math.abs(difference)
  local sign = difference > 0 and 1 or -1
  for lag = 0, math.min(size, MOST_LAGS) do lags[#lags + 1] = sign * lag end
  if size > MOST_LAGS then lags[#lags + 1] = difference end
  return lags
end


local COLUMNS = { "world", "start", "end", "key", "ordinal" }

-- Rows of a key, by rank: halved again and again, so that many ranks do not each look at
-- all of them.
local function by_rank(frame, key, ranks)
  local found = {}
  local function divide(rows, from, to)
    if from == to then
      found[ranks[from]] = rows
      return
    end
    local middle = (from + to) // 2
    divide(rows:where { { "world", "<=", ranks[middle] } }, from, middle)
    divide(rows:where { { "world", ">", ranks[middle] } }, middle + 1, to)
  end
  divide(frame:where { key = key }:select(COLUMNS), 1, #ranks)
  return found
end


-- A function that gives the rows of a key which two ranks have.
local function pairs_of(frame, counts)
  local known = {}
  return function(key, first, second)
    known[key] = known[key] or by_rank(frame, key, sorted_keys(counts[key]))
    return pack.join { known[key][first], known[key][second] }
  end
end


-- The fit of two ranks where the second one's n-th collective of the most frequent key
-- is the n + lag-th of the first, and that lag as a share of what the counts differ by.
local function best_fit(rows_of, counts, keys, first, second)
  for _, key in ipairs(keys) do
    local a, b = counts[key][first], counts[key][second]
    if a and b then
      local best, best_lag
      local only = rows_of(key, first, second)
      for _, lag in ipairs(lags_between(b - a)) do
        local made = fit(only, first, second, lag)
        if made.count > 0 and (not best or made.residual < best.residual) then
          best, best_lag = made, lag
        end
      end
      return best, best_lag and (b ~= a and best_lag / (b - a) or 0)
    end
  end
  return nil
end


-- Ranks that are of one job, as far as their collectives end together: by rank
-- { leader, fit (nil for the leader), share (of the lag) }. frame: collectives with
-- world, key and ordinal; list: all ranks' numbers in order; part_of: by rank, its file.
function clocks.groups(frame, list, part_of)
  local counts, keys = count(frame)
  local found, leaders, rows_of = {}, {}, pairs_of(frame, counts)
  for _, rank in ipairs(list) do
    for _, leader in ipairs(leaders) do
      local made, share = best_fit(rows_of, counts, keys, leader, rank)
      if made and is_good(made, part_of[rank] == part_of[leader]) then
        found[rank] = { leader = leader, fit = made, share = share }
        break
      end
    end
    if not found[rank] then
      found[rank], leaders[#leaders + 1] = { leader = rank }, rank
    end
  end
  return found, counts
end


-- What a fit makes of a file's clock: { offset, drift, at }, nil where it is near
-- enough as it is.
function clocks.correction(made)
  if not made or made.raw <= NEAR then return nil end
  return { offset = math.floor(made.offset + 0.5), drift = made.drift, at = made.at }
end


-- The clock that takes back what another does.
function clocks.inverse(clock)
  return { offset = -clock.offset, drift = -clock.drift / (1 - clock.drift),
    at = clock.at - clock.offset }
end


return clocks
