-- Kernels that wait for memory while registers keep more warps from an SM.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "many_registers", own_code = true }

-- Of an SM's warps at most this many fit, %: more hide the latency well enough.
local FEW = 50

-- From this share of the stage's GPU time on.
local WORTH = 0.03


local function is_limited(kernel)
  local launch, counters = kernel.launch, kernel.counters
  return launch ~= nil and counters ~= nil and launch.limiter == "registers"
    and launch.occupancy_percent <= FEW and counters.bound == "latency"
end


local function why(kernel)
  local stall = (kernel.counters.stalls or {})[1]
  local shape = (kernel.shapes or {})[1]
  return ("%s, %.0f %% of the warps fit%s"):format(shape and shape.registers
    and (", %d registers a thread"):format(shape.registers) or "", kernel.launch.occupancy_percent,
    stall and (", %s of the waiting is for %s"):format(evidence.percent(stall.share),
      stall.waits_for) or "")
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "bound") then
    report.abstain "no kernel was measured"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), is_limited, WORTH,
    function(stage, found)
      report.finding {
        stage = stage.name,
        title = ("registers limit the occupancy of kernels of %s"):format(stage.name),
        evidence = evidence.with_kernels({
          evidence.note(evidence.COUNTERS, "%s in kernels that wait for latency, with room for "
            .. "%d %% of the warps or less", evidence.time(found.ns), FEW),
        }, found, stage, why),
        try = "smaller tiles, __launch_bounds__ or fewer warps a block (num_warps in Triton); "
          .. "where registers then spill, it is no gain",
        kernels = found.ids,
        confidence = "low",
      }
    end)
  return ("such kernels take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
