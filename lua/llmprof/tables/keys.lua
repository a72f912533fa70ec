-- Keys of tables: sorted, and made of several values.
local keys = {}


local function by_text(a, b)
  if type(a) == type(b) then return a < b end
  return tostring(a) < tostring(b)
end


-- The keys of a table as a sorted list; where names and numbers mix, by their text.
function keys.sorted(map)
  local list, mixed = {}, false
  for key in pairs(map) do
    list[#list + 1] = key
    mixed = mixed or type(key) ~= type(list[1])
  end
  table.sort(list, mixed and by_text or nil)
  return list
end


-- ---- tuples ----

local NIL = {} -- stands for nil

local WEAK = { __mode = "v" }

local root = {}

-- Most have no children: the last value is where keys differ.
local function child(of, value)
  if value == nil then value = NIL end
  local children = of.children
  local found = children and children[value]
  if not found then
    found = { parent = of }
    if not children then
      children = setmetatable({}, WEAK)
      of.children = children
    end
    children[value] = found
  end
  return found
end


-- Several values as one key: equal values give the same object. nil is a value like any
-- other, tuples of different lengths differ. Objects are forgotten when nobody has them any
-- more.
--
--   by_kernel[tuple(stage, part, name)] = kernel
function keys.tuple(...)
  local at = root
  for i = 1, select("#", ...) do at = child(at, (select(i, ...))) end
  return at
end


return keys
