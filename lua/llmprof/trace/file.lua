-- Opening what a user calls a trace.
local cache = require "llmprof.trace.cache"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local trace = require "llmprof.trace"

local trace_file = {}


-- Codes of a file that is something else than a trace.
local NO_TRACE = { syntax = true, unsupported = true, empty = true }

local function hint_of(path, code)
  if layout.find(path, "timeline") then
    return "a bundle? Its trace is " .. layout.find(path, "timeline")
  elseif code == "truncated" then
    return "copy or export it again"
  end
  return NO_TRACE[code] and trace.hint(path) or nil
end


-- Only of large files something is kept.
local function cache_for(path)
  local info = fs.stat(path)
  return info and info.size >= cache.LEAST and cache.options() or nil
end


-- The trace, or an error that says what the file is and what to do about it.
function trace_file.open(path)
  if path == "" then
    errors.raise("usage", "an empty file name", { hint = "name the file of a trace" })
  end
  local opened, message, code = trace.open(path, cache_for(path))
  if opened then return opened end
  local misnamed = code == "notfound" or NO_TRACE[code]
  errors.raise(misnamed and "usage" or "failed", message, { hint = hint_of(path, code) })
end


-- The same of one that is analysed: what is known of its kernels is read with these.
function trace_file.open_whole(path)
  local opened = trace_file.open(path)
  opened:with_details()
  return opened
end


return trace_file
