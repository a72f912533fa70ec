-- Stages of a serving engine: prefill, mixed and decode are its steps, as its labels
-- mark them in each rank. A step's work counts for it wherever it runs; its length is
-- that of core/ranks/step_table.h.
local members = require "llmprof.ranks.members"
local part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local steps = require "llmprof.ranks.steps"

local engine_stages = {}

local PHASES = { "prefill", "mixed", "draft", "decode" }

local COLUMNS = { "rank", "phase", "begin", "before", "last", "length", "context", "generation",
  "context_tokens", "generation_tokens" }


-- Is there a stage among them that is no label of a step?
local function names_others(declared, found)
  for _, stage in ipairs(declared) do
    if not found.steps[stage.name] then return true end
  end
  return false
end


-- Tokens that a step works on; nil where its label does not say.
local function work_of(row)
  local read = row.context == 0 and 0 or row.context_tokens
  local made = row.generation_tokens or row.generation
  return read and made and read + made
end


-- A step as an instance of its stage; nil for one that ran nothing.
local function instance_of(row, number, list)
  if not row.begin or not row.phase or row.last <= row.begin then return nil end
  local own = list[row.rank + 1]
  local made = { stage = row.phase, range = number, rank = row.rank, pid = own.pid,
    start = row.begin, stop = row.last, requests = row.generation, context = row.context,
    tokens = row.generation_tokens or row.generation, work = work_of(row) }
  if row.phase == "decode" then
    made.steps = { { start = math.min(row.before or row.begin, row.begin), begin = row.begin,
      stop = row.last } }
  end
  return made
end


-- Instances of stages by start, of those that start together by range; sorts the list.
function engine_stages.in_order(instances)
  table.sort(instances, function(a, b)
    if a.start ~= b.start then return a.start < b.start end
    return a.range < b.range
  end)
  return instances
end


local function instances_of(frame, list)
  local made = {}
  for row = 1, #frame do
    made[#made + 1] = instance_of(rows.get(frame, row, COLUMNS), row - 1, list)
  end
  return engine_stages.in_order(made)
end


local function declared_in(instances)
  local seen, list = {}, {}
  for _, instance in ipairs(instances) do seen[instance.stage] = true end
  for _, name in ipairs(PHASES) do
    if seen[name] then list[#list + 1] = { name = name } end
  end
  return list
end


-- { instances (with rank, pid, requests, tokens), declared (the stages that there are),
-- engine (its name), members, steps (their frame) } where an engine's labels mark the
-- steps; nil where they do not, or where a stage that is asked for is a range.
-- declared: the stages asked for; any: has one of them a range?
function engine_stages.find(trace, declared, any)
  local found = members.find_labels(trace)
  if not found or found.source ~= "labels" then return nil end
  if any and names_others(declared, found) then return nil end
  local list, known = part.steps(trace, rank_view.knowledge())
  local instances = instances_of(known.frame, list)
  if #instances == 0 then return nil end
  return { instances = instances, declared = declared_in(instances), engine = known.engine,
    members = list, steps = known.frame }
end


-- Add stage and stage_range, the number of the step, to a frame of operations. made: of
-- engine_stages.find.
function engine_stages.label(frame, made)
  members.label_ops(made.members, frame)
  spans.assign(frame, { time = "api_start", key = "rank" }, made.steps, steps.at,
    "stage_range")
  spans.look_up(frame, "stage_range", made.steps, "phase", "stage")
  return frame
end


return engine_stages
