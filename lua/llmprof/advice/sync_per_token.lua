-- The CPU waits for the GPU in every step: what follows a wait, and how often it comes, tell why.
-- Where no steps are known, it waits again and again between launches.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "sync_per_token", own_code = true }

-- Waiting calls per step from which on every step waits.
local PER_STEP = 0.9

-- Copies of this many bytes at most are of numbers that the CPU reads.
local NUMBERS = 4096

-- Waits that come as often as this in a step are inside of it.
local WITHIN = 1.5

-- Of a stage without steps: at least this many waits, one after at least this part of its launches.
local LEAST, OF_LAUNCHES = 8, 0.5

local TOKEN = "keep the token on the GPU, and look for the end of the text every few tokens, or "
  .. "one step late from pinned memory"

local LAYERS = "let kernels read the numbers on the GPU, or take a shape that holds the largest "
  .. "case"

local EXPERTS = "leave the counts of each expert's tokens on the GPU: a grouped matmul reads them "
  .. "there (%sa fused MoE kernel), a loop over experts has to wait for them"


local function remedy_within(results, experts)
  if experts then return EXPERTS:format(evidence.remedy(results, "torch._grouped_mm, ", "")) end
  return evidence.remedy(results, "no .item(), .tolist() or .nonzero() inside the layers: ", "")
    .. LAYERS
end


local function in_words(group)
  local what = group.before == "copy" and group.bytes
    and evidence.say("a copy of %B", group.bytes) or group.before or "nothing"
  return ("after %s, %s"):format(what, group.after and "before " .. group.after or "at the end")
end


-- Of calls in a stage, those of one rank in one step.
local function a_step(results, stage, calls)
  return calls / stage.steps / evidence.ranks_in_stage(results)
end


-- The copies that the CPU waits for in a step, where each wait within it is for one: kernels that
-- read the numbers themselves need none. A list of changes.
local function copies_within(stage, groups)
  local sizes = {}
  for i, group in ipairs(groups) do
    local is_number = group.before == "copy" and group.bytes and group.bytes <= NUMBERS
    if not is_number then return {} end
    sizes[i] = ("%d"):format(group.bytes)
  end
  return { evidence.without_copies(stage, ('direction = "device to host", bytes = { %s }'):format(
    table.concat(sizes, ", "))) }
end


-- Report waits, with a note for each of the first groups. given: title, try; which of the waits of
-- a step, where there are others; more: further changes.
local function report_waits(results, stage, groups, given, report)
  report.finding {
    stage = stage.name,
    title = given.title,
    evidence = lists.map(lists.first(groups, 3), function(group)
      local each = evidence.count(stage.steps and a_step(results, stage, group.calls) or 0)
      return evidence.seen("%N{waiting call}%s, %T in them: %s", group.calls,
        each ~= "0" and (", %s a step"):format(each) or "", group.ns, in_words(group))
    end),
    try = given.try,
    changes = { given.which and ("remove(syncs(%q, %q))"):format(stage.name, given.which)
      or ("remove(syncs %q)"):format(stage.name), table.unpack(given.more or {}) },
    assumption = "without the wait the CPU launches ahead, as fast as it does now",
  }
end


-- Waits inside a step and those at its end, each a list of groups; and the calls of others that
-- mostly return while the GPU has work. Copies from pageable memory are another rule's.
local function split(results, stage)
  local within, ending, ahead = {}, {}, 0
  local sent = evidence.copies(results, stage, function(row)
    return row.pageable and row.direction == "host to device"
  end).calls
  for _, group in ipairs(stage.waits or {}) do
    if (group.ahead or 0) > group.calls / 2 then
      ahead = ahead + group.calls
    elseif group.before == "copy" and group.calls <= sent then
      sent = sent - group.calls
    else
      table.insert(a_step(results, stage, group.calls) >= WITHIN and within or ending, group)
    end
  end
  return within, ending, ahead
end


-- Waits within a step, and, where there are others at its end, which they are.
local function report_within(results, stage, groups, which, report)
  local decoder, calls = evidence.decoder_of(results), lists.sum(groups, "calls")
  local experts = decoder and decoder.routed and groups[1].after == "gemm"
  local per_layer = decoder and a_step(results, stage, calls)
    / math.max(experts and decoder.layers - decoder.dense or decoder.layers, 1)
  local is_per_layer = per_layer and math.abs(per_layer - 1) < 0.05
  report_waits(results, stage, groups, {
    title = evidence.say("%s waits for the GPU %N times in every step%s%s", stage.name,
      a_step(results, stage, calls), is_per_layer and ", once per layer" or "",
      is_per_layer and experts and " with experts" or ""),
    try = remedy_within(results, experts),
    which = which, more = copies_within(stage, groups),
  }, report)
end


local function examine_stage(results, stage, report)
  local within, ending, ahead = split(results, stage)
  if stage.api.sync.calls - ahead < PER_STEP * stage.steps then
    return evidence.say("%N{waiting call} in %N{step}%s", stage.api.sync.calls, stage.steps,
      ahead > 0 and evidence.say(", %N of them while the GPU has more to do", ahead) or "")
  end
  local at_end = lists.sum(ending, "calls") >= PER_STEP * stage.steps
  if #within > 0 then report_within(results, stage, within, at_end and "inner", report) end
  if at_end then
    report_waits(results, stage, ending, {
      title = ("%s waits for the GPU at every token"):format(stage.name),
      try = TOKEN .. evidence.remedy(results, "; no .item(), .cpu() or print in the loop", ""),
      which = #within > 0 and "last",
    }, report)
  end
  return "what the waits are for is not known"
end


local function examine_launches(results, stage, report)
  local calls, launches = stage.api.sync.calls, stage.launches or stage.api.launch.calls
  if calls < math.max(LEAST, OF_LAUNCHES * launches) then
    return evidence.say("%N{waiting call} for %N launches of %s", calls, launches, stage.name)
  end
  report_waits(results, stage, stage.waits or {}, {
    title = evidence.say("%s waits for the GPU %N times, with %N launches", stage.name, calls,
      launches),
    try = "launch ahead: wait once where the CPU needs a result; let work that depends on other "
      .. "streams wait for events (cudaStreamWaitEvent)",
  }, report)
end


function rule.examine(results, report)
  local why
  for _, stage in ipairs(evidence.decodes(results)) do
    if stage.api and stage.waiting then why = examine_stage(results, stage, report) end
  end
  for _, stage in ipairs(evidence.stages(results)) do
    if stage.api and stage.waits and #stage.waits > 0 and not stage.steps
      and not stage.kernels_per_token then
      why = examine_launches(results, stage, report) or why
    end
  end
  if not why then report.abstain(evidence.UNCOUNTED) end
  return why
end


return rule
