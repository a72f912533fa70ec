-- Adding up what a piece of work takes: FLOP, and the bytes that have to move.
--
-- A model is a list of products, each a matrix of weights that tokens are
-- multiplied with:
--   part               what it belongs to, for the breakdown
--   inputs, outputs    width of the matrix; a convolution's inputs are kernel
--                      height * width * channels
--   bias               whether it has one
--   copies             layers that have one of these
--   experts            { total, active }: this many matrices, of which a token
--                      uses some
--   vectors            weights beside products (norms): inputs * outputs
--                      numbers, and no product
--   unused             in the checkpoint, but never computed
--
-- A multiply-add is 2 FLOP. Only matrix products, convolutions and the two
-- products of attention count; norms, activations, softmax and rotary positions
-- are left out, as is usual for MFU.
local lists = require "llmprof.tables.lists"
local quantisation = require "llmprof.model.quantisation"
local errors = require "llmprof.process.errors"

local cost = {}

local Cost = {}
Cost.__index = Cost


-- How many of `total` experts at least one of `tokens` tokens uses, when each
-- uses `active` of them and all are equally likely: total * (1 - (1 - active /
-- total) ^ tokens). A real router prefers some, and touches fewer.
local function distinct_experts(total, active, tokens)
  return total * (1 - (1 - active / total) ^ tokens)
end


-- Weights in a product, of all its copies and experts.
function cost.weights(product)
  local one = product.inputs * product.outputs + (product.bias and product.outputs or 0)
  return one * product.copies * (product.experts and product.experts.total or 1)
end


-- Those that one token is multiplied with.
function cost.active_weights(product)
  local share = product.experts and product.experts.active / product.experts.total or 1
  return product.unused and 0 or cost.weights(product) * share
end


-- An empty sum. formats: { weights, kv, activations, embeddings }, names of
-- llmprof.model.quantisation. All results are in FLOP and bytes.
function cost.new(formats)
  local bytes = {}
  for what, name in pairs(formats) do bytes[what] = quantisation.bytes(name) end
  return setmetatable({ element = bytes, flops = 0, weight_bytes = 0, kv_read_bytes = 0,
    kv_write_bytes = 0, activation_bytes = 0, parts = {}, index = {} }, Cost)
end


function Cost:part(name)
  return lists.entry(self.parts, self.index, name, { name = name, flops = 0, weight_bytes = 0 })
end


function Cost:add_flops(name, flops)
  local part = self:part(name)
  part.flops, self.flops = part.flops + flops, self.flops + flops
end


function Cost:add_weights(name, count, format)
  local bytes = count * self.element[format or "weights"]
  local part = self:part(name)
  part.weight_bytes, self.weight_bytes = part.weight_bytes + bytes, self.weight_bytes + bytes
end


function Cost:add_activations(count)
  self.activation_bytes = self.activation_bytes + count * self.element.activations
end


-- This many tokens go through a product, `times` times over (decode steps: the
-- weights are read anew in each).
function Cost:product(product, tokens, times)
  if product.unused then return end
  times = times or 1
  local experts = product.experts
  local used = product.copies * (experts and experts.active or 1)
  local weights = cost.weights(product)
  if experts then
    weights = weights * distinct_experts(experts.total, experts.active, tokens)
      / experts.total
  end
  self:add_weights(product.part, weights * times, product.format)
  if product.vectors then return end
  self:add_flops(product.part, 2 * product.inputs * product.outputs * used * tokens * times)
  self:add_activations((product.inputs + product.outputs) * used * tokens * times)
end


-- Attention over `pairs` pairs of a query and a key, in all layers together:
-- scores over score_width numbers and values over value_width, of all heads.
function Cost:attention(part, pairs_seen, score_width, value_width)
  self:add_flops(part, 2 * pairs_seen * (score_width + value_width))
end


function Cost:kv(read, written)
  self.kv_read_bytes = self.kv_read_bytes + read * self.element.kv
  self.kv_write_bytes = self.kv_write_bytes + written * self.element.kv
end


-- A sum as a whole number, where it is one.
function cost.whole(sum)
  if sum < 0 or sum >= 2.0 ^ 63 then
    errors.raise("usage", "model: more work than 64 bits count; are its tokens right?")
  end
  return math.tointeger(sum) or sum
end


-- What has to move at least: each weight that is used once per pass, the cache
-- read and written. Activations are not in it: they can stay on the chip.
function Cost:total()
  local made = { flops = self.flops, weight_bytes = self.weight_bytes,
    kv_read_bytes = self.kv_read_bytes, kv_write_bytes = self.kv_write_bytes,
    activation_bytes = self.activation_bytes,
    bytes = 0.0 + self.weight_bytes + self.kv_read_bytes + self.kv_write_bytes }
  for key, sum in pairs(made) do made[key] = cost.whole(sum) end
  for _, part in ipairs(self.parts) do
    part.flops, part.weight_bytes = cost.whole(part.flops), cost.whole(part.weight_bytes)
  end
  made.parts = self.parts
  return made
end


return cost
