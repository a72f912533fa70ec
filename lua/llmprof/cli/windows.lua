-- Windows: stretches of time, { first, last } in ns, last not included.
local windows = {}


-- The same time as windows in order that do not overlap.
function windows.merge(list)
  local sorted, merged = table.move(list, 1, #list, 1, {}), {}
  table.sort(sorted, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.last < b.last
  end)
  for _, window in ipairs(sorted) do
    local before = merged[#merged]
    if before and window.first <= before.last then
      before.last = math.max(before.last, window.last)
    else
      merged[#merged + 1] = { first = window.first, last = window.last }
    end
  end
  return merged
end


-- What of windows in order lies between two times.
function windows.clip(list, first, last)
  local clipped = {}
  for _, window in ipairs(list) do
    local from, to = math.max(window.first, first), math.min(window.last, last)
    if from < to then clipped[#clipped + 1] = { first = from, last = to } end
  end
  return clipped
end


return windows
