-- Does each room include and require only what its README.md allows? Run by
-- llmprof exec, in the source tree or for the one named. A room is a folder of
-- core/ or lua/llmprof/ and says "May use: a b c." of rooms beside it. A public
-- header belongs to the room that has a C file of its name. Are the main parts that it
-- names there?
local fs = require "llmprof.fs"

local root = arg and arg[1] or "."
local faults, seen = {}, 0


local function fault(...)
  faults[#faults + 1] = (...):format(select(2, ...))
end


local function is_folder(path)
  local info = fs.stat(path)
  return info ~= nil and info.type == "directory"
end


-- Calls visit(path, text) for every file below folder whose name ends in one of
-- the suffixes.
local function each_file(folder, suffixes, visit)
  for _, name in ipairs(fs.list(folder) or {}) do
    local path = folder .. "/" .. name
    if is_folder(path) then
      each_file(path, suffixes, visit)
    elseif suffixes[name:match "%.(%a+)$"] then
      visit(path, assert(fs.read(path)))
    end
  end
end


-- Calls visit(number, line) for every line of text.
local function each_line(text, visit)
  local number = 0
  for line in text:gmatch "[^\n]*" do
    number = number + 1
    visit(number, line)
  end
end


-- ---- the table of who may use whom ----

local function read_may_use(house, room)
  local path = ("%s/%s/README.md"):format(house, room)
  local text = fs.read(path)
  local list = text and text:match "\nMay use: ([%w ]+)%.\n"
  if not list then
    fault("%s: no line 'May use: ...'", path)
    return {}
  end
  local may = {}
  for name in list:gmatch "%w+" do
    if name ~= "nothing" then may[name] = true end
  end
  return may
end


local function read_rooms(house)
  local rooms = {}
  for _, name in ipairs(fs.list(house) or {}) do
    if is_folder(house .. "/" .. name) then rooms[name] = read_may_use(house, name) end
  end
  return rooms
end


-- A room that may use itself over others.
local function check_circles(house, rooms)
  local state = {}
  local function walk(room, path)
    if state[room] == "done" then return end
    if state[room] == "open" then
      fault("%s: a circle: %s %s", house, path, room)
      return
    end
    state[room] = "open"
    for name in pairs(rooms[room]) do
      if rooms[name] then
        walk(name, path .. " " .. room)
      else
        fault("%s/%s/README.md: may use '%s', which is no room", house, room, name)
      end
    end
    state[room] = "done"
  end
  for room in pairs(rooms) do walk(room, "") end
end


local function check_use(rooms, room, target, where, what)
  if target == room then return end
  if not rooms[room][target] then
    fault("%s: %s: '%s' may not use '%s'", where, what, room, target)
  end
end


-- ---- C ----

local core = root .. "/core"

local function rooms_of_sources()
  local of = {}
  each_file(core, { c = true }, function(path)
    local room, stem = path:match "/core/(%w+)/([%w_]+)%.c$"
    if room and (room ~= "lua" or not of[stem]) then of[stem] = room end
  end)
  return of
end


local function check_include(rooms, room, of, where, header)
  local public = header:match "^llmprof/([%w_]+)%.h$"
  local target = public and of[public] or header:match "^(%w+)/"
  if public and not target then
    fault("%s: %s belongs to no room: none has a %s.c", where, header, public)
  elseif target then
    check_use(rooms, room, target, where, header)
    if not public and header:find "_internal%.h$" and target ~= room then
      fault("%s: %s is for its own room", where, header)
    end
  end
end


local function check_c()
  local rooms, of = read_rooms(core), rooms_of_sources()
  check_circles(core, rooms)
  each_file(core, { c = true, h = true }, function(path, text)
    local room = path:match "/core/(%w+)/"
    if not room then return end
    seen = seen + 1
    each_line(text, function(number, line)
      local where = ("%s:%d"):format(path, number)
      local header = line:match '^#%s*include "([^"]+)"'
      if header then check_include(rooms, room, of, where, header) end
      if room ~= "lua" and line:match '^#%s*include [<"]l[ua][ua]%w*%.h[>"]' then
        fault("%s: only core/lua includes Lua's headers", where)
      end
    end)
  end)
end


-- ---- Lua ----

local house = root .. "/lua/llmprof"


local function aliases()
  local text, found = assert(fs.read(house .. "/boot.lua")), {}
  for name, target in text:gmatch '%["(llmprof%.%w+)"%] = "(llmprof%.[%w.]+)"' do
    found[name] = target
  end
  return found
end


local function check_lua()
  local rooms, alias = read_rooms(house), aliases()
  check_circles(house, rooms)
  each_file(house, { lua = true }, function(path, text)
    local room = path:match "/lua/llmprof/(%w+)/"
    if not room then return end
    seen = seen + 1
    each_line(text, function(number, line)
      local name = line:match 'require%s*%(?%s*"(llmprof%.[%w_.]+)"'
        or line:match ' lazy "(llmprof%.[%w_.]+)"'
      if not name or line:find "^%s*%-%-" then return end
      local target = (alias[name] or name):match "^llmprof%.([%w_]+)"
      if rooms[target] and fs.stat(("%s/%s"):format(house, target)) then
        local c_module = name == "llmprof.trace"
        if not c_module then
          check_use(rooms, room, target, ("%s:%d"):format(path, number), name)
        end
      end
    end)
  end)
end


-- ---- the manual ----

local PAGE = "docs/architecture.md"

-- Every room has its row among those of its house, and no other has.
local function check_page()
  local text = assert(fs.read(root .. "/" .. PAGE))
  for _, place in ipairs { core, house } do
    local name = place:sub(#root + 2)
    local rows = text:match(("\nRooms of `%s/`.-\n\n(.-)\n\n"):format(name)) or ""
    local known, rooms = {}, read_rooms(place)
    for room in rows:gmatch "| `(%w+)` |" do known[room] = true end
    for room in pairs(rooms) do
      if not known[room] then fault("%s: no row of %s/%s", PAGE, name, room) end
    end
    for room in pairs(known) do
      if not rooms[room] then fault("%s: there is no %s/%s", PAGE, name, room) end
    end
  end
end


-- ---- main parts ----

local ENDINGS = { "", ".c", ".h", ".lua" }


local function is_part(folder, name)
  for _, ending in ipairs(ENDINGS) do
    if fs.stat(folder .. "/" .. name .. ending) then return true end
  end
  return false
end


-- Words up to the first full stop or semicolon; what is in brackets is about them, and so
-- is what has spaces.
local function check_parts(folder)
  local text = fs.read(folder .. "/README.md") or ""
  local list = (text:match "\nMain parts: (.-)\n\n" or ""):gsub("%s*%b()", "")
  for item in list:match("^[^.;]*"):gmatch "[^,]+" do
    local name = item:match "^%s*([%w_]+)/?%s*$"
    if name and not is_part(folder, name) then
      fault("%s/README.md: no main part '%s'", folder, name)
    end
  end
end


local function check_all_parts()
  for _, place in ipairs { core, house } do
    for room in pairs(read_rooms(place)) do check_parts(place .. "/" .. room) end
  end
end


check_c()
check_lua()
check_page()
if seen > 0 then check_all_parts() end
if seen == 0 then fault("%s: no file of a room found", root) end
table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
