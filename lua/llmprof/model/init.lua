-- llmprof.model: what a model's work takes, from a description of its
-- architecture.
--
--   local model = require "llmprof.model"
--   local arch = model.load "deepseek_ocr"
--   local cost = model.prefill(arch, { tokens = 281, batch = 1 })
--   print(cost.flops, cost.bytes)
--
-- model.load(word) reads conf/model/*.yaml by name, or a file of that form,
-- model.from_config(path) a Hugging Face config.json,
-- model.from_table(table, where) the same as YAML gives it.
-- All raise errors that name the file and the key.
--
-- A description (arch):
--   name, variant    what it is called
--   source           where it was read
--   formats          weights, kv, activations, embeddings, projections (of
--                    attention), experts: number formats of
--                    llmprof.model.quantisation; products are computed in that of
--                    the activations
--   decoder          fields of llmprof.model.decoder
--   encoders         list, fields of llmprof.model.encoder
--   extra_parameters weights beside those that are never multiplied with
--   image_size       pixels a side of an image, when the run does not say
--   partial          the model has parts that are not described
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
local nearest = require "llmprof.tables.suggest"
local schema = require "llmprof.model.schema"
local yaml = require "llmprof.yaml"

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
  if formats.kv == "" then formats.kv = formats.activations end
  for _, what in ipairs { "embeddings", "projections", "experts" } do
    if formats[what] == "" then formats[what] = formats.weights end
  end
  for _, what in ipairs { "weights", "activations", "kv", "embeddings", "projections",
    "experts" } do
    formats[what] = quantisation.name(formats[what], where .. "." .. what)
  end
  return formats
end


-- Whether a decoder has a field of that name.
function model.knows(field)
  return decoder.FIELDS[field] ~= nil
end


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


-- word: the name of a file in conf/model, or a path.
function model.load(word)
  local contents, where
  if word:find "^[%w_-]+$" then
    contents, where = found(word, files.read(("conf/model/%s.yaml"):format(word)))
  else
    contents, where = found(word, files.read_path(word))
  end
  return model.from_table(errors.check_as("usage", yaml.decode(contents, { name = where })), where)
end


function model.from_config(path)
  local contents, where = found(path, files.read_path(path))
  local config = errors.check_as("usage", json.decode(contents, { name = where }))
  return model.from_table(huggingface.describe(config, where), where)
end


-- ---- parameters ----

-- { total, active, decoder, encoders }: counts; active are those that one
-- decoded token is multiplied with, absent without a decoder.
function model.parameters(arch)
  local own = arch.decoder and decoder.parameters(arch.decoder)
  local encoders = 0
  for _, part in ipairs(arch.encoders) do encoders = encoders + encoder.parameters(part) end
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


local function check_decoder(arch)
  if not arch.decoder then
    errors.raise("usage", arch.source .. ": it describes no decoder",
      { hint = "add a table 'decoder'" })
  end
end


-- work: tokens per sequence, batch (sequences).
function model.prefill(arch, work)
  check_decoder(arch)
  local counted = { tokens = count(work, "tokens", 1), batch = count(work, "batch", 1) }
  local sum = cost.new(arch.formats)
  decoder.prefill(sum, arch.decoder, counted)
  return sum:total()
end


-- work: steps, context (tokens in the cache before the first step), batch.
function model.decode(arch, work)
  check_decoder(arch)
  local counted = { steps = count(work, "steps", 1), context = count(work, "context", 0),
    batch = count(work, "batch", 1) }
  local sum = cost.new(arch.formats)
  decoder.decode(sum, arch.decoder, counted)
  return sum:total()
end


-- One encoder, by name, over images: list of { count, size (pixels a side); of
-- audio a window is one, of any size }.
function model.encode(arch, name, images)
  local counted = {}
  for i, image in ipairs(images) do
    counted[i] = { count = count(image, "count", 1), size = count(image, "size", 1) }
  end
  local sum = cost.new(arch.formats)
  for _, part in ipairs(arch.encoders) do
    if part.name == name then
      encoder.encode(sum, part, counted)
      return sum:total()
    end
  end
  errors.raise("usage", ("%s: it describes no encoder '%s'"):format(arch.source, name))
end


-- Does the encoder of that name take windows of audio instead of images?
function model.takes_audio(arch, name)
  for _, part in ipairs(arch.encoders) do
    if part.name == name then return encoder.takes_audio(part) end
  end
  return false
end


local SUMS = { "flops", "weight_bytes", "kv_read_bytes", "kv_write_bytes", "activation_bytes",
  "bytes" }


-- A cost by a factor: that of one of several ranges which together are it.
function model.scaled(whole, factor)
  local made = { parts = {} }
  for _, key in ipairs(SUMS) do made[key] = whole[key] * factor end
  for i, part in ipairs(whole.parts) do
    made.parts[i] = { name = part.name, flops = part.flops * factor,
      weight_bytes = part.weight_bytes * factor }
  end
  return made
end


-- Several costs as one; their parts stay apart, under their owner's name.
function model.together(list)
  local sum = { parts = {} }
  for _, entry in ipairs(list) do
    for _, key in ipairs(SUMS) do sum[key] = (sum[key] or 0.0) + entry.cost[key] end
    for _, part in ipairs(entry.cost.parts) do
      table.insert(sum.parts, { name = entry.name and entry.name .. ": " .. part.name or part.name,
        flops = part.flops, weight_bytes = part.weight_bytes })
    end
  end
  for _, key in ipairs(SUMS) do sum[key] = sum[key] and cost.whole(sum[key]) end
  return sum
end


return model
