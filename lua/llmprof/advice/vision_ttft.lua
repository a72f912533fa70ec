-- The vision encoder takes most of the time to the first token.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "vision_ttft" }

-- From this share of prefill on.
local WORTH = 0.4

local patterns = { "vision", "visual", "vit", "sam", "clip", "image", "encoder", "projector" }


local function is_vision(stage)
  for _, pattern in ipairs(patterns) do
    if stage.name:lower():find(pattern, 1, true) then return true end
  end
  return false
end


-- Measured stages within prefill: those of the encoder, and how many in all.
local function inside(results, prefill)
  local list, count = {}, 0
  for _, stage in ipairs(results.stages) do
    if stage.parent == prefill.name and stage.wall then
      count = count + 1
      if is_vision(stage) then list[#list + 1] = stage end
    end
  end
  return list, count
end


local function per_prefill(stage, prefill)
  return stage.wall.mean_ns * stage.wall.count / prefill.wall.count
end


function rule.examine(results, report)
  local prefill = evidence.find(results, "prefill")
  if not (prefill and prefill.wall) then
    report.abstain "no stage named prefill was measured"
    return
  end
  local list, count = inside(results, prefill)
  if count == 0 then
    report.abstain "prefill has no stages inside that could be an encoder (children in the recipe)"
    return
  end
  local time, notes = 0, {}
  for i, stage in ipairs(list) do
    time = time + per_prefill(stage, prefill)
    notes[i] = evidence.note(evidence.TIMELINE, "%s: %s, of which the GPU works %s", stage.name,
      evidence.time(per_prefill(stage, prefill)), evidence.time(stage.gpu_busy_ns
        * stage.wall.count / prefill.wall.count))
  end
  local share = evidence.part(time, prefill.wall.mean_ns)
  if share < WORTH then
    return ("the encoder takes %s of prefill"):format(evidence.percent(share))
  end
  table.insert(notes, 1, evidence.note(evidence.TIMELINE, "%s of %s of prefill, %s",
    evidence.time(time), evidence.time(prefill.wall.mean_ns), evidence.percent(share)))
  report.finding {
    stage = prefill.name,
    title = "the vision encoder dominates the time to the first token",
    evidence = notes,
    try = "keep the embeddings of images that are asked about again, encode several images in one "
      .. "batch, run the encoder as a CUDA graph (its shapes are fixed), use fewer tiles",
    confidence = "high",
  }
end


return rule
