-- Kernels of a wave of blocks and little more: the last wave takes as long as a full one, for a
-- few blocks.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "tail_effect", own_code = true }

-- From this part of the places for blocks on that stay empty; of more waves it is less.
local EMPTY = 0.25

-- From this share of the stage's GPU time on.
local WORTH = 0.03


local function has_tail(kernel)
  local launch = kernel.launch
  return launch ~= nil and (launch.tail_share or 0) >= EMPTY
    and kernel.mean_ns >= evidence.SHORT_NS
end


local function why(kernel)
  return (", %.1f waves, %s of all places for blocks stay empty"):format(
    kernel.launch.waves, evidence.percent(kernel.launch.tail_share))
end


local function finding(stage, found)
  local gain, notes = 0, { evidence.note(evidence.TIMELINE,
    "%s in kernels whose grid is a little more than whole waves", evidence.time(found.ns)) }
  for _, kernel in ipairs(found.list) do
    gain = gain + kernel.total_ns * kernel.launch.tail_share / stage.wall.count
  end
  for i, note in ipairs(evidence.largest(found, stage)) do
    notes[i + 1] = evidence.note(evidence.TIMELINE, "%s%s", note.text, why(found.list[i]))
  end
  return {
    stage = stage.name,
    title = ("the last wave of blocks in kernels of %s is nearly empty"):format(stage.name),
    evidence = notes,
    try = "a grid that fills its waves: other tiles, fewer registers so that more blocks fit, or a "
      .. "persistent kernel that hands out tiles (stream-K)",
    changes = evidence.faster(stage, found, gain),
    assumption = "blocks take equally long and fill the empty places",
    kernels = found.ids,
    confidence = "low",
  }
end


function rule.examine(results, report)
  local known = false
  for _, kernel in ipairs(results.kernels) do
    known = known or kernel.launch ~= nil and kernel.launch.waves ~= nil
  end
  if not known then
    report.abstain "waves are not known (the chip or the launch configurations)"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), has_tail, WORTH,
    function(stage, found) report.finding(finding(stage, found)) end)
  return ("kernels with an empty last wave take %s of the GPU time of a stage at most"):format(
    evidence.percent(most))
end


return rule
