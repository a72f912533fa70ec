-- What a spec writes as a raw page of ncu, read as the launches of its file.
local fs = require "llmprof.fs"
local ncu = require "llmprof.nvidia.ncu"

-- limits: of ncu.launches.
return function(text, limits)
  local path = os.tmpname()
  assert(fs.write(path, text))
  local found = assert(ncu.launches(path, limits))
  assert(fs.remove(path))
  return found
end
