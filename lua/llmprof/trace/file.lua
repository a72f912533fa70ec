-- Opening what a user calls a trace.
local cache = require "llmprof.trace.cache"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local trace = require "llmprof.trace"

local trace_file = {}


-- What the readers say of a file with this ending ("": of any file), or nil.
local function hint_for(path, is_known)
  for _, reader in ipairs(trace.readers()) do
    for _, hint in ipairs(reader.hints) do
      if is_known(hint.suffix) then return (hint.text:gsub("%%s", (path:gsub("%%", "%%%%")))) end
    end
  end
  return nil
end


local function hint_of(path, code)
  local by_name = hint_for(path, function(suffix)
    return suffix ~= "" and path:sub(-#suffix) == suffix
  end)
  if by_name then return by_name end
  if layout.find(path, "timeline") then
    return "a bundle? Its trace is " .. layout.find(path, "timeline")
  elseif code == "truncated" then
    return "copy or export it again"
  elseif code == "syntax" or code == "unsupported" then
    return hint_for(path, function(suffix) return suffix == "" end)
  end
  return nil
end


-- Only of large files something is kept.
local function cache_for(path)
  local info = fs.stat(path)
  return info and info.size >= cache.LEAST and cache.options() or nil
end


-- The trace, or an error that says what the file is and what to do about it.
function trace_file.open(path)
  if path == "" then
    errors.raise("usage", "an empty file name",
      { hint = "name a trace: what `nsys export --type sqlite` wrote" })
  end
  local opened, message, code = trace.open(path, cache_for(path))
  if opened then return opened end
  local misnamed = code == "notfound" or code == "unsupported" or code == "syntax"
  errors.raise(misnamed and "usage" or "failed", message, { hint = hint_of(path, code) })
end


-- The same of one that is analysed: what is known of its kernels is read with these.
function trace_file.open_whole(path)
  local opened = trace_file.open(path)
  opened:with_details()
  return opened
end


return trace_file
