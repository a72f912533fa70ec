-- Ranks, steps and collectives of what was captured: llmprof.ranks with what this room
-- knows of kernels, API calls and stages.
local categories = require "llmprof.analysis.kernels.categories"
local clock = require "llmprof.io.clock"
local clocks = require "llmprof.ranks.clocks"
local cold = require "llmprof.analysis.stages.warmup"
local collectives = require "llmprof.collectives"
local engines = require "llmprof.engines"
local errors = require "llmprof.process.errors"
local hardware = require "llmprof.model.hardware"
local infer = require "llmprof.analysis.stages.infer"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"
local part = require "llmprof.ranks.part"
local rank_events = require "llmprof.analysis.timeline.rank_events"
local range_name = require "llmprof.trace.nvtx_names"
local ranks = require "llmprof.ranks"
local rows = require "llmprof.ranks.rows"
local sorted_keys = require("llmprof.tables.keys").sorted
local spans = require "llmprof.spans"
local version = require "llmprof.version"
local waiting = require "llmprof.analysis.stages.idle_causes"

local rank_view = {}

local COMMUNICATION, EXPERTS = "communication", "moe"


-- Which ranges a recipe says are steps: tag -> phase; nil when it marks none of decode.
local function marks_of(declared)
  local marks, decodes = {}, false
  for _, stage in ipairs(declared or {}) do
    if stage.step then
      marks[stage.step], decodes = stage.name, true
    elseif range_name.role(stage.name) == "prefill" and not stage.parent then
      marks[stage.name] = stage.name
    end
  end
  return decodes and marks or nil
end


-- The steps of stages that were inferred, in order, without those of start-up: list of
-- { start, stop, phase }, with `left_out`, how many these are.
local function inferred_steps(instances)
  local list, left_out = {}, 0
  for _, instance in ipairs(instances) do
    for _, step in ipairs(instance.steps or { instance }) do
      if instance.used and not step.cold then
        list[#list + 1] = { start = step.start, stop = step.stop, phase = instance.stage }
      else
        left_out = left_out + 1
      end
    end
  end
  list.left_out = left_out
  return list
end


-- No step is a prefill that begins in a range of the process that says that it decodes.
local function relabel(list, trace, pid)
  local ranges = errors.check(trace:frame("ranges"):where { pid = pid })
  local tags = lists.filtered(lists.map(ranges:group { by = { "tag" } }, "tag"), function(tag)
    return range_name.role(tag) == "decode"
  end)
  local decodes = errors.check(ranges:where { tag = tags }):union()
  for _, step in ipairs(list) do
    if step.phase == "prefill" and decodes:covered(step.start, step.start + 1) > 0 then
      step.phase = "decode"
    end
  end
  return list
end


-- The trace as a rank of it sees it, for what looks at operations and ranges alone.
local function seen_by(trace, member)
  return { frame = function(_, name)
    return trace:frame(name):where { pid = member.pid,
      device = name ~= "ranges" and member.device or nil }
  end }
end


local STAGES = { { name = "prefill" }, { name = "decode" } }

-- The steps of one rank, as they are inferred from what it ran; {} where nothing is
-- regular enough. alone: it is the only rank; found: of analysis.stages.find, which has looked
-- at the trace already.
local function infer_steps(trace, member, alone, found)
  if found and not found.inferred then return {} end
  if found and alone then return inferred_steps(found.instances) end
  local made = infer.stages(seen_by(trace, member), STAGES)
  local instances = made and made.instances or {}
  for _, instance in ipairs(instances) do instance.wall = instance.stop - instance.start end
  cold.judge(instances, cold.number_repeats(STAGES, instances), "auto")
  return relabel(inferred_steps(instances), trace, member.pid)
end


-- What llmprof.ranks asks of its caller. declared: the recipe's stages; own: its
-- categories; found: of analysis.stages.find; each may be nil.
function rank_view.knowledge(declared, own, found)
  return {
    mark_collectives = categories.marker(own, COMMUNICATION),
    mark_experts = categories.marker(own, EXPERTS),
    class_of = waiting.class_of,
    marks = marks_of(declared),
    infer = function(trace, member, alone)
      return infer_steps(trace, member, alone, found)
    end,
  }
end


-- The steps of an instance, or itself, in the list of its stage.
local function add_steps(by_phase, instance)
  local list = by_phase[instance.stage] or {}
  by_phase[instance.stage] = list
  for _, step in ipairs(instance.steps or { instance }) do
    list[#list + 1] = { from = step.start, to = step.stop,
      left_out = not instance.used or step.cold or false }
  end
end


-- What figures of a timeline leave out, as llmprof.ranks.uncounted wants it: of the rank that has
-- most of it. found: of analysis.stages.find.
function rank_view.uncounted(trace, found)
  local of_rank, counts = {}, {}
  for _, instance in ipairs(found.instances) do
    local rank = instance.rank or 0
    of_rank[rank], counts[rank] = of_rank[rank] or {}, counts[rank] or 0
    if not instance.parent then add_steps(of_rank[rank], instance) end
    if not instance.used then counts[rank] = counts[rank] + 1 end
  end
  local most = lists.largest(sorted_keys(counts), function(rank) return counts[rank] end)
  return { epoch = trace:info().epoch, by_phase = of_rank[most] or {} }
end


-- One rank without steps gets a record only if it spends this share of its GPU time in
-- collectives: what they wait for is not known.
local WORTH = 0.1


-- The record of results.json, nil for one rank without steps and collectives, and the frames that
-- it was made of. parts: of llmprof.ranks.part; knowledge: also `uncounted`, of
-- rank_view.uncounted, where there is a timeline; metrics: metrics.json; left_out: lines about
-- files that could not be read or are there twice; unread: names of the former.
function rank_view.record(parts, knowledge, metrics, left_out, unread)
  local record, made = ranks.examine(parts, { mark_experts = knowledge.mark_experts,
    metrics = metrics, link = hardware.link, left_out = left_out, unread = unread,
    uncounted = knowledge.uncounted })
  local says = #record.ranks > 1 or #record.files > 1 or record.source
    or record.verdict and record.totals.collective_ns >= WORTH * record.gpu_time_ns
  return says and record or nil, made
end


-- The rows of collectives of one part's ranks; nil without.
local function of_part(made, number, found)
  local own = lists.filtered(made.ranks, function(rank) return rank.part == number end)
  return found and #own > 0 and errors.check(found:where { world = lists.map(own, "rank") }) or nil
end


-- What a page draws of all ranks (llmprof.analysis.timeline.rank_events) on the clock of one of
-- their traces, and which collectives are its own; nil where no part is of a session that
-- began with this trace's. made: such frames.
function rank_view.beside(made, trace)
  local epoch = trace:info().epoch
  for i, own in ipairs(epoch and made.parts or {}) do
    if own.about.epoch == epoch then
      local views = rank_events.views(made, clocks.inverse(made.clocks[i]))
      return views, of_part(made, i, views.found)
    end
  end
  return nil
end


-- What is known of a trace whose stages were found (analysis.stages.find), nothing configured.
local function knowledge_of(found)
  local declared = found and not found.by_engine and found.declared
  return rank_view.knowledge(declared or nil, nil, found)
end


-- Add `step`, the place of each among those of its rank, from 0.
local function number_steps(frame)
  return collectives.number(frame, { rank = "rank", start = "start", ["end"] = "end" }, "step")
end


-- Collectives with the `step` that steps have: in parts it is a row of all steps.
local function restep(made, own)
  local names = lists.filtered(rows.names(made), function(name) return name ~= "step" end)
  spans.look_up(made, "step", own, "step", "own_step")
  local view = errors.check(made:select(lists.joined({ "own_step" }, names)))
  view:lag { column = "own_step", offset = 0, name = "step" }
  return errors.check(view:select(lists.joined({ "step" }, names)))
end


-- The frames of one trace: steps and collectives, with all that is known of each; nil
-- where it has none. found: of analysis.stages.find.
function rank_view.frames(trace, file, found)
  local own = part.of(trace, file, knowledge_of(found))
  if own.steps then number_steps(own.steps) end
  local _, made = ranks.examine({ own }, {})
  if own.steps and made.collectives then made.collectives = restep(made.collectives, own.steps) end
  return made
end


-- The ranks of a trace (of llmprof.ranks.members), and how its steps are known: { frame
-- (with rank, phase and step), time }, nil where they are not. found: of analysis.stages.find.
function rank_view.find_steps(trace, found)
  local list, known = part.find_steps(trace, knowledge_of(found))
  if known then number_steps(known.frame) end
  return list, known
end


-- ---- results of parts alone ----

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

-- results.json of parts alone: ranks, and what follows from them; and the frames that it was
-- made of. id: of the run.
function rank_view.results(parts, knowledge, id, left_out, unread)
  -- when the last of the captures began: the same parts always make the same results
  local _, newest = lists.largest(parts, function(one) return one.about.epoch end)
  local record, made = ranks.examine(parts, { mark_experts = knowledge.mark_experts,
    link = hardware.link, left_out = left_out, unread = unread })
  local engine = record.engine and engines.find(record.engine)
  local devices = lists.grouped(record.ranks, function(rank)
    return ("%s/%s"):format(rank.file, rank.device)
  end)
  return {
    schema_version = 1,
    run = { id = id, recipe = "ranks", created = clock.timestamp(newest),
      llmprof = version.version },
    source = {}, environment = { devices = json.list(lists.map(devices, function(own)
      return { id = own[1].device, name = own[1].gpu }
    end)) },
    engine = engine and { name = engine.name, title = engine.title },
    stages = stages_of(record), kernels = json.list {}, ranks = record,
    missing = json.list { { what = "kernels by stage, counters, copies", why = NO_TIMELINE,
      how = "llmprof RECIPE.lua capture=recorded recorded=FOLDER of one rank's file" } },
  }, made
end


-- What the page of such results draws, of these frames; nil where nothing is known.
function rank_view.events(made)
  local bytes = rank_events.encode(made)
  return bytes and pack.gzip(bytes)
end


return rank_view
