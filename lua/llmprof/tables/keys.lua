-- Keys of tables: sorted, as a path, made of several values, and which one was meant by a word.
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


-- The fields of several tables as a new one; of one name the last counts.
function keys.merged(...)
  local made = {}
  for _, fields in ipairs { ... } do
    for key, value in pairs(fields) do made[key] = value end
  end
  return made
end


-- Has a table keys below this one, as "infer.batch" is below "infer"?
function keys.has_group(map, prefix)
  for key in pairs(map) do
    if key:sub(1, #prefix + 1) == prefix .. "." then return true end
  end
  return false
end


-- What a tree of tables has at a path ("infer.batch"); nil where there is none.
function keys.at(tree, path)
  for name in path:gmatch "[^.]+" do
    if type(tree) ~= "table" then return nil end
    tree = tree[name]
  end
  return tree
end


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


-- Put a value there, nil too, with tables on the way to it; what is there and is none goes. Of a
-- path that ends in a point the last name is empty.
function keys.put(tree, path, value)
  local before, last = path:match "^(.-)([^.]*)$"
  for name in before:gmatch "[^.]+" do
    if type(tree[name]) ~= "table" then tree[name] = {} end
    tree = tree[name]
  end
  tree[last] = value
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


-- Edits to turn one string into the other, a swap of neighbours counting one;
-- gives up above `limit`.
local function distance(a, b, limit)
  if math.abs(#a - #b) > limit then return limit + 1 end
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = before
    before, row = row, { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], last[j - 2] + 1)
      end
    end
  end
  return row[#b]
end


-- The candidate closest to word, or nil when none is close. A candidate whose
-- last part is the word (max_new_tokens for infer.max_new_tokens) counts as
-- one edit away.
function keys.nearest(word, candidates)
  -- a third of the word may differ, but never all of it
  local best, best_distance = nil, math.min(math.max(1, #word // 3), #word - 1) + 1
  local sorted = {}
  for i, candidate in ipairs(candidates) do sorted[i] = tostring(candidate) end
  table.sort(sorted)
  for _, candidate in ipairs(sorted) do
    local d = distance(word:lower(), candidate:lower(), best_distance)
    if candidate:sub(-#word - 1) == "." .. word then d = math.min(d, 1) end
    if d < best_distance then best, best_distance = candidate, d end
  end
  return best
end


-- " (did you mean 'x'?)", or nothing.
function keys.suggestion(word, candidates)
  local found = keys.nearest(word, candidates)
  return found and (" (did you mean '%s'?)"):format(found) or ""
end


return keys
