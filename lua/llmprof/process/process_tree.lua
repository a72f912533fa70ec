-- The processes below one, as /proc has them.
local fs = require "llmprof.fs"

local process_tree = {}


-- { pid, parent, ticks (of processor time), started (ticks since boot) } of a process;
-- nil when it has ended.
local function read(pid)
  local stat = fs.read(("/proc/%d/stat"):format(pid))
  local fields = {}
  for field in (stat and stat:match "^.*%)%s+(.*)$" or ""):gmatch "%S+" do
    fields[#fields + 1] = field
  end
  if #fields < 20 or fields[1] == "Z" or fields[1] == "X" then return nil end
  return { pid = pid, parent = tonumber(fields[2]),
    ticks = tonumber(fields[12]) + tonumber(fields[13]), started = fields[20] }
end


-- A process and all below it that live, each as read gives it. An orphan belongs to
-- nobody any more.
function process_tree.of(root)
  local children, list = {}, { read(root) }
  for _, name in ipairs(fs.list "/proc" or {}) do
    local found = name:find "^%d+$" and read(tonumber(name))
    if found then
      children[found.parent] = children[found.parent] or {}
      table.insert(children[found.parent], found)
    end
  end
  local at = 1
  while list[at] do
    table.move(children[list[at].pid] or {}, 1, #(children[list[at].pid] or {}), #list + 1, list)
    at = at + 1
  end
  return list
end


-- Is it still the same process?
function process_tree.lives(process)
  local now = read(process.pid)
  return now ~= nil and now.started == process.started
end


-- Processor time of a list, in ticks.
function process_tree.ticks(list)
  local sum = 0
  for _, process in ipairs(list) do sum = sum + process.ticks end
  return sum
end


return process_tree
