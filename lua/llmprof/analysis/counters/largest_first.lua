-- Which ranges ncu is to measure so that the stage with the most GPU time comes first.
-- ncu measures the first launches of a configuration, whichever stage they are in, so a
-- kernel that prefill and decode launch alike would be measured in prefill alone. Of two
-- repeats in a row the largest stage is taken from the first, and what runs before it
-- from the second.
local largest_first = {}


-- The wanted top-level stages of each repeat, in order, as text between "\0"; nil where
-- repeats are not numbered or several ranks have them.
local function by_repeat(wanted, found)
  local repeats, rank = {}, nil
  for _, instance in ipairs(found.instances) do
    if wanted[instance.stage] and not instance.parent then
      rank = rank or instance.rank
      if not instance.rep or instance.rank ~= rank then return nil end
      repeats[instance.rep] = (repeats[instance.rep] or "") .. instance.stage .. "\0"
    end
  end
  return repeats
end


-- Those stages in the order of a repeat; nil unless each repeat has each of them once.
local function order_of(wanted, found)
  local repeats = by_repeat(wanted, found) or {}
  for _, stages in ipairs(repeats) do
    if stages ~= repeats[1] then return nil end
  end
  local order, seen = {}, {}
  for stage in (repeats[1] or ""):gmatch "[^%z]+" do
    if seen[stage] then return nil end
    order[#order + 1], seen[stage] = stage, true
  end
  return order
end


-- Position of the stage with the most GPU time of all (a list of kernels).
local function largest(order, all)
  local sums, best = {}, 1
  for _, kernel in ipairs(all) do
    sums[kernel.stage] = (sums[kernel.stage] or 0) + kernel.total_ns
  end
  for i, stage in ipairs(order) do
    if (sums[stage] or 0) > (sums[order[best]] or 0) then best = i end
  end
  return best
end


-- { count (of stages in a repeat), largest (position) }; nil where the largest is the
-- first already, or the ranges cannot be counted.
function largest_first.order(wanted, found, all)
  if found.inferred or found.by_engine or found.whole then return nil end
  local order = order_of(wanted, found) or {}
  local position = #order > 1 and largest(order, all) or 1
  return position > 1 and { count = #order, largest = position } or nil
end


-- Numbers of the ranges to measure, "2|3", of a repeat and the one after it.
function largest_first.instances(order, repeat_number)
  local list, first = {}, (repeat_number - 1) * order.count
  for i = order.largest, order.count + order.largest - 1 do
    list[#list + 1] = tostring(first + i)
  end
  return table.concat(list, "|")
end


return largest_first
