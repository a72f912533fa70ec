-- The language of the prompt for questions of somebody else: data and functions that only
-- compute; no files, no processes, nothing that outlives the question.
local query = require "llmprof.query"
local session = require "llmprof.query.session"

local closed = {}

-- Of the session: frames and plain tables. `trace`, `sql`, `run` and `files` reach files.
local DATA = { "kernels", "ops", "transfers", "api", "ranges", "stages", "steps", "collectives",
  "gaps", "layers", "counters", "samples", "cpu_samples", "overlap", "results", "help" }

-- Of Lua: nothing that loads code, catches an interrupt or reaches another environment.
local FUNCTIONS = { "assert", "error", "ipairs", "math", "next", "pairs", "select", "table",
  "tonumber", "tostring", "type", "utf8" }


local function copy(library)
  local made = {}
  for name, value in pairs(library) do made[name] = value end
  return made
end


-- An environment over these paths. Methods of frames write nothing from now on.
function closed.environment(paths)
  query.seal()
  local self, names = session.open(paths), {}
  for _, name in ipairs(DATA) do names[name] = true end
  local environment = { string = copy(string) }
  environment.string.dump = nil
  for _, name in ipairs(FUNCTIONS) do
    local value = _G[name]
    environment[name] = type(value) == "table" and copy(value) or value
  end
  return session.strict(environment, function(name) return names[name] and self[name] or nil end)
end


return closed
