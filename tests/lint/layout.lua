-- Does a module other than the layout know a path inside a bundle? Run by llmprof
-- exec, in the source tree or for the one named. A path is what
-- lua/llmprof/bundle/layout.lua has: as a whole string, at the end of one, or, where
-- it lies in a folder, as a word of one. docs/bundle.md has to name each.
local fs = require "llmprof.fs"

local root = arg and arg[1] or "."
local house = root .. "/lua/llmprof"
local LAYOUT = house .. "/bundle/layout.lua"
local faults, seen = {}, 0

-- Files outside of any bundle that are called as one of its.
local elsewhere = { [house .. "/recipe/user.lua"] = "config.yaml" }


local function fault(...)
  faults[#faults + 1] = (...):format(select(2, ...))
end


-- Every path of a layout, below its tables too, as a set.
local function paths_of(layout)
  local paths = {}
  local function visit(value)
    if type(value) == "string" and value:find "%." then paths[value] = true end
    for _, item in pairs(type(value) == "table" and value or {}) do visit(item) end
  end
  for name, value in pairs(layout) do
    if name ~= "recorded" and name ~= "ABOUT" and name ~= "replaces" then visit(value) end
  end
  return paths
end


local function known_path(literal, paths)
  local last = literal:match "^.*/([^/]+)$"
  if paths[literal] or (last and paths[last] and literal:find "^/") then return literal end
  for word in literal:gmatch "[%w_./-]+" do
    local name = word:gsub("^/", "")
    if name:find "/" and paths[name] then return name end
  end
  return nil
end


local function check_file(path, paths)
  seen = seen + 1
  local number = 0
  for line in assert(fs.read(path)):gmatch "([^\n]*)\n" do
    number = number + 1
    local code = line:gsub("%-%-.*", "")
    for literal in code:gmatch '"([^"]*)"' do
      local name = known_path(literal, paths)
      if name and elsewhere[path] ~= name then
        fault("%s:%d: '%s' is for bundle/layout.lua", path, number, name)
      end
    end
  end
end


local function check_folder(folder, paths)
  for _, name in ipairs(fs.list(folder) or {}) do
    local path = folder .. "/" .. name
    if fs.stat(path).type == "directory" then
      check_folder(path, paths)
    elseif name:find "%.lua$" and path ~= LAYOUT then
      check_file(path, paths)
    end
  end
end


-- A row may name several of a folder: `nsys/cmd.txt`, `log.txt`.
local function check_page(paths)
  local page = assert(fs.read(root .. "/docs/bundle.md"))
  for path in pairs(paths) do
    local folder, name = path:match "^(.*/)([^/]+)$"
    local named = page:find("`" .. path .. "`", 1, true)
    for line in page:gmatch "[^\n]+" do
      named = named or folder and line:find("`" .. folder, 1, true)
        and line:find("`" .. name .. "`", 1, true)
    end
    if not named then fault("docs/bundle.md: no word of '%s'", path) end
  end
end


local paths = paths_of(assert(dofile(LAYOUT)))
if not next(paths) then fault("%s: no path in it", LAYOUT) end
check_folder(house, paths)
check_page(paths)
if seen == 0 then fault("%s: no file found", house) end
table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
