-- Layers: the period inside a step. The collectives of a step are alike from layer to
-- layer in what was computed before them; a layer's number counts from 0.
local layers = {}

-- Fewer collectives in a row that repeat are no layers.
local LEAST = 4


-- From where to where the list repeats itself after `period`, the longest stretch:
-- the first and the last place, from 0.
local function stretch(list, period)
  local best_first, best_last, first = 0, -1, 1
  for i = 1, #list do
    if i + period > #list or list[i] ~= list[i + period] then
      if i > first and i - 1 + period - first > best_last - best_first then
        best_first, best_last = first - 1, i - 2 + period
      end
      first = i + 1
    end
  end
  return best_first, best_last
end


-- Does a layer begin at this place, too, whatever was computed before it: do its collectives
-- follow the same kernels as those of the next one?
local function is_alike(follows, start, period)
  for place = start + 1, start + period do
    if not follows[place] or follows[place] ~= follows[place + period] then return false end
  end
  return true
end


-- How a step divides: { period (collectives of a layer), first (place of the first one's
-- first), count }; nil when it has none. what: of each collective of a step, in order,
-- what was computed before it, follows: the kernel that ran last before it. The last layer is
-- a whole one; the first may begin otherwise than the rest.
function layers.of(what, follows)
  for period = 1, #what // 2 do
    local first, last = stretch(what, period)
    local length = last - first + 1
    if length >= math.max(LEAST, 2 * period, #what // 2) then
      local count = (length + period - 1) // period
      local start = last + 1 - count * period
      if start < 0 then count, start = count - 1, start + period end
      if start >= period and is_alike(follows, start - period, period) then
        count, start = count + 1, start - period
      end
      return { period = period, first = start, count = count }
    end
  end
  return nil
end


-- The layer of the collective at a place (from 0) of its step; nil outside of them.
function layers.at(division, place)
  if not division or not place or place < division.first then return nil end
  local layer = (place - division.first) // division.period
  return layer < division.count and layer or nil
end


return layers
