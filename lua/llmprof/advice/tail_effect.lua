-- Kernels of little more than a wave of blocks: the last takes as long, for a few blocks.
local evidence = require "llmprof.advice.evidence"

-- From this part of the places for blocks on that stay empty; of more waves it is less.
local EMPTY = 0.25


return evidence.rule_of_kernels {
  name = "tail_effect", own_code = true,
  known = function(kernel) return kernel.launch and kernel.launch.waves end,
  lacking = "waves are not known (the chip or the launch configurations)",
  worth = 0.03,
  wanted = function(kernel)
    local launch = kernel.launch
    return launch ~= nil and (launch.tail_share or 0) >= EMPTY
      and kernel.mean_ns >= evidence.SHORT_NS
  end,
  title = "the last wave of blocks in kernels of %s is nearly empty",
  source = evidence.TIMELINE, is_of_timeline = true,
  note = function(found)
    return "%T in kernels whose grid is a little more than whole waves", found.ns
  end,
  why = function(kernel)
    return evidence.say(", %.1f waves, %P of all places for blocks stay empty", kernel.launch.waves,
      kernel.launch.tail_share)
  end,
  try = "a grid that fills its waves: other tiles, fewer registers so that more blocks fit, or a "
    .. "persistent kernel that hands out tiles (stream-K)",
  saved = function(kernel) return kernel.total_ns * kernel.launch.tail_share end,
  assumption = "blocks take equally long and fill the empty places",
  confidence = "low",
  silent = "kernels with an empty last wave take %P of the GPU time of a stage at most",
}
