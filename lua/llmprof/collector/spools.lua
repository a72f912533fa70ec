-- The spools that processes left in a folder, put together.
local errors = require "llmprof.process.errors"
local listen = require "llmprof.listen"
local paths = require "llmprof.io.paths"
local fs = require "llmprof.fs"
local private = require "llmprof.bundle.private"
local spawn = require "llmprof.spawn"
local text = require "llmprof.text"

local spools = {}

local SUFFIX = ".spool"

-- Bytes that are copied at a time.
local PIECE = 1 << 20


-- A folder of llmprof.bundle.private in `parent` (an absolute path) for spools and what
-- goes with them.
function spools.scratch(parent)
  fs.sweep(parent) -- of a process that was killed and had no place for notes
  return private.folder(parent)
end


-- Their names, by the time at which each process began, which is in them:
-- PID-STARTTIME.spool.
function spools.list(folder)
  local list = {}
  for _, name in ipairs(paths.names(folder)) do
    local info = name:sub(-#SUFFIX) == SUFFIX and fs.stat(folder .. "/" .. name)
    if info and info.type == "file" then
      local pid, start = name:match "^(%d+)-(%d+)"
      list[#list + 1] = { name = name, start = tonumber(start) or 0, pid = tonumber(pid) or 0 }
    end
  end
  table.sort(list, function(a, b)
    if a.start ~= b.start then return a.start < b.start end
    if a.pid ~= b.pid then return a.pid < b.pid end
    return a.name < b.name
  end)
  for i, entry in ipairs(list) do list[i] = entry.name end
  return list
end


-- Returns whether there was anything in it.
local function append(out, path)
  local info = fs.lstat(path)
  if info and info.type ~= "file" then -- opening a named pipe would wait
    errors.raise("failed", path .. ": not a regular file")
  end
  local from, message = io.open(path, "rb")
  if not from then errors.raise("failed", message) end
  local piece = from:read(PIECE)
  local filled = piece ~= nil
  while piece do
    local written, why = out:write(piece)
    if not written then
      from:close()
      errors.raise("failed", why)
    end
    piece = from:read(PIECE)
  end
  from:close()
  return filled
end


-- Write the spools of a folder into one file, whole or not at all. Returns how many of
-- them hold something; with none there is no file.
function spools.gather(folder, target)
  local names = spools.list(folder)
  if #names == 0 then return 0 end
  local part = target .. ".part"
  fs.remove(part) -- the recorded program may have put a link there
  local out, message = io.open(part, "wb")
  if not out then errors.raise("failed", message) end
  local count = 0
  for _, name in ipairs(names) do
    if append(out, folder .. "/" .. name) then count = count + 1 end
  end
  local closed, why = out:close()
  if not closed then errors.raise("failed", why) end
  if count > 0 then
    errors.check(fs.rename(part, target))
  else
    fs.remove(part)
  end
  return count
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
function spools.open()
  local key = errors.check(spawn.mark())
  local listener = errors.check(listen.open("@llmprof-" .. key:sub(1, #key // 2)))
  return setmetatable({ key = key, listener = listener }, Refusals)
end


-- Add what came to the socket since the last time.
local function add_heard(self, lines)
  for _, heard in ipairs(errors.check(self.listener:poll())) do
    local line = heard.line or ""
    local pid, uid, why = line:match "^%x+ refused pid=(%d+) uid=(%d+) why=(.*)$"
    if pid and line:sub(1, #self.key) == self.key then
      lines[#lines + 1] = ("process %s of user %s could not write its recording: %s"):format(pid,
        uid, text.clean(why))
    end
  end
end


local function add_links(folder, lines)
  for _, name in ipairs(paths.names(folder)) do
    local pid = name:match "^(%d+)%-%d+%.spool%.lost$"
    local why = pid and fs.readlink(folder .. "/" .. name)
    if why then
      lines[#lines + 1] = ("process %s could not write all of its recording: %s"):format(pid,
        text.clean(why))
    end
  end
end


-- What the links in a folder say, as sentences.
function spools.lost(folder)
  local lines = {}
  add_links(folder, lines)
  return lines
end


-- Sentences about them; an empty list without any. What they say waits for us, so that once,
-- when all have ended, is enough.
function Refusals:said(folder)
  local lines = {}
  add_heard(self, lines)
  add_links(folder, lines)
  if #lines <= MOST then return lines end
  local said = table.move(lines, 1, MOST, 1, {})
  said[MOST + 1] = ("%d more processes could not write theirs"):format(#lines - MOST)
  return said
end


function Refusals:__close() self.listener:close() end


return spools
