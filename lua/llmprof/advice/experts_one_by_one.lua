-- A mixture of experts computed in a loop over experts: a few small products and
-- the kernels around them for each, and often a wait to learn which were chosen.
local evidence = require "llmprof.analysis.evidence"

local rule = { name = "experts_one_by_one" }

-- Products of one expert: gate, up and down.
local PER_EXPERT = 3

local is_grouped = evidence.named { "grouped", "groupproblemshape", "ptrarray", "fused_moe",
  "moe_align", "batched" }


-- Dimensions as Hugging Face config.json names them; nil when not known.
local function experts_of(results)
  local shape = results.model and results.model.architecture
  if not shape then return nil end
  local routed = shape.n_routed_experts or shape.num_local_experts or shape.num_experts
  return { routed = routed, active = shape.num_experts_per_tok, layers = shape.num_hidden_layers,
    dense = shape.first_k_dense_replace or 0 }
end


local function is_product(kernel)
  return kernel.category == "gemm" or kernel.category == "moe"
end


local function examine_stage(results, stage, experts, report)
  local products = evidence.kernels(results, stage, is_product)
  local layers = experts.layers - experts.dense
  local per_step = PER_EXPERT * experts.active * layers
  if layers <= 0 or products.calls < per_step * stage.steps then return end
  local saved = (per_step - PER_EXPERT * layers) * stage.steps / products.calls
  report.finding(evidence.finding({
    stage = stage.name,
    title = ("%s computes its experts one by one"):format(stage.name),
    evidence = {
      evidence.note(evidence.TIMELINE, "%s products per step and no grouped one",
        evidence.count(products.calls / stage.steps)),
      evidence.note("model.architecture", "%d active experts in %d layers make %d products",
        experts.active, layers, per_step),
    },
    try = "a grouped product over all experts (torch._grouped_mm, a fused MoE kernel), with the "
      .. "choice of experts left on the GPU",
    kernels = products.ids,
    confidence = "medium",
  }, evidence.saving(results, stage, products, saved,
    ("%d grouped products per layer replace those of the experts"):format(PER_EXPERT))))
end


-- Decodes in which no product is grouped.
local function ungrouped(results)
  local list = {}
  for _, stage in ipairs(evidence.decodes(results)) do
    if evidence.kernels(results, stage, is_grouped).calls == 0 then list[#list + 1] = stage end
  end
  return list
end


function rule.examine(results, report)
  if #evidence.decodes(results) == 0 then
    report.abstain "the steps of decode are not counted (tokens and batch in metrics.json)"
    return
  end
  local stages, experts = ungrouped(results), experts_of(results)
  if #stages == 0 then return end
  if not experts then
    report.abstain "the model's architecture is not known (model.architecture in metrics.json)"
  elseif experts.routed and not (experts.active and experts.layers) then
    report.abstain "num_experts_per_tok or num_hidden_layers is not in model.architecture"
  elseif experts.routed then
    for _, stage in ipairs(stages) do examine_stage(results, stage, experts, report) end
  end
end


return rule
