-- Our own collector seen from outside: its library, the plan that a program is given, and the
-- spools that its processes leave.
local compiled = require "llmprof.collector.compiled"
local errors = require "llmprof.process.errors"
local listen = require "llmprof.listen"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local private = require "llmprof.bundle.private"
local spawn = require "llmprof.spawn"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local version = require "llmprof.version"

local collector = {}


-- ---- spools ----

local SUFFIX = ".spool"

-- Bytes that are copied at a time.
local PIECE = 1 << 20


-- A folder of llmprof.bundle.private in `parent` (an absolute path) for spools and what
-- goes with them.
function collector.scratch(parent)
  fs.sweep(parent) -- of a process that was killed and had no place for notes
  return private.folder(parent)
end


-- Their names, by the time at which each process began, which is in them:
-- PID-STARTTIME.spool.
function collector.list(folder)
  local list = {}
  for _, name in ipairs(files.list(folder)) do
    if name:sub(-#SUFFIX) == SUFFIX and files.is_file(folder .. "/" .. name) then
      local pid, start = name:match "^(%d+)-(%d+)"
      list[#list + 1] = { name = name, start = tonumber(start) or 0, pid = tonumber(pid) or 0 }
    end
  end
  return lists.map(lists.sort(list, "start", "pid", "name"), "name")
end


-- Returns whether there was anything in it.
local function append(out, path)
  local info = fs.lstat(path)
  if info and info.type ~= "file" then -- opening a named pipe would wait
    errors.raise("failed", path .. ": not a regular file")
  end
  local from <close> = errors.check(io.open(path, "rb"))
  local filled = false
  for piece in from:lines(PIECE) do
    errors.check(out:write(piece))
    filled = true
  end
  return filled
end


-- Write the spools of a folder into one file, whole or not at all, with what lines that
-- torch.compile generated were made of. Returns how many spools hold something (with none there
-- is no file), and why generated lines are kept as they are, a sentence each.
function collector.gather(folder, target)
  local names = collector.list(folder)
  if #names == 0 then return 0, {} end
  local block, why_not = compiled.block(folder)
  local part = target .. ".part"
  fs.remove(part) -- the recorded program may have put a link there
  local out = errors.check(io.open(part, "wb"))
  local count = lists.sum(names, function(name)
    return append(out, folder .. "/" .. name) and 1 or 0
  end)
  if count > 0 then errors.check(out:write(block)) end
  errors.check(out:close())
  if count > 0 then
    errors.check(fs.rename(part, target))
  else
    fs.remove(part)
  end
  return count, why_not
end


-- ---- refusals ----

-- Processes that cannot write a spool, or not all of it, and say why: in a link in the
-- folder, or, where they cannot reach that, having changed their user or their root folder,
-- to an abstract socket.

-- Processes that are told one by one.
local MOST = 5

local Refusals = {}
Refusals.__index = Refusals


-- key: what a process is told (LLMPROF_COLLECTOR_REFUSALS); one half of it is the name of
-- the socket, which anybody may look up, all of it is in a line that counts.
function collector.refusals()
  local key = errors.check(spawn.mark())
  local listener = errors.check(listen.open("@llmprof-" .. key:sub(1, #key // 2)))
  return setmetatable({ key = key, listener = listener }, Refusals)
end


-- What the links in a folder say, as sentences.
function collector.lost(folder)
  return lists.map(files.list(folder), function(name)
    local pid = name:match "^(%d+)%-%d+%.spool%.lost$"
    local why = pid and fs.readlink(folder .. "/" .. name)
    return why and ("process %s could not write all of its recording: %s"):format(pid,
      text.clean(why)) or nil
  end)
end


-- Sentences about them; an empty list without any. What they say waits for us, so that once,
-- when all have ended, is enough.
function Refusals:said(folder)
  local lines = lists.map(errors.check(self.listener:poll()), function(heard)
    local line = heard.line or ""
    local pid, uid, why = line:match "^%x+ refused pid=(%d+) uid=(%d+) why=(.*)$"
    return pid and line:sub(1, #self.key) == self.key
      and ("process %s of user %s could not write its recording: %s"):format(pid, uid,
        text.clean(why)) or nil
  end)
  lists.add(lines, collector.lost(folder))
  if #lines <= MOST then return lines end
  return lists.add(lists.first(lines, MOST),
    { ("%d more processes could not write theirs"):format(#lines - MOST) })
end


function Refusals:__close() self.listener:close() end


-- ---- the library ----

collector.NAME = "libllmprof_collector.so"

local INSTALL = "./bootstrap.sh builds it in a clone, packages of llmprof have it, "
  .. "tools.collector=PATH names one"


-- Its absolute path, or nil and what was looked for. given: a path that the user named.
function collector.find(given) return files.library(collector.NAME, given) end


-- The same; raises without it.
function collector.ensure(given)
  local path, why = collector.find(given)
  if path then return path end
  return errors.raise("tool", "the collector is not there: " .. why,
    { hint = INSTALL .. "; " .. collector.vendor.without })
end


-- What may be the reason where no process of a program loaded it, none of which we see.
collector.NOT_LOADED = "CUDA and NVTX load it when they are first used; the program used neither, "
  .. "or could not reach the library's file (after a change of its root folder or user)"


-- What a program is told, as a table of variables: to load the library, where to put its
-- spools, where its plan is, which socket to call, and the key of whom to tell that it cannot
-- write one (these three are optional). sources: what the plan says of them; where lines of
-- Python are wanted torch tells of what it compiles.
function collector.environment(path, given)
  local env = { CUDA_INJECTION64_PATH = path, NVTX_INJECTION64_PATH = path,
    LLMPROF_COLLECTOR_DIR = given.folder, LLMPROF_COLLECTOR_PLAN = given.plan,
    LLMPROF_COLLECTOR_SOCKET = given.socket, LLMPROF_COLLECTOR_REFUSALS = given.refusals }
  if given.sources == "auto" or given.sources == "python" then compiled.ask(given.folder, env) end
  return env
end


-- The collector as the tools of a run are: found, named, said what to do without.
collector.vendor = {
  name = "collector",
  product = "llmprof's collector",
  install = INSTALL,
  without = "capture=nsys uses Nsight Systems",

  -- As llmprof.nvidia.tools finds programs: { name, path, version }, or nil and a list of
  -- what was tried.
  find = function(given)
    local path, why = collector.find(given)
    if not path then return nil, { why } end
    return { name = "collector", path = path, version = version.version }
  end,
}


-- ---- the plan ----

-- The plan of a collector: lines of KEY = VALUE, as docs/collector.md has them.

-- One line; a value that would be two is refused.
function collector.plan_line(key, value)
  local written = tostring(value)
  if not key:find "^[%w_.]+$" or written:find "[\r\n]" then
    errors.raise("usage", ("plan: '%s' cannot be a line of the plan"):format(key))
  end
  return ("%s = %s\n"):format(key, written)
end


-- Of words KEY=VALUE, in their order.
function collector.plan_of_words(words)
  return table.concat(lists.map(words, function(word)
    local key, value = word:match "^([^=]+)=(.*)$"
    if not key then
      errors.raise("usage", ("plan: '%s' is not KEY=VALUE"):format(word),
        { hint = "llmprof help collector lists the keys" })
    end
    return collector.plan_line(key, value)
  end))
end


-- What a plan says of a key: its last line of it; nil without one.
function collector.plan_value(lines, key)
  local value
  for name, written in lines:gmatch "([^\n=]-)[ \t]*=[ \t]*([^\n]*)" do
    if name == key then value = written end
  end
  return value
end


return collector
