-- Lines that nsys and ncu print, among those of a workload that may look like them.
local command = require "llmprof.nvidia.ncu.command"
local given = dofile "tests/fuzz/lua/given.lua"
local ncu = require "llmprof.nvidia.ncu"
local nsys = require "llmprof.nvidia.nsys"


local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end


-- What a tool's reader makes of lines.
local function said_of(tool, list)
  local read, said = tool.reader()
  for _, line in ipairs(list) do read(line) end
  return said
end


local function read_nsys(list)
  local said = said_of(nsys, list)
  nsys.reports(said)
  for _, line in ipairs(list) do nsys.progress(line) end
  for _, complaint in ipairs(said.complaints) do assert(#complaint.message > 0) end
end


local function read_ncu(list, text)
  local said = said_of(command, list)
  for _, line in ipairs(list) do
    command.launch_name(line)
    command.connected(line)
  end
  local available = command.read_query(text)
  command.roofline_metrics(available, false)
  command.roofline_metrics(available, true)
  return said
end


-- A filter for names that anybody chose: those that have room in it are in it.
local function filter(list)
  local names, room = {}, ncu.FILTER_ROOM
  for _, name in ipairs(list) do
    local takes = ncu.filter_room(name)
    if takes and takes <= room then names[#names + 1], room = name, room - takes end
  end
  if #names > 0 then assert(ncu.filter_regex(names)) end
end


function fuzz(bytes) -- luacheck: ignore 111
  local list = lines_of(bytes)
  given.try(read_nsys, list)
  given.try(read_ncu, list, bytes)
  given.try(filter, list)
end
