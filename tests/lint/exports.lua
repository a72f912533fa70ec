-- Is core/exports.txt what the public headers declare, does llmprof.h include all of
-- them, and can C++ read each? Run by llmprof exec, in the source tree; given nm and the
-- shared library, whether that exports the same. --update writes the list.
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"

local FOLDER, LIST = "include/llmprof", "core/exports.txt"

local faults = {}


local function fault(...)
  faults[#faults + 1] = (...):format(select(2, ...))
end


-- A header's declarations: no comments, directives and bodies of inline functions.
local function bare(text)
  return (text:gsub("/%*.-%*/", ""):gsub("\n#[^\n]*", ""):gsub("static inline[^{;]*%b{}", ""))
end


-- Functions that the headers declare, sorted; each header is looked at.
local function declared()
  local umbrella = assert(fs.read(FOLDER .. "/llmprof.h"))
  local names = {}
  for _, file in ipairs(assert(fs.list(FOLDER))) do
    local text = assert(fs.read(FOLDER .. "/" .. file))
    local count = #names
    for name in bare(text):gmatch "[%s*](llmprof_[%w_]+)%(" do names[#names + 1] = name end
    if #names > count and not text:find('extern "C" {', 1, true) then
      fault('%s/%s: no extern "C"', FOLDER, file)
    end
    local line = ('#include "llmprof/%s"\n'):format(file)
    if file ~= "llmprof.h" and not umbrella:find(line, 1, true) then
      fault("%s/llmprof.h: no %s", FOLDER, line:sub(1, -2))
    end
  end
  assert(#names > 0, "no functions")
  table.sort(names)
  return names
end


local function exported(nm, library)
  local names = {}
  local argv = { nm, "-D", "--defined-only", "-P", library }
  local result = assert(spawn.run(argv, { on_line = function(line)
    local name, letter = line:match "^([^@%s]+)%S* (%a)"
    if letter and letter ~= "A" then names[#names + 1] = name end
  end }))
  assert(result.ok, "nm failed")
  table.sort(names)
  return names
end


local function compare(here, there, format)
  local known = {}
  for _, name in ipairs(there) do known[name] = true end
  for _, name in ipairs(here) do
    if not known[name] then fault(format, name) end
  end
end


local names = declared()
if arg[1] == "--update" then
  assert(fs.write(LIST, table.concat(names, "\n") .. "\n"))
else
  local listed = {}
  for name in assert(fs.read(LIST)):gmatch "[^\n]+" do listed[#listed + 1] = name end
  compare(names, listed, LIST .. ": '%s' is declared and not listed: "
    .. "llmprof exec tests/lint/exports.lua --update")
  compare(listed, names, LIST .. ": '%s' is listed and no longer declared: a program that "
    .. "calls it stops working; llmprof exec tests/lint/exports.lua --update")
  if arg[2] then
    local symbols = exported(arg[1], arg[2])
    compare(listed, symbols, arg[2] .. ": '%s' is listed and not there")
    compare(symbols, listed, arg[2] .. ": '%s' is exported and not listed")
  end
end
for _, text in ipairs(faults) do io.stderr:write(text, "\n") end
return #faults > 0 and 1 or 0
