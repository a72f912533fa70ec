-- Where the lines typed at the prompt are kept: llmprof/history in the folder
-- for state of the XDG base directories.
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local out = require "llmprof.base.out"
local xdg = require "llmprof.base.xdg"

local history = {}


function history.path()
  local folder = xdg.folder "state"
  return folder and folder .. "/history"
end


local function warn(message)
  out.complain("history: " .. message)
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
