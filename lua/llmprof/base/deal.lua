-- Things dealt to processes: list of lists of their numbers. The largest first, each to whoever
-- has least so far. sizes: of the things, in bytes; count: of the processes.
local json = require "llmprof.json"

return function(sizes, count)
  local order, load, hands = {}, {}, {}
  for i = 1, #sizes do order[i] = i end
  table.sort(order, function(a, b)
    if sizes[a] ~= sizes[b] then return sizes[a] > sizes[b] end
    return a < b
  end)
  for process = 1, count do load[process], hands[process] = 0, json.list {} end
  for _, file in ipairs(order) do
    local least = 1
    for process = 2, count do
      if load[process] < load[least] then least = process end
    end
    -- an empty one costs something, too
    load[least] = load[least] + math.max(sizes[file], 1)
    table.insert(hands[least], file)
  end
  return hands
end
