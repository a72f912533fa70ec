-- Several values as one key of a table: equal values give the same object. nil is a
-- value like any other. Objects are forgotten when nobody has them any more.
--
--   by_kernel[tuple(stage, part, name)] = kernel

local NIL = {} -- stands for nil

local function node(parent)
  return { parent = parent, children = setmetatable({}, { __mode = "v" }) }
end

local root = node()

local function child(of, value)
  if value == nil then value = NIL end
  local found = of.children[value]
  if not found then
    found = node(of)
    of.children[value] = found
  end
  return found
end


-- The object of these values. Tuples of different lengths differ.
return function(...)
  local at = root
  for i = 1, select("#", ...) do at = child(at, (select(i, ...))) end
  return at
end
