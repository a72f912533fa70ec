-- Steps that get longer with the context, as attention reads more of the cache.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "kv_growth" }

-- Fewer steps say nothing about a slope.
local FEWEST = 8

-- Growth over the measured steps from this share of a step on.
local WORTH = 0.05

-- How far the slope is drawn on, in tokens: an illustration, not a measurement.
local FAR = 1000


function rule.examine(results, report)
  local tpot = results.latency and results.latency.tpot
  local slope = tpot and tpot.slope_ns_per_token
  local decode = evidence.find(results, "decode")
  local steps = decode and decode.steps
  if not slope or not steps then
    report.abstain "single steps were not timed (step of a stage in the recipe, or steps_ms)"
    return
  end
  if results.engine then
    return "steps of an engine serve several requests: their length follows the batch"
  end
  if steps < FEWEST then
    return evidence.say("%N steps are too few for a slope", steps)
  end
  if tpot.trend == "none" then
    return "no trend over the steps: their slope may be chance"
  elseif slope < 0 then
    return "steps do not get longer"
  elseif slope * steps < WORTH * tpot.mean_ns then
    return evidence.say("steps get %T longer over the decode, less than %P of one", slope * steps,
      WORTH)
  end
  report.finding {
    stage = decode.name,
    title = "decode slows down as the context grows",
    evidence = {
      evidence.note(tpot.source == "metrics" and "metrics.json" or evidence.TIMELINE, "each step "
        .. "takes %T%s longer than the one before, %T over %N steps of %T", slope,
        tpot.slope_error_ns and evidence.say(" ± %T", tpot.slope_error_ns) or "", slope * steps,
        steps, tpot.mean_ns),
      evidence.note("extrapolated", "a step would take %T after %N more tokens",
        tpot.mean_ns + slope * (steps / 2 + FAR), FAR),
    },
    try = "a KV cache of 8 bits, grouped-query or latent attention, paged attention with split-K; "
      .. "a cache that is concatenated at each step copies itself: preallocate it",
    confidence = "low",
  }
end


return rule
