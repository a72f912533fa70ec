-- A vocabulary that is sorted for each token, and drafts that no step verifies.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "token_choice", of_decode = true }

-- From this share of the stage's GPU time on, each.
local WORTH = 0.03

-- Kernels that run more often than this in a step sort for its layers: the tokens of experts.
local ONCE = 2

-- Of the few largest no more than these are put in order.
local is_few = evidence.named { "topk" }
local is_sort = evidence.named { "sort" }


local function examine_sorts(results, stage, report)
  local function of_step(kernel)
    return kernel.category == "sort" and not is_few(kernel)
      and kernel.calls <= ONCE * stage.steps * stage.wall.count
  end
  local share = evidence.kernels(results, stage, function(kernel)
    return of_step(kernel) and is_sort(kernel)
  end).share
  if share < WORTH then
    return evidence.say("sorts outside of layers take %P of the GPU time", share)
  end
  local sorts = evidence.kernels(results, stage, of_step)
  report.finding {
    title = ("%s sorts the vocabulary for each token"):format(stage.name),
    evidence = evidence.with_kernels({ evidence.seen("sorts and sums outside of layers take %T, %P "
      .. "of the stage's GPU time", sorts.ns, sorts.share) }, sorts, stage),
    try = "sample without sorting: kernels that reject what is outside of top-k and top-p "
      .. "(FlashInfer), or the most likely few hundred first" .. evidence.remedy(results,
        " (torch.topk)", ""),
    changes = evidence.change("remove(%s)", stage, sorts.list),
    assumption = "sampling takes next to no time",
    kernels = sorts.ids,
  }
end


-- ---- drafts ----

-- Blocks of a launch that grow with its tokens; nil of other kernels.
local by_tokens = { norm = true, elementwise = true, sampling = true }

local function blocks_of(kernel)
  local most
  for _, shape in ipairs(by_tokens[kernel.category] and kernel.shapes or {}) do
    local grid = shape.grid
    most = math.max(most or 0, grid[1] * grid[2] * grid[3])
  end
  return most
end


-- A kernel that runs in drafts and in the rest of a step, and there on no more blocks than here;
-- nil where one has more, as a step does that verifies what was drafted.
local function unverified(results, draft)
  local drafted, found = {}, nil
  for _, kernel in ipairs(evidence.kernels_of(results, draft)) do
    drafted[kernel.name] = blocks_of(kernel)
  end
  for _, kernel in ipairs(results.kernels) do
    local here = kernel.stage == draft.parent and kernel.part ~= draft.name
      and drafted[kernel.name]
    local there = here and blocks_of(kernel)
    if there and there > here then return nil end
    found = there and (found or kernel) or found
  end
  return found
end


local function examine_drafts(results, stage, draft, report)
  local drafts, same = evidence.kernels(results, stage, function(kernel)
    return kernel.part == draft.name
  end), unverified(results, draft)
  if drafts.share < WORTH or not same then return "steps verify what is drafted" end
  report.finding {
    title = ("%s drafts tokens that no step verifies"):format(stage.name),
    evidence = {
      evidence.seen("drafts take %P of the stage's GPU time", drafts.share),
      evidence.seen("what follows them works on as many tokens as one draft: %s has no more blocks "
        .. "there", same.label),
    },
    try = "a step that verifies the drafted tokens of each sequence together, or no drafts",
    changes = { ("remove(kernels:where { stage = %q, part = %q })"):format(stage.name,
      draft.name) },
    assumption = "nothing is drafted",
    kernels = drafts.ids,
    confidence = "high",
  }
end


function rule.examine_stage(results, stage, report)
  local why = examine_sorts(results, stage, report)
  for _, draft in ipairs(results.stages) do
    if draft.parent == stage.name and draft.wall and draft.name:lower():find "draft" then
      why = examine_drafts(results, stage, draft, report)
    end
  end
  return why
end


return rule
