-- What a person sees while something runs: a line per step, plain where the
-- output is no terminal or NO_COLOR is set.
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local term = {}

local codes = { bold = "1", dim = "2", red = "31", green = "32", yellow = "33" }


local function is_plain(fd)
  local no_color = os.getenv "NO_COLOR"
  return not fd or not sys.isatty(fd) or (no_color ~= nil and no_color ~= "")
    or os.getenv "TERM" == "dumb"
end


-- A writer to a stream, a terminal only if its descriptor fd is given and is
-- one: style(name, text), line(text), columns. Lines that could
-- not be written do not stop what writes them; term.failure says why the first
-- was lost.
function term.new(stream, fd)
  local plain = is_plain(fd)
  local self = { columns = fd and sys.isatty(fd) and sys.columns() or nil, plain = plain }

  function self.style(name, value)
    if plain then return value end
    return ("\27[%sm%s\27[0m"):format(codes[name], value)
  end

  function self.line(value)
    local written, message = stream:write(value, "\n")
    if written then written, message = stream:flush() end
    if not written then term.failure = term.failure or message end
  end

  -- A line that the next one replaces; nothing where that cannot be.
  function self.status(value)
    if plain then return end
    if self.columns then value = text.truncate(value, self.columns - 1, "end") end
    stream:write("\r\27[K", value)
    stream:flush()
  end

  function self.clear()
    if not plain then stream:write "\r\27[K" end
  end

  return self
end


return term
