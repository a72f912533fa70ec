-- Requests beside the steps of the engine, where the workload says when it sent them.
local statistics = require "llmprof.statistics"
local json = require "llmprof.json"
local steps_of_rank = require "llmprof.ranks.steps_of_rank"

local request_steps = {}

-- Requests kept in results.
local MOST = 4096


-- ---- steps ----

-- Columns of the steps of the first rank that ran something, in the order in which they
-- began: a list each, by name; nil without any.
function request_steps.of_first_rank(frame, names)
  local first
  for _, group in ipairs(frame:where({ { "begin", "~=", false } }):group {
    by = { "world" } }) do
    first = math.min(first or math.huge, group.world)
  end
  if not first then return nil end
  return steps_of_rank(frame, first, names)
end


-- { begin, last (the latest until then), context, context_tokens, interval } of these.
local function steps_of(frame)
  local made = request_steps.of_first_rank(frame, { "begin", "last", "context",
    "context_tokens", "interval" })
  if not made then return nil end
  for i = 2, #made.last do made.last[i] = math.max(made.last[i], made.last[i - 1]) end
  return made
end


-- First and last step that runs in [from, to); the last is before the first for none.
local function overlapping(steps, from, to)
  return statistics.first_above(steps.last, from), statistics.first_above(steps.begin, to - 1) - 1
end


-- ---- what they say of a request ----

-- The one step that can have prefilled it: it ends before the first token came, and holds
-- the whole prompt. nil for none or several.
local function prefill_step(steps, from, to, prompt)
  local found
  local first, last = overlapping(steps, from, to)
  for i = first, last do
    if (steps.context[i] or 0) > 0 and steps.last[i] <= to
      and (steps.context_tokens[i] or 0) >= prompt then
      if found then return nil end
      found = i
    end
  end
  return found
end


-- By how much steps that prefill others are longer than `plain` while it is in decode.
local function stall_of(steps, from, to, plain)
  local sum = 0
  for i = statistics.first_above(steps.last, from), #steps.begin do
    if steps.last[i] > to then break end
    if (steps.context[i] or 0) > 0 and steps.interval[i] then
      sum = sum + math.max(steps.interval[i] - plain, 0)
    end
  end
  return sum
end


local function record(request, steps, given)
  local sent = request.sent_utc_ns - given.epoch
  local ended, token = sent + request.ms * 1e6, sent + request.ttft_ms * 1e6
  local first, last = overlapping(steps, sent, ended)
  local prompt = request.prompt_tokens or given.prompt_tokens
  local one = prompt and prefill_step(steps, sent, token, prompt)
  return { sent_ns = sent, ttft_ns = request.ttft_ms * 1e6,
    tpot_ns = request.tpot_ms and request.tpot_ms * 1e6, length_ns = request.ms * 1e6,
    tokens = request.tokens, first_step = last >= first and first - 1 or nil,
    steps = math.max(last - first + 1, 0), prefill_step = one and one - 1,
    stall_ns = given.plain and stall_of(steps, token, ended, given.plain) }
end


-- Requests that say when they were sent, in that order: list of { sent_ns (on the clock of
-- the steps), ttft_ns, tpot_ns, length_ns, tokens, first_step (among those of the first
-- rank that ran something, from 0), steps (how many overlap it), prefill_step (absent
-- where token counts fit none or several), stall_ns }; nil where the clocks cannot be put
-- together. list: requests of metrics.json; frame: steps; given: epoch (UTC of time 0,
-- ns), prompt_tokens, plain (interval of a decode step, ns).
function request_steps.of(list, frame, given)
  local steps = frame and given.epoch and steps_of(frame)
  if not steps then return nil end
  local made, met = json.list {}, false
  for _, request in ipairs(list) do
    if request.sent_utc_ns and #made < MOST then
      local one = record(request, steps, given)
      made[#made + 1], met = one, met or one.steps > 0
    end
  end
  table.sort(made, function(a, b) return a.sent_ns < b.sent_ns end)
  return met and made or nil
end


return request_steps
