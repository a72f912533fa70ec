-- What a function raises, for specs of error paths.
local errors = require "llmprof.process.errors"

-- { kind, message, hint } of the llmprof error that f(...) raises; fails when
-- it raises none, or anything else.
return function(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "no error was raised")
  assert(errors.is(err), "not an llmprof error: " .. tostring(err))
  return { err.kind, err.message, err.hint }
end
