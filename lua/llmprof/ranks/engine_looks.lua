-- The engine's own numbers beside its steps: each look at its page with the steps that
-- began since the look before.
local statistics = require "llmprof.statistics"
local json = require "llmprof.json"
local requests = require "llmprof.ranks.requests"

local engine_looks = {}

-- Looks kept in results.
local MOST = 4096

local LEVELS = { "running", "waiting", "kv_use" }


local function number(value) return type(value) == "number" and value or nil end


-- The mean of values first..last of a list with gaps; nil for none.
local function mean(list, first, last)
  local sum, count = 0, 0
  for i = first, last do
    if list[i] then sum, count = sum + list[i], count + 1 end
  end
  return count > 0 and sum / count or nil
end


-- What a counter grew by; nil where a look lacks it, or the engine began again.
local function growth(before, after)
  local from, to = number(before), number(after)
  return from and to and to >= from and to - from or nil
end


local function add_steps(look, steps, from, to)
  local first = statistics.first_above(steps.begin, from)
  local last = statistics.first_above(steps.begin, to) - 1
  look.steps = last - first + 1
  look.batch = mean(steps.batch, first, last)
  look.step_ns = mean(steps.length, first, last)
end


-- List of { at_ns (on the clock of the steps), running, waiting, kv_use; and since the look
-- before: preemptions, steps (that began), batch, step_ns (means of theirs) }, in order;
-- nil where no step began between two looks, or the clocks cannot be put together. metrics:
-- metrics.json; frame: steps; epoch: UTC of time 0, ns.
function engine_looks.of(metrics, frame, epoch)
  local samples = metrics and metrics.engine_metrics and metrics.engine_metrics.samples or {}
  local steps = frame and epoch and #samples > 1
    and requests.of_first_rank(frame, { "begin", "batch", "length" })
  if not steps then return nil end
  local made, met = json.list {}, false
  for i = 1, math.min(#samples, MOST) do
    local sample, before = samples[i], samples[i - 1]
    local look = { at_ns = sample.utc_ns - epoch }
    for _, name in ipairs(LEVELS) do look[name] = number(sample[name]) end
    if before then
      look.preemptions = growth(before.preemptions, sample.preemptions)
      add_steps(look, steps, before.utc_ns - epoch, look.at_ns)
      met = met or look.steps > 0
    end
    made[i] = look
  end
  return met and made or nil
end


return engine_looks
