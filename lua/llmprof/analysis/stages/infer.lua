-- Stages of a trace that marks none: decode steps are what comes back at regular
-- distances on the GPU, prefill is what lies before them.
--
-- The anchor is a kernel (a name and a grid) or a CUDA graph that comes once in
-- each step: the kernel that picks the token where a name tells it, else what
-- has the longest period of those that are regular most of the time, since
-- layers come back within a step. A step goes from the end of one anchor to the
-- end of the next (from start to start where it is a whole graph), if it runs the
-- kernels that its neighbour runs. Where it does not, a generation ends and the
-- next prefill begins.
local check = require("llmprof.process.errors").check
local layers = require "llmprof.analysis.stages.layers"
local period = require "llmprof.period"
local statistics = require "llmprof.statistics"
local lists = require "llmprof.tables.lists"
local tuple = require("llmprof.tables.keys").tuple

local infer = {}

-- Steps of the shortest generation.
local LEAST_STEPS = 4

-- Without a kernel that picks tokens: this many in the longest one, and regular
-- for this share of the time of what is regular for longest.
local UNNAMED_STEPS, UNNAMED_SPAN = 8, 0.5

-- Periods that differ by less are one.
local SAME_PERIOD = 0.1

-- Kernels and ns of the shortest step: less is a loop of something else.
local LEAST_KERNELS, LEAST_NS = 5, 100e3

-- Two steps are alike from this share of equal kernels on.
local ALIKE = 0.6

-- What ran before the first step is the rest of one from this share of a step's kernels on.
local CUT = 0.9

-- Idle time of the GPU that separates a prefill from what came before: at least
-- this many periods, and this many ns.
local PAUSE_PERIODS, PAUSE_NS = 2, 20e6

-- Less confidence than this is none.
local LEAST_CONFIDENCE = 0.5

-- What an anchor without a telling name is worth: a layer comes back as a step
-- does. So a step has to have layers in it, by its attention, or, where no kernel
-- is known to be one, by most of its kernels.
local UNNAMED_WORTH, LAYERED = 0.8, 0.5

local KERNEL_KEYS = layers.KEYS
local GRAPH_KEYS = { "kind", "name" }


-- ---- the anchor ----

-- Does this kernel pick tokens?
local function picks_tokens(name)
  local lower = name:lower()
  return lower:find("argmax", 1, true) or lower:find("multinomial", 1, true)
    or name:find "Sampling" or lower:find "%f[%a]sampl"
end


-- Of kernels without a telling name, those that have the longest period.
local function slowest(rhythms)
  local _, span = lists.largest(rhythms, "span")
  local steady = lists.filtered(rhythms, function(rhythm)
    return rhythm.longest >= UNNAMED_STEPS and rhythm.span >= UNNAMED_SPAN * span
  end)
  local _, longest = lists.largest(steady, "period")
  return lists.filtered(steady, function(rhythm)
    return rhythm.period >= longest * (1 - SAME_PERIOD)
  end)
end


-- { frame, keys, rhythm, name, named, edge (of the anchor: where a step begins),
-- least (operations of a step) }, or nil. given: frame (its name), keys, edge and least; of CUDA
-- graphs that were traced as one operation each their kind and what they are called.
local function anchor_of(trace, given)
  local frame = layers.busiest(check(trace:frame(given.frame)))
  if not frame then return nil end
  local rhythms = lists.filtered(period.rhythms(frame, given.keys, LEAST_STEPS), function(rhythm)
    return rhythm.period >= LEAST_NS
      and (not given.kind or frame:get(rhythm.row, "kind") == given.kind)
  end)
  local named = lists.filtered(given.kind and {} or rhythms, function(rhythm)
    local name = frame:get(rhythm.row, "name")
    return name and picks_tokens(name)
  end)
  local best = lists.sort(#named > 0 and named or slowest(rhythms), "-distances", "spread",
    "row")[1]
  if not best then return nil end
  return {
    frame = frame,
    keys = given.keys,
    rhythm = best,
    name = given.name or frame:get(best.row, "short_name") or "(unnamed kernel)",
    named = given.kind ~= nil or #named > 0,
    edge = given.edge,
    least = given.least,
  }
end


local GRAPHS = { frame = "gpu", keys = GRAPH_KEYS, kind = "graph", name = "CUDA graph",
  edge = "start", least = 1 }
local KERNELS = { frame = "kernels", keys = KERNEL_KEYS, edge = "end", least = LEAST_KERNELS }


-- ---- steps ----

-- The step of a cycle, { start, stop, likeness }, or nil where it is none.
local function step_of(anchor, cycle)
  if not cycle.next or cycle.likeness < ALIKE or cycle.rows < anchor.least then return nil end
  local frame, edge = anchor.frame, anchor.edge
  return { start = frame:get(cycle.first, edge), stop = frame:get(cycle.next, edge),
    likeness = cycle.likeness }
end


-- The last step of a generation has no anchor behind it where the anchor opens
-- a step: then what follows begins with one.
local function last_step(anchor, cycle)
  if cycle.head < ALIKE then return nil end
  local frame = anchor.frame
  return { start = frame:get(cycle.first, anchor.edge),
    stop = frame:get(cycle.head_last, "end"), likeness = cycle.head }
end


-- Lists of steps, one list for each generation.
local function generations_of(anchor)
  local list, current = {}, {}
  for _, cycle in ipairs(period.cycles(anchor.frame, anchor.keys, anchor.rhythm.row)) do
    local step = step_of(anchor, cycle)
    if step then
      current[#current + 1] = step
    elseif #current > 0 then
      current[#current + 1] = last_step(anchor, cycle)
      if #current >= LEAST_STEPS then list[#list + 1] = current end
      current = {}
    end
  end
  return list
end


-- What a step in the middle of the last generation is made of: as of
-- llmprof.analysis.stages.layers, nil where that cannot be told; moves: the next one is in other
-- layers, so that it is a layer itself, from the middle of one to that of the next.
local function made_of(anchor, generations)
  local last = generations[#generations]
  if anchor.keys == GRAPH_KEYS or not last then return nil end
  local middle = (#last + 1) // 2
  local made = layers.of_step(anchor.frame, last[middle])
  local next = made and made.lowest and layers.of_step(anchor.frame, last[middle + 1])
  if next and next.list == made.list then made.moves = next.lowest ~= made.lowest end
  return made
end


-- Does what was found have layers, and is none itself?
local function is_layered(anchor, made)
  if not made then return false end
  if made.named then return made.count >= 2 and not made.moves end
  return made.share >= LAYERED and not layers.has_attention(anchor.frame)
end


-- Steps as they are all alike, and as even as they are long.
local function confidence_of(anchor, generations, made)
  local steps = lists.flat(generations, function(generation) return generation end)
  if #steps == 0 then return 0, 0 end
  local worth = anchor.named and 1 or is_layered(anchor, made) and UNNAMED_WORTH or 0
  return lists.sum(steps, "likeness") / #steps * math.max(1 - anchor.rhythm.spread, 0) * worth,
    #steps
end


-- ---- stages ----

-- When the work between two times began: after its last long pause, with the
-- call that launched its first operation. What was called before `from`, the
-- copy of the last token say, belongs to the generation before.
local function prefill_start(ops, from, to, pause)
  local view = check(ops:where { { "start", ">=", from }, { "start", "<", to } })
  local called = check(view:where { { "api_start", ">=", from } })
  if #called > 0 then view = called end
  local covered = view:union()
  local first, last = covered:span()
  if not first then return nil end
  local idle = covered:gaps(first, last, pause)
  if #idle > 0 then first = select(2, idle:get(#idle)) end
  local launched = view:where { start = first }:get(1, "api_start")
  return launched and math.max(launched, from) or first
end


-- When the first token was there, at the latest when the first step began: where
-- steps are whole graphs, the kernel that picked it comes before them.
local function prefill_stop(kernels, from, to)
  local picked
  local view = check(kernels:where { { "start", ">=", from }, { "end", "<", to } })
  for _, row in ipairs(view:group { by = { "name" }, union = true }) do
    if row.name and picks_tokens(row.name) then picked = math.max(picked or 0, row.last) end
  end
  return picked or to
end


-- Kernels between two times, by what they are.
local function kinds_between(frame, from, to)
  return check(frame:where { { "start", ">=", from }, { "start", "<", to } })
    :group { by = KERNEL_KEYS }
end


-- Did the capture begin in a step, so that what ran before the first whole one is the rest of it?
-- Its kernels are those of a step, which a prefill's are not: they work on more tokens.
local function began_in_step(anchor, generations, to)
  if anchor.keys == GRAPH_KEYS then return false end
  local steps = generations[1]
  local middle = steps[(#steps + 1) // 2]
  local function key_of(group)
    return tuple(table.unpack(lists.map(KERNEL_KEYS, function(name) return group[name] or -1 end)))
  end
  local _, known = lists.grouped(kinds_between(anchor.frame, middle.start, middle.stop), key_of)
  local before = kinds_between(anchor.frame, math.mininteger, to)
  local own = lists.filtered(before, function(group) return known[key_of(group)] end)
  return #before > 0 and lists.sum(own, "count") >= CUT * lists.sum(before, "count")
end


-- Instances in order, with `range` as label_spans numbers them.
local function instances_of(trace, anchor, generations, wanted)
  local ops, kernels = check(trace:frame "gpu"), check(trace:frame "kernels")
  local list, from = {}, 0
  local pause = math.floor(math.max(PAUSE_PERIODS * anchor.rhythm.period, PAUSE_NS))
  local function add(instance)
    if not wanted[instance.stage] then return end
    instance.range = #list
    list[#list + 1] = instance
  end
  for _, steps in ipairs(generations) do
    local start, stop = steps[1].start, steps[#steps].stop
    if anchor.edge == "start" then start = prefill_stop(kernels, from, start) end
    local begin = (steps ~= generations[1] or not began_in_step(anchor, generations, start))
      and prefill_start(ops, from, start, pause)
    if begin then add { stage = "prefill", start = begin, stop = start } end
    add { stage = "decode", start = start, stop = stop, steps = steps }
    from = stop
  end
  return list
end


-- Ranges of PyTorch that mark a step of training, or a batch that a DataLoader hands out. If
-- there is one for each step, the steps are no tokens.
local OF_BATCHES = { "^enumerate%(DataLoader", "^Optimizer%.step" }

local function are_batches(trace, steps)
  local groups = check(trace:frame "ranges"):group { by = { "text" } }
  return lists.any(OF_BATCHES, function(pattern)
    return lists.sum(groups, function(group)
      return (group.text or ""):find(pattern) and group.count
    end) >= steps
  end)
end


-- The stages prefill and decode, as far as they are declared, of a trace that
-- marks none: { instances, confidence (0..1), anchor (name), named (its name says
-- that it comes once per token), period_ns (of the last generation), steps,
-- generations, layers (of a step, where they can be told) }; nil when nothing is regular enough.
function infer.stages(trace, declared)
  local wanted = lists.set(lists.map(declared, "name"))
  if not wanted.decode then return nil end
  local anchor = anchor_of(trace, GRAPHS) or anchor_of(trace, KERNELS)
  if not anchor then return nil end
  local generations = generations_of(anchor)
  local made = made_of(anchor, generations)
  local confidence, steps = confidence_of(anchor, generations, made)
  if confidence < LEAST_CONFIDENCE or are_batches(trace, steps) then return nil end
  local lengths = lists.map(generations[#generations], function(step)
    return step.stop - step.start
  end)
  return { instances = instances_of(trace, anchor, generations, wanted), confidence = confidence,
    anchor = anchor.name, named = anchor.named, period_ns = statistics.median(lengths),
    steps = steps, generations = #generations, layers = made and made.count }
end


return infer
