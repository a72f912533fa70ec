-- Query, key and value, and gate and up, read the same input: each could be one product.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "fused_projections", own_code = true, of_decode = true,
  fewer_launches = true }

-- Products of a layer: query, key, value and output; gate, up and down. Fused: two
-- of attention, two of the network.
local ATTENTION, NETWORK = 4, 3
local SAVED_ATTENTION, SAVED_NETWORK = 2, 1


-- Products of a step when nothing is fused and experts are computed one by one,
-- that of the output layer included, and how many of them fusing leaves out.
local function expected(decoder, grouped)
  local sparse = decoder.layers - decoder.dense
  local networks = decoder.dense
    + sparse * ((decoder.shared > 0 and 1 or 0) + (grouped and 0 or decoder.active or 0))
  return ATTENTION * decoder.layers + NETWORK * networks + 1,
    SAVED_ATTENTION * decoder.layers + SAVED_NETWORK * networks
end


function rule.examine_stage(results, stage, report)
  local decoder = evidence.decoder_of(results)
  if not decoder then return report.abstain(evidence.UNDESCRIBED) end
  local products = evidence.kernels(results, stage, evidence.is_whole_product)
  local grouped = evidence.kernels(results, stage, evidence.is_grouped_product)
  local all, saved = expected(decoder, grouped.calls > 0)
  local per_step = (products.calls - grouped.calls) / stage.steps
  if per_step < all then
    return evidence.say("%N matmuls per step, %d without fused projections", per_step, all)
  end
  report.finding {
    title = ("%s computes query, key and value, and gate and up, as matmuls of their own")
      :format(stage.name),
    evidence = {
      evidence.seen("%N matmuls per step", per_step),
      evidence.note("model.architecture", "%d layers make %d without fused projections, %d with "
        .. "them", decoder.layers, all, all - saved),
    },
    try = "join the weights when loading: one matmul for query, key and value, one for gate and "
      .. "up",
    changes = evidence.change("fuse(%s)", stage, products.list),
    assumption = "matmuls that follow each other become one that takes as long as all",
    kernels = products.ids,
  }
end


return rule
