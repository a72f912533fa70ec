-- The first Lua that runs: makes built-in modules loadable, then hands over to
-- the command line. Arguments are argv; the value returned is the exit status.
local resources = require "llmprof.resources"

-- Modules are looked for on disk in $LLMPROF_HOME, then in the binary.
local home = os.getenv "LLMPROF_HOME"
if home == "" then home = nil end

-- Names that recipes and scripts know (docs/recipes.md), and where the modules are.
local aliases = {
  ["llmprof.evidence"] = "llmprof.advice.evidence",
  ["llmprof.serving"] = "llmprof.recipe.serving",
  ["llmprof.session"] = "llmprof.query.session",
}

local function candidates(name)
  local stem = "lua/" .. name:gsub("%.", "/")
  return { stem .. ".lua", stem .. "/init.lua" }
end

local function on_disk(path)
  local file = home and io.open(home .. "/" .. path, "rb")
  if not file then return nil end
  local source = file:read "a"
  file:close()
  return source, "@" .. home .. "/" .. path
end

-- A message of load's as it is: want of memory is told by it, not by words in it.
local function compile(source, chunk, mode)
  local compiled, message = load(source, chunk, mode)
  if not compiled then error(message, 0) end
  return compiled
end

local function search(name)
  local target = aliases[name]
  if target then return function() return require(target) end, target end
  for _, path in ipairs(candidates(name)) do
    local source, chunk = on_disk(path)
    if source then return compile(source, chunk, "t"), path end
    local built_in = resources.get(path) -- compiled, or text
    if built_in then return compile(built_in, "@" .. path), path end
  end
  return "no built-in module '" .. name .. "'"
end

table.insert(package.searchers, 2, search)

-- Nor does `require` look into the working directory, where anybody may have put files.
local unwanted = { ["./?.lua"] = true, ["./?/init.lua"] = true, ["./?.so"] = true }

for _, field in ipairs { "path", "cpath" } do
  local kept = {}
  for place in package[field]:gmatch "[^;]+" do
    if not unwanted[place] then kept[#kept + 1] = place end
  end
  package[field] = table.concat(kept, ";")
end

local argv = { ... }
arg = { [0] = argv[1] } -- luacheck: ignore 121
return require("llmprof.cli").main(table.move(argv, 2, #argv, 1, {}))
