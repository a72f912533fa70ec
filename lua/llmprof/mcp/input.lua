-- Lines of standard input, which can be looked at without waiting for the rest of one.
local errors = require "llmprof.process.errors"
local sys = require "llmprof.sys"

local input = {}

-- Bytes of a line, lines that wait while a request is answered, and bytes of one read.
input.MOST, input.WAITING = 1 << 20, 64
local PIECE = 1 << 16

local Input = {}
Input.__index = Input


-- Nothing was read yet: `lines` are whole ones in order, false stands for one that is too
-- long; `ended`: there is no more to come.
function input.open()
  return setmetatable({ lines = {}, parts = {}, size = 0, ended = false }, Input)
end


-- A line is whole: what came of it before, and its last part.
local function finish(self, last)
  local is_long = self.size + #last > input.MOST
  self.parts[#self.parts + 1] = last
  table.insert(self.lines, not is_long and table.concat(self.parts):gsub("\r$", "") or false)
  self.parts, self.size = {}, 0
end


-- Keep the beginning of a line, but for one that is too long already.
local function keep(self, part)
  self.size = self.size + #part
  if self.size > input.MOST then self.parts = {} else self.parts[#self.parts + 1] = part end
end


-- Take what is there, waiting for the first byte; a request to end is an end.
local function feed(self)
  local bytes, message, code = sys.read(0, PIECE)
  if not bytes and code ~= "interrupted" then errors.raise("failed", message) end
  if not bytes or bytes == "" then
    self.ended = true
    if self.size > 0 then finish(self, "") end
    return
  end
  local at, newline = 1, bytes:find("\n", 1, true)
  while newline do
    finish(self, bytes:sub(at, newline - 1))
    at, newline = newline + 1, bytes:find("\n", newline + 1, true)
  end
  if at <= #bytes then keep(self, bytes:sub(at)) end
end


-- Take what is there by now; waits for nothing. Who says more than may wait has to.
function Input:look()
  while not self.ended and #self.lines < input.WAITING and sys.readable(0) do feed(self) end
end


-- The next line, false for one that is too long; nil at the end.
function Input:next()
  while #self.lines == 0 and not self.ended do feed(self) end
  return table.remove(self.lines, 1)
end


return input
