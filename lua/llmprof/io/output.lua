-- The one door to standard output and standard error. Names and texts of a trace, a bundle
-- or a path are shown there, never sent: what a terminal would act on becomes U+FFFD. What
-- cannot be written is an error, the first time it happens.
local errors = require "llmprof.process.errors"
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local out = {}


-- ---- text with codes ----

-- Text with codes for a terminal in it. A plain string that is joined to it is text of
-- unknown origin, and loses whatever a terminal would act on; so does everything that is
-- printed (llmprof.io.output).

local Styled = {}


-- What to send for a value: a styled text as it is, anything else shown.
function out.bytes(value)
  if getmetatable(value) == Styled then return value.bytes end
  return text.clean_lines(tostring(value))
end


-- Bytes that are ours, to be sent as they are.
function out.trusted(bytes) return setmetatable({ bytes = bytes }, Styled) end


function Styled.__concat(left, right) return out.trusted(out.bytes(left) .. out.bytes(right)) end


-- For what only looks at it: the codes show.
function Styled:__tostring() return text.clean_lines(self.bytes) end


-- ---- printing ----

local function joined(...)
  if select("#", ...) == 1 then return out.bytes((...)) end
  local pieces = { ... }
  for i, piece in ipairs(pieces) do pieces[i] = out.bytes(piece) end
  return table.concat(pieces)
end


-- Raise why not all could be written. Of a reader that has gone away nothing is said: it
-- wanted no more.
local function fail(message)
  if sys.output_lost() == "closed" then errors.raise("closed", message) end
  errors.raise("failed", message)
end


local function check(written, message)
  if not written then fail("standard output: " .. message) end
end


-- Print pieces (strings, or llmprof.io.output) on standard output.
function out.write(...) check(io.stdout:write(joined(...))) end


-- What writes into a stream by itself: send(stream, name) returns true, or nil, why and a
-- code. What a terminal would act on is its own affair.
function out.send(send)
  local sent, message, code = send(io.stdout, "standard output")
  if sent then return end
  if sys.output_lost() then fail(message) end
  errors.check(sent, message, code)
end


function out.flush() check(io.stdout:flush()) end


-- As Lua's print.
function out.print(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = out.bytes(words[i]) end
  check(io.stdout:write(table.concat(words, "\t"), "\n"))
end


-- Print pieces on standard error; when that fails, there is nowhere to say so.
function out.warn(...) io.stderr:write(joined(...)) end


-- A line on standard error, after what was printed.
function out.complain(message)
  io.stdout:flush()
  out.warn("llmprof: ", text.clean(message), "\n")
end


-- What was lost without stopping the command that printed it; the first time counts.
local lost

-- At the end of a command: whatever was not written, by io.write of a script perhaps,
-- raises now. is_made: what was asked for lies in files, so that a reader who went away
-- (head) misses nothing.
function out.finish(is_made)
  local message = lost
  lost = nil
  local written, why = io.stdout:flush()
  if is_made and sys.output_lost() == "closed" then return end
  check(written, why)
  if message then fail(message) end
  check(not sys.output_lost(), "not all of it could be written")
end


-- ---- a terminal ----

-- How wide the terminal is that a descriptor leads to, in columns; nil where it leads to none.
function out.columns(fd) return sys.isatty(fd) and sys.columns() or nil end


-- What a person sees while something runs: a line per step, plain where the
-- output is no terminal or NO_COLOR is set.

local codes = { bold = "1", dim = "2", red = "31", green = "32", yellow = "33" }


local function is_plain(fd)
  local no_color = os.getenv "NO_COLOR"
  return not fd or not sys.isatty(fd) or (no_color ~= nil and no_color ~= "")
    or os.getenv "TERM" == "dumb"
end


local NARROW = 24 -- columns that a wrapped text gets at least

-- Lines that are wider than a terminal (columns; nil for none) wrapped at words. What goes on is
-- as far from the left as the line's own text, behind its number if it has one.
function out.wrap(value, columns)
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
function out.terminal(stream, fd, name)
  local plain = is_plain(fd)
  local self = { columns = fd and out.columns(fd), plain = plain }

  local function send(...)
    local written, message = stream:write(...)
    if written then written, message = stream:flush() end
    if not written then lost = lost or ("%s: %s"):format(name or "standard output", message) end
  end

  -- A text to be joined by `..` with others, which are shown as they are.
  function self.style(style, value)
    value = out.bytes(value)
    return out.trusted(plain and value or ("\27[%sm%s\27[0m"):format(codes[style], value))
  end

  function self.line(value) send(out.bytes(value), "\n") end

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


return out
