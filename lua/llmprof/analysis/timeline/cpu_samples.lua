-- What the CPU was in, by stage: stacks that were sampled, of the timeline or of files
-- beside it, as a tree, and the functions on them.
--
-- A sample of the timeline belongs to the innermost stage around its time: of its own
-- thread, else of another thread of its process. The stacks of a stage are those of its own
-- threads, or of all threads of its process where no sample was taken on the former. Files
-- of collapsed stacks know no times: they are of the stage that they are named for, or of
-- the whole run.
local check = require("llmprof.process.errors").check
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local members = require "llmprof.ranks.members"
local rows = require "llmprof.ranks.rows"
local stages = require "llmprof.analysis.stages.find"

local cpu_samples = { reads = { "trace", "found", "stacks" },
  gives = { cpu_samples = "what samples of the CPU say, by stage" } }

-- Functions of a stage; frames of its tree, and the least share of its samples, or time,
-- that one has to have.
cpu_samples.FUNCTIONS, cpu_samples.FRAMES, cpu_samples.LEAST = 40, 600, 0.001


-- ---- stacks ----

local function total_of(frame)
  local all = frame:group { sum = { "weight" } }[1]
  return all and all.weight.total or 0
end


local function counted(frame, conditions) return total_of(check(frame:where(conditions))) end


-- The stacks of samples, or of operations, as a tree. all: its samples, or ns.
function cpu_samples.tree(trace, frame, all)
  local found = check(trace:stack_tree(frame,
    { least = math.max(1, math.ceil(all * cpu_samples.LEAST)), most = cpu_samples.FRAMES }))
  return rows.list(found, { "depth", "name", "module", "self", "total" })
end


-- The stacks of a view of samples as a record; nil without samples.
local function record(trace, frame, fields)
  local samples = total_of(frame)
  if samples == 0 then return nil end
  fields.samples = samples
  fields.without_stack = counted(frame, { stack = false })
  fields.cut = counted(frame, { cut = 1 })
  -- by the samples in them, then by those in what they called
  local found = check(trace:stack_functions(frame))
  local shown = check(found:sort({ { "self", true }, { "total", true } }, cpu_samples.FUNCTIONS))
  fields.functions = rows.list(shown, { "name", "module", "self", "total" })
  fields.different = #found
  fields.tree = cpu_samples.tree(trace, frame, samples)
  return fields
end


-- ---- samples of the timeline ----

-- Tags of an engine's steps with their phases.
local function engine_tags(trace)
  local found, list = members.find_labels(trace), {}
  for tag, step in pairs(found and found.steps or {}) do
    if step.phase then list[#list + 1] = { tag, step.phase } end
  end
  return lists.sort(list, function(one) return one[1] end)
end


-- Samples with the stage, and the part, that they were taken in. found: of
-- llmprof.analysis.stages.find, or the stages that are `declared`.
function cpu_samples.label(trace, frame, found)
  if not found.by_engine then return stages.label(trace, frame, found) end
  check(trace:label(frame, "stage", engine_tags(trace)))
  return check(trace:label(frame, "part", {}))
end


local function of_stage(trace, frame, name, has_threads)
  local all = check(frame:where { stage = name })
  if not has_threads then return record(trace, all, { stage = name, scope = "time" }) end
  local own = check(all:where { stage_own = 1 })
  local others = counted(all, { stage_own = 0 })
  if #own == 0 then return record(trace, all, { stage = name, scope = "process" }) end
  return record(trace, own, { stage = name, scope = "thread", other_threads = others })
end


local function add_timeline(made, trace, found)
  local frame = check(trace:frame "cpu_samples")
  made.timeline = total_of(frame)
  if found.whole then
    made.stages[1] = record(trace, frame, { stage = stages.WHOLE_RUN, scope = "run" })
    return
  end
  local inside, placed = cpu_samples.label(trace, frame, found), 0
  if not found.by_engine then -- those of repeats that count
    inside = check(inside:where { stage_range = stages.used_ranges(found) })
  end
  for _, stage in ipairs(found.declared) do
    local row = not stage.parent and of_stage(trace, inside, stage.name, not found.inferred) or nil
    made.stages[#made.stages + 1] = row
    placed = placed + (row and row.samples + (row.other_threads or 0) or 0)
  end
  made.outside = made.timeline - placed
end


-- ---- together ----

-- What results.json tells of samples; nil where nothing was sampled. given: trace and found (nil
-- without a timeline), stacks (list of { stage, file, trace }).
function cpu_samples.describe(given)
  local made = { stages = json.list {} }
  local has, message, code = true, nil, nil
  if given.trace then has, message, code = given.trace:has "cpu_samples" end
  if has == nil then check(has, message, code) end
  if given.trace and has then add_timeline(made, given.trace, given.found) end
  for _, file in ipairs(given.stacks or {}) do
    local frame = check(file.trace:frame "cpu_samples")
    made.stages[#made.stages + 1] = record(file.trace, frame, { stage = file.stage,
      scope = file.stage == stages.WHOLE_RUN and "run" or "stage", file = file.file })
  end
  return #made.stages > 0 and made or nil
end


function cpu_samples.run(state) state.cpu_samples = cpu_samples.describe(state) end


return cpu_samples
