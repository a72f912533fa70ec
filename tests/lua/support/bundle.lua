-- Runs in temporary folders, for specs.
local artifacts = require "llmprof.bundle.artifacts"
local config = require "llmprof.recipe.config"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local pipeline = require "llmprof.run.pipeline"
local recipe = require "llmprof.recipe"

local bundle = {}


-- A folder that is there for the time of each test: top() is its path.
function bundle.scratch(before_each, after_each)
  local path
  before_each(function() path = assert(fs.temp_dir "llmprof-test-") end)
  after_each(function() assert(fs.remove_tree(path)) end)
  return function() return path end
end


-- A program of these lines of shell, in a folder that is made; its path.
function bundle.shell(path, lines)
  assert(fs.mkdirs(path:match "^(.*)/"))
  assert(fs.write(path, "#!/bin/sh\n" .. lines .. "\n"))
  assert(fs.chmod(path, tonumber("755", 8)))
  return path
end


-- A user interface that notes what it is told: list of "done plan", ...
function bundle.listener()
  local said = {}
  local ui = setmetatable({}, { __index = function(_, event)
    return function(what)
      if type(what) == "table" then what = table.concat(what, " ") end
      said[#said + 1] = event .. " " .. tostring(what)
    end
  end })
  return ui, said
end


-- Run a recipe file into a folder. words: overrides as on the command line.
-- Returns the context, the pipeline's first error, and what the ui was told.
function bundle.run(name, out, words, resume)
  local made = recipe.load(name)
  local composed = config.of_recipe(made, nil, words or {})
  local run = resume and artifacts.open(out, composed.tree.run.root)
    or artifacts.create { out = out, recipe = made.name, recipe_file = made.file,
      command = json.list { "llmprof", name } }
  local ctx = { recipe = made, config = composed, cfg = composed.tree, run = run,
    resume = resume }
  local ui, said = bundle.listener()
  local failure = pipeline.run(ctx, ui)
  return ctx, failure, said
end


-- Run a recipe with these fields (Lua source) on tests/fixtures/small, which has
-- a little of everything. folder is where the recipe and the bundle go; resume: of
-- a run that is there.
function bundle.run_small(folder, fields, words, resume)
  local path = folder .. "/small.lua"
  if not resume then assert(fs.write(path, ([[local seen = package.loaded["tests.seen"]
    return require("llmprof.recipe").recipe { name = "small",
      workload = function() return { argv = { "true" } } end, %s }]]):format(fields))) end
  return bundle.run(path, folder .. "/run", { "capture=recorded", "recorded=tests/fixtures/small",
    table.unpack(words or {}) }, resume)
end


return bundle
