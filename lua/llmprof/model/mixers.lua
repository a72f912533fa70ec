-- Layers that keep a state of fixed size instead of a cache of keys and values:
-- gated delta nets (linear attention) and Mamba's two kinds. Fields of delta
-- nets are named as in Qwen3-Next's config.json, those of Mamba by what they are.
--
-- A state is numbers per sequence and layer; a decode step reads and writes it
-- once, a prefill writes it. Recurrences are counted as they are defined, token
-- by token: of a delta net three products of a vector and the state (what it
-- predicts, the update, what it answers), of Mamba two (the update, the answer).
-- Kernels that work in chunks issue more.
local mixers = {}

-- Kinds of layers that need a field.
local DELTA, MAMBA, MAMBA2 = { "linear_attention" }, { "mamba", "mamba2" }, { "mamba2" }

mixers.FIELDS = {
  linear_num_key_heads = { "whole", 0, needed = DELTA },
  linear_num_value_heads = { "whole", 0, needed = DELTA },
  linear_key_head_dim = { "whole", 0, needed = DELTA },
  linear_value_head_dim = { "whole", 0, needed = DELTA },
  linear_conv_kernel_dim = { "whole", 0, needed = DELTA },
  mamba_inner = { "whole", 0, needed = MAMBA }, -- channels of the state
  mamba_state = { "whole", 0, needed = MAMBA }, -- numbers per channel
  mamba_conv = { "whole", 0, needed = MAMBA }, -- width of the convolution
  mamba_conv_bias = { "flag", true },
  mamba_bias = { "flag", false },
  mamba_dt_rank = { "whole", 0, needed = { "mamba" } },
  mamba_norms = { "flag", false }, -- mamba: of dt, B and C (Jamba)
  mamba_heads = { "whole", 0, needed = MAMBA2 },
  mamba_groups = { "whole", 0, needed = MAMBA2 },
}

local PART = "projections"


local function delta_widths(d)
  local key = d.linear_num_key_heads * d.linear_key_head_dim
  return key, d.linear_num_value_heads * d.linear_value_head_dim
end


local function add_delta(list, d, layers)
  local key, value = delta_widths(d)
  list.add(PART, d.hidden_size, 2 * key + 2 * value, layers, { format = PART })
  list.add(PART, d.hidden_size, 2 * d.linear_num_value_heads, layers, { format = PART })
  list.add(PART, value, d.hidden_size, layers, { format = PART })
  list.add("state", 1, d.linear_conv_kernel_dim * (2 * key + value)
    + 2 * d.linear_num_value_heads + d.linear_value_head_dim, layers, { vectors = true })
end


local function convolution(d, channels)
  return channels * (d.mamba_conv + (d.mamba_conv_bias and 1 or 0))
end


local function add_mamba(list, d, layers)
  local inner, state, rank = d.mamba_inner, d.mamba_state, d.mamba_dt_rank
  list.add(PART, d.hidden_size, 2 * inner, layers, { bias = d.mamba_bias, format = PART })
  list.add(PART, inner, rank + 2 * state, layers, { format = PART })
  list.add(PART, rank, inner, layers, { bias = true, format = PART })
  list.add(PART, inner, d.hidden_size, layers, { bias = d.mamba_bias, format = PART })
  list.add("state", 1, convolution(d, inner) + inner * (state + 1)
    + (d.mamba_norms and rank + 2 * state or 0), layers, { vectors = true })
end


local function add_mamba2(list, d, layers)
  local inner, shared = d.mamba_inner, 2 * d.mamba_groups * d.mamba_state
  list.add(PART, d.hidden_size, 2 * inner + shared + d.mamba_heads, layers,
    { bias = d.mamba_bias, format = PART })
  list.add(PART, inner, d.hidden_size, layers, { bias = d.mamba_bias, format = PART })
  list.add("state", 1, convolution(d, inner + shared) + 3 * d.mamba_heads + inner, layers,
    { vectors = true })
end


-- Add the products of all such layers to a list of llmprof.model.decoder.
function mixers.add(list, d)
  add_delta(list, d, d.mixers.linear_attention)
  add_mamba(list, d, d.mixers.mamba)
  add_mamba2(list, d, d.mixers.mamba2)
end


-- Numbers of the state of all layers, per sequence: the recurrence's, and the
-- last inputs of the convolution.
local function states(d)
  local key, value = delta_widths(d)
  local delta = value * d.linear_key_head_dim
  local mamba = d.mamba_inner * d.mamba_state
  local channels = d.mamba_inner + 2 * d.mamba_groups * d.mamba_state
  local function kept(width, kernel) return width * math.max(kernel - 1, 0) end
  return d.mixers.linear_attention * (delta + kept(2 * key + value, d.linear_conv_kernel_dim))
    + d.mixers.mamba * (mamba + kept(d.mamba_inner, d.mamba_conv))
    + d.mixers.mamba2 * (mamba + kept(channels, d.mamba_conv))
end


local function recurrence_flops(d)
  local _, value = delta_widths(d)
  return d.mixers.linear_attention * 6 * value * d.linear_key_head_dim
    + (d.mixers.mamba + d.mixers.mamba2) * 4 * d.mamba_inner * d.mamba_state
end


-- Add the recurrences of `times` passes of `tokens` tokens in `batch` sequences.
-- first: there is no state to read yet.
function mixers.pass(sum, d, tokens, batch, times, first)
  local flops = recurrence_flops(d)
  if flops == 0 then return end
  sum:add_flops("state", flops * tokens * times)
  local numbers = states(d) * batch * times
  sum:kv(first and 0 or numbers, numbers)
end


return mixers
