-- Where operations stand: of which rank, in which step and layer, for which module of
-- the model. Frames are of GPU operations of one trace.
local collectives = require "llmprof.collectives"
local check = require("llmprof.process.errors").check
local layers = require "llmprof.analysis.stages.layers"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local members = require "llmprof.ranks.members"
local pack = require "llmprof.pack"
local rank_view = require "llmprof.analysis.serving.ranks"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local steps = require "llmprof.ranks.steps"

local places = {}

-- Kinds of steps that are looked at for layers, those with most steps.
local KINDS = 64


-- ---- ranks and steps ----

-- The ranks and steps of a trace: { members, known (of rank_view.find_steps; nil) }.
-- found: of analysis.stages.find.
function places.find(trace, found)
  local list, known = rank_view.find_steps(trace, found)
  return { trace = trace, members = list, known = known }
end


-- Add `rank`, where the frame has none.
function places.add_rank(made, frame)
  return rows.has(frame, "rank") and frame or members.label_ops(made.members, frame)
end


-- Add `step_row` (of made.known.frame, from 0), and of it `step` and `turn`.
function places.add_steps(made, frame)
  local known = made.known
  places.add_rank(made, frame)
  spans.assign(frame, { time = known.time, key = "rank" }, known.frame, steps.at, "step_row")
  return spans.look_up(frame, "step_row", known.frame, "step", "step")
end


-- ---- modules ----

-- Which ranges name such a thing, "path" of a module or "operator": list of { tag, name },
-- as trace:label takes them.
local function tags_of(made, what)
  made.named = made.named or range_name.tags_by_kind(check(made.trace:frame "ranges"))
  return lists.map(made.named, function(entry)
    return entry.read[what] and { entry.tag, entry.read[what] } or nil
  end)
end


-- All operations, where stacks of launches say for which modules they ran; nil elsewhere.
local function with_modules(made)
  if made.told == nil then
    local ops = made.trace:knows "lines" and check(made.trace:frame "gpu")
    made.told = ops and #check(ops:where { { "torch_module", "~=", false } }) > 0 and ops or false
  end
  return made.told or nil
end


local paths = { module = "path", operator = "operator" }

-- Do stacks or ranges name any "module", or ranges any "operator"?
function places.names(made, what)
  return what == "module" and with_modules(made) ~= nil or #tags_of(made, paths[what]) > 0
end


-- Add `module`, the path of the innermost one on the stack of the launch, else by the ranges
-- around it. frame: with op.
function places.add_module(made, frame)
  local told = with_modules(made)
  if told then return spans.look_up(frame, "op", told, "torch_module", "module") end
  made.modules = made.modules or tags_of(made, "path")
  return check(made.trace:label(frame, "module", made.modules))
end


-- Add `operator`, of the framework's.
function places.add_operator(made, frame)
  made.operators = made.operators or tags_of(made, "operator")
  return check(made.trace:label(frame, "operator", made.operators))
end


-- ---- layers ----

local KIND = { "rank", "phase", "context", "context_tokens", "generation", "generation_tokens" }

local function is_decode(kind)
  return kind.phase ~= nil and range_name.role(kind.phase) == "decode"
end


-- The kernels between which layers of the steps of a kind lie, with `from`, when the next one
-- begins there, and `first`, the number of the layer behind the first of a step; nil where
-- layers cannot be told or are not as many as `count` of the rank; and how many there are.
local function marks_of(kernels, known, kind, count)
  local of_kind = {}
  for _, key in ipairs(KIND) do of_kind[key] = kind[key] or false end
  local alike = check(known.frame:where(of_kind))
  local own = check(kernels:where { rank = kind.rank or false,
    step = { alike:get((#alike + 1) // 2, "step") } })
  local made = layers.of_kernels(own)
  if not made or made.count < 2 or (count and made.count ~= count) then return nil end
  local wanted = { rank = kind.rank or false, step = alike:values "step" }
  for _, key in ipairs(layers.KEYS) do wanted[key] = made.group[key] or false end
  local marks = check(kernels:where(wanted))
  local whole = lists.map(marks:group { by = { "step_row" } }, function(group)
    return group.count == made.count and group.step_row or nil
  end)
  marks = check(check(marks:where { step_row = whole }):alias(made.edge, "from"))
  return rows.add(marks, "first", {}, function() return made.first end), made.count
end


local MARK = { "rank", "step_row", "step", "from", "first" }

-- Where layers begin, as one frame with `layer` (from 0) and `until`, when the next one
-- begins: the last of a step, which has no end of its own, is left out, or the first, which
-- has no beginning. nil without any.
local function find_marks(made)
  local kernels = places.add_steps(made, check(check(made.trace:frame "kernels"):where {}))
  local counts, list = {}, {}
  -- decode first, then those with most steps
  local kinds = lists.sort(made.known.frame:group { by = KIND },
    function(kind) return is_decode(kind) and 0 or 1 end, "-count")
  for _, kind in ipairs(lists.first(kinds, KINDS)) do
    local rank = kind.rank or -1
    local marks, count
    -- a prefill that no engine labels may hold encoders, whose layers are others
    if is_decode(kind) or kind.context then
      marks, count = marks_of(kernels, made.known, kind, counts[rank])
    end
    if marks and (counts[rank] or is_decode(kind)) and #marks > 0 then
      counts[rank] = counts[rank] or count
      list[#list + 1] = marks:select(MARK)
    end
  end
  if #list == 0 then return nil end
  local all = pack.join(list)
  collectives.number(all, { rank = "rank", start = "from",
    ["end"] = "from", key = "step_row" }, "place")
  rows.add(all, "layer", { "place", "first" }, function(key) return key.place + key.first end)
  spans.until_next(all, { start = "from", key = "step_row" }, "until")
  return check(check(all:where { { "until", "<", math.maxinteger } }):alias("from", "start"))
end


local LAYER = { "rank", "step_row", "step", "layer" }
local LAID = { "rank", "step_row", "step", "layer", "start", "until" }

-- The path to the layers of the model, where stacks name modules: of several lists that which most
-- of the time is in; an encoder has its own.
local function main_list(made)
  if made.list == nil then
    local ops = check(with_modules(made):select { "torch_module", "duration" })
    rows.extend(ops, { "torch_module" }, { { name = "list", type = "string",
      get = function(key) return (range_name.layer_of(key.torch_module)) end } })
    local most = lists.largest(ops:group { by = { "list" }, total = { "duration" } },
      function(group) return group.list and group.duration.total end)
    made.list = most and most.list or false
  end
  return made.list
end


-- The number of a module's layer among those of the model.
local function model_layer(made, module)
  local list, layer = range_name.layer_of(module)
  if with_modules(made) and list ~= main_list(made) then return nil end
  return layer
end


-- The same where stacks name modules: each until the next of its step begins, the last until it
-- ends. ops: all operations.
local function marks_of_modules(made, ops)
  local kernels = places.add_steps(made, check(check(made.trace:frame "kernels"):where {}))
  spans.look_up(kernels, "op", ops, "torch_module", "of_module")
  rows.add(kernels, "layer", { "of_module" }, function(key)
    return model_layer(made, key.of_module)
  end)
  local all = check(check(kernels:where { { "layer", "~=", false }, { "step", "~=", false } })
    :group { by = LAYER, columns = { { "start", "min", "start" }, { "last", "max", "end" } } })
  if #all == 0 then return nil end
  spans.until_next(all, { start = "start", key = "step_row" }, "until")
  local before = check(all:where { { "until", "<", math.maxinteger } })
  local last = check(all:where { ["until"] = math.maxinteger }):select { "rank", "step_row",
    "step", "layer", "start", "last" }
  return pack.join { before:select(LAID), check(last:alias("last", "until")):select(LAID) }
end


-- Where the layers of the trace lie: a frame of rank, step_row, step, layer, start, until;
-- nil where they cannot be told.
function places.layers(made)
  if made.marks == nil then
    local told = made.known and with_modules(made)
    made.marks = told and marks_of_modules(made, told) or made.known and find_marks(made) or false
  end
  return made.marks or nil
end


-- Add `layer`: as modules say, else the one in whose time the operation starts.
function places.add_layer(made, frame)
  places.add_module(made, frame)
  if places.names(made, "module") then
    return rows.extend(frame, { "module" }, { { name = "layer", type = "integer",
      get = function(key) return model_layer(made, key.module) end } })
  end
  local marks = places.layers(made)
  if not marks then
    return rows.extend(frame, {}, { { name = "layer", type = "integer" } })
  end
  places.add_steps(made, frame)
  spans.assign(frame, { time = "start", key = "step_row" }, marks,
    { start = "start", ["end"] = "until", key = "step_row" }, "layer_row")
  return spans.look_up(frame, "layer_row", marks, "layer", "layer")
end


return places
