-- Captures that were recorded before: folders with what a run on a GPU left
-- behind, as `llmprof record` writes them; llmprof.bundle.layout has the files. What is taken of
-- them llmprof.run.capture.files does, as of any files.
local artifacts = require "llmprof.bundle.artifacts"
local process = require "llmprof.process.child"
local config = require "llmprof.recipe.config"
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local document = require "llmprof.io.document"
local read_inputs = require("llmprof.recipe").inputs
local layout = require "llmprof.bundle.layout"
local keys = require "llmprof.tables.keys"
local yaml = require "llmprof.yaml"

local recorded = { name = "recorded", remedies = false }

-- The folder that is named, that beside the recipe, or that of the recipes that ship; nil
-- and the one that was looked for last.
local function find_folder(cfg, recipe)
  if cfg.recorded and files.is_folder(cfg.recorded) then return cfg.recorded end
  local own = "recorded/" .. recipe.name
  local beside = not recipe.called and recipe.path and (recipe.path:match "^.*/" or "") .. own
  if not cfg.recorded and beside and files.is_folder(beside) then return beside end
  local name = cfg.recorded or "recipes/" .. own
  return files.find_folder(name), name
end


-- The folder of a recipe's recorded capture.
function recorded.folder(cfg, recipe)
  local folder, wanted = find_folder(cfg, recipe)
  if not folder then
    errors.raise("usage", ("no recorded capture in %s"):format(wanted),
      { hint = "recorded=FOLDER names another; it holds run.sqlite and capture.json" })
  end
  artifacts.check_links(folder)
  return folder
end


-- What capture.json says; an empty table when there is none.
local function about(folder)
  local path = folder .. "/" .. layout.ABOUT
  if not fs.stat(path) then return {} end
  local said, message = document.read(path, "capture")
  if said == nil then errors.raise("usage", message) end
  return said
end


function recorded.open(ctx) ctx.state.folder = recorded.folder(ctx.cfg, ctx.recipe) end


function recorded.about(ctx) return about(ctx.state.folder) end


function recorded.recall(ctx)
  return { date = ctx.state.about.date, command = ctx.state.about.command }
end


function recorded.machine(ctx) return about(ctx.state.folder).environment end


-- The settings that it was made with, as a tree; nil where it does not say. What is
-- wrong with a capture is said when it is opened.
function recorded.captured_with(ctx)
  local folder = find_folder(ctx.cfg, ctx.recipe)
  local path = folder and fs.beneath(folder, layout.ABOUT)
  local said = path and errors.unless_systems(document.read(path, "capture"))
  return said and said.captured_with or nil
end


-- ---- what is set ----

-- What analysing a capture takes from the configuration.
local heeded = { repeats = true, hardware = true, top_n = true, report = true, model = true,
  cpu_stacks = true }

-- What else is done as it is set: where the bundle lies and what it may take, what is left
-- out, how kernels are selected; and names of programs, none of which is run.
local followed = { capture = true, recorded = true, mode = true, out = true, limits = true,
  cache = true, ncu = true, tools = true, python = true, timeline = true, ["run.id"] = true,
  ["run.root"] = true, ["workload.operators_trace"] = true }

-- Values that are followed of keys whose others are not.
local values = { ["counters.by"] = { on = true, auto = true, off = true },
  operators = { on = true, off = true } }


-- Is a key of llmprof's own one of those? The recipe's options never are.
function recorded.heeds(key) return defaults[key] ~= nil and heeded[key:match "^[^.]+"] == true end


-- Does a list of inputs have those that the workload ran on?
local function has_inputs(path, folder)
  local metrics = errors.unless_systems(document.read(folder .. "/"
    .. layout.recorded_name(layout.workload.metrics), "metrics"))
  local ran = metrics and metrics.inputs or {}
  local given = path and read_inputs(path) or {}
  for i, input in ipairs(given) do
    if not (ran[i] and input.sha256 and ran[i].sha256 == input.sha256) then return false end
  end
  return #given > 0 and #given == #ran
end


local function text_of(value)
  return type(value) == "string" and value ~= "" and value or yaml.encode_line(value)
end


-- Is a key set by the command line? Or an option of the recipe by the file of --config, which
-- may be the config.yaml of a bundle and hold every key: to what is not its default.
local function is_set(composed, key)
  local origin, default = composed.origins[key], composed.declared[key][2]
  if origin == config.COMMAND_LINE then return true end
  return origin == composed.file and not defaults[key]
    and (default == nil or text_of(default) ~= text_of(composed.values[key]))
end


-- A capture is what it was recorded as: its figures under the name of another setting would
-- be false. Raises where what it does not follow is set to another value than it was recorded
-- with; with capture=files, whose program nobody knows, where an option of the recipe is set.
-- composed: of llmprof.recipe.config.
function recorded.check(made, composed)
  local cfg, wrong = composed.tree, {}
  local handed = cfg.capture == "files"
  local folder = cfg.capture == "recorded" and find_folder(cfg, made)
  if not folder and not handed then return end
  local with = folder and recorded.captured_with { cfg = cfg, recipe = made }
  for _, key in ipairs(keys.sorted(composed.origins)) do
    local value = composed.values[key]
    local follows = defaults[key] and (handed or recorded.heeds(key) or followed[key]
      or followed[key:match "^[^.]+"] or values[key] and values[key][value])
    if is_set(composed, key) and not follows then
      local had, is = keys.at(with, key), value ~= nil and text_of(value) or "null"
      local was = had ~= nil and had ~= process.HIDDEN and text_of(had) or nil
      local same = key == "inputs.manifest" and folder and has_inputs(value, folder)
      if is ~= was and not same then
        wrong[#wrong + 1] = ("%s=%s (%s)"):format(key, is, was and "it has " .. was
          or "it does not say what it had")
      end
    end
  end
  if #wrong > 0 then
    errors.raise("usage", "a recorded capture cannot follow " .. table.concat(wrong, ", "),
      { hint = #gpu.list() > 0 and "leave that out, or measure again: capture=auto"
        or "leave that out" })
  end
end


function recorded.note() return "none needed for a recorded capture" end


-- What its workload ran on, as far as it says; and the files of the capture that are
-- there, with sizes.
function recorded.inputs(ctx)
  local inputs, metrics = {}, errors.unless_systems(document.read(ctx.state.folder .. "/"
    .. layout.recorded_name(layout.workload.metrics), "metrics"))
  for _, name in ipairs(layout.recorded_names()) do
    local info = fs.stat(ctx.state.folder .. "/" .. name)
    if info then inputs[#inputs + 1] = { file = name, bytes = info.size } end
  end
  return { source = "workload", files = metrics and metrics.inputs or yaml.list {},
    capture = { folder = ctx.state.folder, files = inputs } }
end


return recorded
