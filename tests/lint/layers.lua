-- Does each module include and require only what its README.md allows? Run by
-- llmprof exec, in the source tree or for the one named. A module is a folder of
-- core/ or lua/llmprof/ and says "May use: a b c." of modules beside it. A public
-- header belongs to the module that has a C file of its name. Are the main parts that it
-- names there, and the answers to the questions of tests/lint/finding.md?
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

local function read_may_use(house, module)
  local path = ("%s/%s/README.md"):format(house, module)
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


local function read_modules(house)
  local modules = {}
  for _, name in ipairs(fs.list(house) or {}) do
    if is_folder(house .. "/" .. name) then modules[name] = read_may_use(house, name) end
  end
  return modules
end


-- A module that may use itself over others.
local function check_circles(house, modules)
  local state = {}
  local function walk(module, path)
    if state[module] == "done" then return end
    if state[module] == "open" then
      fault("%s: a circle: %s %s", house, path, module)
      return
    end
    state[module] = "open"
    for name in pairs(modules[module]) do
      if modules[name] then
        walk(name, path .. " " .. module)
      else
        fault("%s/%s/README.md: may use '%s', which is no module", house, module, name)
      end
    end
    state[module] = "done"
  end
  for module in pairs(modules) do walk(module, "") end
end


local function check_use(modules, module, target, where, what)
  if target == module then return end
  if not modules[module][target] then
    fault("%s: %s: '%s' may not use '%s'", where, what, module, target)
  end
end


-- ---- C ----

local core = root .. "/core"

local function modules_of_sources()
  local of = {}
  each_file(core, { c = true }, function(path)
    local module, stem = path:match "/core/(%w+)/([%w_]+)%.c$"
    if module and (module ~= "lua" or not of[stem]) then of[stem] = module end
  end)
  return of
end


local function check_include(modules, module, of, where, header)
  local public = header:match "^llmprof/([%w_]+)%.h$"
  local target = public and of[public] or header:match "^(%w+)/"
  if public and not target then
    fault("%s: %s belongs to no module: none has a %s.c", where, header, public)
  elseif target then
    check_use(modules, module, target, where, header)
    if not public and header:find "_internal%.h$" and target ~= module then
      fault("%s: %s is for its own module", where, header)
    end
  end
end


local function check_c()
  local modules, of = read_modules(core), modules_of_sources()
  check_circles(core, modules)
  each_file(core, { c = true, h = true }, function(path, text)
    local module = path:match "/core/(%w+)/"
    if not module then return end
    seen = seen + 1
    each_line(text, function(number, line)
      local where = ("%s:%d"):format(path, number)
      local header = line:match '^#%s*include "([^"]+)"'
      if header then check_include(modules, module, of, where, header) end
      if module ~= "lua" and line:match '^#%s*include [<"]l[ua][ua]%w*%.h[>"]' then
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
  local modules, alias = read_modules(house), aliases()
  check_circles(house, modules)
  each_file(house, { lua = true }, function(path, text)
    local module = path:match "/lua/llmprof/(%w+)/"
    if not module then return end
    seen = seen + 1
    each_line(text, function(number, line)
      local name = line:match 'require%s*%(?%s*"(llmprof%.[%w_.]+)"'
        or line:match ' lazy "(llmprof%.[%w_.]+)"'
      if not name or line:find "^%s*%-%-" then return end
      local target = (alias[name] or name):match "^llmprof%.([%w_]+)"
      if modules[target] and fs.stat(("%s/%s"):format(house, target)) then
        local c_module = name == "llmprof.trace"
        if not c_module then
          check_use(modules, module, target, ("%s:%d"):format(path, number), name)
        end
      end
    end)
  end)
end


-- ---- the manual ----

local PAGE = "docs/architecture.md"

-- Every module has its row among those of its house, and no other has.
local function check_page()
  local text = assert(fs.read(root .. "/" .. PAGE))
  for _, place in ipairs { core, house } do
    local name = place:sub(#root + 2)
    local rows = text:match(("\nModules of `%s/`.-\n\n(.-)\n\n"):format(name)) or ""
    local known, modules = {}, read_modules(place)
    for module in rows:gmatch "| `(%w+)` |" do known[module] = true end
    for module in pairs(modules) do
      if not known[module] then fault("%s: no row of %s/%s", PAGE, name, module) end
    end
    for module in pairs(known) do
      if not modules[module] then fault("%s: there is no %s/%s", PAGE, name, module) end
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
    for module in pairs(read_modules(place)) do check_parts(place .. "/" .. module) end
  end
end


local function check_answers()
  local path, count = root .. "/tests/lint/finding.md", 0
  for answer in (fs.read(path) or ""):gmatch "| `([^`]+)` |\n" do
    count = count + 1
    if not fs.stat(root .. "/" .. answer) then fault("%s: no %s", path, answer) end
  end
  if count == 0 then fault("%s: no answer", path) end
end


check_c()
check_lua()
check_page()
if seen > 0 then
  check_all_parts()
  check_answers()
end
if seen == 0 then fault("%s: no file of a module found", root) end
table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
