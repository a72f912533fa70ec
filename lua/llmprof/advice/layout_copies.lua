-- Kernels that only move data: cat, gathers, permutations; and copies within a GPU.
local cat_cache = require "llmprof.advice.cat_cache"
local evidence = require "llmprof.advice.evidence"

local rule = { name = "layout_copies", own_code = true, children = true, fewer_launches = true }

-- From this share of the stage's GPU time on.
local WORTH = 0.1

local moves = evidence.named { "direct_copy_kernel", "catarray", "transpose", "permute",
  "nchwtonhwc", "nhwctonchw", "roll" }
local gathers = evidence.named { "gather_kernel", "indexselect" }

local casts = evidence.named { "loadwithcast" }


-- Gathers of each layer of a decode, but not of embeddings, once a step.
local function is_of_layers(results, stage, kernel)
  return stage.kernels_per_token and gathers(kernel) and kernel.calls / stage.wall.count
    >= math.max(evidence.kernels(results, stage, evidence.is_attention).calls, 2 * stage.steps)
end


-- all: both together.
local function notes_of(all, group, copies, stage)
  local notes = {}
  if group.calls > 0 and copies.calls > 0 then
    notes[1] = evidence.seen("%N moves take %T, %P of the stage's GPU time", all.calls, all.ns,
      evidence.part(all.ns, stage.gpu_time_ns))
  end
  if group.calls > 0 then
    notes[#notes + 1] = evidence.seen("%N copies, joins, gathers and permutations take %T, %P of "
      .. "the stage's GPU time", group.calls, group.ns, group.share)
  end
  if copies.calls > 0 then
    notes[#notes + 1] = evidence.seen("%N{copy} within the GPU's memory take %T, %P of the stage's "
      .. "GPU time%s", copies.calls, copies.ns, evidence.part(copies.ns, stage.gpu_time_ns),
      copies.bytes and evidence.say(": %B", copies.bytes) or "")
  end
  return notes
end


local function changes_of(stage, group, copies)
  local list = evidence.change("remove(%s)", stage, group.list)
  if copies.calls > 0 then
    list[#list + 1] = evidence.without_copies(stage, 'direction = "device to device"')
  end
  return list
end


local function remedy(results, copies)
  local framework = results.framework and results.framework.name
  if framework == "jax" and copies.ns > 0 then
    return "update caches in place: donate them (donate_argnums), and keep them out of what a scan "
      .. "stacks again for each layer; a layout that the next operation reads as it is"
  end
  return ("write to where the data is needed (preallocated caches%s), choose a layout that the "
    .. "next kernel reads as it is, let attention take strided inputs and beams a table of cache "
    .. "blocks"):format(
    evidence.remedy(results, ", out=", ""))
end


function rule.examine_stage(results, stage, report)
  local cache = cat_cache.kernels_of(results, stage)
  local copies = evidence.copies(results, stage, function(row)
    return row.direction == "device to device"
  end)
  local group = evidence.kernels(results, stage, function(kernel)
    return kernel.category == "copy/cast" and not casts(kernel) and not cache[kernel.id]
      and (moves(kernel) or is_of_layers(results, stage, kernel))
  end)
  local all = { ns = group.ns + copies.ns, calls = group.calls + copies.calls }
  local share = evidence.part(all.ns, stage.gpu_time_ns)
  if share >= WORTH then
    report.finding {
      title = ("%s spends its GPU time on moving data"):format(stage.name),
      evidence = evidence.with_kernels(notes_of(all, group, copies, stage), group, stage),
      try = remedy(results, copies),
      changes = changes_of(stage, group, copies),
      assumption = "none of the moves is needed",
      kernels = group.ids,
      confidence = "low",
    }
  end
  return evidence.say("%N copies, joins, gathers and permutations, %P of the GPU time", all.calls,
    share)
end


return rule
