-- Which ranges of a trace are steps: an engine's labels, or ranges that a recipe or
-- a program calls so.
local engines = require "llmprof.engines"
local errors = require "llmprof.process.errors"

local labels = {}

-- What programs without an engine call a pass of their model. A range "decode" is no
-- step: it holds all of them.
local usual = { prefill = "prefill", prefill_step = "prefill", decode_step = "decode" }


-- Every tag of the trace's ranges, once, sorted.
local function tags_of(trace)
  local keys = errors.check(trace:frame "ranges"):group { by = { "tag" },
    columns = {} }
  local list = {}
  for row = 1, #keys do list[#list + 1] = keys:get(row, "tag") end
  table.sort(list)
  return list
end


local function marked(tags, marks)
  local found = {}
  for _, tag in ipairs(tags) do
    local phase = marks[tag]
    if phase then found[tag] = { phase = phase } end
  end
  return next(found) and found or nil
end


-- { source ("labels" of an engine, or "ranges"), engine (nil without), steps (by tag:
-- { phase, context, ... }), enclosed (are the launches of a step inside its range?) };
-- nil when no range marks a step. marks: tag -> phase, of the recipe; nil: the usual
-- names.
function labels.find(trace, marks)
  local tags = tags_of(trace)
  local known = engines.recognise(tags)
  if known and known.count > 0 then
    return { source = "labels", engine = known.engine, steps = known.steps, enclosed = false }
  end
  local found = marks and marked(tags, marks) or marked(tags, usual)
  return found and { source = "ranges", steps = found, enclosed = true,
    engine = known and known.engine }
end


return labels
