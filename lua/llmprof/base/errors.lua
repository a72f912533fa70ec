-- Errors that are the user's to mend: a kind, which gives the exit status, one
-- line that says what is wrong, and a hint at what to do. Everything else that
-- is raised is a bug, and is shown with its traceback.
local errors = {}

-- Exit statuses, as documented.
errors.status = {
  failed = 1, -- the workload or a step failed
  usage = 2, -- command line, configuration or recipe
  tool = 3, -- a needed tool, device or permission is missing
  nothing = 4, -- nothing was captured
  gate = 5, -- a comparison broke its limits
  interrupted = 130,
  closed = 141, -- whoever read the output went away: as after SIGPIPE
}

local Error = {}
Error.__index = Error


function Error:__tostring()
  return self.message
end


-- Raise an error of a kind above. fields may hold hint (what to do next, one
-- line) and detail (lines shown before the message: a traceback, a log's end).
function errors.raise(kind, message, fields)
  local err = { kind = kind, message = message }
  for key, value in pairs(fields or {}) do err[key] = value end
  error(setmetatable(err, Error), 0)
end


function errors.is(value)
  return getmetatable(value) == Error
end


-- For functions that return nil, message[, code]: the value, or the error.
function errors.check(kind, value, message)
  if value == nil or value == false then errors.raise(kind, message or "unknown error") end
  return value
end


-- Is this what the host raises on SIGINT and SIGTERM: "interrupted", behind the
-- line that was running?
function errors.is_interrupt(message)
  return message == "interrupted" or message:find "^[^\n]+:%d+: interrupted$" ~= nil
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
  local message = tostring(value)
  if errors.is_interrupt(message) then
    return setmetatable({ kind = "interrupted", message = "interrupted" }, Error)
  end
  return setmetatable({
    kind = "failed",
    message = message,
    detail = debug.traceback(nil, 2),
    bug = true,
  }, Error)
end


return errors
