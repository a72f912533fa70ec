-- Matrix products that fill tiles: a product of one token with a matrix is done in
-- tiles of 8 to 64 tokens, and the tensor cores count all of them. Such a kernel's
-- FLOP, and its intensity, are those of its tiles.
--
-- Each byte of a matrix that comes from L2 serves one pass: 2 FLOP for every token
-- of the pass and every number in it. A product that issues PADDED times as many
-- FLOP per byte fills the rest of its tiles with nothing.
local dtypes = require "llmprof.model.dtypes"
local range_name = require "llmprof.base.range_name"

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


-- How many times as many FLOP per byte of L2 as the tokens can need; nil where that
-- is not known or not much.
local function padding_of(kernel, tokens)
  local counted = kernel.counters
  if not tokens or not counted or kernel.part or kernel.category ~= "gemm" then return nil end
  local bytes, flop = counted.l2_bytes_per_launch, counted.tensor_flop_per_launch
  local width = counted.tensor_format and dtypes.bytes(counted.tensor_format)
  if not (bytes and flop and width) or bytes <= 0 then return nil end
  local times = flop / bytes / (2 * tokens / width)
  return times >= PADDED and times or nil
end


-- Give the counters of kernels that fill tiles their `padding`. stages, kernels: of
-- results; run: what the run did { batch, prompt_tokens }, or nil.
function padding.add(stages, kernels, run)
  local tokens = {}
  for _, stage in ipairs(stages) do tokens[stage.name] = tokens_of(stage, run) end
  for _, kernel in ipairs(kernels) do
    local times = padding_of(kernel, tokens[kernel.stage])
    if times then kernel.counters.padding = times end
  end
end


return padding
