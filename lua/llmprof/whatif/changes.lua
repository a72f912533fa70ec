-- What may be changed, as an expression over the session of a trace:
--
--   graphs("decode")   scale(kernels:where { category = "norm" }, 0.5)   remove(syncs "decode")
--
-- A change is { words, apply }: apply(model, part, change, most) overrides what it changes in
-- one part of a llmprof.whatif.model and returns how much that was. Removing an operation also
-- removes some CPU time, but how much is not known: `most` takes the upper bound, else the lower.
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local query = require "llmprof.query"
local session = require "llmprof.query.session"
local text = require "llmprof.text"

local changes = {}


local check = errors.check


local function usage(message, hint) errors.raise("usage", message, { hint = hint }) end


-- ---- what is chosen ----

-- Of the CPU, in a stage or everywhere: syncs, gaps, cpu; and copies.
local Choice = { __name = "llmprof.whatif.choice" }
Choice.__index = Choice
Choice.__call = function(self, stage)
  return setmetatable({ kind = self.kind, stage = stage }, Choice)
end


local function choice(kind) return setmetatable({ kind = kind }, Choice) end


local function words_of(chosen)
  return chosen.stage and ("%s of %s"):format(chosen.kind, chosen.stage) or chosen.kind
end


local function check_stage(model, stage)
  if not stage or model.by_name[stage] then return end
  local known = {}
  for i, one in ipairs(model.stages) do known[i] = one.name end
  usage(("no stage is called '%s'"):format(stage), "there are " .. table.concat(known, ", "))
end


local function ranges_of(model, part, stage)
  check_stage(model, stage)
  return model:ranges(part, stage)
end


local function check_factor(value, what)
  if type(value) ~= "number" or value < 0 or value ~= value or value > 1e6 then
    usage(what .. ": by which factor?",
      'for example: scale(kernels:where { category = "norm" }, 0.5)')
  end
  return value
end


-- The rows of a frame of operations.
local function operations_of(chosen, what)
  if not query.is(chosen) then
    usage(what .. ": what of?", 'kernels:where { ... }, or syncs, copies, gaps, cpu of a stage: '
      .. 'remove(syncs "decode")')
  end
  local rows = query.rows(chosen)
  for _, column in ipairs(rows:columns()) do
    if column.name == "op" then return rows end
  end
  return usage(what .. ": that frame holds no operations of the GPU",
    "kernels, ops and transfers do")
end


local function copies_of(part, stage)
  local where = { kind = "copy", stage = stage }
  return query.rows(part.source.ops:where(where))
end


-- ---- changes ----

-- Chains of chosen operations that follow each other on a stream without another one in
-- between: list of lists of { op, length }.
local function chains_of(part, rows)
  local chosen, list, open = {}, {}, nil
  for _, op in ipairs(rows:values "op") do chosen[op] = true end
  local ops = check(check(part.trace:frame "gpu"):select { "op", "start", "duration", "pid",
    "device", "stream" }:sort { { "pid" }, { "device" }, { "stream" }, { "start" } })
  local op, length = ops:values "op", ops:values "duration"
  local pid, device, stream = ops:values "pid", ops:values "device", ops:values "stream"
  for i = 1, #ops do
    local same = i > 1 and pid[i] == pid[i - 1] and device[i] == device[i - 1]
      and stream[i] == stream[i - 1]
    if not chosen[op[i]] then
      open = nil
    else
      if not open or not same then
        open = {}
        list[#list + 1] = open
      end
      open[#open + 1] = { op = op[i], length = length[i] or 0 }
    end
  end
  return list
end


-- Chosen operations of one layer of a step: list of lists.
local function layers_of(rows, what)
  local columns = {}
  for _, column in ipairs(rows:columns()) do columns[column.name] = true end
  if not (columns.layer and columns.step) then
    usage(what .. ": steps and layers of these are not known")
  end
  local groups, list = {}, {}
  local op, length = rows:values "op", rows:values "duration"
  local step, layer = rows:values "step", rows:values "layer"
  for i = 1, #rows do
    if step[i] and layer[i] then
      local key = ("%s %s"):format(step[i], layer[i])
      if not groups[key] then
        groups[key] = {}
        list[#list + 1] = groups[key]
      end
      table.insert(groups[key], { op = op[i], length = length[i] or 0 })
    end
  end
  return list
end


local function frame_of(ops)
  return frame.new(#ops, { { name = "op", type = "integer", values = ops } })
end


-- One operation in place of each group: it takes as long as length(group) says, in the place of
-- the first one.
local function merge_groups(part, change, groups, length, most)
  local gone = {}
  for _, group in ipairs(groups) do
    for i = 2, #group do gone[#gone + 1] = group[i].op end
    if #group > 1 and group[1].length > 0 then
      change:scale(part.number, frame_of { group[1].op }, length(group) / group[1].length)
    end
  end
  if #gone > 0 then change:remove(part.number, frame_of(gone), most and "gap" or "call") end
  return #gone
end


local function longest(group)
  local most = 0
  for _, one in ipairs(group) do most = math.max(most, one.length) end
  return most
end


local function sum_of(group)
  local sum = 0
  for _, one in ipairs(group) do sum = sum + one.length end
  return sum
end


local makers = {}


function makers.graphs(stage, cost)
  if type(stage) ~= "string" then usage("graphs: of which stage?", 'graphs("decode")') end
  return { kind = "graphs", words = ("one CUDA graph a step of %s"):format(stage),
    assumed = "a launch takes 15 us and 1.65 us for each operation, and 0.43 us lie between "
      .. "two operations; what Python does besides stays as it is, which may be 28 % off",
    off = 0.28,
    apply = function(model, part, change)
      return change:graph(part.number, ranges_of(model, part, stage), cost or {})
    end }
end


function makers.scale(chosen, factor)
  check_factor(factor, "scale")
  if getmetatable(chosen) == Choice and chosen.kind == "cpu" then
    return { kind = "scale", words = ("%s times %g"):format(words_of(chosen), factor),
      assumed = "calls and what lies between them change alike",
      apply = function(model, part, change)
        local ranges, count = ranges_of(model, part, chosen.stage)
        change:cpu(part.number, ranges, factor, factor)
        return count
      end }
  end
  local rows = operations_of(chosen, "scale")
  return { kind = "scale", words = ("%s operations times %g"):format(text.count(#rows), factor),
    assumed = "nothing else gets slower or faster",
    apply = function(_, part, change) return change:scale(part.number, rows, factor) end }
end


-- By kind of choice.
local removals = {}

function removals.syncs(chosen)
  return { assumed = "what is done with the result can wait",
    apply = function(model, part, change)
      return change:no_waits(part.number, ranges_of(model, part, chosen.stage))
    end }
end


function removals.gaps(chosen)
  return { assumed = "nothing is done between calls",
    apply = function(model, part, change)
      local ranges, count = ranges_of(model, part, chosen.stage)
      change:cpu(part.number, ranges, 0, 1)
      return count
    end }
end


function removals.copies(chosen)
  return { assumed = "nothing needs them",
    apply = function(model, part, change, most)
      check_stage(model, chosen.stage)
      return change:remove(part.number, copies_of(part, chosen.stage), most and "gap" or "work")
    end }
end


function makers.remove(chosen)
  if getmetatable(chosen) == Choice then
    local made = removals[chosen.kind]
    if not made then
      usage("remove: that cannot be removed", 'scale(cpu "decode", 0.5) makes it less')
    end
    made = made(chosen)
    made.kind, made.words = "remove", "without " .. words_of(chosen)
    return made
  end
  local rows = operations_of(chosen, "remove")
  return { kind = "remove", words = ("without %s operations"):format(text.count(#rows)),
    assumed = "at most the CPU time before their calls goes as well, at least their work alone",
    apply = function(_, part, change, most)
      return change:remove(part.number, rows, most and "gap" or "work")
    end }
end


function makers.fuse(chosen)
  local rows = operations_of(chosen, "fuse")
  return { kind = "fuse", words = ("%s operations fused where they follow each other"):format(
      text.count(#rows)),
    assumed = "a fused kernel takes as long as the longest of its parts",
    apply = function(_, part, change, most)
      return merge_groups(part, change, chains_of(part, rows), longest, most)
    end }
end


function makers.grouped(chosen)
  local rows = operations_of(chosen, "grouped")
  return { kind = "grouped", words = ("%s operations as one a layer"):format(text.count(#rows)),
    assumed = "the work on the GPU stays the same",
    apply = function(_, part, change, most)
      return merge_groups(part, change, layers_of(rows, "grouped"), sum_of, most)
    end }
end


function makers.waits(rank)
  if math.type(rank) ~= "integer" then usage("waits: for which rank?", "waits(1)") end
  return { kind = "waits", words = ("nobody waits for rank %d"):format(rank),
    assumed = "the rank itself is not changed",
    apply = function(model, part, change)
      if part.found.by_engine then
        errors.raise("usage", "waits: the process that schedules these ranks is not in the trace",
          { hint = "it decides when a step begins, so that a faster rank cannot be predicted" })
      end
      return change:ignore(part.number, model:collectives(part, rank))
    end }
end


function makers.batch(n)
  return usage(("batch(%s): one run says nothing of another batch"):format(tostring(n)),
    "run the recipe with both batches and compare the runs")
end


-- ---- reading them ----

local choices = { syncs = choice "syncs", gaps = choice "gaps", copies = choice "copies",
  cpu = choice "cpu" }

-- The names that an expression may use besides those of the session.
changes.makers, changes.choices = makers, choices


-- A change from its text, over the session of one part, of which it is the `number`-th; nil where
-- the text says that this part has none, as `rank == 2 and remove(kernels)` does of others.
function changes.read(code, source, number)
  local own = { rank = number - 1 }
  for name, make in pairs(makers) do own[name] = make end
  for name, one in pairs(choices) do own[name] = one end
  local environment = session.strict(own, function(name)
    return session.has(name) and source[name] or nil
  end)
  local chunk, wrong = load("return " .. code, "=change", "t", environment)
  if not chunk then
    usage(("%s: %s"):format(code, (wrong:gsub("^change:1: ", ""))), 'for example: graphs("decode")')
  end
  local made = chunk()
  if not made then return nil end
  if type(made) ~= "table" or query.is(made) or not rawget(made, "apply") then
    usage(("%s: that is no change"):format(code), 'for example: graphs("decode")')
  end
  return made
end


return changes
