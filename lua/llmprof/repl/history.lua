-- Where the lines typed at the prompt are kept: llmprof/history in the folder
-- for state of the XDG base directories.
local errors = require "llmprof.errors"
local fs = require "llmprof.fs"

local history = {}


-- The folder for state: $XDG_STATE_HOME, which counts if it is absolute, or
-- ~/.local/state; nil when there is no home.
local function state_folder()
  local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
  if state and state:sub(1, 1) == "/" then return state end
  return home and home:sub(1, 1) == "/" and home .. "/.local/state" or nil
end


function history.path()
  local folder = state_folder()
  return folder and folder .. "/llmprof/history"
end


local function warn(message)
  io.stderr:write("llmprof: history: ", message, "\n")
end


-- Read it into an editor; what cannot be read is said, and none is kept.
function history.load(editor)
  local path = history.path()
  if not path then return end
  local loaded, message = editor:load(path)
  if not loaded then warn(message) end
end


function history.save(editor)
  local path = history.path()
  if not path then return end
  local ok, err = pcall(function()
    errors.check("failed", fs.mkdirs((path:match "^(.*)/")))
    errors.check("failed", editor:save(path))
  end)
  if not ok then warn(err.message or tostring(err)) end
end


return history
