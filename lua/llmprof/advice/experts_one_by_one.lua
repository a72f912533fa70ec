-- A loop over experts: a few small products for each, and often a wait to learn which.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "experts_one_by_one", own_code = true, of_decode = true }

-- Products of one expert: gate, up and down.
local PER_EXPERT = 3

-- At least this many networks one after the other in a layer are experts where no model is known.
local NETWORKS = 4

-- Waits that come as often as this in a step are inside of it.
local WITHIN = 1.5

local is_activation = evidence.named { "silu", "gelu", "swiglu", "act_and_mul" }


-- How many experts a step runs: each has an activation, as has each dense and each shared network;
-- at least those of one token. More tokens choose more of them.
local function runs_of(results, stage, experts, layers)
  local least = experts.active * layers
  if experts.seen then return least end
  local others = experts.dense + (experts.shared > 0 and layers or 0)
  local activations = evidence.kernels(results, stage, is_activation)
  return math.max(activations.calls / stage.steps - others, least)
end


local function found(results, stage, experts, products)
  local layers = experts.layers - experts.dense
  local waits = lists.filtered(stage.waits or {}, function(group)
    return group.calls >= WITHIN * stage.steps
  end)
  local networks = results.layers and results.layers.networks
  local operations = networks and networks.count >= experts.active and networks.operations
    or PER_EXPERT
  return {
    title = ("%s computes its experts one by one"):format(stage.name),
    evidence = {
      evidence.seen("%N matmuls per step, none grouped", products.calls / stage.steps),
      evidence.note(experts.seen and evidence.TIMELINE or "timeline, model.architecture",
        "%N experts run per step in %d layers, %N operations each",
        runs_of(results, stage, experts, layers), layers, operations),
      #waits > 0 and evidence.seen("%N waits per step inside the layers",
        lists.sum(waits, "calls") / stage.steps) or nil,
    },
    try = ("a grouped matmul over all experts (%sa fused MoE kernel), with the choice of experts "
      .. "left on the GPU"):format(evidence.remedy(results, "torch._grouped_mm, ", "")),
    changes = { ("grouped(experts %q)"):format(stage.name),
      #waits > 0 and ("remove(syncs(%q, \"inner\"))"):format(stage.name) or nil },
    assumption = "in each layer the operations of one expert do the work of all",
    kernels = products.ids,
  }
end


-- Experts as the timeline shows them: networks that run one after the other in each layer.
local function seen_in(results)
  local networks = results.layers and results.layers.networks
  return networks and networks.count >= NETWORKS and { seen = true, routed = networks.count,
    active = networks.count, layers = results.layers.count, dense = 0, shared = 0 } or nil
end


function rule.examine_stage(results, stage, report)
  local experts = evidence.decoder_of(results) or seen_in(results)
  if not experts then
    return report.abstain(evidence.UNDESCRIBED)
  elseif not experts.routed then
    return "the model has no experts"
  elseif not experts.active then
    return report.abstain "num_experts_per_tok is not in model.architecture"
  end
  local products = evidence.kernels(results, stage, evidence.is_whole_product)
  local grouped = evidence.kernels(results, stage, evidence.is_grouped_product)
  if grouped.calls > 0 then
    return evidence.say("experts are grouped: %N of %N matmuls per step",
      grouped.calls / stage.steps, products.calls / stage.steps)
  end
  local per_step = PER_EXPERT * experts.active * (experts.layers - experts.dense) -- of one token
  if not experts.seen and (per_step <= 0 or products.calls < per_step * stage.steps) then
    return evidence.say("%N matmuls per step are fewer than %d, which a loop over experts would "
      .. "make", products.calls / stage.steps, per_step)
  end
  report.finding(found(results, stage, experts, products))
end


return rule
