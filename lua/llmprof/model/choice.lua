-- Which description of the model counts, and what the run did with it.
--
-- The description, the first that there is: model.config; model.arch when it
-- was set for this run; what the workload says it ran (metrics.json, decoders
-- only); the recorded capture's own; the recipe's model.arch.
local model = require "llmprof.model"
local dtypes = require "llmprof.model.dtypes"

local choice = {}


-- Descriptions from metrics.json have a decoder's dimensions by the names that
-- llmprof.model.decoder has, and more that is not for us.
local function from_metrics(metrics)
  local said = metrics and metrics.model and metrics.model.architecture
  if type(said) ~= "table" or not said.hidden_size then return nil end
  local decoder = {}
  for key, value in pairs(said) do
    if key:find "^sam_" or key:find "^clip_" then return nil end
    if model.knows(key) then decoder[key] = value end
  end
  return model.from_table({ name = metrics.model.name, decoder = decoder }, "metrics.json")
end


-- A run in another precision than the description's, and number formats that
-- the configuration sets. Quantised weights stay what they are.
local function with_formats(arch, cfg, metrics)
  local formats = arch.formats
  local ran = metrics and metrics.model and metrics.model.dtype
  if ran and formats.weights == formats.activations then
    for what in pairs(formats) do formats[what] = dtypes.name(ran, "metrics.json: model.dtype") end
  end
  if cfg.weight_dtype then
    formats.weights = dtypes.name(cfg.weight_dtype, "model.weight_dtype")
  end
  if cfg.kv_dtype then formats.kv = dtypes.name(cfg.kv_dtype, "model.kv_dtype") end
  return arch
end


local function recorded(about, folder)
  local name = about and about.workload and about.workload.arch
  return name and folder and model.load(folder .. "/" .. name)
end


-- given: cfg (the configuration's model table), chosen (whether model.arch was
-- set for this run, and not by the recipe), metrics, about (capture.json) and
-- folder of a recorded capture. nil when nothing describes the model.
function choice.description(given)
  local cfg = given.cfg
  local arch = cfg.config and model.from_config(cfg.config)
    or (given.chosen and cfg.arch and model.load(cfg.arch))
    or from_metrics(given.metrics)
    or recorded(given.about, given.folder)
    or (cfg.arch and model.load(cfg.arch))
  return arch and with_formats(arch, cfg, given.metrics)
end


-- ---- what the run did ----

local function whole(value)
  local number = math.tointeger(value)
  return number and number >= 1 and number or nil
end


-- Images per sequence. The trace does not tell their size: the run does, else
-- it is taken to be the description's, if there were any.
local function images_of(said, arch)
  if said.images then return said.images, "given" end
  if (said.image_tokens or 0) > 0 and arch.image_size > 0 then
    return { { count = 1, size = arch.image_size } }, "the description's image_size"
  end
  return {}, nil
end


-- { source, batch, prompt_tokens, new_tokens, images, images_source } from what
-- the workload measured, else from what is known of a recorded run; nil when
-- neither says how many tokens there were.
function choice.run(arch, metrics, about)
  local said, source = metrics, "metrics.json"
  if not (said and whole(said.prompt_tokens)) then
    said, source = about and about.workload, "capture.json"
  end
  if not (said and whole(said.prompt_tokens)) then return nil end
  local images, images_source = images_of(said, arch)
  return { source = source, batch = whole(said.batch) or 1,
    prompt_tokens = whole(said.prompt_tokens), new_tokens = whole(said.new_tokens),
    images = images, images_source = images_source }
end


return choice
