-- Opening what a user calls a trace.
local errors = require "llmprof.base.errors"
local layout = require "llmprof.bundle.layout"
local trace = require "llmprof.trace"

local trace_file = {}


-- The trace, or an error that says what the file is and what to do about it.
function trace_file.open(path)
  if path == "" then
    errors.raise("usage", "an empty file name",
      { hint = "name a trace: what `nsys export --type sqlite` wrote" })
  end
  local opened, message, code = trace.open(path)
  if opened then return opened end
  local hint
  if path:find "%.nsys%-rep$" or path:find "%.qdrep$" then
    hint = ("export it first: nsys export --type sqlite %s"):format(path)
  elseif layout.find(path, "timeline") then
    hint = "a bundle? Its trace is " .. layout.find(path, "timeline")
  elseif message:find(": truncated: ", 1, true) then
    hint = "copy or export it again"
  elseif code == "syntax" or code == "unsupported" then
    hint = "llmprof reads what `nsys export --type sqlite REPORT.nsys-rep` writes"
  end
  errors.raise(code == "notfound" and "usage" or "failed", message, { hint = hint })
end


return trace_file
