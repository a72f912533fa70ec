-- Where the library of the collector lies.
local libraries = require "llmprof.base.libraries"
local errors = require "llmprof.base.errors"

local library = {}

library.NAME = "libllmprof_collector.so"


-- Its absolute path, or nil and what was looked for. given: a path that the user named.
function library.find(given)
  return libraries.find(library.NAME, given)
end


-- The same; raises without it.
function library.ensure(given)
  local path, why = library.find(given)
  if path then return path end
  return errors.raise("tool", "the collector is not there: " .. why,
    { hint = "build it where the headers of CUDA's CUPTI are, or name it with "
      .. "tools.collector=PATH; capture=nsys uses Nsight Systems" })
end


-- What a program is told, as a table of variables: to load the library, where to put its
-- spools, where its plan is and which socket to call (both optional).
function library.environment(path, given)
  return { CUDA_INJECTION64_PATH = path, NVTX_INJECTION64_PATH = path,
    LLMPROF_COLLECTOR_DIR = given.folder, LLMPROF_COLLECTOR_PLAN = given.plan,
    LLMPROF_COLLECTOR_SOCKET = given.socket }
end


return library
