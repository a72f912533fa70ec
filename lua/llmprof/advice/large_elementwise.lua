-- A few long kernels that only add, copy or convert: they move a large tensor
-- through memory and compute next to nothing. Scores of attention that are
-- written out, to add a bias to them, are such tensors. Kernels that are fused already are not
-- counted.
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


-- Per instance of the stage, by what the kernels are: { calls, ns, ids }, and by
-- category.
local function long_kernels(results, stage)
  local least = math.max(LONG * stage.gpu_time_ns, LONG_NS)
  local sum = { calls = 0, ns = 0, ids = {}, list = {}, least = math.floor(least / 2),
    elementwise = 0, ["copy/cast"] = 0 }
  local scores = attention_unfused.kernels_of(results, stage)
  local group = evidence.kernels(results, stage, function(kernel)
    return moves[kernel.category] and not small_elementwise.is_fused(kernel)
      and not scores[kernel.id] or false
  end)
  for _, kernel in ipairs(group.list) do
    local long = lists.filtered(kernel.shapes or {}, function(shape)
      return shape.total_ns >= least * shape.calls
    end)
    if #long > 0 then
      local calls = lists.sum(long, "calls") / stage.wall.count
      sum.calls = sum.calls + calls
      sum.ns = sum.ns + lists.sum(long, "total_ns") / stage.wall.count
      sum[kernel.category] = sum[kernel.category] + calls
      sum.ids[#sum.ids + 1], sum.list[#sum.list + 1] = kernel.id, kernel
    end
  end
  return sum
end


-- "4 elementwise kernels and 1 copy or cast"
local function things(long)
  local list, copies = {}, evidence.count(long["copy/cast"])
  if long.elementwise > 0 then list[1] = evidence.things(long.elementwise, "elementwise kernel") end
  if long["copy/cast"] > 0 then
    list[#list + 1] = copies .. (copies == "1" and " copy or cast" or " copies or casts")
  end
  return table.concat(list, " and ")
end


function rule.examine_stage(results, stage, report)
  local long = long_kernels(results, stage)
  local share = evidence.part(long.ns, stage.gpu_time_ns)
  if share < WORTH then
    return evidence.say("long additions and copies take %P of the GPU time", share)
  end
  report.finding {
    title = evidence.say("%P of the GPU time of %s goes into large additions and copies", share,
      stage.name),
    evidence = {
      evidence.seen("%s, %T together", things(long), long.ns),
    },
    try = ("fuse them into the kernel before or after: attention that takes the bias (or "
      .. "computes it inside%s), an epilogue of the matmul%s"):format(
      evidence.remedy(results, ": FlexAttention", ""),
      evidence.remedy(results, ", torch.compile", "")),
    changes = evidence.change("remove(%s)", stage, long.list,
      (', duration = { ">=", %d }'):format(long.least)),
    assumption = "all of them become part of the kernels before or after them",
    kernels = long.ids,
  }
end


return rule
