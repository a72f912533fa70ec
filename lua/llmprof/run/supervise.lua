-- Sees to it that a program that is measured comes to an end: within a time limit,
-- when it makes no progress any more, and when somebody interrupts it. A tool around a
-- workload is ended by ending the workload, so that it still writes what it has.
--
-- given: limit_s, stall_s (s; nil for none), folder (what grows in it is progress),
-- works (is processor time progress), patience (s, from asking to killing), holds (are
-- signals held back from the program, so that it has to be ended here).
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local json = require "llmprof.json"
local process_tree = require "llmprof.process.child"
local sys = require "llmprof.sys"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"

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
  local parts = lists.map(folder and fs.list(folder) or {}, function(name)
    local info = fs.stat(folder .. "/" .. name)
    return info and ("%s %d %d"):format(name, info.size, info.mtime_ns) or ""
  end)
  return table.concat(parts, "\n")
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
  local files = state_of(self.folder)
  local ticks = self.works and lists.sum(process_tree.of(child:pid()), "ticks") or 0
  if files ~= self.files or ticks ~= self.ticks then self.last = now end
  self.files, self.ticks = files, ticks
  return now - self.last > self.stall_s and "stalled" or nil
end


-- To be called a few times a second. Sets why ("limit", "stalled", "satisfied",
-- "interrupted") when it has the program ended.
function Guard:idle(child)
  local now = seconds()
  local why = not self.why and reason(self, now, child)
  if why then
    self.why, self.asked, self.tree = why, now, process_tree.of(child:pid())
    -- the targets are asked to end; the child's whole group where there is none
    local targets = lists.filtered(self.tree, function(one) return self.targets[one.pid] end)
    for _, one in ipairs(targets) do sys.kill(one.pid, "SIGTERM") end
    if #targets == 0 then child:signal "SIGTERM" end
  elseif self.why and not self.killed and now - self.asked > self.patience then
    self.killed = true
    child:signal "SIGKILL"
    for _, one in ipairs(self.tree) do -- what has not ended by itself, also in groups of its own
      if process_tree.lives(one) then sys.kill(one.pid, "SIGKILL") end
    end
  end
end


local supervise = {}


function supervise.new(given)
  local now = seconds()
  return setmetatable({ limit_s = given.limit_s, stall_s = given.stall_s, folder = given.folder,
    works = given.works, holds = given.holds, patience = given.patience or PATIENCE,
    targets = {}, began = now, last = now, looked = now,
    files = state_of(given.folder), ticks = 0 }, Guard)
end


-- ---- how the GPUs are doing ----

-- Watching the GPUs while something runs: clocks, power, temperature, what
-- throttles them. Sampled from the process that waits, so it costs the workload
-- nothing.

-- Between samples, in ns.
local PERIOD = 200 * 1000 * 1000


-- { sample(), samples (those so far), latest (the last ones, of each GPU one), reason (why there
-- is no GPU to watch) }: sample takes one of each GPU if the last is old enough. A sample:
-- { t_ns (since the start), time_ns (the wall clock), index, and what llmprof.gpu's sample has }.
function supervise.watch_gpus()
  local devices, why = gpu.list()
  local started, last = sys.monotonic(), nil
  local watch = { samples = {}, latest = {}, reason = why }

  function watch.sample()
    local now = sys.monotonic()
    if last and now - last < PERIOD then return end
    last = now
    watch.latest = lists.map(devices, function(device)
      local taken = not device.error and gpu.sample(device.index)
      if not taken then return nil end
      taken.t_ns, taken.time_ns, taken.index = now - started, sys.realtime(), device.index
      taken.throttle = taken.throttle and json.list(taken.throttle)
      return taken
    end)
    lists.add(watch.samples, watch.latest)
  end

  return watch
end


-- ---- for people ----

-- A line for each GPU of a list of samples, how it is doing: means, of memory the most. What NVML
-- does not tell is left out.
function supervise.describe_gpus(list)
  local of_each = lists.grouped(list, "index")
  return lists.map(lists.stable(of_each, function(own) return own[1].index end), function(samples)
    local words, device = {}, samples[1]
    local function add_mean(field, form)
      local told = lists.filtered(samples, field)
      if #told > 0 then words[#words + 1] = form:format(lists.sum(told, field) / #told) end
    end
    add_mean("utilization_percent", "%.0f %% busy")
    local _, used = lists.largest(samples, "memory_used_bytes")
    if used then
      words[#words + 1] = text.bytes(used, { digits = 1 }) .. (device.memory_total_bytes
        and " of " .. text.bytes(device.memory_total_bytes, { digits = 0 }) or "")
    end
    add_mean("power_w", "%.0f W")
    add_mean("sm_clock_mhz", "SM %.0f MHz")
    add_mean("memory_clock_mhz", "memory %.0f MHz")
    return ("GPU %d: %s"):format(device.index,
      #words > 0 and table.concat(words, ", ") or "NVML tells nothing")
  end)
end


return supervise
