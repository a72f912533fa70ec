-- A few long kernels that only add, copy or convert a large tensor, such as written-out scores of
-- attention. Kernels that are fused already are not counted.
local attention_unfused = require "llmprof.advice.attention_unfused"
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"
local small_elementwise = require "llmprof.advice.small_elementwise"

local rule = { name = "large_elementwise", own_code = true, children = true }

-- From this share of the stage's GPU time on.
local WORTH = 0.2

-- A launch that takes this share of the stage's GPU time, and at least this many ns,
-- is a long one.
local LONG, LONG_NS = 0.01, 20e3

local moves = { elementwise = true, ["copy/cast"] = true }


-- Kernels of the stage with launches that take at least this many ns, with the sums of these per
-- instance, as of evidence.kernels.
local function long_kernels(results, stage, least)
  local scores = attention_unfused.kernels_of(results, stage)
  local long = { list = {}, ids = {}, calls = 0, ns = 0 }
  for _, kernel in ipairs(evidence.kernels_of(results, stage)) do
    local is_wanted = moves[kernel.category] and not small_elementwise.is_fused(kernel)
      and not scores[kernel.id]
    local shapes = lists.filtered(is_wanted and kernel.shapes or {}, function(shape)
      return shape.total_ns >= least * shape.calls
    end)
    if #shapes > 0 then
      long.list[#long.list + 1], long.ids[#long.ids + 1] = kernel, kernel.id
      long.calls = long.calls + lists.sum(shapes, "calls") / stage.wall.count
      long.ns = long.ns + lists.sum(shapes, "total_ns") / stage.wall.count
    end
  end
  return long
end


function rule.examine_stage(results, stage, report)
  local least = math.max(LONG * stage.gpu_time_ns, LONG_NS)
  local long = long_kernels(results, stage, least)
  local share = evidence.part(long.ns, stage.gpu_time_ns)
  if share < WORTH then
    return evidence.say("long additions and copies take %P of the GPU time", share)
  end
  report.finding {
    title = evidence.say("%P of the GPU time of %s goes into large additions and copies", share,
      stage.name),
    evidence = evidence.with_kernels({ evidence.seen("%N{long kernel}, %T together",
      long.calls, long.ns) }, long, stage),
    try = ("fuse them into the kernel before or after: attention that takes the bias (or "
      .. "computes it inside%s), an epilogue of the matmul%s"):format(
      evidence.remedy(results, ": FlexAttention", ""),
      evidence.remedy(results, ", torch.compile", "")),
    changes = evidence.change("remove(%s)", stage, long.list,
      (', duration = { ">=", %d }'):format(math.floor(least / 2))),
    assumption = "all of them become part of the kernels before or after them",
    kernels = long.ids,
  }
end


return rule
