-- What advice rules share: the stages and kernels of results that a rule is
-- about, what time they may win back, and how they write numbers down.
--
-- A stage's time has two parts. While the GPU works for it, only faster or
-- fewer kernels help ("gpu"); the rest is time in which the GPU waits
-- ("waiting"), where only the CPU's side helps. A stage that waits for HELD_UP of
-- its time or more is held up: what its kernels could give back stays hidden
-- behind the waiting.
local engines = require "llmprof.engines"
local find = require "llmprof.analysis.stages.find"
local overhead = require "llmprof.analysis.latency.overhead"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local stage_summary = require "llmprof.analysis.stages.summary"
local text = require "llmprof.text"

local evidence = {}

-- From these shares of waiting on a stage is held up by what feeds the GPU, and bound by it.
evidence.HELD_UP, evidence.LAUNCH_BOUND = stage_summary.HELD_UP, stage_summary.LAUNCH_BOUND

-- A kernel shorter than this is done about as soon as it is started: launching
-- one takes a few us, and so does filling and draining the GPU. One twice as long
-- is not short, and between the two it is in part, so that no single ns decides.
evidence.SHORT_NS = 5000

evidence.TIMELINE, evidence.COUNTERS = "timeline", "counters"


-- ---- what a finding says ----

evidence.time = text.duration


function evidence.bytes(count) return text.bytes(math.floor(count + 0.5)) end


-- A count that may be a mean: 16185.0 -> "16,185", 1.5 -> "1.5"; of something: "1 waiting call",
-- "0.9 waiting calls".
function evidence.count(value, noun)
  local count = value >= 100 and text.count(math.floor(value + 0.5))
    or text.number(value, 1):gsub("%.0$", "")
  if not noun then return count end
  if count ~= "1" then noun = noun:match "y$" and noun:sub(1, -2) .. "ies" or noun .. "s" end
  return count .. " " .. noun
end


function evidence.percent(share) return text.number(share * 100, share < 0.1 and 1 or 0) .. " %" end


local writers = { T = evidence.time, N = evidence.count, P = evidence.percent, B = evidence.bytes }

-- A text by a format of string.format that also knows %T, ns as a time, %N, a count, %N{noun}, so
-- many of something, %P, a share in percent, and %B, bytes.
function evidence.say(format, ...)
  local values, at = table.pack(...), 0
  local plain = format:gsub("%%[-+ #%d.]*([%a%%])()", function(letter, after)
    if letter ~= "%" then at = at + 1 end
    local write = writers[letter]
    if not write then return nil end
    values[at] = write(values[at], format:match("^{(.-)}", after))
    return "%s"
  end)
  return plain:gsub("(%%s){.-}", "%1"):format(table.unpack(values, 1, values.n))
end


-- One piece of evidence. source: where its numbers are from.
function evidence.note(source, format, ...)
  return { text = evidence.say(format, ...), source = source }
end


-- The same of the timeline.
function evidence.seen(format, ...) return evidence.note(evidence.TIMELINE, format, ...) end


-- A part of a whole; of nothing it is none.
function evidence.part(part, whole) return whole > 0 and part / whole or 0 end


-- ---- ranks ----

-- Why a rule about the steps of a serving engine is silent where results.ranks has no others.
evidence.NO_STEPS = "no engine marks its steps"

-- How many ranks run a stage of the timeline, which is the first file, side by side.
evidence.ranks_in_trace = overhead.ranks_in_trace


-- How many ranks' work is in one instance of a stage: an inferred one is a time of all of them.
function evidence.ranks_in_stage(results)
  return results.inferred and evidence.ranks_in_trace(results) or 1
end


-- ---- stages ----

-- The measured stages without a parent in which the GPU did something, as far as is known.
function evidence.stages(results)
  return lists.filtered(results.stages, function(stage)
    return not stage.parent and stage.wall and stage.gpu_time_ns > 0
  end)
end


-- The measured stages whose steps each make a token.
function evidence.decodes(results)
  return lists.filtered(evidence.stages(results), "kernels_per_token")
end


-- Why a rule abstains where there is none of them, and where the decoder is not known.
evidence.UNCOUNTED = "the steps of decode are not counted (tokens and batch in metrics.json)"
evidence.UNDESCRIBED = "the model's architecture is not known (model.architecture in metrics.json)"


-- Stages within others that the GPU works through, while it may wait for most of
-- the stage that they are in.
function evidence.working_children(results)
  return lists.filtered(results.stages, function(stage)
    return stage.parent and stage.wall and not evidence.is_held_up(results, stage)
  end)
end


-- The serving engine that ran the model, as it is called, or nil.
function evidence.engine(results) return results.engine and results.engine.title end


-- What to try, in PyTorch's words where the program is written with it.
function evidence.remedy(results, pytorch, other)
  return results.framework and results.framework.name == "pytorch" and pytorch or other
end


-- What to set of the engine at hand against waiting for the CPU. Where decode launches kernel
-- by kernel, nothing helps as much as its CUDA graphs; where it replays them, they are on. stage:
-- or a group of steps.
function evidence.engine_settings(results, stage)
  local engine = engines.find(results.engine.name)
  local knobs = engine and engine.knobs or {}
  local name = stage and (stage.name or stage.phase)
  if stage and not evidence.replays_graphs(stage) and range_name.role(name) == "decode" then
    return knobs.graphs or ("CUDA graphs of the batches that are served, by the settings of %s")
      :format(results.engine.title)
  end
  return knobs.ahead or ("settings of %s that let it prepare a step while the GPU runs one")
    :format(results.engine.title)
end


-- Whether a decode replays CUDA graphs: several kernels to a launch, or graphs that were
-- traced as wholes. Steps know no launches, but what graphs ran.
function evidence.replays_graphs(stage)
  local _, graphs = lists.largest(stage.instances or {}, "graphs")
  local launches = stage.launches or stage.kernels - (stage.graphed or 0)
  return (graphs or 0) > 0 or stage.kernels >= 2 * launches
end


-- The stage of that name, else the one that is this to the model: "LLM:prefill" is
-- found as "prefill".
function evidence.find(results, name)
  local role
  for _, stage in ipairs(results.stages) do
    if stage.name == name then return stage end
    if range_name.role(stage.name) == name then role = role or stage end
  end
  return role
end


-- How long one instance of a stage takes without the profiler, in ns, where
-- plain runs were timed; else as profiled. Second: the source of the number.
function evidence.stage_time(results, stage)
  local plain = overhead.plain_ns(results, stage)
  if plain then return plain, "plain runs" end
  return stage.wall.mean_ns, evidence.TIMELINE
end


-- ns of one instance in which the GPU does nothing, but within replays of graphs, where no CPU can
-- help. profiled: under the profiler, where it is known without it, too.
function evidence.waiting(results, stage, profiled)
  if not profiled then return (overhead.waits_of(results, stage)) end
  return math.max(stage.gpu_idle_ns - ((stage.waiting or {}).graph_ns or 0), 0)
end


-- The copies of a stage that are wanted, by a function of a row of transfers, per instance:
-- { calls, bytes (nil where one has none), ns }.
function evidence.copies(results, stage, wanted)
  local sum, count = { calls = 0, bytes = 0, ns = 0 }, stage.wall.count
  for _, row in ipairs(results.transfers or {}) do
    if row.stage == stage.name and wanted(row) then
      sum.calls = sum.calls + row.calls / count
      sum.bytes = sum.bytes and row.bytes and sum.bytes + row.bytes / count
      sum.ns = sum.ns + row.gpu_time_ns / count
    end
  end
  return sum
end


local doing = { launch = "in launching calls", sync = "in calls that wait for the GPU",
  memory = "allocating", other = "in other CUDA calls", host = "outside CUDA",
  graph = "in replays of graphs" }

-- What the CPU did meanwhile, longest first: "9.00 ms outside CUDA, 1.00 ms in launching calls".
-- times: launch_ns and so on, each behind a prefix, or none.
function evidence.activities(times, prefix)
  local list = {}
  for class, words in pairs(doing) do
    local ns = times[(prefix or "") .. class .. "_ns"] or 0
    if ns > 0 then list[#list + 1] = { ns = ns, text = evidence.say("%T %s", ns, words) } end
  end
  return table.concat(lists.map(lists.sort(list, "-ns", "text"), "text"), ", ")
end


-- Is a row of transfers one from or to the host?
function evidence.is_of_host(row)
  return row.direction == "host to device" or row.direction == "device to host"
end


-- ns of kernels of collectives in one instance, which may wait for other ranks.
function evidence.in_collectives(stage)
  local group = lists.find(stage.categories or {}, "category", "communication")
  return group and group.gpu_time_ns or 0
end


function evidence.waiting_share(results, stage)
  local time = evidence.stage_time(results, stage)
  return time > 0 and evidence.waiting(results, stage) / time or 0
end


function evidence.is_held_up(results, stage)
  return evidence.waiting_share(results, stage) >= evidence.HELD_UP
end


-- ---- kernels ----

-- A function that tells kernels with one of these Lua patterns in their
-- lower-case name.
function evidence.named(patterns)
  return function(kernel)
    local name = kernel.name:lower()
    return lists.any(patterns, function(pattern) return name:find(pattern) end)
  end
end


-- ---- what a kernel is ----

-- Names of products over all experts at once. A batch of products with a stride
-- and a joined tensor are none, whatever their names hold.
local grouped = evidence.named { "grouped", "groupproblemshape", "ptrarray", "fused_moe",
  "moe_align", "moe_gemm", "moe_mma", "batched_moe", "marlin_moe", "%f[%a]moe::" }


function evidence.is_product(kernel)
  return kernel.category == "gemm" or kernel.category == "moe"
end


function evidence.is_grouped_product(kernel)
  return evidence.is_product(kernel) and grouped(kernel)
end


-- Products that are none with weights of a layer: the second launch of one whose
-- sums were split, and dot products of a router.
local is_part = evidence.named { "splitkreduce", "splitk_reduce", "reduce_1block", "dot_kernel" }


function evidence.is_whole_product(kernel)
  return evidence.is_product(kernel) and not is_part(kernel)
end


function evidence.is_attention(kernel) return kernel.category == "attention" end


function evidence.is_collective(kernel) return kernel.category == "communication" end


-- Dimensions of the decoder as Hugging Face config.json names them: { layers,
-- dense, routed, active, shared }; nil when the number of layers is not known.
function evidence.decoder_of(results)
  local shape = results.model and results.model.architecture
  if type(shape) ~= "table" then return nil end
  local layers = shape.num_hidden_layers
  if math.type(layers) ~= "integer" then return nil end
  local routed = shape.n_routed_experts or shape.num_local_experts or shape.num_experts
  if routed == 0 then routed = nil end -- a dense model
  return { layers = layers, routed = routed, active = shape.num_experts_per_tok,
    dense = routed and (shape.first_k_dense_replace or 0) or layers,
    shared = shape.n_shared_experts or 0 }
end


-- ---- groups of kernels ----

-- How short a kernel is: 1 up to SHORT_NS, 0 from twice that on.
function evidence.shortness(kernel)
  return math.max(math.min(2 - kernel.mean_ns / evidence.SHORT_NS, 1), 0)
end


-- By list of kernels, those of each stage: rule after rule asks for them.
local by_stage = setmetatable({}, { __mode = "k" })

-- The kernels of a stage, in the order of the results.
function evidence.kernels_of(results, stage)
  local of = by_stage[results.kernels] or {}
  by_stage[results.kernels] = of
  of[stage] = of[stage] or lists.filtered(results.kernels, function(kernel)
    if stage.parent then return kernel.stage == stage.parent and kernel.part == stage.name end
    return kernel.stage == stage.name
  end)
  return of[stage]
end


-- The kernels of a stage for which wanted is true, or a part from 0 to 1, with
-- their sums per instance of the stage: { list, ids, calls, ns, share (of the
-- stage's GPU time) }.
function evidence.kernels(results, stage, wanted)
  local group = { list = {}, ids = {}, calls = 0, ns = 0 }
  for _, kernel in ipairs(evidence.kernels_of(results, stage)) do
    local said = wanted(kernel)
    local weight = said == true and 1 or said or 0
    if weight > 0 then
      table.insert(group.list, kernel)
      table.insert(group.ids, kernel.id)
      group.calls = group.calls + weight * kernel.calls / stage.wall.count
      group.ns = group.ns + weight * kernel.total_ns / stage.wall.count
    end
  end
  group.share = stage.gpu_time_ns > 0 and group.ns / stage.gpu_time_ns or 0
  return group
end


-- Notes about the largest kernels of a group, "kernel 6, NAME: 930 calls, 1.96 ms"; more(kernel)
-- may add to the note of one that has counters, or to any where it is of the timeline.
function evidence.largest(group, stage, more, is_of_timeline)
  return lists.map(lists.first(group.list, 3), function(kernel)
    local told = more and (is_of_timeline or kernel.counters)
    local source = told and not is_of_timeline and "timeline, counters" or evidence.TIMELINE
    return evidence.note(source, "kernel %d, %s: %N{call}, %T%s", kernel.id, kernel.label,
      kernel.calls / stage.wall.count, kernel.total_ns / stage.wall.count,
      told and more(kernel) or "")
  end)
end


-- Notes, then those of the largest kernels of a group.
function evidence.with_kernels(notes, group, stage)
  return lists.add(notes, evidence.largest(group, stage))
end


-- Do the ranks get their steps from a process that is not in the trace, as the workers of an engine
-- do? What of the CPU's time is its is not known then.
function evidence.is_scheduled_elsewhere(results)
  local record = results.ranks
  return results.engine ~= nil and record ~= nil and #record.ranks > 1 and record.source == "labels"
end


-- Lines that are named.
local LINES = 3

-- By line, what it launched of the kernels with these ids in an instance of the stage: list of
-- { line, function, calls, ns }, the largest first.
local function lines_of(results, stage, ids)
  local wanted, by_line, list = lists.set(ids), {}, {}
  for _, kernel in ipairs(evidence.kernels_of(results, stage)) do
    for _, from in ipairs(wanted[kernel.id] and kernel.lines or {}) do
      local key = from.line .. " " .. (from["function"] or "")
      local one = lists.entry(list, by_line, key,
        { key = key, line = from.line, ["function"] = from["function"], calls = 0, ns = 0 })
      one.calls = one.calls + from.calls / stage.wall.count
      one.ns = one.ns + from.gpu_ns / stage.wall.count
    end
  end
  return lists.sort(list, "-ns", "key")
end


-- Which lines of the program launched kernels, as a note: "modeling_llama.py:97 forward: 64 a
-- step, 1.9 ms". nil where stacks are not known. A line is told without the file's folders.
function evidence.lines(results, stage, ids)
  local list, said = lines_of(results, stage, ids), {}
  local steps = stage.steps or 1
  for i = 1, math.min(#list, LINES) do
    local one = list[i]
    said[i] = evidence.say("%s%s: %s, %T", one.line:match "[^/]*$",
      one["function"] and " " .. one["function"] or "",
      steps > 1 and evidence.say("%N a step", one.calls / steps)
        or evidence.count(one.calls, "call"), one.ns)
  end
  if #list == 0 then return nil end
  return evidence.seen("launched in %s%s", table.concat(said, "; "),
    #list > LINES and (" and " .. evidence.count(#list - LINES, "more line")) or "")
end


-- ---- changes, in the words of `llmprof whatif` ----

local function quoted(values)
  local said = lists.map(values, function(value) return ("%q"):format(value) end)
  return #said == 1 and said[1] or "{ " .. table.concat(said, ", ") .. " }"
end


local function in_stage(stage)
  if stage.name == find.WHOLE_RUN then return "" end
  return ("stage = %q, "):format(stage.parent or stage.name)
end


-- A change of these kernels of a stage, such as "remove(%s)", as a list of texts, one for each part
-- that they are in. more: further conditions.
function evidence.change(how, stage, kernels, more)
  local list = {}
  for i, group in ipairs(lists.grouped(kernels, function(kernel) return kernel.part or "" end)) do
    local labels, part = {}, group[1].part
    for k, kernel in ipairs(group) do labels[k] = kernel.label end
    list[i] = how:format(("kernels:where { %s%slabel = %s%s }"):format(in_stage(stage),
      part and ("part = %q, "):format(part) or "", quoted(labels), more or ""))
  end
  return list
end


-- Kernels that take less: by is what comes back of their time, in ns of an instance.
function evidence.faster(stage, group, by)
  return evidence.change(("scale(%%s, %.4g)"):format(math.max(1 - by / group.ns, 0)), stage,
    group.list)
end


-- ---- rules about kernels that are alike ----

-- Report the kernels that a rule wants, in each stage where they take `worth` of the GPU time or
-- more, and say what they take at most. given: wanted, worth; title (a format of the stage's name
-- and the group's share); note(group, stage) (a format and its values), source
-- (of that; nil: counters); why(kernel), told of the largest of them that have counters, or, where
-- is_of_timeline, of all; try; the gain, by saved(kernel) (ns of all its calls), or `change`
-- (of evidence.change), neither where nothing is known, and its assumption; confidence;
-- stages(results) (nil: all that were measured), and skips(stage), which of them say nothing;
-- silent (a format of the share; nil: the usual one).
function evidence.examine_kernels(results, report, given)
  local most, source = 0, given.source or evidence.COUNTERS
  for _, stage in ipairs((given.stages or evidence.stages)(results)) do
    local group = evidence.kernels(results, stage, given.wanted)
    most = math.max(most, group.share)
    if group.share >= given.worth and not (given.skips and given.skips(stage)) then
      local saved = given.saved and lists.sum(group.list, given.saved)
      report.finding {
        stage = stage.name,
        title = evidence.say(given.title, stage.name, group.share),
        evidence = lists.joined({ evidence.note(source, given.note(group, stage)) },
          evidence.largest(group, stage, given.why, given.is_of_timeline)),
        try = given.try,
        changes = saved and evidence.faster(stage, group, saved / stage.wall.count)
          or given.change and evidence.change(given.change, stage, group.list) or nil,
        assumption = given.assumption,
        kernels = group.ids,
        confidence = given.confidence,
      }
    end
  end
  return evidence.say(given.silent or "such kernels take %P of the GPU time of a stage at most",
    most)
end


-- A rule that does just that. given: also its name and flags, and known(kernel): it abstains with
-- `lacking` where that is true of none.
function evidence.rule_of_kernels(given)
  function given.examine(results, report)
    if not lists.any(results.kernels, given.known) then return report.abstain(given.lacking) end
    return evidence.examine_kernels(results, report, given)
  end
  return given
end


-- That there are no copies in a stage that satisfy a condition.
function evidence.without_copies(stage, condition)
  return ("remove(transfers:where { %skind = \"copy\", %s })"):format(in_stage(stage), condition)
end


return evidence
