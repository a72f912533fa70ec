-- The collector as the tools of a run are: found, named, said what to do without.
local library = require "llmprof.collector.library"
local version = require "llmprof.version"

return {
  name = "collector",
  product = "llmprof's collector",
  measures = "timeline",
  install = "build it where the headers of CUDA's CUPTI are, or name it with tools.collector=PATH",
  without = "capture=nsys uses Nsight Systems",

  -- As llmprof.nvidia.tools finds programs: { name, path, version }, or nil and a list of
  -- what was tried.
  find = function(given)
    local path, why = library.find(given)
    if not path then return nil, { why } end
    return { name = "collector", path = path, version = version.version }
  end,
}
