-- Several values as one key of a table: equal values give the same object. nil is a
-- value like any other. Objects are forgotten when nobody has them any more.
--
--   by_kernel[tuple(stage, part, name)] = kernel

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


-- The object of these values. Tuples of different lengths differ.
return function(...)
  local at = root
  for i = 1, select("#", ...) do at = child(at, (select(i, ...))) end
  return at
end
