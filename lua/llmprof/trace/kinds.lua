-- Kinds of GPU operations, and what counts of them are called.
local kinds = {}

local plural = { kernel = "kernels", copy = "copies", set = "sets", graph = "graphs" }


-- A count of 0 for each kind, added to a table.
function kinds.none(counts)
  for _, name in pairs(plural) do counts[name] = 0 end
  return counts
end


-- Set the counts of a group of a frame of operations, grouped by kind.
function kinds.set(counts, group)
  counts[plural[group.kind]] = group.count
  return counts
end


-- Counts of the operations of a frame, by kind, added to a table.
function kinds.count(ops, counts)
  kinds.none(counts)
  for _, group in ipairs(ops:group { by = { "kind" } }) do kinds.set(counts, group) end
  return counts
end


return kinds
