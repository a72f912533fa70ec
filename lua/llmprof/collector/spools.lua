-- The spools that processes left in a folder, put together.
local errors = require "llmprof.process.errors"
local paths = require "llmprof.io.paths"
local fs = require "llmprof.fs"
local private = require "llmprof.bundle.private"

local spools = {}

local SUFFIX = ".spool"

-- Bytes that are copied at a time.
local PIECE = 1 << 20


-- A folder of llmprof.bundle.private in `parent` (an absolute path) for spools and what
-- goes with them.
function spools.scratch(parent)
  fs.sweep(parent) -- of a process that was killed and had no place for notes
  return private.folder(parent)
end


-- Their names, by the time at which each process began, which is in them:
-- PID-STARTTIME.spool.
function spools.list(folder)
  local list = {}
  for _, name in ipairs(paths.names(folder)) do
    local info = name:sub(-#SUFFIX) == SUFFIX and fs.stat(folder .. "/" .. name)
    if info and info.type == "file" then
      local pid, start = name:match "^(%d+)-(%d+)"
      list[#list + 1] = { name = name, start = tonumber(start) or 0, pid = tonumber(pid) or 0 }
    end
  end
  table.sort(list, function(a, b)
    if a.start ~= b.start then return a.start < b.start end
    if a.pid ~= b.pid then return a.pid < b.pid end
    return a.name < b.name
  end)
  for i, entry in ipairs(list) do list[i] = entry.name end
  return list
end


-- Returns whether there was anything in it.
local function append(out, path)
  local info = fs.lstat(path)
  if info and info.type ~= "file" then -- opening a named pipe would wait
    errors.raise("failed", path .. ": not a regular file")
  end
  local from, message = io.open(path, "rb")
  if not from then errors.raise("failed", message) end
  local piece = from:read(PIECE)
  local filled = piece ~= nil
  while piece do
    local written, why = out:write(piece)
    if not written then
      from:close()
      errors.raise("failed", why)
    end
    piece = from:read(PIECE)
  end
  from:close()
  return filled
end


-- Write the spools of a folder into one file, whole or not at all. Returns how many of
-- them hold something; with none there is no file.
function spools.gather(folder, target)
  local names = spools.list(folder)
  if #names == 0 then return 0 end
  local part = target .. ".part"
  fs.remove(part) -- the recorded program may have put a link there
  local out, message = io.open(part, "wb")
  if not out then errors.raise("failed", message) end
  local count = 0
  for _, name in ipairs(names) do
    if append(out, folder .. "/" .. name) then count = count + 1 end
  end
  local closed, why = out:close()
  if not closed then errors.raise("failed", why) end
  if count > 0 then
    errors.check(fs.rename(part, target))
  else
    fs.remove(part)
  end
  return count
end


return spools
