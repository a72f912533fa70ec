-- What is done with a trace that comes without a recipe: a recipe whose stages are those that
-- the trace shows, or that somebody names.
local recipe = require "llmprof.recipe"

local trace_recipe = {}


-- A recipe that is called like a trace. stages: names, or nil: those of the trace
-- (llmprof.analysis.stages.outermost).
function trace_recipe.recipe(path, stages)
  local made = recipe.recipe { name = trace_recipe.name_of(path), stages = stages,
    workload = function() return recipe.fail "a trace is no program that could be run" end }
  made.file, made.called, made.unwritten = "report", "report", not stages
  return made
end


local ENDINGS = { "gz", "json", "trace", "pt", "sqlite", "spool", "nsys%-rep", "qdrep" }

-- What a run of a trace is called: the file's or the folder's name without its endings.
function trace_recipe.name_of(path)
  local name = path:match "([^/]*)/*$"
  for _, ending in ipairs(ENDINGS) do name = name:gsub("%." .. ending .. "$", "") end
  name = name:gsub("[^%w_.-]", "_"):gsub("^[_.-]+", "")
  return name ~= "" and name ~= "latest" and name or "trace"
end


return trace_recipe
