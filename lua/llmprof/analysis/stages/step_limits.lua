-- MFU and MBU of an engine's steps, at the batch that each had: from the model's
-- description, half way through the texts, against the peaks of all its GPUs.
local model = require "llmprof.model"

local step_limits = {}


-- What a step of a group had to do; nil where that is not known.
local function cost_of(group, arch, run)
  local requests = group.generation or 0
  if group.phase == "decode" and requests > 0 then
    return model.decode(arch, { batch = requests, steps = 1,
      context = run.prompt_tokens + (run.new_tokens or 0) // 2 })
  elseif group.phase == "prefill" and group.tokens and (group.batch or 0) > 0 then
    return model.prefill(arch, { tokens = group.tokens // group.batch, batch = group.batch })
  end
  return nil
end


-- Give groups of steps mfu and mbu, as far as they can be known. arch, run: of
-- llmprof.model.choice, or nil.
function step_limits.add(results, arch, run)
  local record, gpu = results.ranks, results.hardware
  if not (record and record.steps and arch and arch.decoder and run and run.prompt_tokens) then
    return
  end
  local compute = gpu.peaks[gpu.format]
  for _, group in ipairs(record.steps) do
    local cost = cost_of(group, arch, run)
    local seconds = (group.mean_ns or 0) / 1e9
    if cost and seconds > 0 then
      group.mfu = compute and cost.flops / (seconds * compute.per_s * gpu.count)
      group.mbu = gpu.memory and cost.bytes / (seconds * gpu.memory.per_s * gpu.count)
    end
  end
end


return step_limits
