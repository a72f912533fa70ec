-- The batch from which on products, not bytes, set the least time of a step.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "batch_room", of_decode = true,
  without_decode = "the batch, the model's cost or the GPU's peaks are not known (model.arch)" }

-- From this many times the batch on it is worth saying.
local WORTH = 2

-- No batch is looked at beyond this.
local MOST = 65536


-- The part of the experts that a batch touches, over that of the batch that ran:
-- E (1 - (1 - k / E) ^ B), as docs/metrics.md has it.
local function more_experts(decoder, batch, ran)
  local function touched(count) return 1 - (1 - decoder.active / decoder.routed) ^ count end
  return touched(batch) / touched(ran)
end


local function expert_bytes(cost)
  local sum = 0
  for _, part in ipairs(cost.parts or {}) do
    if part.name:find "experts$" and not part.name:find "shared" then
      sum = sum + part.weight_bytes
    end
  end
  return sum
end


-- Least times of a step at a batch: { compute, memory }, s.
local function times(at, batch)
  local cost, scale = at.cost, batch / at.batch
  local weights = cost.weight_bytes - at.expert_bytes
    + at.expert_bytes * (at.expert_bytes > 0 and more_experts(at.decoder, batch, at.batch) or 1)
  local cache = (cost.kv_read_bytes + cost.kv_write_bytes) * scale
  return { compute = cost.flops * scale / at.peak, memory = (weights + cache) / at.bandwidth }
end


-- The first batch whose products take longer than its bytes; nil when none up to MOST does.
local function turning_point(at)
  for batch = at.batch, MOST do
    local time = times(at, batch)
    if time.compute >= time.memory then return batch end
  end
  return nil
end


-- What is known of a stage, or nil.
local function known_of(results, stage)
  local cost, made = stage.cost, stage.efficiency
  local rate = results.latency and results.latency.tokens_per_s
  local peak = made and made.mfu and made.mfu.inputs.peak_flop_per_s
  local bandwidth = made and made.mbu and made.mbu.inputs.bandwidth_byte_per_s
  if not (rate and rate.batch and cost and cost.flops and cost.weight_bytes and peak
    and bandwidth) then
    return nil
  end
  local decoder, experts = evidence.decoder_of(results), expert_bytes(cost)
  if experts > 0 and not (decoder and decoder.routed and decoder.active) then return nil end
  return { cost = cost, peak = peak, bandwidth = bandwidth,
    batch = math.floor(rate.batch + 0.5), decoder = decoder, expert_bytes = experts }
end


function rule.examine_stage(results, stage, report)
  local at = known_of(results, stage)
  if not at then return report.abstain(rule.without_decode) end
  local turn = turning_point(at)
  if not turn then
    return "the KV cache grows with the batch: no batch size makes it compute-bound"
  end
  if turn < WORTH * at.batch then
    return ("batch %d is near %d, where it turns compute-bound"):format(at.batch, turn)
  end
  local here, there = times(at, at.batch), times(at, turn)
  local now, later = math.max(here.compute, here.memory), math.max(there.compute, there.memory)
  report.finding {
    title = ("%s turns compute-bound at batch %d only"):format(stage.name, turn),
    evidence = {
      evidence.note("model", "at batch %d its least time is %T of bytes and %T of matmuls",
        at.batch, here.memory * 1e9, here.compute * 1e9),
      evidence.note("model", "at batch %d it is %T for %.0f times as many tokens: %.0f times the "
        .. "tokens/s at most", turn, later * 1e9, turn / at.batch, turn / at.batch * now / later),
    },
    try = "serve more sequences at once: up to there a step takes little longer, as far as the "
      .. "cache of all of them fits into memory",
  }
end


return rule
