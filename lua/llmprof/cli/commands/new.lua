-- llmprof new NAME: a recipe and a workload to start from. The templates are
-- recipes/templates/KIND.lua and recipes/templates/workloads/KIND.*.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local out = require "llmprof.io.output"
local text = require "llmprof.text"

local command = {
  name = "new",
  summary = "write a recipe and a workload to start from",
  usage = "new [OPTION...] NAME",
  details = [[
Writes NAME.lua and workloads/NAME.py (or .cu), which run as they stand. NAME may
be in a folder: recipes/NAME. Nothing is overwritten.]],
  options = {
    { "from", arg = "KIND", default = "causal_lm",
      choices = { "causal_lm", "cuda", "diffusion", "encoder", "serve" }, help = "what it is of" },
  },
}

local FOLDER = "recipes/templates/"

-- The program of each template. In Python it is not called as a package may be, which it
-- would then import instead.
local programs = { causal_lm = "run_%s.py", cuda = "%s.cu", diffusion = "run_%s.py",
  encoder = "run_%s.py", serve = "run_%s.py" }


-- The contents of a template, for a name.
local function filled(template, name)
  local contents = errors.check(files.own(FOLDER .. template))
  return (contents:gsub("@NAME@", name))
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


-- What to do with them now.
local function next_steps(kind, recipe, program)
  local lines = {}
  if kind == "cuda" then
    lines[1] = ("nvcc -O2 -arch=native -o %s %s"):format(program:gsub("%.cu$", ""), program)
  end
  lines[#lines + 1] = ("llmprof check %s"):format(recipe)
  lines[#lines + 1] = ("llmprof %s --dry-run"):format(recipe)
  return lines
end


function command.run(given, words)
  if #words ~= 1 then
    errors.raise("usage", #words == 0 and "which name?" or "one name at a time",
      { hint = "llmprof new my_model" })
  end
  local folder, name = split(words[1])
  local suffix = programs[given.from]:match "%.%w+$"
  local recipe = folder .. name .. ".lua"
  local program = folder .. "workloads/" .. programs[given.from]:format(name)
  check_free(recipe)
  check_free(program)
  write(program, filled("workloads/" .. given.from .. suffix, name))
  write(recipe, filled(given.from .. ".lua", name))
  out.write(text.clean(recipe), "\n", text.clean(program), "\nnext:\n")
  for _, line in ipairs(next_steps(given.from, recipe, program)) do
    out.write("  ", text.clean(line), "\n")
  end
  return 0
end


return command
