-- Do object files of the core need each other in a circle? Run by llmprof exec
-- with nm and the folder of a build; reads what was compiled, so that a circle
-- shows that no #include has. Sanitizers change no symbol of ours.
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"

local nm, folder = arg[1], arg[2]


local function objects_below(path, list)
  for _, name in ipairs(fs.list(path) or {}) do
    local inner = path .. "/" .. name
    if name:find "%.c%.o$" then
      list[#list + 1] = inner
    elseif fs.stat(inner).type == "directory" then
      objects_below(inner, list)
    end
  end
  return list
end


-- Calls visit(object, symbol, letter) for every global symbol.
local function each_symbol(objects, visit)
  local argv, object = { nm, "-A", "-P", "-g", table.unpack(objects) }, nil
  local result = assert(spawn.run(argv, { on_line = function(line)
    local symbol, letter
    object, symbol, letter = line:match "^(.-): (%S+) (%a)"
    if object then visit(object, symbol, letter) end
  end }))
  assert(result.ok, "nm failed")
end


-- needs[object][other] = a symbol that object takes from other.
local function read_needs(objects)
  local wanted, home, needs = {}, {}, {}
  for _, object in ipairs(objects) do wanted[object], needs[object] = {}, {} end
  each_symbol(objects, function(object, symbol, letter)
    if letter == "U" then
      wanted[object][#wanted[object] + 1] = symbol
    else
      home[symbol] = object
    end
  end)
  for object, symbols in pairs(wanted) do
    for _, symbol in ipairs(symbols) do
      local other = home[symbol]
      if other and other ~= object then needs[object][other] = symbol end
    end
  end
  return needs
end


local function short(object)
  return object:match "([^/]+/[^/]+)%.c%.o$":gsub("llmprof_(%w+)%.dir/", "%1/")
end


-- The objects on the way from one back to itself, as a line; the first found.
local function find_circle(objects, needs)
  local state, path = {}, {}
  local function walk(object)
    if state[object] == "done" then return nil end
    path[#path + 1] = object
    if state[object] == "open" then
      local line, from = short(object), #path - 1
      while path[from] ~= object do from = from - 1 end
      for i = from, #path - 1 do
        line = ("%s -> %s (%s)"):format(line, short(path[i + 1]), needs[path[i]][path[i + 1]])
      end
      return line
    end
    state[object] = "open"
    for _, other in ipairs(objects) do
      local found = needs[object][other] and walk(other)
      if found then return found end
    end
    path[#path] = nil
    state[object] = "done"
    return nil
  end
  for _, object in ipairs(objects) do
    local found = walk(object)
    if found then return found end
  end
  return nil
end


local objects = objects_below(folder, {})
table.sort(objects)
if #objects == 0 then
  io.stderr:write(folder, ": no object file found\n")
  return 1
end
local circle = find_circle(objects, read_needs(objects))
if not circle then return 0 end
io.stderr:write("a circle: ", circle, "\n")
return 1
