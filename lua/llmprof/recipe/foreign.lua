-- Words for settings that other tools and older configurations use, and the
-- keys that stand for them here. With and without a leading "+" they mean the
-- same as those keys; where a value has another form here, it is translated.
local errors = require "llmprof.process.errors"
local put = require("llmprof.tables.keys").put

local foreign = {}

local switch = { ["true"] = "on", ["false"] = "off", on = "on", off = "off" }

-- Name -> the key here, and values by what stands for them here (optional). Where the recipe has no
-- such key, the name is refused.
local names = {
  ["run.mode"] = { "mode" },
  ["run.top_n_kernels"] = { "top_n.kernels" },
  ["artifacts.stage2_dir"] = { "run.root" },
  ["pipeline.nsys.enable"] = { "timeline", switch },
  ["pipeline.ncu.enable"] = { "counters.by", switch },
  ["pipeline.torch_profiler.enable"] = { "operators", switch },
  ["model.target"] = { "model.preset" },
}

-- Groups whose keys are those of a group here.
local groups = { ["pipeline.nsys"] = "nsys", ["pipeline.ncu"] = "ncu" }

-- Presets that switch a step off: group -> key.
local steps = { nsys = "timeline", ncu = "counters.by" }

-- Names that nothing here stands for by itself: what to use instead.
local refused = {
  ["model.target"] = "choose the model with model.arch, model.config, model.path or the "
    .. "recipe's model.preset",
  ["inputs.manifest"] = "this recipe's workload takes no list of inputs; one that does declares "
    .. "the option inputs.manifest",
  ["run.stage1_repeats"] = "choose samples with dataset.sampling.*, repeats with infer.repeats",
  ["repeats"] = "infer.repeats is how often the workload runs, repeats.skip_first which of them "
    .. "count",
  ["runners"] = "nothing is analysed inside the workload while it is profiled; operators=off "
    .. "leaves its own profiler out",
  ["pipeline.static_analysis.enable"] = "parameters, FLOP and bytes come from the model's "
    .. "description: model.arch, model.config",
  ["hydra.run.dir"] = "out=FOLDER is where the bundle goes, run.root=FOLDER where runs are kept",
  ["hydra.job.chdir"] = "the workload runs where llmprof was started, or in the recipe's cwd",
}


local function translated(key, values, value)
  if not values then return value end
  local found = values[tostring(value)]
  if not found then
    errors.raise("usage", ("%s: '%s' is not true or false"):format(key, tostring(value)))
  end
  return found
end


-- What key = value is called here: the key and the value; nothing when the key
-- is no foreign one. is_known(key) tells which keys there are: a recipe may
-- declare one of these names for itself.
function foreign.resolve(key, value, is_known)
  if steps[key] and value == "off" then return steps[key], "off" end
  if is_known(key) then return nil end
  local entry = names[key]
  if entry and is_known(entry[1]) then return entry[1], translated(key, entry[2], value) end
  if refused[key] then
    errors.raise("usage", ("'%s' is not a key here"):format(key), { hint = refused[key] })
  end
  for from, to in pairs(groups) do
    if key:sub(1, #from + 1) == from .. "." then return to .. key:sub(#from + 1), value end
  end
  return nil
end


local function walk(into, tree, is_known, prefix)
  for name, value in pairs(tree) do
    local key = prefix .. tostring(name)
    if type(value) == "table" and not is_known(key) and #value == 0 and next(value) ~= nil then
      walk(into, value, is_known, key .. ".")
    else
      local target, translation = foreign.resolve(key, value, is_known)
      if target then key, value = target, translation end
      put(into, key, value)
    end
  end
end


-- A tree of settings with foreign names replaced; a copy.
function foreign.tree(tree, is_known)
  local made = {}
  walk(made, tree, is_known, "")
  return made
end


return foreign
