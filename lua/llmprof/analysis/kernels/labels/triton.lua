-- Labels of kernels that torch.compile made: the operation that matters, then those fused
-- with it. triton_red_fused_fused_add_rms_norm_0: rms_norm (triton, fused with add).

-- What a kernel is called by, where it does several things: the first of these.
local main = { "scaled_dot_product_attention", "mm", "addmm", "bmm", "rms_norm",
  "native_layer_norm", "layer_norm", "_softmax", "softmax", "_log_softmax", "topk", "sort",
  "cumsum", "embedding", "index_select", "gather", "scatter", "silu", "gelu", "sigmoid", "tanh",
  "mean", "sum", "argmax", "amax", "cat", "mul", "add", "_to_copy" }

-- Names of operations with more than one word, so that they stay together.
local compound = { "scaled_dot_product_attention", "native_layer_norm", "fused_add_rms_norm",
  "layer_norm", "rms_norm", "_log_softmax", "_softmax", "_to_copy", "masked_fill", "bitwise_and",
  "bitwise_not", "bitwise_or", "index_select", "index_put", "new_zeros", "slice_scatter",
  "split_with_sizes" }

local kinds = { poi = "pointwise", red = "reduction", per = "persistent reduction",
  tem = "template", for_ = "foreach" }


-- The operations in a name's middle part, in order.
local function operations(middle)
  local list, at = {}, 1
  while at <= #middle do
    local word
    for _, known in ipairs(compound) do
      if middle:sub(at, at + #known - 1) == known then word = known break end
    end
    word = word or middle:match("^[^_]+", at)
    if word then list[#list + 1] = word end
    at = at + (word and #word or 0) + 1
  end
  return list
end


-- "fused_add_rms_norm" is an addition and a norm.
local function apart(list)
  local made, seen = {}, {}
  local function add(word)
    if not seen[word] then seen[word], made[#made + 1] = true, word end
  end
  for _, word in ipairs(list) do
    local second = word:match "^fused_add_(.*)$"
    if second then add "add" add(second) else add(word) end
  end
  return made
end


local function split(list)
  for _, wanted in ipairs(main) do
    for i, word in ipairs(list) do
      if word == wanted then return table.remove(list, i), list end
    end
  end
  return table.remove(list, 1), list
end


-- How many of the others are named.
local NAMED = 3

return function(read)
  local kind, middle, number = read.base:match "^triton_(%l+)_fused_?(.-)_?(%d+)$"
  if not kind then return nil end
  local word, others = split(apart(operations(middle)))
  if not word then return ("triton %s #%s"):format(kinds[kind] or kind, number), {} end
  local said = "triton"
  if others[1] then
    said = said .. ", fused with " .. table.concat(others, ", ", 1, math.min(#others, NAMED))
    if #others > NAMED then said = ("%s and %d more"):format(said, #others - NAMED) end
  end
  return ("%s (%s)"):format(word:gsub("^_", ""), said), { "#" .. number, kinds[kind] or kind }
end
