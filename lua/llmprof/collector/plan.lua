-- The plan of a collector: lines of KEY = VALUE, as docs/collector.md has them.
local errors = require "llmprof.process.errors"
local listen = require "llmprof.listen"

local plan = {}


-- One line; a value that would be two is refused.
function plan.line(key, value)
  local text = tostring(value)
  if not key:find "^[%w_.]+$" or text:find "[\r\n]" then
    errors.raise("usage", ("plan: '%s' cannot be a line of the plan"):format(key))
  end
  return ("%s = %s\n"):format(key, text)
end


-- Of words KEY=VALUE, in their order.
function plan.of_words(words)
  local lines = {}
  for i, word in ipairs(words) do
    local key, value = word:match "^([^=]+)=(.*)$"
    if not key then
      errors.raise("usage", ("plan: '%s' is not KEY=VALUE"):format(word),
        { hint = "llmprof help collector lists the keys" })
    end
    lines[i] = plan.line(key, value)
  end
  return table.concat(lines)
end


-- What a plan says of a key: its last line of it; nil without one.
function plan.value(lines, key)
  local value
  for name, text in lines:gmatch "([^\n=]-)[ \t]*=[ \t]*([^\n]*)" do
    if name == key then value = text end
  end
  return value
end


-- ---- steering ----

local Steer = {}
Steer.__index = Steer


-- A socket at `path`. on_pause() is called when a process is held and gives more lines of
-- the plan for it, as one text; on_line(line) is told everything else (optional).
function plan.open(path, on_pause, on_line)
  local listener = errors.check(listen.open(path))
  return setmetatable({ listener = listener, on_pause = on_pause, on_line = on_line }, Steer)
end


-- A process that is gone needs no answer.
local function answer(self, peer)
  local sent, message, code = self.listener:send(peer, self.on_pause() .. "go\n")
  if sent or code == "notfound" then return end
  if self.on_line then self.on_line(message) end
end


-- Hear and answer what has come; from time to time.
function Steer:poll()
  for _, heard in ipairs(errors.check(self.listener:poll())) do
    if heard.line == "pause" then
      answer(self, heard.peer)
    elseif heard.line and self.on_line then
      self.on_line(heard.line)
    end
  end
end


function Steer:__close() self.listener:close() end


return plan
