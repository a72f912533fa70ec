-- The recipe contract. A recipe is a Lua file that returns recipe{...}: what to
-- run, how to measure it, what to report. docs/recipes.md is its reference.
local errors = require "llmprof.base.errors"
local files = require "llmprof.base.files"
local inputs = require "llmprof.recipe.inputs"
local nearest = require "llmprof.base.nearest"
local range_name = require "llmprof.base.range_name"
local resources = require "llmprof.resources"
local sorted_keys = require "llmprof.base.sorted_keys"
local source = require "llmprof.recipe.source"
local yaml = require "llmprof.yaml"

local recipe = {}

local Recipe = {}
Recipe.__index = Recipe

-- Fields of a recipe and their types. Those marked config are values of
-- configuration keys of the same name. llmprof.meta describes them to editors.
recipe.fields = {
  name = { "string", required = true },
  model = { "table", config = true },
  options = { "table" },
  workload = { "function", required = true },
  stages = { "table" },
  categories = { "table" },
  nsys = { "table", config = true },
  collector = { "table", config = true },
  ncu = { "table", config = true },
  top_n = { "table", config = true },
  report = { "table", config = true },
  repeats = { "table", config = true },
  mode = { "string", config = true },
  capture = { "string", config = true },
  overhead = { "string", config = true },
  identify = { "function" },
  select_kernels = { "function" },
  flops = { "function" },
  advise = { "function" },
  render = { "function" },
}


-- An error in what a recipe declares. path: the keys that lead to it, from the
-- recipe's table on.
local function bad(path, message)
  errors.raise("usage", message, { path = path })
end


local function check_fields(given)
  local known = sorted_keys(recipe.fields)
  for _, name in ipairs(sorted_keys(given)) do
    local field = recipe.fields[name]
    if not field then
      bad({ name }, ("a recipe has no field '%s'%s"):format(tostring(name),
        nearest.suggestion(tostring(name), known)))
    elseif type(given[name]) ~= field[1] then
      bad({ name },
        ("recipe field '%s': %s expected, got %s"):format(name, field[1], type(given[name])))
    end
  end
  for _, name in ipairs(known) do
    if recipe.fields[name].required and given[name] == nil then
      bad({}, ("a recipe needs the field '%s'"):format(name))
    end
  end
  if not given.name:find "^[%w][%w_.-]*$" then
    bad({ "name" }, ("recipe name '%s': letters, digits, '_', '.' and '-' only"):format(given.name))
  end
end


local STAGE = '{ "name", children = { "name", ... }, step = "name" }'

local function check_stage_name(name, seen, ...)
  if type(name) ~= "string" or name == "" then bad({ "stages", ... }, "a stage is " .. STAGE) end
  local made = range_name.canonical(name)
  if seen[made] then bad({ "stages", ... }, ("stage '%s' is declared twice"):format(name)) end
  seen[made] = true
  return made
end


local stage_fields = { [1] = true, children = true, step = true }

local function check_stage(stage, place)
  for _, key in ipairs(sorted_keys(stage)) do
    if not stage_fields[key] then
      bad({ "stages", place, key }, ("stage '%s' has no field '%s'; a stage is %s"):format(
        tostring(stage[1]), tostring(key), STAGE))
    end
  end
  if stage.children ~= nil and type(stage.children) ~= "table" then
    bad({ "stages", place, "children" },
      ("stage '%s': children is a list of names"):format(tostring(stage[1])))
  end
end


-- Stages in order: { name, parent = name or nil, step = name or nil }, parents
-- before children. step names the ranges that mark one token of the stage.
local function flatten_stages(declared)
  local stages, seen = {}, {}
  for i, stage in ipairs(declared or {}) do
    if type(stage) ~= "table" then stage = { stage } end
    check_stage(stage, i)
    local parent = check_stage_name(stage[1], seen, i)
    local step = stage.step and check_stage_name(stage.step, seen, i, "step")
    stages[#stages + 1] = { name = parent, step = step }
    for j, child in ipairs(stage.children or {}) do
      stages[#stages + 1] = { name = check_stage_name(child, seen, i, "children", j),
        parent = parent }
    end
  end
  return stages
end


local function check_options(declared)
  for _, key in ipairs(sorted_keys(declared or {})) do
    local declaration = declared[key]
    if type(key) ~= "string" or not key:find "^[%a_][%w_.]*$" then
      bad({ "options", key },
        ("option '%s': a key like infer.max_new_tokens is expected"):format(tostring(key)))
    elseif type(declaration) ~= "table" or type(declaration[1]) ~= "string"
      or (declaration[2] == nil and not declaration.type) then
      bad({ "options", key }, ("option '%s': { \"text\", default } is expected"):format(key))
    end
  end
end


-- Declare a recipe; what a recipe file returns.
function recipe.recipe(given)
  if type(given) ~= "table" then bad({}, "recipe { ... } takes a table") end
  check_fields(given)
  check_options(given.options)
  local made = { stages = flatten_stages(given.stages), options = given.options or {}, config = {} }
  for name, field in pairs(recipe.fields) do
    if field.config then
      made.config[name] = given[name]
    elseif made[name] == nil then
      made[name] = given[name]
    end
  end
  return setmetatable(made, Recipe)
end


-- Refuse a configuration, from the workload function or a hook: one line, what
-- to do instead (optional), exit status 2.
function recipe.fail(message, hint)
  errors.raise("usage", message, { hint = hint })
end


-- ---- loading ----

local loading -- the recipe file being loaded, for recipe.path


-- How to call a file on disk or built in; nil when it is neither.
local function located(name)
  return files.find_file(name) or resources.get(name) and name
end


-- A file beside the recipe, by a name relative to it: "workloads/run.py"; where it
-- is not, one that ships (a copy of a shipped recipe works without its workload).
-- Returns a path on disk, or, for a file that is built in only, its built-in
-- name; the plan step writes those out before they run.
function recipe.path(name)
  local folder = loading and loading:match "^(.*)/[^/]*$"
  local full = folder and folder .. "/" .. name or name
  return located(full) or located("recipes/" .. name) or full
end


-- A program that lies beside the recipe as CUDA source: a word of argv. It is
-- compiled when a run first needs it.
function recipe.compiled(name)
  return { compile = recipe.path(name) }
end


-- The inputs that a list names, such as inputs.yaml of a bundle: in order,
-- { name, sha256 (or nil), bytes (or nil) }. Refuses a file that is none.
recipe.inputs = inputs.read


-- The model that conf/model/<name>.yaml describes, as identify() returns it: its
-- name, variant and arch. Refuses a name that is none.
function recipe.described(name)
  local path = ("conf/model/%s.yaml"):format(name)
  local contents = files.read(path)
  if not contents then
    local known = files.names("conf/model", ".yaml")
    errors.raise("usage", ("no model '%s'%s"):format(name, nearest.suggestion(name, known)),
      { hint = "conf/model has: " .. table.concat(known, ", ") })
  end
  local said = errors.check("usage", yaml.decode(contents, { name = path }))
  return { name = said.name, variant = said.variant, arch = path }
end


-- New globals in a recipe are typing errors.
local function environment()
  return setmetatable({}, {
    __index = _G,
    __newindex = function(_, name)
      error(("assignment to global '%s' (use local)"):format(name), 2)
    end,
  })
end


local function traceback(message)
  if errors.is(message) then return message end
  return { text = tostring(message), trace = errors.traceback() }
end


-- Call a function of the recipe's; an error in it is the recipe's, shown with
-- file, line and traceback.
function recipe.call(what, f, ...)
  local results = table.pack(xpcall(f, traceback, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local err = results[2]
  if errors.is(err) then error(err, 0) end
  local line, rest = err.text:match "^([^\n]*)(.*)$"
  local detail = (rest .. "\n" .. err.trace):gsub("^\n", "")
  errors.raise("usage", ("%s: %s"):format(what, line:gsub(":$", "")), { detail = detail })
end


local function run_chunk(chunk, where, text)
  local ok, made = pcall(recipe.call, "recipe", chunk)
  if ok then return made end
  if errors.is(made) and made.kind == "usage" and not made.detail then
    local line = made.path and source.line(text, made.path)
    made.message = ("%s: %s"):format(line and where .. ":" .. line or where, made.message)
  end
  error(made, 0)
end


-- Load a recipe file, found on disk or built in.
function recipe.load(name)
  local text, where = files.read(files.recipe(name) or name)
  if not text then
    local known = files.names("recipes", ".lua")
    for i, known_name in ipairs(known) do known[i] = "recipes/" .. known_name .. ".lua" end
    errors.raise("usage", where .. nearest.suggestion(name, known),
      { hint = #known > 0 and "recipes: " .. table.concat(known, " ") or nil })
  end
  if text:byte() == 27 then
    errors.raise("usage", where .. ": compiled Lua; a recipe is Lua source")
  end
  local chunk, message = load(text, "@" .. where, "t", environment())
  if not chunk then errors.raise("usage", message) end
  loading = where
  local made = run_chunk(chunk, where, text)
  if getmetatable(made) ~= Recipe then
    errors.raise("usage", ("%s: returns %s, not a recipe"):format(where,
      type(made) == "nil" and "nothing" or "a " .. type(made)),
      { hint = 'end it with: return require("llmprof.recipe").recipe { ... }' })
  end
  made.file, made.source = where, text
  return made
end


return recipe
