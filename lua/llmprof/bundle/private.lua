-- What must not stay. Folders: an export as nsys makes it holds the environment of the
-- workload, and is there only until it is scrubbed; only we may look into them, and a lock
-- says that we are at work. And the processes of a workload. Where the ones are, and what
-- the others are known by, is noted in the cache first, so that the next start of any
-- command ends what one that was killed has left.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local files = require "llmprof.io.files"
local lists = require "llmprof.tables.lists"

local private = {}

-- Permission bits of a file that holds what is not to be handed on.
private.FILE_MODE = tonumber("600", 8)

local Folder = {}
Folder.__index = Folder

local Workload = {}
Workload.__index = Workload

-- In a note: the folder to sweep, or the mark of processes.
local WHERE, MARK = "where", "mark"


-- A note with one file: its path and the lock on it; nil where there is no place for notes.
local function note(name, contents)
  local folder = files.folder("cache", "private")
  if not folder or not fs.mkdirs(folder) then return nil end
  local path, lock = fs.private_dir(folder)
  if not path then return nil end
  local written, message = fs.write(path .. "/" .. name, contents)
  if written then return path, lock end
  fs.remove_tree(path)
  lock:close()
  errors.raise("failed", message)
end


local function remove(path, lock)
  if not path then return true end
  local removed = fs.remove_tree(path)
  lock:close()
  return removed
end


-- A new folder in `parent`, with its path below that; it is removed when the
-- variable that holds it is closed.
function private.folder(parent)
  local noted, note_lock = note(WHERE, fs.realpath(parent) or parent)
  local path, lock = fs.private_dir(parent)
  if not path then
    remove(noted, note_lock)
    errors.raise("failed", lock)
  end
  return setmetatable({ path = path, lock = lock, parent = parent, noted = noted,
    note_lock = note_lock }, Folder)
end


-- Let a symbolic link point at a target, whether it is there or not; in one step, of which
-- nothing is left when it is cut short.
function private.link(target, path)
  local folder <close> = private.folder(path:match "^(.*)/[^/]*$")
  local fresh = folder.path .. "/link"
  local made, message = fs.symlink(target, fresh)
  if not made then return nil, message end
  made, message = fs.rename(fresh, path)
  if made then return true end
  local before = fresh .. ": cannot rename to " -- a folder that is gone by now
  return nil, message:sub(1, #before) == before and message:sub(#before + 1) or message
end


-- Where something could not be removed the note stays for the next command.
function Folder:__close()
  local removed = remove(self.path, self.lock)
  if fs.sweep(self.parent) and removed then
    remove(self.noted, self.note_lock)
  elseif self.note_lock then
    self.note_lock:close()
  end
end


-- Note a workload that is to be started: { mark } for llmprof.spawn. It has ended when the
-- variable that holds this is closed.
function private.workload()
  local mark = errors.check(spawn.mark())
  local noted, lock = note(MARK, mark)
  return setmetatable({ mark = mark, noted = noted, note_lock = lock }, Workload)
end


function Workload:__close() remove(self.noted, self.note_lock) end


-- Remove what processes that are gone left, as far as that can be. Returns the processes of
-- workloads among that: a list of { pid, name, lives (could not be ended) }.
function private.sweep()
  local folder, ended, held = files.folder("cache", "private"), {}, {}
  for _, name in ipairs(folder and fs.list(folder) or {}) do
    local noted = folder .. "/" .. name
    local info = fs.lstat(noted)
    local lock = info and info.type == "directory" and fs.lock(noted)
    if lock then held[#held + 1] = { noted = noted, lock = lock } end
  end
  -- the processes of all first: they might write into a folder that is being removed
  for _, one in ipairs(held) do
    local mark = fs.read(one.noted .. "/" .. MARK)
    lists.add(ended, mark and spawn.end_left(mark) or {})
  end
  for _, one in ipairs(held) do
    local where = fs.read(one.noted .. "/" .. WHERE)
    if where then fs.sweep(where) end
    remove(one.noted, one.lock)
  end
  return ended
end


return private
