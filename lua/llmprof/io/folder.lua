-- Folders on disk.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"

local folder = {}


-- What is in a folder, sorted; nothing where there is no folder. One that is there and
-- cannot be looked into raises, so that nothing is taken for absent. hint: optional.
function folder.names(path, hint)
  local names, message, code = fs.list(path)
  if names then return names end
  if code == "notfound" then return {} end
  return errors.raise("failed", message, { hint = hint })
end


return folder
