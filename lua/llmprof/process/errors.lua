-- Errors that are the user's to mend: a kind, which gives the exit status, one
-- line that says what is wrong, and a hint at what to do. Everything else that
-- is raised is a bug, and is shown with its traceback. Those that C raises are
-- of the same class, with a kind of "interrupted" or "failed".
local failure = require "llmprof.error"
local interrupt = require "llmprof.interrupt"

local errors = {}

-- Exit statuses, as documented.
errors.status = {
  failed = 1, -- the workload or a step failed
  usage = 2, -- command line, configuration or recipe
  tool = 3, -- a needed tool, device or permission is missing
  nothing = 4, -- nothing was captured
  gate = 5, -- a comparison broke its limits
  undecided = 6, -- whether it did cannot be told
  launcher = 125, -- llmprof failed before the program that it is to start was there
  not_executable = 126, -- that program is there but cannot be started
  no_program = 127, -- it is not there
  interrupted = 130,
  closed = 141, -- the reader of the output went away: as after SIGPIPE
}

-- Raise an error of a kind above. fields may hold hint (what to do next, one
-- line) and detail (lines shown before the message: a traceback, a log's end).
function errors.raise(kind, message, fields)
  local err = { kind = kind, message = message }
  for key, value in pairs(fields or {}) do err[key] = value end
  error(failure.new(err), 0)
end


-- Is the value such an error?
errors.is = failure.is


-- Is it what the host raises on SIGINT and SIGTERM, or what says so?
function errors.is_interrupt(value) return errors.is(value) and value.kind == "interrupted" end


-- Kinds that follow from a code of the core, whatever was being done.
local KINDS = { interrupted = "interrupted", nomem = "failed" }

-- For functions that return nil, message[, code]: the value, or the error of a kind. Memory that
-- ends is of no file, whatever was being done.
function errors.check_as(kind, value, message, code)
  if value ~= nil and value ~= false then return value end
  if code == "nomem" and not message:find "^out of memory" then message = "out of memory" end
  errors.raise(KINDS[code] or kind, message or "unknown error", { code = code })
end


-- The same of what fails without a fault of the user's.
function errors.check(value, message, code)
  return errors.check_as("failed", value, message, code)
end


-- Raise what came with a code that tells nothing about the file: the system failed, or was
-- told to stop.
function errors.raise_systems(message, code)
  if code == "io" or KINDS[code] then errors.check(nil, message, code) end
end


-- What a function returned that gives nil, message, code where it fails; raises where the
-- system is what failed.
function errors.unless_systems(value, message, code)
  if value == nil then errors.raise_systems(message, code) end
  return value, message, code
end


-- For the handler of an xpcall around code of the user's: where in it the error
-- was raised, without llmprof's own frames below.
function errors.traceback()
  local trace = debug.traceback(nil, 3)
  return (trace:gsub("\n%s*%[C%]: in function 'xpcall'.*", ""))
end


-- A message handler for xpcall: errors of ours pass, Lua's own keep where they
-- came from.
function errors.handler(value)
  if errors.is(value) then return value end
  return failure.new {
    kind = "failed",
    message = tostring(value),
    detail = debug.traceback(nil, 2),
    bug = true,
  }
end


-- As xpcall(f, handler, ...): true and what f returns, or false and what the handler, which
-- returns a table, makes of the error. When memory runs out Lua calls no handler: that is an error
-- of ours.
function errors.call_with(handler, f, ...)
  local results = table.pack(xpcall(f, handler, ...))
  if results[1] or type(results[2]) == "table" then return table.unpack(results, 1, results.n) end
  interrupt.collect()
  return false, failure.nomem()
end


-- The same with errors.handler.
function errors.call(f, ...) return errors.call_with(errors.handler, f, ...) end


-- For several things that may each be refused, so that all of it is said at once. try(f, ...):
-- what f returns, or nothing where it raises an error of kind "usage", which is kept; raise():
-- raises the first that was kept, with the others as its `more`; and the list of them.
function errors.gather()
  local kept = {}
  local function try(f, ...)
    local results = table.pack(errors.call(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    if results[2].kind ~= "usage" then error(results[2], 0) end
    for _, err in ipairs(errors.each(results[2])) do kept[#kept + 1] = err end
  end
  local function raise()
    local first = kept[1]
    if not first then return end
    first.more = #kept > 1 and table.move(kept, 2, #kept, 1, {}) or nil
    error(first, 0)
  end
  return try, raise, kept
end


-- An error and those that were said with it.
function errors.each(err) return table.move(err.more or {}, 1, #(err.more or {}), 2, { err }) end


return errors
