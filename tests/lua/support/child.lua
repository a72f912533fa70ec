-- llmprof itself as a child, for specs of what it says and returns.
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local child = {}


-- A caller of llmprof: exit status, standard output and standard error of it.
-- top() is a folder for temporary files; options: of spawn, cwd and env.
function child.caller(top, options)
  return function(...)
    local given = { stdout = top() .. "/.out", stderr = top() .. "/.err", timeout = 60 }
    for key, value in pairs(options and options() or {}) do given[key] = value end
    given.env = given.env or {}
    given.env.NO_COLOR = given.env.NO_COLOR or "1"
    local result = assert(spawn.run({ assert(sys.executable()), ... }, given))
    return result.code, assert(fs.read(given.stdout)), assert(fs.read(given.stderr))
  end
end


return child
