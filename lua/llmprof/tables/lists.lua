-- Lists: joined, filtered, grouped by a key, and in an order.
local lists = {}


-- The entries of several lists as a new one.
function lists.joined(...)
  local made = {}
  for _, list in ipairs { ... } do lists.add(made, list) end
  return made
end


-- Add the entries of a list to another one, which is returned.
function lists.add(to, list) return table.move(list, 1, #list, #to + 1, to) end


-- The first entries of a list, `most` at most (nil: all), as a new one.
function lists.first(list, most)
  return table.move(list, 1, math.min(#list, most or #list), 1, {})
end


local function field(name) return function(entry) return entry[name] end end


-- What a field of each entry is, or a function makes of it, as a new list, without nil.
function lists.map(list, key)
  local get, made = type(key) == "string" and field(key) or key, {}
  for _, entry in ipairs(list) do made[#made + 1] = get(entry) end
  return made
end


-- The lists that a field, or a function, gives for each entry, joined into a new one.
function lists.flat(list, key)
  local made = {}
  for _, own in ipairs(lists.map(list, key)) do lists.add(made, own) end
  return made
end


-- The entries that are wanted, by a field or a function of one, as a new list.
function lists.filtered(list, wanted)
  local get = type(wanted) == "string" and field(wanted) or wanted
  return lists.map(list, function(entry) return get(entry) and entry or nil end)
end


-- The entries that are wanted, as of lists.filtered, and the others, as two new lists.
function lists.parted(list, wanted)
  local get = type(wanted) == "string" and field(wanted) or wanted
  return lists.filtered(list, get), lists.filtered(list, function(entry) return not get(entry) end)
end


-- The sum of a field, or of a function, of entries; what lacks it adds nothing.
function lists.sum(list, key)
  local get, sum = type(key) == "string" and field(key) or key, 0
  for _, entry in ipairs(list) do sum = sum + (get(entry) or 0) end
  return sum
end


-- Is a field, or a function, of some entry true?
function lists.any(list, key)
  local get = type(key) == "string" and field(key) or key
  for _, entry in ipairs(list) do
    if get(entry) then return true end
  end
  return false
end


-- Is a value among the entries?
function lists.has(list, value)
  return lists.any(list, function(entry) return entry == value end)
end


-- The values of a list as keys, each true.
function lists.set(list)
  local made = {}
  for _, value in ipairs(list) do made[value] = true end
  return made
end


-- The first entry of which a field is this; nil without one.
function lists.find(list, name, value)
  for _, entry in ipairs(list) do
    if entry[name] == value then return entry end
  end
  return nil
end


-- Entries of one key together, in the order in which keys come: a list of lists, and these by key.
-- key: a field of the entries, or a function of one; an entry without it is in no list.
function lists.grouped(list, key)
  local groups, by_key = {}, {}
  local get = type(key) == "string" and field(key) or key
  for _, entry in ipairs(list) do
    local own = get(entry)
    if own ~= nil then table.insert(lists.entry(groups, by_key, own, {}), entry) end
  end
  return groups, by_key
end


-- An order for table.sort: by these fields, or functions of an entry, one after the other; of a
-- field with a "-" before its name the largest comes first. What is absent is less than anything
-- else.
function lists.by(...)
  local getters, falls = {}, {}
  for i, key in ipairs { ... } do
    local name = type(key) == "string" and key or nil
    falls[i] = name ~= nil and name:sub(1, 1) == "-"
    getters[i] = name and field(falls[i] and name:sub(2) or name) or key
  end
  return function(a, b)
    for i, get in ipairs(getters) do
      local left, right = get(a), get(b)
      if left ~= right then
        if left == nil or right == nil then return (left == nil) ~= falls[i] end
        if falls[i] then return left > right end
        return left < right
      end
    end
    return false
  end
end


-- Sort a list by these, as of lists.by, or by its values where there are none; returns it.
function lists.sort(list, ...)
  table.sort(list, select("#", ...) > 0 and lists.by(...) or nil)
  return list
end


-- The entry of a key, in `by_key`; where there is none yet it is `made`, which the list gets, too.
function lists.entry(list, by_key, key, made)
  if by_key[key] == nil then by_key[key], list[#list + 1] = made, made end
  return by_key[key]
end


-- The entry of which a field, or a function of it, is largest, of equal ones the first, and that
-- number; nil without any that has one.
function lists.largest(list, key)
  local get, best, most = type(key) == "string" and field(key) or key, nil, nil
  for _, entry in ipairs(list) do
    local value = get(entry)
    if value and (not most or value > most) then best, most = entry, value end
  end
  return best, most
end


-- A list by a key, as of lists.by, as a new one; what is equal there in the order it had.
function lists.stable(list, key)
  local place, made = {}, lists.first(list)
  for i, entry in ipairs(list) do place[entry] = i end
  table.sort(made, lists.by(key, function(entry) return place[entry] end))
  return made
end


return lists
