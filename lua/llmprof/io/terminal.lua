-- What a person sees while something runs: a line per step, plain where the
-- output is no terminal or NO_COLOR is set.
local out = require "llmprof.io.output"
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local term = {}

local codes = { bold = "1", dim = "2", red = "31", green = "32", yellow = "33" }


local function is_plain(fd)
  local no_color = os.getenv "NO_COLOR"
  return not fd or not sys.isatty(fd) or (no_color ~= nil and no_color ~= "")
    or os.getenv "TERM" == "dumb"
end


local NARROW = 24 -- columns that a wrapped text gets at least

-- Lines that are wider than a terminal (columns; nil for none) wrapped at words. What goes on is
-- as far from the left as the line's own text, behind its number if it has one.
function term.wrap(value, columns)
  if not columns then return value end
  local lines = {}
  for line in (value .. "\n"):gmatch "(.-)\n" do
    local before, rest = line:match "^( *%d+%. )(.*)$"
    if not before then before, rest = line:match "^( *)(.*)$" end
    local pieces = text.wrap(rest, math.max(columns - #before, NARROW))
    lines[#lines + 1] = before .. table.concat(pieces, "\n" .. (" "):rep(#before))
  end
  return table.concat(lines, "\n")
end


-- A writer to a stream, a terminal only if its descriptor fd is given and is one; name
-- says what it is. style(name, text) marks a text, line(text) prints one, columns is how
-- wide it is. Lines that could not be written do not stop what writes them: the end of
-- the command says so.
function term.new(stream, fd, name)
  local plain = is_plain(fd)
  local self = { columns = fd and sys.isatty(fd) and sys.columns() or nil, plain = plain }

  local function send(...)
    local written, message = stream:write(...)
    if written then written, message = stream:flush() end
    if not written then out.note_lost(name or "standard output", message) end
  end

  -- A text to be joined by `..` with others, which are shown as they are.
  function self.style(style, value)
    value = out.bytes(value)
    return out.trusted(plain and value or ("\27[%sm%s\27[0m"):format(codes[style], value))
  end

  function self.line(value)
    send(out.bytes(value), "\n")
  end

  -- A line that the next one replaces; nothing where that cannot be.
  function self.status(value)
    if plain then return end
    value = text.clean(value)
    if self.columns then value = text.truncate(value, self.columns - 1, "end") end
    send("\r\27[K", value)
  end

  function self.clear()
    if not plain then send "\r\27[K" end
  end

  return self
end


return term
