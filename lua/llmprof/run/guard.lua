-- Sees to it that a program that is measured comes to an end: within a time limit,
-- when it makes no progress any more, and when somebody interrupts it. A tool around a
-- workload is ended by ending the workload, so that it still writes what it has.
--
-- given: limit_s, stall_s (s; nil for none), folder (what grows in it is progress),
-- works (is processor time progress), patience (s, from asking to killing), holds (are
-- signals held back from the program, so that it has to be ended here).
local fs = require "llmprof.fs"
local process_tree = require "llmprof.process.child"
local sys = require "llmprof.sys"

local Guard = {}
Guard.__index = Guard

-- Between two looks at files and processes, and from the last launch to the end, so
-- that the tool has it all; s.
local LOOK, SETTLE = 2, 0.5

-- From asking a program to end to killing it, s.
local PATIENCE = 10


local function seconds() return sys.monotonic() / 1e9 end


-- ---- progress ----

-- Bytes and time of change of the files in a folder, as one text.
local function state_of(folder)
  local parts = {}
  for i, name in ipairs(folder and fs.list(folder) or {}) do
    local info = fs.stat(folder .. "/" .. name)
    parts[i] = info and ("%s %d %d"):format(name, info.size, info.mtime_ns) or ""
  end
  return table.concat(parts, "\n")
end


local function progressed(self, child)
  local files = state_of(self.folder)
  local ticks = self.works and process_tree.ticks(process_tree.of(child:pid())) or 0
  local moved = files ~= self.files or ticks ~= self.ticks
  self.files, self.ticks = files, ticks
  return moved
end


-- ---- ending it ----

-- Those of self.targets that are below the child, and alive.
local function to_end(self, tree)
  local list = {}
  for _, process in ipairs(tree) do
    if self.targets[process.pid] then list[#list + 1] = process end
  end
  return list
end


-- Ask the targets to end; the child's whole group where there is none.
local function ask(self, child, why)
  self.why, self.asked = why, seconds()
  self.tree = process_tree.of(child:pid())
  local targets = to_end(self, self.tree)
  for _, process in ipairs(targets) do sys.kill(process.pid, "SIGTERM") end
  if #targets == 0 then child:signal "SIGTERM" end
end


-- What has not ended by itself, also in groups of its own.
local function kill(self, child)
  self.killed = true
  child:signal "SIGKILL"
  for _, process in ipairs(self.tree) do
    if process_tree.lives(process) then sys.kill(process.pid, "SIGKILL") end
  end
end


-- ---- what a run calls ----

-- A line of output is progress.
function Guard:line() self.last = seconds() end


-- A process that may be ended in place of the tool around it.
function Guard:target(pid) self.targets[pid] = true end


-- It is told to be stuck, by who measures it: `what` says at what.
function Guard:stall(what) self.stuck = self.stuck or what end


-- Nothing more is wanted of it.
function Guard:satisfy() self.satisfied = self.satisfied or seconds() end


local function reason(self, now, child)
  if self.holds and child:interrupted() then return "interrupted" end
  if self.stuck then return "stalled" end
  if self.satisfied and now - self.satisfied > SETTLE then return "satisfied" end
  if self.limit_s and now - self.began > self.limit_s then return "limit" end
  if not self.stall_s or now - self.looked < math.min(LOOK, self.stall_s / 4) then return nil end
  self.looked = now
  if progressed(self, child) then self.last = now end
  return now - self.last > self.stall_s and "stalled" or nil
end


-- To be called a few times a second. Sets why ("limit", "stalled", "satisfied",
-- "interrupted") when it has the program ended.
function Guard:idle(child)
  local now = seconds()
  if not self.why then
    local why = reason(self, now, child)
    if why then ask(self, child, why) end
  elseif not self.killed and now - self.asked > self.patience then
    kill(self, child)
  end
end


local guard = {}


function guard.new(given)
  local now = seconds()
  return setmetatable({ limit_s = given.limit_s, stall_s = given.stall_s, folder = given.folder,
    works = given.works, holds = given.holds, patience = given.patience or PATIENCE,
    targets = {}, began = now, last = now, looked = now,
    files = state_of(given.folder), ticks = 0 }, Guard)
end


return guard
