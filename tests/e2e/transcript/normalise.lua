-- Normalisers: what differs from run to run becomes the same text, in what is
-- expected and in what is printed. Each takes a line and the sandbox.
local errors = require "llmprof.process.errors"

local normalise = {}

local named = {}


-- "   12.3 s" of the terminal's step lines, by its width.
function named.time(line)
  return (line:gsub(" *%d+%.%d s ", function(found)
    return (" "):rep(#found - #"0.1 s ") .. "0.1 s "
  end))
end


-- How long ago, at the end of a line of `llmprof ls`.
function named.age(line)
  return (line:gsub("%f[%d]%d+ s$", "1 s"):gsub("%f[%d]%d+ min$", "1 s"))
end


-- Timestamps in UTC.
function named.date(line)
  return (line:gsub("%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ", "2026-01-01T12:00:00Z"))
end


-- Run ids made from the time.
function named.run(line)
  return (line:gsub("%f[%d]%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%-%f[%a]", "20260101-120000-"))
end


-- The folder that the transcript plays in.
function named.folder(line, box)
  local from, to = line:find(box.folder, 1, true)
  return from and line:sub(1, from - 1) .. "FOLDER" .. line:sub(to + 1) or line
end


-- A process, whose name depends on how far it has come.
function named.pid(line)
  return (line:gsub("process %d+ %(.-%)", "process 1234"))
end


-- A process and its user.
function named.user(line)
  return (line:gsub("process %d+ of user %d+", "process 1234 of user 1000"))
end


-- Folders for temporary files that another sandbox made.
function named.temporary(line)
  return (line:gsub("/%S*/llmprof%-transcript%w+/", "TEMPORARY/"))
end


-- A function from a list of lines to the normalised list.
function normalise.chain(names, box)
  for _, name in ipairs(names) do
    if not named[name] then errors.raise("usage", ("no normaliser '%s'"):format(name)) end
  end
  return function(lines)
    local list = {}
    for i, line in ipairs(lines) do
      for _, name in ipairs(names) do line = named[name](line, box) end
      list[i] = line
    end
    return list
  end
end


return normalise
