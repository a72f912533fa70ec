-- What is there to ask about: the globals of `llmprof repl`, `llmprof -e` and
-- `llmprof exec`, and the same for a recipe's hooks:
--
--   local session = require "llmprof.query.session"
--   local s = session.open { ctx.run.dir }
--   print(s.kernels:group("stage"):sum("dur"))
--
-- Nothing is read before it is used.
local errors = require "llmprof.process.errors"
local globals = require("llmprof.query.session.words").globals
local nearest = require "llmprof.tables.suggest"

local session = {}

local needs = {
  counters = "a raw page of ncu (.csv), or a run that measured counters",
  results = "the folder of a run", run = "the folder of a run",
  steps = "a trace whose steps are marked, or can be inferred",
  layers = "a trace whose layers can be told",
  collectives = "a trace with kernels that communicate",
  cpu_samples = "a trace (.sqlite), collapsed stacks (.folded) or the folder of a run",
}

local is_global = {}
for _, global in ipairs(globals) do is_global[global[1]] = true end


function session.has(name)
  return is_global[name] == true
end


local function open_files(paths)
  local source, list = require "llmprof.query.session.source", {}
  for _, path in ipairs(paths) do
    for _, one in ipairs(source.all(path)) do list[#list + 1] = one end
  end
  return list
end


local function find(files, name)
  for _, file in ipairs(files) do
    if file[name] then return file[name] end
  end
  errors.raise("usage", ("%s: no file was given that has it"):format(name),
    { hint = "it comes with " .. (needs[name] or "a trace (.sqlite) or the folder of a run") })
end


-- The globals over these paths, as a table that loads them. offered: a set of the names that
-- there are; nil: all.
function session.open(paths, offered)
  local self, files = {}, nil
  local function get(_, name)
    if not (offered or is_global)[name] then return nil end
    files = files or open_files(paths)
    local value
    if name == "files" then
      value = files
    elseif name == "overlap" then
      value = require("llmprof.query").overlap
    elseif name == "help" then
      value = require("llmprof.query.session.help").new(self, offered or is_global)
    else
      value = find(files, name)
    end
    rawset(self, name, value)
    return value
  end
  return setmetatable(self, { __index = get })
end


-- Nothing has that name: what has a similar one, or that texts have quotes.
local function unknown(name, others, offered)
  if is_global[name] then
    errors.raise("usage", ("'%s' is not there in a question"):format(name),
      { hint = "it reaches files; help() says what there is" })
  end
  local known = {}
  for key in pairs(offered) do known[#known + 1] = key end
  for key in pairs(others) do known[#known + 1] = tostring(key) end
  errors.raise("usage", ("nothing is called '%s' here%s"):format(name,
    nearest.suggestion(name, known)),
    { hint = ('help() says what there is; a text has quotes: "%s"'):format(name) })
end


-- The environment, with what find(name) gives for names that it lacks. A name that is
-- nowhere raises: as nil it would be a condition that is left out. offered: of open.
function session.strict(environment, find_name, offered)
  return setmetatable(environment, { __metatable = false, __index = function(own, name)
    local value = find_name(name)
    if value == nil then unknown(tostring(name), own, offered or is_global) end
    return value
  end })
end


-- An environment for code: the session, then Lua's own globals.
function session.environment(paths)
  local self = session.open(paths)
  return session.strict({}, function(name)
    local value = self[name]
    if value == nil then value = _G[name] end
    return value
  end), self
end


return session
