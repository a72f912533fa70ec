-- A mixture of experts computed in a loop over experts: a few small products and
-- the kernels around them for each, and often a wait to learn which were chosen.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "experts_one_by_one", own_code = true }

-- Products of one expert: gate, up and down.
local PER_EXPERT = 3


-- Products of one step that the experts of every layer make, in a loop.
local function per_step_of(experts)
  return PER_EXPERT * experts.active * (experts.layers - experts.dense)
end


local function found(results, stage, experts, products)
  local layers, per_step = experts.layers - experts.dense, per_step_of(experts)
  local saved = (per_step - PER_EXPERT * layers) * stage.steps / products.calls
  local waits, calls = evidence.waits_within_steps(stage)
  return evidence.finding({
    stage = stage.name,
    title = ("%s computes its experts one by one"):format(stage.name),
    evidence = {
      evidence.note(evidence.TIMELINE, "%s products per step and no grouped one",
        evidence.count(products.calls / stage.steps)),
      evidence.note("model.architecture", "%d active experts in %d layers make %d of them",
        experts.active, layers, per_step),
      #waits > 0 and evidence.note(evidence.TIMELINE, "%s waits per step inside the layers",
        evidence.count(calls / stage.steps)) or nil,
    },
    try = ("a grouped product over all experts (%sa fused MoE kernel), with the choice of experts "
      .. "left on the GPU"):format(evidence.remedy(results, "torch._grouped_mm, ", "")),
    kernels = products.ids,
    confidence = "medium",
  }, evidence.saving(results, stage, products, saved,
    ("%d grouped products per layer replace those of the experts"):format(PER_EXPERT)))
end


local function examine_stage(results, stage, experts, report)
  local products = evidence.kernels(results, stage, evidence.is_whole_product)
  local grouped = evidence.kernels(results, stage, evidence.is_grouped_product)
  if grouped.calls > 0 then
    return ("experts are grouped: %s of %s products per step"):format(
      evidence.count(grouped.calls / stage.steps), evidence.count(products.calls / stage.steps))
  end
  local per_step = per_step_of(experts)
  if per_step <= 0 or products.calls < per_step * stage.steps then
    return ("%s products per step are fewer than %d, which a loop over experts would make"):format(
      evidence.count(products.calls / stage.steps), per_step)
  end
  report.finding(found(results, stage, experts, products))
end


function rule.examine(results, report)
  local stages, experts = evidence.decodes(results), evidence.decoder_of(results)
  if #stages == 0 then
    return report.abstain(evidence.UNCOUNTED)
  elseif not experts then
    return report.abstain
      "the model's architecture is not known (model.architecture in metrics.json)"
  elseif not experts.routed then
    return "the model has no experts"
  elseif not experts.active then
    return report.abstain "num_experts_per_tok is not in model.architecture"
  end
  local why
  for _, stage in ipairs(stages) do why = examine_stage(results, stage, experts, report) end
  return why
end


return rule
