-- Does everything that llmprof prints go through llmprof.io.output, where what files say is
-- shown and not sent, and where a failure is noticed? Run by llmprof exec, in the source tree.
local fs = require "llmprof.fs"

local ROOT = "lua/llmprof"

-- The door itself. A terminal's writer (llmprof.io.output) is given the stream, and keeps
-- its rules.
local exempt = { [ROOT .. "/io/output.lua"] = true }

local forbidden = { "io%.write", "io%.stdout:", "io%.stderr", "io%.output",
  "%f[%w_.:]print%s*[(\"]" }

local faults, seen = {}, 0


local function check_line(path, number, line)
  if line:find "^%s*%-%-" then return end
  local code = line:gsub('"[^"]*"', '""')
  for _, pattern in ipairs(forbidden) do
    if code:find(pattern) then
      faults[#faults + 1] = ("%s:%d: prints past llmprof.io.output"):format(path, number)
    end
  end
end


-- Long strings may be programs of another language; the lines they take stay.
local function without_long_strings(source)
  return (source:gsub("%[%[.-%]%]", function(found) return (found:gsub("[^\n]", "")) end))
end


local function check_file(path)
  local number = 0
  seen = seen + 1
  for line in without_long_strings(assert(fs.read(path))):gmatch "[^\n]*" do
    number = number + 1
    check_line(path, number, line)
  end
end


local function visit(folder)
  for _, name in ipairs(assert(fs.list(folder))) do
    local path = folder .. "/" .. name
    if fs.stat(path).type == "directory" then
      visit(path)
    elseif name:find "%.lua$" and not exempt[path] then
      check_file(path)
    end
  end
end


visit(ROOT)
if seen == 0 then faults[1] = ROOT .. ": no file was found" end
for _, fault in ipairs(faults) do io.stderr:write(fault, "\n") end
return #faults > 0 and 1 or 0
