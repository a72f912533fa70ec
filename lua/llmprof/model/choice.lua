-- Which description of the model counts, and what the run did with it.
--
-- The description, the first that there is: model.config; model.arch when it
-- was set for this run; what the workload says it ran (metrics.json, decoders
-- only); the recorded capture's own; the recipe's model.arch; the config.json in the
-- folder that model.path names.
local quantisation = require "llmprof.model.quantisation"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local huggingface = require "llmprof.model.huggingface"
local model = require "llmprof.model"

local choice = {}


-- What metrics.json tells of an architecture: the values of a config.json, by
-- its model_type, or a decoder's fields by the names that llmprof.model.decoder
-- has, and more that is not for us.
local function read_architecture(said)
  local where = "metrics.json"
  if said.model_type then
    return model.from_table(huggingface.describe(said, where), where)
  end
  local decoder = {}
  for key, value in pairs(said) do
    if model.knows(key) then decoder[key] = value end
  end
  return model.from_table({ decoder = decoder }, where)
end


local function has_encoder(said)
  for key in pairs(said) do
    if key:find "^sam_" or key:find "^clip_" then return true end
  end
  return false
end


-- f(...), or nil and the message of what is wrong with metrics.json: the report
-- is to come all the same.
local function guarded(f, ...)
  local ok, made = pcall(f, ...)
  if ok then return made end
  if not errors.is(made) then error(made, 0) end
  return nil, made.message
end


-- The decoder that the workload says it ran; nil when it does not say, and a
-- message when that is broken.
local function from_metrics(metrics)
  local said = metrics and metrics.model and metrics.model.architecture
  if type(said) ~= "table" or not said.hidden_size or has_encoder(said) then return nil end
  return guarded(read_architecture, said)
end


-- The description in the folder that the workload loaded its model from; nil where there is
-- none, and a message when it cannot be used.
local function from_folder(path)
  local file = (path or "") ~= "" and path .. "/config.json"
  if not file or not fs.stat(file) then return nil end
  return guarded(model.from_config, file)
end


-- A run in another precision than the description's. What is quantised stays what
-- it is: the run names what the model computes in beside it.
local function in_run_format(arch, metrics)
  local formats = arch.formats
  local ran = metrics and metrics.model and metrics.model.dtype
  if not ran then return arch end
  local name = quantisation.name(ran, "metrics.json: model.dtype")
  for what, format in pairs(formats) do
    if not quantisation.is_quantised(format) then formats[what] = name end
  end
  return arch
end


-- Number formats that the configuration sets.
local function in_set_formats(arch, cfg)
  local formats = arch.formats
  if cfg.weight_dtype then
    formats.weights = quantisation.name(cfg.weight_dtype, "model.weight_dtype")
  end
  if cfg.kv_dtype then formats.kv = quantisation.name(cfg.kv_dtype, "model.kv_dtype") end
  return arch
end


local function recorded(about, folder)
  local name = about and about.workload and about.workload.arch
  return name and folder and model.load(folder .. "/" .. name)
end


-- given: cfg (the configuration's model table), chosen (whether model.arch was
-- set for this run, and not by the recipe), metrics, about (capture.json) and
-- folder of a recorded capture. nil when nothing describes the model, with a
-- message when metrics.json tried to.
function choice.description(given)
  local cfg = given.cfg
  local said, complaint = from_metrics(given.metrics)
  local arch = cfg.config and model.from_config(cfg.config)
    or (given.chosen and cfg.arch and model.load(cfg.arch))
    or said
    or recorded(given.about, given.folder)
    or (cfg.arch and model.load(cfg.arch))
  if not arch and not complaint then arch, complaint = from_folder(cfg.path) end
  if arch then arch, complaint = guarded(in_run_format, arch, given.metrics) end
  if not arch then return nil, complaint end
  return in_set_formats(arch, cfg)
end


-- ---- what the run did ----

local function whole(value)
  local number = type(value) == "number" and math.tointeger(value)
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


-- What the requests of a load had in the mean, as if metrics.json said it of each: {
-- prompt_tokens, new_tokens }; nil where it names no requests.
local function mean_request(metrics)
  local count, prompt, new = 0, 0, 0
  for _, entry in ipairs(metrics and metrics.repeats or {}) do
    for _, request in ipairs(type(entry.requests) == "table" and entry.requests or {}) do
      if whole(request.prompt_tokens) and whole(request.tokens) then
        count = count + 1
        prompt, new = prompt + request.prompt_tokens, new + request.tokens
      end
    end
  end
  if count == 0 then return nil end
  return { prompt_tokens = (2 * prompt + count) // (2 * count),
    new_tokens = (2 * new + count) // (2 * count) }
end


-- { source, batch, prompt_tokens, new_tokens, images, images_source } from what
-- the workload measured, else from the mean of its requests, else from what is known of a
-- recorded run; nil when none says how many tokens there were.
function choice.run(arch, metrics, about)
  local said, source = metrics, "metrics.json"
  if not (said and whole(said.prompt_tokens)) then
    said, source = mean_request(metrics), "metrics.json: the mean of its requests"
  end
  if not said then
    said, source = about and about.workload, "capture.json"
  end
  if not (said and whole(said.prompt_tokens)) then return nil end
  local images, images_source = images_of(said, arch)
  return { source = source, batch = whole(said.batch) or 1,
    prompt_tokens = whole(said.prompt_tokens), new_tokens = whole(said.new_tokens),
    images = images, images_source = images_source }
end


return choice
