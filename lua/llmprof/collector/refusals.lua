-- Processes that cannot write a spool, or not all of it, and say why: in a link in the
-- folder, or, where they cannot reach that, having changed their user or their root folder,
-- to an abstract socket.
local errors = require "llmprof.process.errors"
local paths = require "llmprof.io.paths"
local fs = require "llmprof.fs"
local listen = require "llmprof.listen"
local spawn = require "llmprof.spawn"
local text = require "llmprof.text"

local refusals = {}

-- Processes that are told one by one.
local MOST = 5

local Refusals = {}
Refusals.__index = Refusals


-- key: what a process is told (LLMPROF_COLLECTOR_REFUSALS); one half of it is the name of
-- the socket, which anybody may look up, all of it is in a line that counts.
function refusals.open()
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
function refusals.lost(folder)
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


return refusals
