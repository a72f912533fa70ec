-- Lists: joined, grouped by a key, and in an order.
local lists = {}


-- The entries of several lists as a new one.
function lists.joined(...)
  local made = {}
  for _, list in ipairs { ... } do lists.add(made, list) end
  return made
end


-- Add the entries of a list to another one, which is returned.
function lists.add(to, list)
  return table.move(list, 1, #list, #to + 1, to)
end


-- The first entries of a list, `most` at most, as a new one.
function lists.first(list, most)
  return table.move(list, 1, math.min(#list, most), 1, {})
end


-- Entries of one key together, in the order in which keys come: a list of lists, and these by key.
-- key: a field of the entries, or a function of one; an entry without it is in no list.
function lists.grouped(list, key)
  local groups, by_key = {}, {}
  for _, entry in ipairs(list) do
    local own
    if type(key) == "function" then own = key(entry) else own = entry[key] end
    if own ~= nil and not by_key[own] then
      by_key[own] = {}
      groups[#groups + 1] = by_key[own]
    end
    if own ~= nil then table.insert(by_key[own], entry) end
  end
  return groups, by_key
end


-- An order for table.sort: by these fields, one after the other; of one with a "-" before its name
-- the largest comes first. What is absent is less than anything else.
function lists.by(...)
  local names, falls = { ... }, {}
  for i, name in ipairs(names) do
    falls[i], names[i] = name:sub(1, 1) == "-", name:match "^%-?(.*)$"
  end
  return function(a, b)
    for i, name in ipairs(names) do
      local left, right = a[name], b[name]
      if left ~= right then
        if left == nil or right == nil then return (left == nil) ~= falls[i] end
        if falls[i] then return left > right end
        return left < right
      end
    end
    return false
  end
end


return lists
