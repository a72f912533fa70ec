-- What stands before a decoder: vision transformers (SAM with windows, CLIP) and
-- projectors. What they take depends on the pixels a side of each image.
--
-- Model FLOP are counted: padding of windows to whole ones is not, but a query
-- in a window sees all its keys, those of the padding included, since that is
-- how the model is defined.
local cost = require "llmprof.model.cost"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local schema = require "llmprof.model.schema"

local encoder = {}

local COMMON = {
  name = { "text" }, -- also the stage it is
  kind = { { "vit", "projector" } },
}

local CONVOLUTION = {
  outputs = { "count" },
  kernel = { "count" },
  stride = { "count", 1 },
  norm = { "flag", false },
}

local VIT = {
  image_size = { "count" }, -- pixels a side that its tables are made for
  patch_size = { "count" },
  width = { "count" },
  layers = { "count" },
  heads = { "count" },
  intermediate_size = { "count" },
  input = { { "pixels", "features" }, "pixels" }, -- features: another part's output, no patches
  fixed_size = { "flag", false }, -- always given image_size, whatever the image has
  pixels_per_token = { "whole", 0 }, -- 0: patch_size
  class_token = { "flag", false },
  patch_bias = { "flag", true },
  pre_norm = { "flag", false },
  post_norm = { "flag", false },
  window_size = { "whole", 0 }, -- tokens a side; 0: all layers see all
  global_attn_indexes = { "places", {} }, -- layers that do so all the same, from 0
  relative_positions = { "flag", false },
  convolutions = { "list", {}, fields = CONVOLUTION }, -- behind the layers
}

local PROJECTOR = {
  inputs = { "count" },
  outputs = { "count" },
  bias = { "flag", true },
  tokens = { "whole", 0 }, -- per image; 0: by pixels_per_token
  pixels_per_token = { "whole", 0 },
}


-- Fields by kind, those of all kinds and those of a convolution: docs/models.md lists them.
encoder.FIELDS = { common = COMMON, vit = VIT, convolution = CONVOLUTION,
  projector = PROJECTOR }


-- A checked encoder with all fields. where names it in errors.
function encoder.read(given, where)
  local kind = schema.value(given.kind, COMMON.kind, where .. ".kind")
  local e = schema.read(given, merged(COMMON, encoder.FIELDS[kind]), where)
  if kind == "vit" then
    if e.pixels_per_token == 0 then e.pixels_per_token = e.patch_size end
    if e.width % e.heads ~= 0 then schema.bad(where .. ".heads: does not divide width") end
  elseif (e.tokens == 0) == (e.pixels_per_token == 0) then
    schema.bad(where .. ".tokens: either tokens or pixels_per_token is to be given")
  end
  return e
end


-- ---- products ----

local function flag(value) return value and 1 or 0 end


local function side_of(e, size)
  return (e.fixed_size and e.image_size or size) // e.pixels_per_token
end


-- How many patches an image of a size has, after convolutions that take `shrink` of a side to one.
local function patches(e, shrink)
  return function(size) return (side_of(e, size) // shrink) ^ 2 end
end


local function count_global(e)
  if e.window_size == 0 then return e.layers end
  return #lists.filtered(e.global_attn_indexes, function(index) return index < e.layers end)
end


-- How many weights there are beside products: norms, positions, the class token.
local function vectors(e)
  local side, dim = e.image_size // e.patch_size, e.width // e.heads
  local count = 2 * e.width * (2 * e.layers + flag(e.pre_norm) + flag(e.post_norm))
    + (side * side + flag(e.class_token)) * e.width + flag(e.class_token) * e.width
  if e.relative_positions then
    local all = count_global(e)
    count = count + 2 * dim * (all * (2 * side - 1)
      + (e.layers - all) * (2 * e.window_size - 1))
  end
  return count + lists.sum(e.convolutions, function(one) return one.norm and 2 * one.outputs end)
end


-- Products, each with `places`: of how many inputs an image of a size makes it one.
local function vit_products(e)
  local list, channels, shrink = {}, e.width, 1
  local function add(part, inputs, outputs, copies, places, more)
    list[#list + 1] = merged({ part = part, inputs = inputs, outputs = outputs, copies = copies,
      places = places }, more or {})
  end
  local function tokens(size) return patches(e, 1)(size) + flag(e.class_token) end
  add("patches", 3 * e.patch_size * e.patch_size, e.width, 1, patches(e, 1),
    { bias = e.patch_bias, unused = e.input == "features" })
  add("projections", e.width, 3 * e.width, e.layers, tokens, { bias = true })
  add("projections", e.width, e.width, e.layers, tokens, { bias = true })
  add("mlp", e.width, e.intermediate_size, e.layers, tokens, { bias = true })
  add("mlp", e.intermediate_size, e.width, e.layers, tokens, { bias = true })
  for _, one in ipairs(e.convolutions) do
    shrink = shrink * one.stride
    add("convolutions", one.kernel * one.kernel * channels, one.outputs, 1, patches(e, shrink))
    channels = one.outputs
  end
  add("norms and positions", 1, vectors(e), 1, tokens, { vectors = true })
  return list
end


local function products(e)
  if e.kind == "vit" then return vit_products(e) end
  return { { part = "projector", inputs = e.inputs, outputs = e.outputs, copies = 1, bias = e.bias,
    places = function(size)
      return e.tokens > 0 and e.tokens or (size // e.pixels_per_token) ^ 2
    end } }
end


function encoder.parameters(e) return lists.sum(products(e), cost.weights) end


-- ---- a pass ----

-- Attention of one image of side * side patches: pairs of all layers together,
-- and the products of queries with the tables of relative positions.
local function add_attention(sum, e, side, count)
  local tokens, all = side * side + flag(e.class_token), count_global(e)
  local windowed = e.layers - all
  local seen = all * tokens * tokens + windowed * tokens * e.window_size * e.window_size
  sum:attention("attention", seen * count, e.width, e.width)
  if e.relative_positions then
    sum:add_flops("attention", 2 * e.width * tokens * count
      * (all * 2 * side + windowed * 2 * e.window_size))
  end
end


-- Add one pass over images: a list of { count, size (pixels a side) }.
function encoder.encode(sum, e, images)
  for _, product in ipairs(products(e)) do
    sum:product(product, lists.sum(images, function(image)
      return image.count * product.places(image.size)
    end))
  end
  for _, image in ipairs(e.kind == "vit" and images or {}) do
    add_attention(sum, e, side_of(e, image.size), image.count)
  end
end


return encoder
