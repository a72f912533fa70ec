-- Where the library of the collector lies.
local paths = require "llmprof.io.paths"
local errors = require "llmprof.process.errors"
local version = require "llmprof.version"

local library = {}

library.NAME = "libllmprof_collector.so"

local INSTALL = "./bootstrap.sh builds it in a clone, packages of llmprof have it, "
  .. "tools.collector=PATH names one"


-- Its absolute path, or nil and what was looked for. given: a path that the user named.
function library.find(given)
  return paths.library(library.NAME, given)
end


-- The same; raises without it.
function library.ensure(given)
  local path, why = library.find(given)
  if path then return path end
  return errors.raise("tool", "the collector is not there: " .. why,
    { hint = INSTALL .. "; " .. library.vendor.without })
end


-- What may be the reason where no process of a program loaded it, none of which we see.
library.NOT_LOADED = "CUDA and NVTX load it when they are first used; the program used neither, "
  .. "or could not reach the library's file (after a change of its root folder or user)"


-- What a program is told, as a table of variables: to load the library, where to put its
-- spools, where its plan is, which socket to call, and the key of whom to tell that it cannot
-- write one (these three are optional).
function library.environment(path, given)
  return { CUDA_INJECTION64_PATH = path, NVTX_INJECTION64_PATH = path,
    LLMPROF_COLLECTOR_DIR = given.folder, LLMPROF_COLLECTOR_PLAN = given.plan,
    LLMPROF_COLLECTOR_SOCKET = given.socket, LLMPROF_COLLECTOR_REFUSALS = given.refusals }
end


-- The collector as the tools of a run are: found, named, said what to do without.
library.vendor = {
  name = "collector",
  product = "llmprof's collector",
  measures = "timeline",
  install = INSTALL,
  without = "capture=nsys uses Nsight Systems",

  -- As llmprof.nvidia.tools finds programs: { name, path, version }, or nil and a list of
  -- what was tried.
  find = function(given)
    local path, why = library.find(given)
    if not path then return nil, { why } end
    return { name = "collector", path = path, version = version.version }
  end,
}


return library
