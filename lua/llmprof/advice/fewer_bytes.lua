-- Where weights and cache set the time of decode, 8 bits give back the bytes that they save.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "fewer_bytes", of_decode = true,
  without_decode = "the bytes of a step are not known (model.arch, and the GPU's bandwidth)" }

-- The least time of the bytes from this share of the stage's time on.
local WORTH = 0.3

-- Part of the bytes that 8 bits save, by format; those not listed are small already.
local SAVED = { bf16 = 0.5, fp16 = 0.5, fp32 = 0.75 }


-- What 8 bits would save: list of { what, bytes, format }, largest first.
local function savings(stage, formats)
  local cost, list = stage.cost, {}
  local function add(what, bytes, format)
    local share = SAVED[format]
    if share and (bytes or 0) > 0 then
      list[#list + 1] = { what = what, bytes = bytes * share, format = format }
    end
  end
  add("weights", cost.weight_bytes, formats.weights)
  add("the KV cache", (cost.kv_read_bytes or 0) + (cost.kv_write_bytes or 0), formats.kv)
  return lists.sort(list, "-bytes")
end


local function found(results, stage, best, bandwidth, share)
  local readers = evidence.kernels(results, stage, best.what == "weights" and evidence.is_product
    or evidence.is_attention)
  return {
    title = ("%s is held up by the bytes of %s"):format(stage.name, best.what),
    evidence = {
      evidence.note("model", "reading its bytes takes %P of the time at the memory's speed", share),
      evidence.note("model", "8 bits instead of %s save %B of %B", best.format, best.bytes,
        stage.cost.bytes),
    },
    try = best.what == "weights" and "weights of 8 bits (fp8 or int8) or 4 bits (AWQ, GPTQ), "
      .. "checked for accuracy" or "a KV cache in fp8, grouped-query or latent attention",
    changes = readers.calls > 0 and evidence.faster(stage, readers, best.bytes / bandwidth * 1e9)
      or nil,
    assumption = "the bytes that are left out took as long as at the memory's full speed",
  }
end


function rule.examine_stage(results, stage, report)
  local formats = results.model and results.model.described and results.model.described.formats
  local mbu = stage.efficiency and stage.efficiency.mbu
  local bandwidth = mbu and mbu.inputs.bandwidth_byte_per_s -- of all GPUs that ran the stage
  if not (formats and stage.cost and stage.cost.bytes and bandwidth) then
    return report.abstain(rule.without_decode)
  end
  local least = stage.cost.bytes / bandwidth * 1e9
  local share = evidence.part(least, (evidence.stage_time(results, stage)))
  if share < WORTH then
    return evidence.say("moving its bytes takes %P of the time", share)
  elseif stage.efficiency.floor_bound == "compute" then
    return "its matmuls, not its bytes, set the least time"
  end
  local best = savings(stage, formats)[1]
  if not best then return ("weights are stored in %s"):format(formats.weights) end
  report.finding(found(results, stage, best, bandwidth, share))
end


return rule
