-- The CPU waits for the GPU at every token: .item(), .cpu(), a stop check or
-- print on a tensor. It cannot launch ahead, so the GPU waits afterwards.
local evidence = require "llmprof.analysis.evidence"

local rule = { name = "sync_per_token" }

-- So many waiting calls per step, nearly one, are a wait at every token.
local PER_STEP = 0.9


-- Copies to the CPU in a stage, per instance, or 0.
local function copies_back(results, stage)
  local calls = 0
  for _, row in ipairs(results.transfers or {}) do
    if row.stage == stage.name and row.direction == "device to host" then
      calls = calls + row.calls / stage.wall.count
    end
  end
  return calls
end


-- When launches are what the GPU waits for, only the time in the waiting calls
-- themselves comes back; else launching ahead can hide all of it.
local function gain_of(results, stage)
  if evidence.is_held_up(results, stage) then
    return stage.waiting.sync_ns, "launches stay as slow as they are"
  end
  return evidence.waiting(results, stage), "without the wait the CPU stays ahead of the GPU"
end


local function examine_stage(results, stage, report)
  local per_step = stage.api.sync.calls / stage.steps
  if per_step < PER_STEP then return end
  local gain, assumption = gain_of(results, stage)
  report.finding {
    stage = stage.name,
    title = ("%s waits for the GPU at every token"):format(stage.name),
    evidence = {
      evidence.note(evidence.TIMELINE, "%s waiting calls in %s steps, %s in them",
        evidence.count(stage.api.sync.calls), evidence.count(stage.steps),
        evidence.time(stage.api.sync.ns)),
      evidence.note(evidence.TIMELINE, "%s copies from the GPU to the CPU",
        evidence.count(copies_back(results, stage))),
      evidence.note(evidence.TIMELINE, "the GPU was idle for %s of the waiting calls",
        evidence.time(stage.waiting.sync_ns)),
    },
    try = "keep the token on the GPU, and look for the end of the text every few tokens, or one "
      .. "step late from pinned memory; no .item(), .cpu() or print in the loop",
    gain_ns = gain,
    spends = "waiting",
    assumption = assumption,
    confidence = "medium",
  }
end


function rule.examine(results, report)
  local known = false
  for _, stage in ipairs(evidence.decodes(results)) do
    if stage.api and stage.waiting then
      known = true
      examine_stage(results, stage, report)
    end
  end
  if not known then
    report.abstain "the steps of decode are not counted (tokens and batch in metrics.json)"
  end
end


return rule
