-- Where the lines typed at the prompt are kept: llmprof/history in the folder
-- for state of the XDG base directories.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local out = require "llmprof.io.output"
local paths = require "llmprof.io.paths"

local history = {}


function history.path()
  local folder = paths.folder "state"
  return folder and folder .. "/history"
end


-- What went wrong is said once, and nothing is kept from then on.
local broken = false

local function give_up(message)
  broken = true
  out.complain("history: " .. message)
end


-- Do something to the file while no other prompt does.
local function held(folder, act)
  errors.check(fs.mkdirs(folder))
  local lock, message, code = fs.lock(folder, { wait = true })
  if not lock and code ~= "unsupported" then errors.raise("failed", message) end
  local ok, err = pcall(act)
  if lock then lock:close() end
  if not ok then error(err, 0) end
end


local function try(act)
  local path = history.path()
  if not path or broken then return end
  local ok, err = pcall(held, path:match "^(.*)/", function()
    errors.check(act(path))
  end)
  if not ok then give_up(errors.is(err) and err.message or tostring(err)) end
end


-- Read it into an editor.
function history.load(editor)
  try(function(path) return editor:load(path) end)
end


-- Add what the editor remembers since the last time to what prompts have kept by now.
function history.save(editor)
  try(function(path) return editor:save(path) end)
end


return history
