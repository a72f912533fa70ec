-- llmprof RECIPE.lua [KEY=VALUE...]: profile a workload, write the bundle.
local lazy = require "llmprof.base.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local config = lazy "llmprof.recipe.config"
local dry_run = lazy "llmprof.run.dry_run"
local errors = require "llmprof.base.errors"
local layout = require "llmprof.bundle.layout"
local out = require "llmprof.base.out"
local pipeline = lazy "llmprof.run.pipeline"
local progress = lazy "llmprof.run.progress"
local recipe = require "llmprof.recipe"
local sorted_keys = require "llmprof.base.sorted_keys"

local command = {
  name = "run",
  summary = "profile a workload by a recipe, write the bundle",
  usage = "[run] RECIPE.lua [OPTION...] [KEY=VALUE...]",
  details = [[
KEY=VALUE sets a configuration key, +KEY=VALUE adds one, ~KEY removes a value,
nsys=light chooses a preset; lists are written [a,b].]],
  options = {
    { "config", arg = "FILE.yaml", help = "take values from a file" },
    { "trust-config", help = "run the programs that it names, too" },
    { "print-config", help = "show every value and where it came from, do nothing" },
    { "dry-run", help = "show the steps and commands, do nothing" },
    { "resume", arg = "RUN", help = "continue a run: its id, its folder or latest" },
    { "quiet", short = "q", help = "print nothing but errors" },
    { "verbose", short = "v", help = "show the commands and what they print" },
    { "log", arg = "FILE", help = "write all of that to a file as well" },
    { "watch-gpu", help = "show how the GPUs are doing while programs run" },
  },
  completes = "recipe",
}


-- ---- what is going to run ----

local function load_recipe(words)
  if #words == 0 then
    errors.raise("usage", "which recipe?", { hint = "llmprof recipes/deepseek_ocr.lua" })
  end
  return recipe.load(words[1])
end


-- ---- help for a recipe ----

local function shown_default(declaration)
  local value = declaration[2]
  if value == nil or value == "" then return "" end
  if type(value) == "table" then value = "[" .. table.concat(value, ",") .. "]" end
  return (" (%s)"):format(tostring(value))
end


local function key_lines(declared)
  local lines, width = {}, 0
  local keys = sorted_keys(declared)
  for _, key in ipairs(keys) do width = math.max(width, #key) end
  for i, key in ipairs(keys) do
    lines[i] = ("  %-" .. width .. "s  %s%s\n"):format(key, declared[key][1],
      shown_default(declared[key]))
  end
  return table.concat(lines)
end


function command.help(words)
  local options = require "llmprof.cli.options"
  local text = { "usage: llmprof ", command.usage, "\n\n", command.details, "\n" }
  if words[1] then
    local made = recipe.load(words[1])
    text[#text + 1] = ("\nkeys of %s:\n%s"):format(made.name, key_lines(made.options))
    text[#text + 1] = "\nllmprof's own keys:\n" .. key_lines(require "llmprof.recipe.defaults")
  else
    text[#text + 1] = "With a recipe, --help also lists the keys it can be given.\n"
  end
  text[#text + 1] = "\noptions:\n" .. options.help(command.options)
  return table.concat(text)
end


-- ---- running ----

local function command_words(made, given, words)
  local list = { "llmprof", made.file }
  table.move(words, 2, #words, 3, list)
  if given.config then
    list[#list + 1] = "--config"
    list[#list + 1] = given.config
  end
  return list
end


local function open_run(made, composed, given, words)
  local cfg = composed.tree
  local begun, id
  if given.resume then begun, id = artifacts.begun(given.resume, cfg.run.root) end
  if given.resume and not begun then
    local run = artifacts.open(given.resume, cfg.run.root)
    if run.manifest.recipe ~= made.name then
      errors.raise("usage", ("run %s is of the recipe %s, not %s"):format(run.id,
        tostring(run.manifest.recipe), made.name))
    end
    run:reopen()
    return run
  end
  return artifacts.create { out = not id and begun or cfg.out, root = cfg.run.root,
    id = id or cfg.run.id, recipe = made.name, recipe_file = made.file,
    command = command_words(made, given, words) }
end


-- The timeline of the run that is resumed, if it has one.
local function kept_timeline(given, cfg)
  return given.resume and layout.find(artifacts.open(given.resume, cfg.run.root).dir, "timeline")
end


-- A file of settings may be a stranger's: what it has run is named before.
local function check_trust(composed, made, given, words)
  local runs = given["trust-config"] and {} or config.runs_of_file(composed, made, words)
  if #runs == 0 then return end
  errors.raise("usage", ("%s says what is run: %s"):format(given.config, table.concat(runs, ", ")),
    { hint = "--trust-config runs it, if the file is yours" })
end


local function new_context(made, composed, run, resume)
  return { recipe = made, config = composed, cfg = composed.tree, run = run, resume = resume }
end


function command.run(given, words)
  local made = load_recipe(words)
  local settings = table.move(words, 2, #words, 1, {})
  local composed = config.of_recipe(made, given.config, settings)
  if given["print-config"] then
    out.write(config.to_yaml(composed))
    return 0
  elseif given["dry-run"] then
    out.write(dry_run.text(made, composed.tree, kept_timeline(given, composed.tree)))
    return 0
  end
  check_trust(composed, made, given, settings)
  local ui = progress.new { quiet = given.quiet, verbose = given.verbose, log = given.log,
    watch_gpu = given["watch-gpu"] }
  local run = open_run(made, composed, given, words)
  ui.start(made, composed.tree, run)
  local ctx = new_context(made, composed, run, given.resume ~= nil)
  local failure = pipeline.run(ctx, ui)
  if not failure or run:has(layout.results) or run:has(layout.timeline) then run:publish() end
  ui.finish(ctx, failure)
  if failure and failure.kind == "interrupted" then failure.hint = run:continuation() end
  if failure then error(failure, 0) end
  return 0
end


return command
