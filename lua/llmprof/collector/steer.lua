-- Listening to the collectors of a program's processes while it runs, and answering
-- them; docs/collector.md has the lines.
local errors = require "llmprof.process.errors"
local listen = require "llmprof.listen"

local steer = {}

local Steer = {}
Steer.__index = Steer


-- A socket at `path`. on_pause() is called when a process is held and gives more lines of
-- the plan for it, as one text; on_line(line) is told everything else (optional).
function steer.open(path, on_pause, on_line)
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


return steer
