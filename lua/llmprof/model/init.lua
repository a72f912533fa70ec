-- llmprof.model: what a model's work takes, from a description of its
-- architecture.
--
--   local model = require "llmprof.model"
--   local arch = model.load "deepseek_ocr"
--   local cost = model.prefill(arch, { tokens = 281, batch = 1 })
--   print(cost.flops, cost.bytes)
--
-- A description (arch) has the fields that docs/models.md lists, and `source`, where it was read.
--
-- Costs are { flops, weight_bytes, kv_read_bytes, kv_write_bytes,
-- activation_bytes, bytes, parts }, FLOP and bytes; bytes is the sum of the
-- three that have to move, parts says what they are for: list of { name,
-- flops, weight_bytes }. docs/metrics.md has the formulas.
local cost = require "llmprof.model.cost"
local decoder = require "llmprof.model.decoder"
local quantisation = require "llmprof.model.quantisation"
local encoder = require "llmprof.model.encoder"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local huggingface = require "llmprof.model.huggingface"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"
local schema = require "llmprof.model.schema"
local yaml = require "llmprof.yaml"
local fs = require "llmprof.fs"

local model = {}

local FIELDS = {
  name = { "text", "" },
  variant = { "text", "" },
  formats = { "table", {} },
  decoder = { "table", false },
  encoders = { "list", {} },
  extra_parameters = { "whole", 0 },
  image_size = { "whole", 0 },
  partial = { "flag", false },
}

local FORMATS = {
  weights = { "text", "bf16" },
  kv = { "text", "" },
  activations = { "text", "bf16" },
  embeddings = { "text", "" },
  projections = { "text", "" },
  experts = { "text", "" },
}

-- Fields of a description by the part they are in: docs/models.md lists them.
model.FIELDS = { model = FIELDS, formats = FORMATS, decoder = decoder.FIELDS,
  encoders = encoder.FIELDS }


-- ---- reading ----

local function read_formats(given, where)
  local formats = schema.read(given, FORMATS, where)
  for _, what in ipairs { "weights", "activations", "kv", "embeddings", "projections",
    "experts" } do
    local name = formats[what]
    if name == "" then name = what == "kv" and formats.activations or formats.weights end
    formats[what] = quantisation.name(name, where .. "." .. what)
  end
  return formats
end


-- Whether a decoder has a field of that name.
function model.knows(field) return decoder.FIELDS[field] ~= nil end


function model.from_table(given, where)
  local arch = schema.read(given, FIELDS, where)
  arch.source = where
  arch.formats = read_formats(arch.formats, where .. ": formats")
  arch.decoder = arch.decoder and decoder.read(arch.decoder, where .. ": decoder")
  for i, part in ipairs(arch.encoders) do
    arch.encoders[i] = encoder.read(part, ("%s: encoders[%d]"):format(where, i))
  end
  if not arch.decoder and #arch.encoders == 0 then
    schema.bad(where .. ": neither a decoder nor encoders")
  end
  return arch
end


local function found(word, contents, where)
  if contents then return contents, where end
  local known = files.names("conf/model", ".yaml")
  errors.raise("usage", where .. nearest.suggestion(word, known),
    { hint = "conf/model has: " .. table.concat(known, ", ") })
end


-- word: the name of a file in conf/model, or a path. Errors name the file and the key, here and
-- below.
function model.load(word)
  local contents, where
  if word:find "^[%w_-]+$" then
    contents, where = found(word, files.read(("conf/model/%s.yaml"):format(word)))
  else
    contents, where = found(word, files.read_path(word))
  end
  return model.from_table(errors.check_as("usage", yaml.decode(contents, { name = where })), where)
end


-- The same of a Hugging Face config.json.
function model.from_config(path)
  local contents, where = found(path, files.read_path(path))
  local config = errors.check_as("usage", json.decode(contents, { name = where }))
  return model.from_table(huggingface.describe(config, where), where)
end


-- { total, active, decoder, encoders }: counts; active are those that one
-- decoded token is multiplied with, absent without a decoder.
function model.parameters(arch)
  local own = arch.decoder and decoder.parameters(arch.decoder)
  local encoders = lists.sum(arch.encoders, encoder.parameters)
  return { total = (own and own.total or 0) + encoders + arch.extra_parameters,
    active = own and own.active, decoder = own and own.total, encoders = encoders }
end


-- ---- costs ----

-- A whole number of work as a float: products of integers would wrap.
local function count(work, key, least)
  local value = work[key]
  if math.type(value) ~= "integer" or value < least then
    errors.raise("usage", ("model: %s: a whole number of at least %d is expected, not %s"):format(
      key, least, tostring(value)))
  end
  return value + 0.0
end


-- What a pass of the decoder costs. least: list of { what of the work it takes, least of that }.
local function pass_of(arch, pass, work, least)
  if not arch.decoder then
    errors.raise("usage", arch.source .. ": it describes no decoder",
      { hint = "add a table 'decoder'" })
  end
  local sum, counted = cost.new(arch.formats), {}
  for _, one in ipairs(least) do counted[one[1]] = count(work, one[1], one[2]) end
  pass(sum, arch.decoder, counted)
  return sum:total()
end


-- work: tokens per sequence, batch (sequences).
function model.prefill(arch, work)
  return pass_of(arch, decoder.prefill, work, { { "tokens", 1 }, { "batch", 1 } })
end


-- work: steps, context (tokens in the cache before the first step), batch.
function model.decode(arch, work)
  return pass_of(arch, decoder.decode, work, { { "steps", 1 }, { "context", 0 }, { "batch", 1 } })
end


-- One encoder, by name, over images: list of { count, size (pixels a side) }.
function model.encode(arch, name, images)
  local counted = lists.map(images, function(image)
    return { count = count(image, "count", 1), size = count(image, "size", 1) }
  end)
  local sum, part = cost.new(arch.formats), lists.find(arch.encoders, "name", name)
  if not part then
    errors.raise("usage", ("%s: it describes no encoder '%s'"):format(arch.source, name))
  end
  encoder.encode(sum, part, counted)
  return sum:total()
end


local SUMS = { "flops", "weight_bytes", "kv_read_bytes", "kv_write_bytes", "activation_bytes",
  "bytes" }


-- Several costs as one: list of { cost, name, factor (nil: 1) }; their parts stay apart, under
-- their owner's name.
function model.together(list)
  local sum = { parts = {} }
  for _, key in ipairs(SUMS) do
    sum[key] = cost.whole(lists.sum(list, function(entry)
      return entry.cost[key] * (entry.factor or 1.0)
    end))
  end
  for _, entry in ipairs(list) do
    for _, part in ipairs(entry.cost.parts) do
      local factor = entry.factor or 1
      local name = entry.name and entry.name .. ": " .. part.name or part.name
      table.insert(sum.parts, { name = name, flops = part.flops * factor,
        weight_bytes = part.weight_bytes * factor })
    end
  end
  return sum
end


-- A cost by a factor: that of one of several ranges which together are it.
function model.scaled(whole, factor)
  return model.together { { cost = whole, factor = factor } }
end


-- ---- which description counts ----

-- The description, the first that there is: model.config; model.arch when it
-- was set for this run; what the workload says it ran (metrics.json, decoders
-- only); the recorded capture's own; the recipe's model.arch; the config.json in the
-- folder that model.path names.

-- What metrics.json tells of an architecture: the values of a config.json, by
-- its model_type, or a decoder's fields by the names that llmprof.model.decoder
-- has, and more that is not for us.
local function read_architecture(said)
  local where = "metrics.json"
  if said.model_type then return model.from_table(huggingface.describe(said, where), where) end
  local fields = {}
  for key, value in pairs(said) do
    if model.knows(key) then fields[key] = value end
  end
  return model.from_table({ decoder = fields }, where)
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
function model.description(given)
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
  local all = lists.flat(metrics and metrics.repeats or {}, function(entry)
    return type(entry.requests) == "table" and entry.requests or nil
  end)
  local told = lists.filtered(all, function(request)
    return whole(request.prompt_tokens) and whole(request.tokens)
  end)
  local number = #told
  if number == 0 then return nil end
  local prompt, new = lists.sum(told, "prompt_tokens"), lists.sum(told, "tokens")
  return { prompt_tokens = (2 * prompt + number) // (2 * number),
    new_tokens = (2 * new + number) // (2 * number) }
end


-- { source, batch, prompt_tokens, new_tokens, images, images_source } from what
-- the workload measured, else from the mean of its requests, else from what is known of a
-- recorded run; nil when none says how many tokens there were.
function model.of_run(arch, metrics, about)
  local said, source = metrics, "metrics.json"
  if not (said and whole(said.prompt_tokens)) then
    said, source = mean_request(metrics), "metrics.json: the mean of its requests"
  end
  if not said then said, source = about and about.workload, "capture.json" end
  if not (said and whole(said.prompt_tokens)) then return nil end
  local images, images_source = images_of(said, arch)
  return { source = source, batch = whole(said.batch) or 1,
    prompt_tokens = whole(said.prompt_tokens), new_tokens = whole(said.new_tokens),
    images = images, images_source = images_source }
end


return model
