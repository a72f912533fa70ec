-- The recipe contract. A recipe is a Lua file that returns recipe{...}: what to
-- run, how to measure it, what to report. docs/recipes.md is its reference.
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local keys = require "llmprof.tables.keys"
local range_name = require "llmprof.trace.nvtx_names"
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
  report = { "table" },
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
local function bad(path, message) errors.raise("usage", message, { path = path }) end


-- Refuse a field that is none of a table's. what: how the table is called; form: what it is like
-- ("" to leave it out); more: the keys that lead to it.
local function check_known(known, what, form, key, ...)
  if known[key] then return end
  local path = { ... }
  path[#path + 1] = key
  bad(path, ("%s has no field '%s'%s%s"):format(what, tostring(key),
    keys.suggestion(tostring(key), keys.sorted(known)), form))
end


local function check_field(name, value)
  check_known(recipe.fields, "a recipe", "", name)
  local field = recipe.fields[name]
  if value == nil and field.required then
    bad({}, ("a recipe needs the field '%s'"):format(name))
  elseif value ~= nil and type(value) ~= field[1] then
    bad({ name }, ("recipe field '%s': %s expected, got %s"):format(name, field[1], type(value)))
  elseif name == "name" and not value:find "^[%w][%w_.-]*$" then
    bad({ name }, ("recipe name '%s': letters, digits, '_', '.' and '-' only"):format(value))
  end
end


local STAGE = 'a stage is { "name", children = { "name", ... }, step = "name" }'

local function check_stage_name(name, seen, ...)
  if type(name) ~= "string" or name == "" then bad({ "stages", ... }, STAGE) end
  local made = range_name.canonical(name)
  if seen[made] then
    bad({ "stages", name, name }, ("stage '%s' is declared twice"):format(name))
  end
  seen[made] = true
  return made
end


local stage_fields = { [1] = true, children = true, step = true }

-- Stages in order: { name, parent = name or nil, step = name or nil }, parents
-- before children. step names the ranges that mark one token of the stage.
local function add_stage(stages, seen, stage)
  if type(stage) ~= "table" then stage = { stage } end
  local parent = check_stage_name(stage[1], seen)
  for _, key in ipairs(keys.sorted(stage)) do
    check_known(stage_fields, ("stage '%s'"):format(parent), "; " .. STAGE, key, "stages", stage[1])
  end
  if type(stage.children or {}) ~= "table" then bad({ "stages", parent, "children" }, STAGE) end
  local step = stage.step and check_stage_name(stage.step, seen, parent, "step")
  stages[#stages + 1] = { name = parent, step = step }
  for _, child in ipairs(stage.children or {}) do
    stages[#stages + 1] = { name = check_stage_name(child, seen, parent, "children"),
      parent = parent }
  end
end


local option_fields = { [1] = true, [2] = true, type = true, choices = true, min = true,
  max = true, runs = true, one = true }

local function check_option(key, declaration)
  if type(key) ~= "string" or not key:find "^[%a_][%w_.]*$" then
    bad({ "options", key },
      ("option '%s': a key like infer.max_new_tokens is expected"):format(tostring(key)))
  elseif type(declaration) ~= "table" or type(declaration[1]) ~= "string"
    or (declaration[2] == nil and not declaration.type) then
    bad({ "options", key }, ("option '%s': { \"text\", default } is expected"):format(key))
  end
  for _, name in ipairs(keys.sorted(declaration)) do
    check_known(option_fields, ("option '%s'"):format(key), "", name, "options", key)
  end
end


-- ---- sections of the report ----

local SECTION = 'a name, { "name", rows = 10, columns = { "key", ... } } or { title = "Title", '
  .. 'rows = function(results) ... end, columns = { "key", { "key", "Title", digits = 2 } } }'
local section_fields = { [1] = true, name = true, title = true, rows = true, columns = true }


-- What function(results) of a section gave: rows, or nil where it is left out.
local function rows_of(name, f, results)
  local what = ("report: section '%s'"):format(name)
  local rows = recipe.call(what, f, results)
  if rows ~= nil and (type(rows) ~= "table"
    or lists.any(rows, function(row) return type(row) ~= "table" end)) then
    errors.raise("usage", what .. ": rows(results) returns a list of tables")
  end
  return rows
end


-- A column is a key or { "key", "Title", digits = 2 }; of a section of ours only a key.
local function is_column(column, is_own)
  if not is_own or type(column) ~= "table" then return type(column) == "string" end
  return type(column[1]) == "string" and type(column[2] or "") == "string"
    and math.type(column.digits or 0) == "integer"
end


-- The name of a section with a title: "Slow layers" is slow_layers.
local function name_of(title)
  return (title:lower():gsub("[^%w]+", "_"):gsub("^_+", ""):gsub("_+$", ""))
end


local function check_section(given)
  local is_own, name = given[1] == nil, tostring(given[1] or given.name or given.title)
  for _, key in ipairs(keys.sorted(given)) do
    check_known(section_fields, "a section", "; it is " .. SECTION, key, "report", name)
  end
  local rows, columns = given.rows, given.columns
  local fits
  if is_own then
    fits = type(given.title) == "string" and given.title:find "%w" and type(rows) == "function"
  else
    fits = type(given[1]) == "string" and not given.title and not given.name
      and (rows == nil or math.type(rows) == "integer" and rows > 0)
  end
  if given[1] == "all" and (rows or columns) then
    bad({ "report", name }, "rows and columns are of one section; 'all' has none of its own")
  end
  if fits and columns ~= nil then
    fits = type(columns) == "table" and #columns > 0
      and not lists.any(columns, function(column) return not is_column(column, is_own) end)
  end
  if not fits then bad({ "report", name }, "a section of the report is " .. SECTION) end
end


-- What the report of a recipe has: sections in order, { name, most (rows of its tables), columns
-- (keys) }, its own with title, rows(results) and columns as they are given; and their names, the
-- value of the key `report`.
local function add_section(sections, names, seen, given)
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" then bad({ "report" }, "a section is " .. SECTION) end
  check_section(given)
  local name = given[1] or given.name or name_of(given.title)
  if seen[name] then bad({ "report", name, name }, ("section '%s' is named twice"):format(name)) end
  if given.title and lists.has(defaults.report.choices, name) then
    bad({ "report", given.title }, ("section '%s' is one of llmprof's own"):format(name))
  end
  seen[name], names[#names + 1] = true, name
  sections[#sections + 1] = { name = name, title = given.title, columns = given.columns,
    most = not given.title and given.rows or nil,
    rows = given.title and function(results) return rows_of(name, given.rows, results) end }
end


-- Declare a recipe; what a recipe file returns.
function recipe.recipe(given)
  if type(given) ~= "table" then bad({}, "recipe { ... } takes a table") end
  local try, raise = errors.gather()
  for _, name in ipairs(keys.sorted(keys.merged(recipe.fields, given))) do
    try(check_field, name, given[name])
  end
  local options = type(given.options) == "table" and given.options or {}
  for _, key in ipairs(keys.sorted(options)) do try(check_option, key, options[key]) end
  local stages, stages_seen = {}, {}
  for _, stage in ipairs(type(given.stages) == "table" and given.stages or {}) do
    try(add_stage, stages, stages_seen, stage)
  end
  local sections, names, seen = {}, {}, {}
  for _, section in ipairs(type(given.report) == "table" and given.report or {}) do
    try(add_section, sections, names, seen, section)
  end
  raise()
  local made = { stages = stages, sections = sections, options = options,
    config = { report = given.report and names } }
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
function recipe.fail(message, hint) errors.raise("usage", message, { hint = hint }) end


-- ---- lines ----

-- Where in its source a recipe says something. Tables do not know their lines, so the words are
-- looked for in the text, each behind the one before it, where a field or an item begins: from the
-- last `return` that begins a line on, else anywhere.

local function place_of(text, path, at)
  local found
  for i, name in ipairs(path) do
    local word = tostring(name):gsub("%p", "%%%0")
    local _, _, first = text:find(("[{,;]%%s*%%[?[\"']?()%s%s"):format(word,
      i == 1 and "[\"']?%]?%s*=[^=]" or "%f[^%w_]"), at)
    if not first then break end
    found, at = first, first
  end
  return found
end


-- The line of what a path leads to in the table that a source returns, such as
-- { "stages", "decode", "children" }; of as much of the path as is written there, nil when that
-- is nothing.
function recipe.line_of(source, path)
  local function blank(comment) return (" "):rep(#comment) end
  local function hide(mark, inside) return mark .. inside:gsub("%-%-", "\0\0") .. mark end
  local text = "\n" .. source:gsub("([\"'])([^\n]-)%1", hide):gsub("%-%-[^\n]*", blank)
    :gsub("\0\0", "--")
  local returned = 1
  for at in text:gmatch "\n()return%f[^%w_]" do returned = at end
  local found = place_of(text, path, returned) or place_of(text, path, 1)
  return found and select(2, text:sub(1, found):gsub("\n", "")) or nil
end


-- ---- loading ----

local loading = {} -- the recipe being loaded: path, called; for recipe.path


-- A file beside the recipe, by a name relative to it: "workloads/run.py"; where it
-- is not, one that ships (a copy of a shipped recipe works without its workload).
-- Returns a path on disk, or that of a file that is built in (files.built_in), which
-- the plan step writes out before it runs.
function recipe.path(name)
  local shipped = "recipes/" .. name
  if loading.called then return files.locate(shipped) or files.BUILT_IN .. shipped end
  local folder = loading.path and loading.path:match "^(.*)/[^/]*$"
  local beside = folder and folder .. "/" .. name or name
  return fs.stat(beside) and beside or files.locate(shipped) or beside
end


-- A program that lies beside the recipe as CUDA source: a word of argv. It is
-- compiled when a run first needs it.
function recipe.compiled(name) return { compile = recipe.path(name) } end


local function bad_list(where, message)
  errors.raise("usage", ("%s: %s"):format(where, message),
    { hint = "inputs.yaml of a run is such a list: files: [{ name: ..., sha256: ... }]" })
end


local SHA256 = ("%x"):rep(64)

-- An entry: a name, or { name, bytes, sha256 } as metrics.json tells of inputs.
local function check_input(entry, where, number)
  if type(entry) == "string" then entry = { name = entry } end
  local fits = type(entry) == "table" and type(entry.name) == "string" and entry.name ~= ""
    and (entry.sha256 == nil or tostring(entry.sha256):find("^" .. SHA256 .. "$"))
  if not fits then
    bad_list(("%s: files[%d]"):format(where, number),
      "a name is expected, or name and sha256, which has 64 hexadecimal digits")
  end
  return { name = entry.name, sha256 = entry.sha256, bytes = entry.bytes }
end


-- Options that workloads of PyTorch with a prefill and a decode share; a recipe's own go before
-- them.
function recipe.torch_options(own)
  return keys.merged({
    ["device"] = { "GPU the workload runs on", "cuda:0" },
    ["infer.batch"] = { "Sequences side by side", 1, min = 1 },
    ["infer.max_new_tokens"] = { "Tokens generated, the first by prefill", 64, min = 1 },
    ["infer.repeats"] = { "Times it is run inside the ranges", 2, min = 1 },
    ["infer.warmup"] = { "Runs before that, outside the ranges", 1, min = 0 },
    ["infer.compile"] = { "torch.compile of the decode step", "off",
      choices = { "off", "default", "reduce-overhead" } },
    ["infer.cuda_graph"] = { "Replay decode steps from a graph", "off", choices = { "off", "on" } },
    ["infer.kv_cache"] = { "Grow by concatenation, or allocate once, which a graph needs", "auto",
      choices = { "auto", "dynamic", "static" } },
    ["infer.attention"] = { "torch's fused attention, or its parts one by one", "sdpa",
      choices = { "sdpa", "eager" } },
    ["infer.experts"] = { "Experts one by one, as grouped gemms, or their weights gathered",
      "loop", choices = { "loop", "grouped", "gather" } },
    ["infer.sync_per_token"] = { "Read each token on the CPU, as a real loop does", "on",
      choices = { "off", "on" } },
    ["model.trust_remote_code"] = { "Run Python code that lies in the checkpoint", false,
      runs = true },
  }, own)
end


-- The same as words of the workload, the recipe's own behind them.
function recipe.torch_words(cfg, own)
  local infer = cfg.infer
  local words = { "--device", cfg.device, "--dtype", cfg.model.dtype, "--batch", infer.batch,
    "--max-new-tokens", infer.max_new_tokens, "--repeats", infer.repeats,
    "--warmup", infer.warmup, "--compile", infer.compile, "--cuda-graph", infer.cuda_graph,
    "--kv-cache", infer.kv_cache, "--attention", infer.attention, "--experts", infer.experts,
    "--sync-per-token", infer.sync_per_token }
  if cfg.model.trust_remote_code then words[#words + 1] = "--trust-remote-code" end
  return lists.add(words, own)
end


-- The inputs that a list names, such as inputs.yaml of a bundle: in order,
-- { name, sha256 (or nil), bytes (or nil) }. Refuses a file that is none.
function recipe.inputs(path)
  local contents, where = files.read_path(path)
  if not contents then bad_list(path, "no such file") end
  local tree = errors.check_as("usage", yaml.decode(contents, { name = where }))
  local list = type(tree) == "table" and tree.files or nil
  if type(list) ~= "table" or #list == 0 then bad_list(where, "it lists no inputs") end
  local read = {}
  for i, entry in ipairs(list) do read[i] = check_input(entry, where, i) end
  return read
end


-- The model that conf/model/<name>.yaml describes, as identify() returns it: its
-- name, variant and arch. Refuses a name that is none.
function recipe.described(name)
  local contents, where = files.read(("conf/model/%s.yaml"):format(name))
  if not contents then
    local known = files.names("conf/model", ".yaml")
    errors.raise("usage", ("no model '%s'%s"):format(name, keys.suggestion(name, known)),
      { hint = "conf/model has: " .. table.concat(known, ", ") })
  end
  local said = errors.check_as("usage", yaml.decode(contents, { name = where }))
  return { name = said.name, variant = said.variant, arch = name }
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
  local results = table.pack(errors.call_with(traceback, f, ...))
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
  for _, err in ipairs(errors.is(made) and errors.each(made) or {}) do
    if err.kind == "usage" and not err.detail then
      local line = err.path and recipe.line_of(text, err.path)
      err.message = ("%s: %s"):format(line and where .. ":" .. line or where, err.message)
    end
  end
  error(made, 0)
end


-- Is a word that names a recipe a path? Else it is the name of one that ships.
local function is_path(word) return word:find("/", 1, true) ~= nil or word:find "%.lua$" ~= nil end


-- A word as the folder recipes/ (or none), a name and the ending .lua (or none).
local function split(word)
  local folder = word:match "^recipes/" or word:match "^%./recipes/" or word:match "^%./" or ""
  local ending = word:match "%.lua$" or ""
  return folder, word:sub(#folder + 1, -#ending - 1), ending
end


local function unknown(word, message)
  local folder, _, ending = split(word)
  local known, here = files.names("recipes", ".lua"), nil
  for i, name in ipairs(known) do known[i] = folder .. name .. ending end
  for _, path in ipairs { word .. ".lua", "recipes/" .. word .. ".lua" } do
    if not is_path(word) and fs.stat(path) then here = ("llmprof %s runs the file"):format(path) end
  end
  errors.raise("usage", message .. keys.suggestion(word, known),
    { hint = here or "recipes: " .. table.concat(known, " ") })
end


-- Where a recipe of that name lies; nil when there is none.
local function find_name(name)
  return name:find "^[%w_-]+$" and files.locate("recipes/" .. name .. ".lua")
end


-- Where a word leads: the path of a recipe, and its name where it was found by that; raises
-- when it leads nowhere.
local function find(word)
  local built_in = files.built_in(word)
  if built_in then return word, built_in:match "([^/]+)%.lua$" end
  if is_path(word) then
    local info, message, code = fs.stat(word)
    if info then return word end
    if code ~= "notfound" then errors.raise("usage", message) end
  end
  local _, name = split(word)
  local path = find_name(name)
  if path then return path, name end
  unknown(word, is_path(word) and word .. ": no such file, nor is it built in"
    or ("no recipe '%s'"):format(word))
end


function recipe.has(name) return find_name(name) ~= nil end


-- Load a recipe. A word with a "/" or that ends in .lua is a path; where no file is there,
-- and for other words, it is the recipe that ships under that name: never one of the
-- working directory. Of such a one `called` is the name; path is where a file on disk lies,
-- and note, if there is one, is for the user.
function recipe.load(word)
  files.set_project(nil)
  local path, called = find(word)
  if not called then files.set_project(path) end
  local text, where = files.read_path(path)
  if not text then errors.raise("usage", where) end
  if text:byte() == 27 then
    errors.raise("usage", where .. ": compiled Lua; a recipe is Lua source")
  end
  local chunk, message = load(text, "@" .. where, "t", environment())
  if not chunk then errors.raise("usage", message) end
  loading = { path = path, called = called }
  local made = run_chunk(chunk, where, text)
  if getmetatable(made) ~= Recipe then
    errors.raise("usage", ("%s: returns %s, not a recipe"):format(where,
      type(made) == "nil" and "nothing" or "a " .. type(made)),
      { hint = 'end it with: return require("llmprof.recipe").recipe { ... }' })
  end
  made.file, made.source, made.called = where, text, called
  made.path = not files.built_in(path) and path or nil
  if called and is_path(word) and not files.built_in(word) then
    made.note = ("there is no file %s: this is the recipe '%s' that ships with llmprof"):format(
      word, called)
  end
  return made
end


return recipe
