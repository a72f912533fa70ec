-- Ranks, steps and collectives of what was captured: llmprof.ranks with what this room
-- knows of kernels, API calls and stages.
local categories = require "llmprof.analysis.categories"
local clock = require "llmprof.base.clock"
local errors = require "llmprof.base.errors"
local json = require "llmprof.json"
local part = require "llmprof.ranks.part"
local ranks = require "llmprof.ranks"
local version = require "llmprof.version"
local waiting = require "llmprof.analysis.waiting"

local rank_view = {}

local COMMUNICATION, EXPERTS = "communication", "moe"


-- Which ranges a recipe says are steps: tag -> phase; nil when it marks none of decode.
local function marks_of(declared)
  local marks, decodes = {}, false
  for _, stage in ipairs(declared or {}) do
    if stage.step then
      marks[stage.step], decodes = stage.name, true
    elseif stage.name == "prefill" and not stage.parent then
      marks[stage.name] = stage.name
    end
  end
  return decodes and marks or nil
end


-- The steps of stages that were inferred, in order: list of { start, stop, phase }.
local function inferred_steps(found)
  local list = {}
  for _, instance in ipairs(found and found.inferred and found.instances or {}) do
    for _, step in ipairs(instance.steps or { instance }) do
      list[#list + 1] = { start = step.start, stop = step.stop, phase = instance.stage }
    end
  end
  return list
end


-- What llmprof.ranks asks of its caller. declared: the recipe's stages; own: its
-- categories; found: of analysis.stages; each may be nil.
function rank_view.knowledge(declared, own, found)
  local category = categories.classifier(own)
  return {
    is_collective = function(name) return category(name) == COMMUNICATION end,
    is_expert = function(name) return category(name) == EXPERTS end,
    class_of = waiting.class_of,
    marks = marks_of(declared),
    infer = found and function() return inferred_steps(found) end or nil,
  }
end


-- The part of a trace that llmprof.ranks keeps.
function rank_view.part(trace, file, knowledge)
  return part.of(trace, file, knowledge)
end


-- Is there anything to say: several ranks, or steps?
local function is_worth(record)
  return #record.ranks > 1 or #record.files > 1 or record.source ~= nil
end


-- The record of results.json; nil for one rank without steps. parts: of
-- rank_view.part; metrics: metrics.json; left_out: lines about files that could not be
-- read.
function rank_view.record(parts, knowledge, metrics, left_out)
  local record = ranks.examine(parts, { is_expert = knowledge.is_expert, metrics = metrics,
    left_out = left_out })
  return is_worth(record) and record or nil
end


-- The frames of one trace: steps and collectives, with all that is known of each; nil
-- where it has none. found: of analysis.stages.
function rank_view.frames(trace, file, found)
  local declared = found and not found.by_engine and found.declared
  local knowledge = rank_view.knowledge(declared or nil, nil, found)
  local _, made = ranks.examine({ part.of(trace, file, knowledge) }, {})
  return made
end


-- ---- results of parts alone ----

-- When the last of the captures began: the same parts always make the same results.
local function latest(parts)
  local newest
  for _, one in ipairs(parts) do
    local epoch = one.about.epoch
    if epoch and (not newest or epoch > newest) then newest = epoch end
  end
  return newest and os.date("!%Y-%m-%dT%H:%M:%SZ", newest // 1000000000) or clock.timestamp()
end


local function devices_of(record)
  local list, seen = json.list {}, {}
  for _, rank in ipairs(record.ranks) do
    local key = ("%s/%s"):format(rank.file, rank.device)
    if not seen[key] then
      seen[key], list[#list + 1] = true, { id = rank.device, name = rank.gpu }
    end
  end
  return list
end


-- Stages of the phases of steps, over all ranks.
local function stages_of(record)
  local list = json.list {}
  for _, group in ipairs(record.stages or {}) do
    if group.phase and group.mean_ns and group.mean_ns > 0 then
      list[#list + 1] = { name = group.phase, instances = json.list {},
        gpu_busy_ns = group.busy_ns, gpu_time_ns = group.gpu_time_ns, kernels = group.kernels,
        gpu_idle_ns = math.max(group.mean_ns - group.busy_ns, 0),
        idle_share = math.max(1 - group.busy_ns / group.mean_ns, 0),
        wall = { count = group.count, mean_ns = group.mean_ns, min_ns = group.min_ns,
          max_ns = group.max_ns, total_ns = group.total_ns } }
    end
  end
  return list
end


local NO_TIMELINE = "parts of ranks were put together, not one timeline"

-- results.json of parts alone: ranks, and what follows from them. id: of the run.
function rank_view.results(parts, knowledge, id, left_out)
  local created = latest(parts)
  local record = errors.check("nothing", #parts > 0 and ranks.examine(parts,
    { is_expert = knowledge.is_expert, left_out = left_out }), "no file could be read")
  return json.ordered({
    schema_version = 1,
    run = { id = id, recipe = "ranks", created = created, llmprof = version.version },
    source = {}, environment = { devices = devices_of(record) },
    stages = stages_of(record), kernels = json.list {}, ranks = record,
    missing = json.list { { what = "kernels by stage, counters, copies", why = NO_TIMELINE,
      how = "llmprof RECIPE.lua capture=recorded recorded=FOLDER of one rank's file" } },
  }, { "schema_version", "run", "source", "environment", "stages", "ranks", "kernels", "advice",
    "missing" })
end


return rank_view
