-- llmprof attach PID|NAME: a window into programs that run, which were started with nothing
-- but the two variables of `llmprof collect --print-env`.
local lazy = require "llmprof.io.lazy"
local argument = lazy "llmprof.cli.arguments"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local listen = require "llmprof.listen"
local out = require "llmprof.io.output"
local process = lazy "llmprof.process.child"
local sorted_keys = require("llmprof.tables.keys").sorted
local collector = lazy "llmprof.collector"
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local tools = lazy "llmprof.nvidia.tools"
local trace_file = lazy "llmprof.trace.file"

-- Seconds for processes to call, which they try four times a second, and for an answer.
local CALLING, ANSWERING = 2, 30

-- Kernels whose counters are measured, those with the most time, and launches of each.
local KERNELS, LAUNCHES = 10, 5

-- Of libcupti 13.0 and 13.5, on H100s; tokens of vLLM 0.24 on H200s.
local COST = "a launch takes 2 to 4 us longer in the window, a kernel of a graph 0.3 (a token of "
  .. "vLLM 21 to 46 %); until the program ends launches of graphs stay 4 to 8 % slower (0 to 16 %)"

local command = {
  name = "attach",
  usage = "attach PID|NAME [OPTION...]",
  details = [[
The program was started with the collector inside and is idle until now:

    env $(llmprof collect --print-env) vllm serve MODEL
    llmprof attach vllm --seconds 2

PID is a process and all below it, NAME a text in command lines of processes. A window is
opened in each of them that uses CUDA or NVTX; what they do in it goes into one recording, of
which a report is made. Nothing of CUPTI is in the program before its first window.

--when 'ttft_p99>500ms' opens --windows one after the other, or until Ctrl-C, and keeps the
last that broke that limit by the engine's own /metrics: ttft, tpot or e2e, p50 to p99, ms or
s.]],
  options = {
    { "seconds", arg = "S", type = "number", default = 2, min = 0.001, max = 3600,
      help = "how long a window is" },
    { "output", short = "o", arg = "FILE", default = "attach.spool",
      help = "write the recording here: NAME.spool" },
    { "plan", short = "p", arg = "KEY=VALUE", many = true,
      help = "a line of the collector's plan; may be repeated" },
    { "counters", help = "measure the kernels with the most time in a second window" },
    { "when", arg = "LIMIT", help = "keep the last window in which this is true" },
    { "url", arg = "URL", default = "http://127.0.0.1:8000/metrics",
      help = "where the engine has its metrics" },
    { "windows", arg = "N", type = "integer", default = 20, min = 1,
      help = "how many --when opens" },
    { "no-report", help = "write the recording alone" },
  },
}

local START = "start it with the collector inside: env $(llmprof collect --print-env) COMMAND"


-- ---- who ----

local function user_of(pid)
  local status = fs.read(("/proc/%s/status"):format(pid)) or ""
  return tonumber(status:match "\nUid:%s*%d+%s+(%d+)")
end


-- A variable that a process was started with, or nil.
local function variable(pid, name)
  local environment = "\0" .. (fs.read(("/proc/%d/environ"):format(pid)) or "")
  return environment:match("\0" .. name .. "=([^\0]+)")
end


-- wanted(pid): is it one of those that the word names? Raises where that process cannot answer.
local function wanted_by(word)
  local pid, own = math.tointeger(tonumber(word)), user_of "self"
  if not pid then
    return function(of)
      local words = fs.read(("/proc/%d/cmdline"):format(of)) or ""
      return words:gsub("\0", " "):find(word, 1, true) ~= nil
    end
  end
  local uid, folder = user_of(pid), variable(pid, "LLMPROF_COLLECTOR_DIR")
  if not uid then errors.raise("usage", ("no process %d"):format(pid)) end
  if own ~= 0 and uid ~= own then
    errors.raise("usage", ("process %d is user %d's"):format(pid, uid),
      { hint = "attach as that user" })
  elseif folder then
    errors.raise("usage", ("process %d records into %s already"):format(pid, text.clean(folder)),
      { hint = START })
  end
  return function(of) return lists.find(process.of(pid), "pid", of) ~= nil end
end


-- ---- their lines ----

local Callers = {}
Callers.__index = Callers


local function call(word)
  local wanted = wanted_by(word)
  local name = os.getenv "LLMPROF_COLLECTOR_SOCKET"
    or ("@llmprof-attach-%d"):format(user_of "self")
  local listener, message = listen.open(name)
  if not listener then
    errors.raise("failed", message:find("in use", 1, true) and "another llmprof attach runs"
      or message)
  end
  -- answer: the pattern of what is waited for, nothing yet
  return setmetatable({ listener = listener, wanted = wanted, by = {}, count = 0,
    complete = false, answer = "^$" }, Callers)
end


-- A line of one of them, nil when it has gone.
function Callers:take(caller, line)
  local why = line and line:match "^refused (.*)"
  if why then
    errors.raise("failed", ("process %d cannot write its recording: %s"):format(caller.pid,
      text.clean(why)))
  end
  caller.gone = not line
  if caller.gone or line:find(self.answer) then caller.waits = false end
end


-- Take what has come. A process is known by what the system says of it, since anybody may
-- connect. Once all are there, who calls is not of this recording: one that said bye calls
-- again.
function Callers:hear()
  local own = user_of "self"
  for _, heard in ipairs(errors.check(self.listener:poll())) do
    local caller = self.by[heard.peer]
    if caller then
      self:take(caller, heard.line)
    elseif not self.complete and heard.line and heard.line:find "^hello pid=" then
      local pid, uid = self.listener:peer(heard.peer)
      if pid and (own == 0 or uid == own) and self.wanted(pid) then
        self.by[heard.peer] = { peer = heard.peer, pid = pid }
        self.count = self.count + 1
      end
    end
  end
end


-- Until done(), or for this many seconds at most; returns whether it was done.
function Callers:wait(seconds, done)
  local limit = sys.monotonic() + seconds * 1e9
  repeat
    self:hear()
    if done() then return true end
    tools.pause(0.05)
  until sys.monotonic() > limit
  return false
end


-- Tell all, and wait until each has answered by a line that fits, or is gone.
function Callers:ask(lines, pattern)
  self.answer = pattern
  for _, caller in pairs(self.by) do
    caller.waits = not caller.gone
    if caller.waits then self.listener:send(caller.peer, lines) end
  end
  local answered = self:wait(ANSWERING, function()
    for _, caller in pairs(self.by) do
      if caller.waits then return false end
    end
    return true
  end)
  if not answered then errors.raise("failed", ("no answer within %d s"):format(ANSWERING)) end
end


function Callers:__close() self.listener:close() end


-- The processes that the word names, all that call.
local function reach(word)
  local callers = call(word)
  local found = callers:wait(CALLING, function() return callers.count > 0 end)
  if found then callers:wait(0.5, function() return false end) end
  callers.complete = true
  if callers.count > 0 then return callers end
  callers:__close()
  local pid = math.tointeger(tonumber(word))
  if not pid then
    errors.raise("nothing", ("no process with '%s' in its command line answers"):format(
      text.clean(word)), { hint = START })
  elseif not (variable(pid, "CUDA_INJECTION64_PATH") or ""):find(collector.NAME, 1, true) then
    errors.raise("usage", ("process %d was started without the collector"):format(pid),
      { hint = START })
  end
  return errors.raise("nothing", ("process %d has used neither CUDA nor NVTX yet"):format(pid))
end


-- ---- a window ----

-- The kernels with the most time in what was recorded so far, as lines of a plan.
local function launch_lines(folder)
  local so_far = folder .. "/so_far"
  if collector.gather(folder, so_far) == 0 then return "" end
  local trace = trace_file.open(so_far)
  local times = errors.check(errors.check(trace:frame "kernels"):group {
    by = { "mangled_name" }, columns = { { "time", "sum", "duration" } } })
  local largest = errors.check(times:where({ { "mangled_name", "~=", false } }):sort({
    { "time", true }, { "mangled_name" } }, KERNELS))
  local launches = lists.map(largest:values "mangled_name", function(name)
    return collector.plan_line("launch", ("%s|*|*|*|*|0-%d"):format(name, LAUNCHES - 1))
  end)
  trace:close()
  return table.concat(lists.joined({ collector.plan_line("units", "counters"),
    collector.plan_line("graph", "*|*|0-2") }, launches))
end


local function window(callers, seconds, lines)
  callers:ask(lines .. "begin\n", "^unit %d+ %a+ begin$")
  tools.pause(seconds)
  callers:ask("end\n", "^unit %d+ %a+ end$")
end


-- One recording of all of them, in the folder.
local function record(callers, given, folder)
  local seconds = given.seconds
  callers:ask(("record %s\n"):format(folder), "^spool ")
  window(callers, seconds, given.plan and collector.plan_of_words(given.plan) or "")
  if given.counters then window(callers, seconds, launch_lines(folder)) end
  callers:ask("stop\n", "^bye$")
end


-- ---- limits ----

-- Of the engines' histograms, the ends of their names.
local HISTOGRAMS = { ttft = { "time_to_first_token_seconds" },
  tpot = { "time_per_output_token_seconds", "inter_token_latency_seconds" },
  e2e = { "e2e_request_latency_seconds" } }


local function limit_of(word)
  local what, percent, value, unit = word:match "^(%w+)_p(%d+)>([%d.]+)(m?s)$"
  if not HISTOGRAMS[what] or not tonumber(value) or tonumber(percent) >= 100 then
    errors.raise("usage", ("--when: '%s' is no limit"):format(word),
      { hint = "such as 'ttft_p99>500ms', of ttft, tpot and e2e" })
  end
  return { names = HISTOGRAMS[what], share = tonumber(percent) / 100, text = word,
    seconds = tonumber(value) / (unit == "ms" and 1000 or 1) }
end


-- Observations up to each bound of one of these histograms, all its series together.
local function buckets_of(url, names)
  local page, result = tools.capture { "curl", "-fsS", "--max-time", "5", url }
  if not page then errors.raise("failed", result) end
  if result.code ~= 0 then
    errors.raise("failed", ("no metrics at %s: %s"):format(url, text.clean(page)),
      { hint = "--url names the engine's /metrics" })
  end
  for _, name in ipairs(names) do
    local found = {}
    for labels, value in page:gmatch("%f[^\n\0][%w_:]*" .. name .. "_bucket{([^}]*)} ([%d.e+]+)") do
      local bound = tonumber((labels:match 'le="([^"]+)"' or ""):gsub("%+Inf", "1e999") .. "")
      if bound then found[bound] = (found[bound] or 0) + tonumber(value) end
    end
    if next(found) then return found end
  end
  return errors.raise("failed", ("%s has no histogram %s"):format(url, names[1]))
end


-- The quantile of what was observed between two looks, in seconds, between the bounds of its
-- bucket; nil without an observation.
local function quantile(before, after, share)
  local bounds = sorted_keys(after)
  local function count(bound) return after[bound] - (before[bound] or 0) end
  local total = count(bounds[#bounds])
  if total <= 0 then return nil end
  local low, below = 0, 0
  for _, bound in ipairs(bounds) do
    local up_to = count(bound)
    if up_to >= share * total then
      if bound == math.huge then return low end
      return low + (bound - low) * (share * total - below) / math.max(up_to - below, 1e-9)
    end
    low, below = bound, up_to
  end
  return low
end


-- Windows one after the other, each in a folder of its own; the last that broke the limit
-- stays in folder/kept. Once there is one, Ctrl-C and what goes wrong only end them.
local function watch(word, given, folder)
  local limit = limit_of(given.when)
  local made, kept = folder .. "/window", folder .. "/kept"
  local function look(number)
    errors.check(fs.mkdirs(made))
    local before = buckets_of(given.url, limit.names)
    local callers <close> = reach(word)
    if number == 1 then out.warn(COST, "\n") end
    record(callers, given, made)
    local seen = quantile(before, buckets_of(given.url, limit.names), limit.share)
    local breaks = seen ~= nil and seen > limit.seconds
    out.warn(("window %d: %s%s\n"):format(number, seen and ("%.1f ms"):format(1000 * seen)
      or "no request", breaks and ", kept" or ""))
    if breaks then
      if fs.stat(kept) then errors.check(fs.remove_tree(kept)) end
      errors.check(fs.rename(made, kept))
    else
      errors.check(fs.remove_tree(made))
    end
  end
  for number = 1, given.windows do
    local done, problem = pcall(look, number)
    if not done then
      if not errors.is(problem) or not fs.stat(kept) then error(problem, 0) end
      if not errors.is_interrupt(problem) then out.complain(problem.message) end
      break
    end
  end
  if fs.stat(kept) then return kept end
  return errors.raise("nothing", ("%s in none of %d windows"):format(limit.text, given.windows))
end


function command.run(given, words)
  if #words ~= 1 or words[1] == "" then
    errors.raise("usage", "which process?", { hint = "llmprof attach PID, or a part of its name" })
  end
  if not given.output:find "%.spool$" then errors.raise("usage", given.output .. ": not .spool") end
  collector.ensure()
  local folder <close> = collector.scratch(argument.folder_of(given.output))
  local recorded = folder.path
  if given.when then
    recorded = watch(words[1], given, folder.path)
  else
    local callers <close> = reach(words[1])
    out.warn(("%s\n%d process%s, %g s\n"):format(COST, callers.count,
      callers.count == 1 and "" or "es", given.seconds))
    record(callers, given, recorded)
  end
  local all = folder.path .. "/all"
  if collector.gather(recorded, all) == 0 then errors.raise("nothing", "nothing was recorded") end
  errors.check(fs.rename(all, given.output))
  if not given["no-report"] then argument.report(given.output, 1) end
  return 0
end


return command
