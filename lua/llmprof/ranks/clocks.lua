-- The clocks of several files put on one: the session's UTC first, then offset and
-- drift from the ends of the collectives that two ranks share.
local collectives = require "llmprof.collectives"
local errors = require "llmprof.process.errors"
local pack = require "llmprof.pack"
local tuple = require("llmprof.tables.keys").tuple

local clocks = {}

-- Fewest pairs of collectives' ends for a fit, and to trust clocks that need none.
local LEAST_PAIRS, LEAST_AS_THEY_ARE = 8, 4

-- Ends of one collective lie this near each other on one clock; clocks that do not
-- differ by more are left as they are. ns.
local NEAR = 10000

-- A fit whose pairs lie further from it than this says nothing. ns.
local TRUSTED = 20000

-- This many shifts of the order are tried where a rank has fewer collectives.
local MOST_LAGS = 64

local at = { rank = "world", start = "start", ["end"] = "end", key = "key", ordinal = "ordinal" }


-- together: both ranks are of one file, whose clock is not to be put right.
local function is_good(made, together)
  if made.count >= LEAST_AS_THEY_ARE and made.raw <= NEAR then return true end
  return made.count >= LEAST_PAIRS and (together and made.raw or made.residual) <= TRUSTED
end


local function lags_between(difference)
  local lags, size = {}, math.abs(difference)
  local sign = difference > 0 and 1 or -1
  for lag = 0, math.min(size, MOST_LAGS) do lags[#lags + 1] = sign * lag end
  if size > MOST_LAGS then lags[#lags + 1] = difference end
  return lags
end


-- A function that gives the rows of a key and a rank. frame: collectives with world, key and
-- ordinal.
local function finder(frame)
  local sorted = errors.check(frame:select { "world", "start", "end", "key", "ordinal" })
    :sort { { "key" }, { "world" } }
  local first, last, row = {}, {}, 0
  for _, group in ipairs(sorted:group { by = { "key", "world" } }) do
    local place = tuple(group.key, group.world)
    first[place], last[place] = row + 1, row + group.count
    row = row + group.count
  end
  return function(key, rank)
    local place = tuple(key, rank)
    return sorted:slice(first[place], last[place])
  end
end


-- The most frequent key that two ranks have, nil without. counts: by key and rank, how many
-- rows; keys: the most frequent first.
local function shared_key(counts, keys, first, second)
  for _, key in ipairs(keys) do
    if counts[key][first] and counts[key][second] then return key end
  end
  return nil
end


-- The fit of two ranks where the second one's n-th collective of the key that they share is
-- the n + lag-th of the first, and that lag as a share of what the counts differ by; nil
-- where their collectives do not end together.
local function fit_ranks(rows_of, key, counts, part_of, first, second)
  local best, best_lag
  local a, b = counts[first], counts[second]
  local only = pack.join { rows_of(key, first), rows_of(key, second) }
  for _, lag in ipairs(lags_between(b - a)) do
    local made = collectives.clock(only, at, first, second, lag)
    if made.count > 0 and (not best or made.residual < best.residual) then
      best, best_lag = made, lag
    end
  end
  if not best or not is_good(best, part_of[first] == part_of[second]) then return nil end
  return best, b ~= a and best_lag / (b - a) or 0
end


-- Ranks that are of one job, as far as their collectives end together: by rank
-- { leader, fit (nil for the leader), share (of the lag) }. all: collectives with world, key and
-- ordinal; list: all ranks' numbers in order; told: counts (by key and rank, how many rows) and
-- keys (the most frequent first); part_of: by rank its file. A leader that has a key in common
-- with one before it has `tried`: its collectives do not end with the other's.
function clocks.groups(all, list, told, part_of)
  local rows_of, found, rest, tried = finder(all), {}, list, {}
  while #rest > 0 do
    local leader, left = rest[1], {}
    found[leader] = { leader = leader, tried = tried[leader] }
    for i = 2, #rest do
      local key, made, share = shared_key(told.counts, told.keys, leader, rest[i]), nil, nil
      if key then
        made, share = fit_ranks(rows_of, key, told.counts[key], part_of, leader, rest[i])
        tried[rest[i]] = true
      end
      if made then
        found[rest[i]] = { leader = leader, fit = made, share = share }
      else
        left[#left + 1] = rest[i]
      end
    end
    rest = left
  end
  return found
end


-- The fit of two ranks of different files whose n-th collectives of a key are one; nil where these
-- do not end together.
function clocks.fit_of(frame, columns, first, second)
  local made = collectives.clock(frame, columns, first, second, 0)
  return made.count > 0 and is_good(made, false) and made or nil
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
