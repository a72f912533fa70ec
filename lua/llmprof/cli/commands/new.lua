-- llmprof new NAME: a recipe and a workload to start from. The templates are
-- recipes/templates/KIND.lua and recipes/templates/workloads/KIND.*.
local argument = require "llmprof.cli.arguments"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local lazy = require "llmprof.io.lazy"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"
local out = require "llmprof.io.output"
local reports = lazy "llmprof.run.reports"
local results_file = lazy "llmprof.bundle.results_file"
local stages = lazy "llmprof.analysis.stages.find"
local text = require "llmprof.text"

-- By kind, the program of its template. In Python it is not called as a package may be, which it
-- would then import instead.
local programs = { causal_lm = "run_%s.py", cuda = "%s.cu", diffusion = "run_%s.py",
  encoder = "run_%s.py", serve = "run_%s.py" }

local KINDS = nearest.sorted(programs)

local command = {
  name = "new",
  usage = "new [OPTION...] NAME",
  details = [[
Writes NAME.lua and workloads/NAME.py (or .cu), which run as they stand. NAME may
be in a folder: recipes/NAME. Nothing is overwritten. From a trace it is a recipe
alone, whose stages are those that were found in it.]],
  options = {
    { "from", arg = "KIND", default = "causal_lm", values = function() return KINDS end,
      help = "what it is of: " .. table.concat(KINDS, ", ") .. ", or a trace" },
  },
}

local FOLDER = "recipes/templates/"


-- The contents of a template, for a name. more: texts by other words in it (optional).
local function filled(template, name, more)
  local contents = errors.check(files.own(FOLDER .. template))
  for word, text_of_it in pairs(more or {}) do
    contents = contents:gsub('"?@' .. word .. '@"?', function() return text_of_it end)
  end
  return (contents:gsub("@NAME@", name))
end


-- What the template is told of a trace: its stages, but for one that is the whole run.
local function found_in(path)
  local names = lists.map(results_file.of_run(reports.of { path }).stages, function(stage)
    return not stage.parent and stage.name ~= stages.WHOLE_RUN and ("{ %q }"):format(stage.name)
      or nil
  end)
  return { STAGES = table.concat(names, ", ") }
end


local function check_free(path)
  if fs.lstat(path) then
    errors.raise("usage", path .. " is there already",
      { hint = "choose another name, or remove it first" })
  end
end


local function split(word)
  local folder, name = word:gsub("%.lua$", ""):match "^(.-)([^/]*)$"
  if not name:find "^%w[%w_.-]*$" then
    errors.raise("usage", ("'%s' cannot name a recipe"):format(word),
      { hint = "letters, digits, '_', '.' and '-' can, and it begins with a letter or digit" })
  end
  return folder, name
end


local function write(path, contents)
  local folder = path:match "^(.*)/[^/]*$"
  if folder then errors.check(fs.mkdirs(folder)) end
  errors.check(fs.write(path, contents))
end


-- A recipe of the stages of a trace.
local function from_trace(folder, name, path)
  if not fs.stat(path) then
    errors.raise("usage", ("--from: '%s' is no kind and no trace%s"):format(path,
      nearest.suggestion(path, KINDS)), { hint = "kinds: " .. table.concat(KINDS, " ") })
  end
  local recipe = folder .. name .. ".lua"
  check_free(recipe)
  write(recipe, filled("trace.lua", name, found_in(path)))
  out.write(text.clean(recipe), "\nnext:\n  put its program into the recipe\n",
    ("  llmprof check %s\n"):format(text.clean(recipe)))
  return 0
end


function command.run(given, words)
  local folder, name = split(argument.only(words, "name", "llmprof new my_model"))
  if not programs[given.from] then return from_trace(folder, name, given.from) end
  local suffix = programs[given.from]:match "%.%w+$"
  local recipe = folder .. name .. ".lua"
  local program = folder .. "workloads/" .. programs[given.from]:format(name)
  check_free(recipe)
  check_free(program)
  write(program, filled("workloads/" .. given.from .. suffix, name))
  write(recipe, filled(given.from .. ".lua", name))
  out.write(text.clean(recipe), "\n", text.clean(program), "\nnext:\n")
  if given.from == "cuda" then
    out.write(text.clean(("  nvcc -O2 -arch=native -o %s %s"):format(program:gsub("%.cu$", ""),
      program)), "\n")
  end
  out.write(text.clean("  llmprof check " .. recipe), "\n",
    text.clean(("  llmprof %s --dry-run"):format(recipe)), "\n")
  return 0
end


return command
