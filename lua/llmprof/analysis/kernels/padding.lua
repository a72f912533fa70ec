-- Matrix products that fill tiles: a product of one token with a matrix is done in
-- tiles of 8 to 64 tokens, and the tensor cores count all of them. Such a kernel's
-- FLOP, and its intensity, are those of its tiles.
--
-- Each byte of a matrix that comes from L2 serves one pass: 2 FLOP for every token
-- of the pass and every number in it. A product that issues PADDED times as many
-- FLOP per byte fills the rest of its tiles with nothing. Parts of a stage have the tokens
-- of their own description, experts those that are routed to each. Bytes are read more than
-- once, so that tiles are filled at least so many times over.
local quantisation = require "llmprof.model.quantisation"
local range_name = require "llmprof.trace.nvtx_names"

local padding = {}

-- Several tokens of a prefill, and numbers of fewer bits than are multiplied, are not
-- known kernel by kernel: less than this says nothing.
local PADDED = 4


-- Tokens that one pass of a stage has at most: a step of decode, one for each
-- sequence; a prefill, those of the prompts. nil where the run does not say.
local function tokens_of(stage, run)
  local role, batch = range_name.role(stage.name), run and run.batch
  if role == "decode" then return batch end
  if role == "prefill" and batch and run.prompt_tokens then return batch * run.prompt_tokens end
  return nil
end


-- FLOP that each byte of the weights of a described stage serves: of its own products the
-- most, of its experts by themselves, each of which has a part of the tokens. nil where
-- it has none.
local function described(stage)
  local most, experts
  for _, part in ipairs(stage.cost and stage.cost.parts or {}) do
    local encoder, name = part.name:match "^(.-): (.*)$"
    local own = stage.parent or not encoder or encoder == "decoder"
    if own and part.flops > 0 and part.weight_bytes > 0 then
      local ratio = part.flops / part.weight_bytes
      most = math.max(most or 0, ratio)
      if (name or part.name) == "experts" then experts = ratio end
    end
  end
  return most, experts
end


-- What a stage's products need per byte: { product, experts (nil without) }, as far as
-- its description or the run says; FLOP of bytes in the format that is multiplied.
local function needs_of(stage, run)
  local most, experts = described(stage)
  local tokens = not stage.parent and tokens_of(stage, run) or nil
  return { product = most, experts = experts, tokens = tokens }
end


-- FLOP per byte of L2 that a kernel's products need at most; nil where that is not known.
local function needed(kernel, needs, width)
  if kernel.category == "moe" then return needs.experts end
  if kernel.category ~= "gemm" then return nil end
  return needs.product or needs.tokens and 2 * needs.tokens / width
end


-- How many times as many FLOP per byte of L2 as the tokens can need; nil where that
-- is not known or not much.
local function padding_of(kernel, needs)
  local counted = kernel.counters
  if not needs or not counted then return nil end
  local bytes, flop = counted.l2_bytes_per_launch, counted.tensor_flop_per_launch
  local width = counted.tensor_format and quantisation.bytes(counted.tensor_format)
  if not (bytes and flop and width) or bytes <= 0 then return nil end
  local most = needed(kernel, needs, width)
  local times = most and flop / bytes / most
  return times and times >= PADDED and times or nil
end


-- Give the counters of kernels that fill tiles their `padding`. stages, kernels: of
-- results; run: what the run did { batch, prompt_tokens }, or nil.
function padding.add(stages, kernels, run)
  local needs = {}
  for _, stage in ipairs(stages) do needs[stage.name] = needs_of(stage, run) end
  for _, kernel in ipairs(kernels) do
    local times = padding_of(kernel, needs[kernel.part or kernel.stage])
    if times then kernel.counters.padding = times end
  end
end


return padding
