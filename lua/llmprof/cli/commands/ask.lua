-- llmprof ask CODE RUN: a question in the language of the prompt that can only read, for
-- `llmprof mcp`; people have -e.
local lazy = require "llmprof.io.lazy"
local copy = require("llmprof.tables.keys").merged
local errors = require "llmprof.process.errors"
local evaluate = lazy "llmprof.cli.repl.evaluate"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local query = require "llmprof.query"
local session = require "llmprof.query.session"
local whatif = lazy "llmprof.whatif"

local command = { name = "ask", usage = "ask CODE RUN_ID | FOLDER | TRACE", raw = true }


-- Of the session: frames and plain tables. `trace`, `sql`, `run` and `files` reach files.
local DATA = { "kernels", "ops", "transfers", "api", "ranges", "stages", "steps", "collectives",
  "gaps", "layers", "counters", "samples", "cpu_samples", "overlap", "whatif", "results",
  "help" }

-- Of Lua: nothing that loads code, catches an interrupt or reaches another environment.
local FUNCTIONS = { "assert", "error", "ipairs", "math", "next", "pairs", "select", "table",
  "tonumber", "tostring", "type", "utf8" }


local tostring, format = tostring, string.format

local ADDRESSED = { table = true, ["function"] = true, userdata = true, thread = true }


-- A value whose text would be where it lies in memory, by its type; any other as it is.
local function without_address(value)
  local kind = type(value)
  if not ADDRESSED[kind] then return value end
  local meta = debug.getmetatable(value)
  return meta and rawget(meta, "__tostring") and value or kind
end


-- As those of Lua, for every text that is made from now on.
local function hide_addresses()
  rawset(_G, "tostring", function(value) return tostring(without_address(value)) end)
  rawset(string, "dump", nil)
  rawset(string, "format", function(form, ...)
    local values = table.pack(...)
    for i = 1, values.n do values[i] = without_address(values[i]) end
    for conversion in tostring(form):gmatch "%%[-+ #0-9.]*(.)" do
      if conversion == "p" then errors.raise("usage", "format: there is no %p in a question") end
    end
    local ok, said = pcall(format, form, table.unpack(values, 1, values.n))
    if not ok then error(type(said) == "string" and said:gsub("'%?'", "'format'") or said, 0) end
    return said
  end)
end


-- An environment over these paths. Methods of frames write nothing from now on, and texts
-- have no addresses.
function command.environment(paths)
  query.seal()
  hide_addresses()
  local offered = lists.set(DATA)
  local self, environment = session.open(paths, offered), { string = copy(string) }
  for _, name in ipairs(FUNCTIONS) do
    local value = _G[name]
    environment[name] = type(value) == "table" and copy(value) or value
  end
  -- as a text: a question has the traces, which reach files
  environment.whatif = function(...)
    for i = 1, select("#", ...) do
      local one = select(i, ...)
      if math.type(one) ~= "integer" and not whatif.is_change(one) then
        errors.raise("usage", "whatif: the ranks of findings, or changes as texts")
      end
    end
    return tostring(whatif.asker(function() return session.open(paths).files end)(...))
  end
  return session.strict(environment, function(name) return self[name] end, offered)
end


function command.run(argv)
  if #argv ~= 2 then errors.raise("usage", "ask: code and a run are expected") end
  out.write(evaluate.answer(argv[1], "=code", command.environment { argv[2] }))
  return 0
end


return command
