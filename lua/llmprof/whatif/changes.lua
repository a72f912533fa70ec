-- What may be changed, as an expression over the session of a trace:
--
--   graphs("decode")   scale(kernels:where { category = "norm" }, 0.5)   remove(syncs "decode")
--
-- A change is { kind, words, assumed, off, bend, work, cpu, ends, apply }: apply(model, part,
-- change, most) overrides what it changes in one part of a llmprof.whatif.model and returns how
-- much that was; bend: the part of the gain that may be wrong; work: some of it is work of the GPU;
-- cpu: it changes what the CPU takes for a launch; ends: `most` makes a difference. Removing an
-- operation also removes some CPU time, but how much is not known: `most` takes the upper bound,
-- else the lower.
local bounds = require "llmprof.whatif.bounds"
local categories = require "llmprof.analysis.kernels.categories"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local hardware = require "llmprof.model.hardware"
local idle_causes = require "llmprof.analysis.stages.idle_causes"
local layers = require "llmprof.analysis.stages.layers"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local quantisation = require "llmprof.model.quantisation"
local query = require "llmprof.query"
local schema = require "llmprof.model.schema"
local session = require "llmprof.query.session"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"

local has = require("llmprof.ranks.rows").has

local changes = {}


-- Fewer networks in a row are no experts.
local LEAST_EXPERTS = 4

-- Runs whose steps differ by more than this part of their kernels are of two programs.
local MOST_OTHERS = 0.1


-- Nothing takes longer by a larger factor.
local MOST_FACTOR = 1e6


local check = errors.check


local function usage(message, hint) errors.raise("usage", message, { hint = hint }) end


-- ---- what is chosen ----

-- What is no operation: of the CPU, in a stage or everywhere, syncs (all, the last of each step or
-- the inner ones), gaps, what lies between steps, cpu; copies; and experts that run one by one.
local Choice = { __name = "llmprof.whatif.choice" }
Choice.__index = Choice

function Choice:__call(stage, which)
  if which and not (self.kind == "syncs" and (which == "last" or which == "inner")) then
    usage(("%s: '%s' of each step?"):format(self.kind, which), 'syncs("decode", "last" or "inner")')
  end
  return setmetatable({ kind = self.kind, stage = stage, which = which }, Choice)
end

-- Some of the gaps, as rows of the session.
function Choice:where(...)
  if not self.source then usage(self.kind .. ": of which stage?", self.kind .. '("decode")') end
  return self.source[self.kind]:where(...)
end


local function choice(kind, source)
  return setmetatable({ kind = kind, source = source }, Choice)
end


local function is_choice(chosen, kind)
  return getmetatable(chosen) == Choice and (not kind or chosen.kind == kind)
end


local function words_of(chosen)
  return (chosen.which and chosen.which .. " " or "") .. chosen.kind
    .. (chosen.stage and " of " .. chosen.stage or "")
end


local function check_stage(model, stage)
  if not stage or type(stage) == "string" and model:stage(stage) then return end
  usage(("no stage is called '%s'"):format(stage),
    "there are " .. table.concat(lists.map(model.stages, "name"), ", "))
end


local function ranges_of(model, part, stage, extent, helped)
  check_stage(model, stage)
  return model:ranges(part, stage, extent, helped)
end


-- The rows of a frame of operations.
local function operations_of(chosen, what)
  if not query.is(chosen) then
    usage(what .. ": what of?", 'kernels:where { ... }, or syncs, copies, gaps, cpu of a stage: '
      .. 'remove(syncs "decode")')
  end
  local rows = query.rows(chosen)
  if has(rows, "op") then return rows end
  return usage(what .. ": that frame holds no operations of the GPU",
    "kernels, ops and transfers do")
end


-- ---- changes ----

-- Operations of networks that run one after the other in a layer, as experts in a loop: a frame of
-- these, with the layer as `group`; and by op, in how many networks of its layer it is.
local function experts_of(part, stage)
  local chosen = check(query.rows(part.source.ops:where { stage = stage }):select { "op", "name",
    "pid", "device", "start" })
  local sorted = check(chosen:sort { { "pid" }, { "device" }, { "start" } })
  local op, ops, groups, counts = sorted:values "op", {}, {}, {}
  for number, loop in ipairs(layers.loops(sorted:values "name")) do
    for _, one in ipairs(loop.count >= LEAST_EXPERTS and loop or {}) do
      for i = one.first, one.last do
        ops[#ops + 1], groups[#groups + 1], counts[op[i]] = op[i], number, loop.count
      end
    end
  end
  return frame.new(#ops, { { name = "op", type = "integer", values = ops },
    { name = "group", type = "integer", values = groups } }), counts
end


-- What experts that run together take at least: matmuls what DRAM or tensor cores need for them,
-- other kernels what one of them took. By factor, a frame of operations.
local function together(part, counts)
  local by_factor, made = {}, {}
  for _, kernel in ipairs(bounds.kernels(part)) do
    local is_matmul = kernel.category == "gemm"
    local least = is_matmul and math.max(kernel.dram or 0, kernel.tensor or 0)
    for _, op in ipairs(kernel.rows:values "op") do
      local factor = counts[op] and (is_matmul and (least > 0 and least or 1) or 1 / counts[op])
      if factor then
        by_factor[factor] = by_factor[factor] or {}
        table.insert(by_factor[factor], op)
      end
    end
  end
  for factor, ops in pairs(by_factor) do
    made[factor] = frame.new(#ops, { { name = "op", type = "integer", values = ops } })
  end
  return made
end


local makers = {}


-- What a graph costs without the profiler, and, in ns of the CPU, what one of its operations adds
-- to a launch with it.
local PLAIN_GRAPH, TRACED_NODE = { node = 0, between = 330 }, 1150

function makers.graphs(stage, cost)
  if type(stage) ~= "string" then usage("graphs: of which stage?", 'graphs("decode")') end
  return { kind = "graphs", work = true, words = ("one CUDA graph a step of %s"):format(stage),
    assumed = "a launch takes 15 us, under the profiler 1.15 us more for each operation; 0.33 us "
      .. "lie between two, under the profiler 0.43; what Python does besides stays as it is, which "
      .. "may be 28 % off",
    off = 0.28,
    apply = function(model, part, change)
      local ranges = ranges_of(model, part, stage)
      return change:graph(part.number, ranges,
        cost or model:stage(stage).plain and PLAIN_GRAPH or { node = TRACED_NODE * model.speed })
    end }
end


-- A change of the CPU's time in what is chosen, by extent of a unit (nil: own): gaps between calls
-- and calls take so many times as long.
local function of_cpu(extent, helped, gap, call)
  return function(chosen, model, part, change)
    local ranges, count = ranges_of(model, part, chosen.stage, extent, helped)
    change:cpu(part.number, ranges, gap, call)
    return count
  end
end


function makers.scale(chosen, factor)
  if type(factor) ~= "number" or factor < 0 or factor ~= factor or factor > MOST_FACTOR then
    usage("scale: by which factor?",
      'for example: scale(kernels:where { category = "norm" }, 0.5)')
  end
  if is_choice(chosen, "cpu") then
    return { kind = "scale", cpu = true,
      words = ("%s times %g"):format(words_of(chosen), factor),
      assumed = "calls and what lies between them change alike",
      apply = function(...) return of_cpu("whole", true, factor, factor)(chosen, ...) end }
  end
  local rows = operations_of(chosen, "scale")
  return { kind = "scale", work = true,
    words = ("%s operations times %g"):format(text.count(#rows), factor),
    assumed = "nothing else gets slower or faster",
    apply = function(_, part, change) return change:scale(part.number, rows, factor) end }
end


-- By kind of choice: what is assumed, and how much goes.
local removals = {
  syncs = { "what is done with the result can wait", function(chosen, model, part, change)
    return change:no_waits(part.number, ranges_of(model, part, chosen.stage, "until_next"),
      chosen.which)
  end },
  gaps = { "nothing is done between calls", of_cpu(nil, true, 0, 1) },
  between = { "all that lies between steps is done while the GPU works",
    of_cpu("before", false, 0, 0) },
  allocations = { "memory is there before the first step", function(chosen, model, part, change)
    check_stage(model, chosen.stage)
    local names = idle_causes.names(part.trace).memory or {}
    local calls = check(model:within(part, check(part.trace:frame "api"), "start")
      :where { name = names })
    change:cpu(part.number, calls, 1, 0)
    return math.max(change:no_waits(part.number, calls), #calls)
  end },
  copies = { "nothing needs them", function(chosen, model, part, change, most)
    check_stage(model, chosen.stage)
    local copies = query.rows(part.source.ops:where { kind = "copy", stage = chosen.stage })
    return change:remove(part.number, copies, most and "gap" or "work")
  end },
}


function makers.remove(chosen)
  if is_choice(chosen) then
    local made = removals[chosen.kind]
    if not made then
      usage(("remove: %s cannot be removed"):format(chosen.kind),
        'scale(cpu "decode", 0.5) makes the CPU faster, grouped(experts "decode") joins experts')
    end
    return { kind = "remove", words = "without " .. words_of(chosen), assumed = made[1],
      work = chosen.kind == "copies", ends = chosen.kind == "copies", cpu = chosen.kind == "gaps",
      apply = function(...) return made[2](chosen, ...) end }
  end
  local gaps = query.is(chosen) and query.rows(chosen)
  if gaps and has(gaps, "unlaunched") then
    return { kind = "remove", words = ("without %s gaps"):format(text.count(#gaps)),
      assumed = "what the CPU did meanwhile is done elsewhere",
      apply = function(model, part, change)
        local ranges = model:before_launches(part, gaps)
        change:cpu(part.number, ranges, 0, 0)
        return #ranges
      end }
  end
  local rows = operations_of(chosen, "remove")
  return { kind = "remove", work = true, ends = true,
    words = ("without %s operations"):format(text.count(#rows)),
    assumed = "at most the CPU time before their calls goes as well, at least their work alone",
    apply = function(_, part, change, most)
      return change:remove(part.number, rows, most and "gap" or "work")
    end }
end


function makers.fuse(chosen)
  local rows = operations_of(chosen, "fuse")
  return { kind = "fuse", work = true, ends = true,
    words = ("%s operations fused where they follow each other"):format(text.count(#rows)),
    assumed = "a fused kernel takes at least as long as the longest of its parts, at most as long "
      .. "as all, as matmuls do",
    apply = function(_, part, change, most)
      -- matmuls read weights of their own: together they take as long as one after the other; of
      -- others the longest reads and writes what all do
      local products = has(rows, "category") and not lists.any(rows:group { by = { "category" } },
        function(group) return group.category ~= "gemm" end)
      local all = not most or products
      return change:merge(part.number, rows, all, most and "gap" or "call")
    end }
end


function makers.grouped(chosen)
  if not is_choice(chosen, "experts") then
    usage("grouped: of what?", 'grouped(experts "decode")')
  end
  local found = {} -- by part: for several replays
  return { kind = "grouped", work = true, ends = true,
    words = ("%s, one network a layer"):format(words_of(chosen)),
    assumed = "matmuls of experts take what they do one by one, or, where counters or shapes tell, "
      .. "what their weights need at least; other kernels of them what one took",
    apply = function(model, part, change, most)
      if not found[part] then
        check_stage(model, chosen.stage)
        local groups, counts = experts_of(part, chosen.stage)
        found[part] = { groups = groups, together = together(part, counts) }
      end
      for factor, ops in pairs(most and found[part].together or {}) do
        change:scale(part.number, ops, factor)
      end
      -- with the loop over experts goes what the CPU does in it
      return change:merge(part.number, found[part].groups, true, "gap")
    end }
end


function makers.even(stage)
  if type(stage) ~= "string" then usage("even: steps of which stage?", 'even("decode")') end
  return { kind = "even", work = true,
    words = ("no step of %s takes longer than half of them"):format(stage),
    assumed = "what makes some of them longer goes",
    apply = function(model, part, change)
      return change:even(part.number, ranges_of(model, part, stage, "whole"))
    end }
end


-- none: no rank, or, as a second word, that a rank's waits go.
function makers.waits(rank, none)
  local all = rank == changes.choices.none
  if not all and math.type(rank) ~= "integer" or none and none ~= changes.choices.none then
    usage("waits: for which rank?", "waits(1), or waits(none): no rank waits for another")
  end
  return { kind = "waits", rank = not all and rank or nil,
    words = all and "no rank waits for another" or ("nobody waits for rank %d"):format(rank),
    assumed = all and "what a collective takes itself stays" or "the rank itself is not changed",
    hint = "`llmprof ranks TRACE...` says which ranks wait, and for whom",
    apply = function(model, part, change)
      if part.found.by_engine then
        errors.raise("usage", "the process that schedules these ranks is not in the trace",
          { hint = "it decides when a step begins, so that a faster rank cannot be predicted" })
      end
      return change:ignore(part.number, model:collectives(part, not all and rank or nil))
    end }
end


-- ---- other hardware, formats, ranks, lengths ----

-- A change of how long kernels take: factor(kernel, most, part, list) gives by what the time of one
-- of bounds.kernels is multiplied, nil where it stays. by_bounds: what holds it up counts, and is
-- said; is_known: refuse where nothing tells that; also(model, part, change, most): changes more.
local function by_kernels(made)
  local found = {} -- by part: for several replays
  made.work, made.ends = true, true
  function made.apply(model, part, change, most)
    found[part] = found[part] or table.pack(bounds.kernels(part))
    local list, known = table.unpack(found[part])
    if made.is_known and not (known.counters or known.shapes) then
      usage(("no counters, no shapes: %s cannot be predicted"):format(made.kind), "a run with "
        .. "counters, or with a model that is described (llmprof report --model), says what "
        .. "matmuls read")
    end
    local count, changed = 0, {}
    for _, kernel in ipairs(list) do
      local factor = made.factor(kernel, most, part, list)
      if factor and factor > MOST_FACTOR then
        usage(("%s: kernels would take more than %g times as long"):format(made.kind, MOST_FACTOR))
      elseif factor then
        changed[#changed + 1] = kernel
        count = count + change:scale(part.number, kernel.rows, factor)
      end
    end
    made.rests = made.by_bounds and bounds.words(changed, known) or nil
    if made.also then made.also(model, part, change, most) end
    return count
  end
  return made
end


function makers.bandwidth(times)
  schema.value(times, { "number" }, "bandwidth")
  return by_kernels { kind = "bandwidth", by_bounds = true,
    words = ("%g times the bandwidth of memory"):format(times),
    assumed = "what DRAM holds up takes that much less; a kernel of which nothing is known, "
      .. "between all and nothing of it",
    factor = function(kernel, most) return bounds.factor(kernel, most, times, 1) end }
end


function makers.gpu(name)
  if type(name) ~= "string" then usage("gpu: which one of conf/hardware?", 'gpu "h100_sxm"') end
  local other = hardware.load(name, "gpu")
  return by_kernels { kind = "gpu", by_bounds = true, words = ("on %s"):format(other.names[1]),
    assumed = "the same kernels, with the bandwidth and the tensor rate of conf/hardware/"
      .. name .. "; what neither holds up takes as long, and so does the CPU",
    factor = function(kernel, most, part)
      local dram = kernel.limits.dram
      local now, later = kernel.limits[kernel.format], other.peak_per_s[kernel.format]
      if not dram then
        usage(("gpu: what the GPU of this trace can do is not known (%s)"):format(
          (part.trace:devices()[1] or {}).name or "it has no name"), "hardware.name of the run's "
          .. "configuration, or conf/hardware, says it")
      elseif now and not later and kernel.bound == "tensor" then
        usage(("gpu: %s has no rate of %s, which kernels of this trace use"):format(name,
          kernel.format))
      end
      return bounds.factor(kernel, most, other.bandwidth_bytes_per_s / dram,
        now and later and later / now or 1)
    end }
end


-- Formats that weights can be stored in, as quantisation.bytes calls them.
local STORED = { fp8 = "fp8", fp4 = "nvfp4" }

-- What it takes at most to convert what one matmul multiplies, in ns: kernels that find the scale
-- and convert, of about 2 us each; nothing where the kernel before does it.
local CONVERTED = 6000

function makers.dtype(name)
  local stored = STORED[schema.value(tostring(name), { { "fp8", "fp4" } }, "dtype")]
  return by_kernels { kind = "dtype", by_bounds = true, is_known = true,
    words = ("weights of matmuls in %s"):format(name),
    assumed = "all bytes of a matmul are weights; tensor cores compute at the rate of the format "
      .. "where the GPU has one; converting what is multiplied takes nothing where the kernel "
      .. "before does it, at most 6 us a matmul in kernels of its own",
    factor = function(kernel, most)
      local dram = quantisation.bytes(kernel.format) / quantisation.bytes(stored)
      if kernel.category ~= "gemm" or dram <= 1 then return nil end
      local now, later = kernel.limits[kernel.format], kernel.limits[name]
      return bounds.factor(kernel, most, dram, math.max(now and later and later / now or 1, 1))
        + (most and 0 or CONVERTED * kernel.count / kernel.ns)
    end }
end


-- ---- tensor parallelism ----

-- Two all-reduces in a layer, each of one number a token and of the width, in 16 bits; what one
-- takes besides its bytes: ns, at least and at most. An all-reduce of two H200s took 3.9 us.
local REDUCES, NUMBER_BYTES = 2, 2
local LATENCY = { 4000, 15000 }

-- An engine hands each step to a process for each GPU, and waits for what they made: ns of the CPU
-- that vLLM 0.24 took for it, at least and at most.
local HANDING = { 300000, 900000 }

-- Tokens of a pass of a stage in the mean, and passes in an instance: as an engine's labels say, or
-- what the run did; nil: neither is there.
local function tokens_of(part, stage)
  local steps = part.source.steps
  local labelled = steps and check(query.rows(steps):where { phase = stage.name })
  if labelled and #labelled > 0 and labelled:get(1, "tokens") then
    local all = check(labelled:group { by = { "phase" }, sum = { "tokens" } })[1]
    return all.tokens.total / all.count, 1
  end
  local work = stage.cost and stage.cost.work or {}
  return work.batch and work.batch * (work.tokens or 1), work.steps or 1
end


-- ns of all collectives of one pass of a stage of a run on n GPUs: least and most.
local function collective_ns(part, stage, n, given)
  local results = part.source.results or {}
  local shape = results.model and results.model.described or {}
  local tokens, steps = tokens_of(part, stage)
  local depth, width = shape.layers, shape.width
  local link = hardware.link(results.hardware and results.hardware.name)
  local rate = given.gb_per_s and given.gb_per_s * 1e9 or link and link.bytes_per_s
  if not (depth and width and tokens) then
    usage("tp: layers, width and batch of the model are not known: collectives have no size",
      "a run whose model is described (llmprof report --model) has them")
  elseif not rate then
    usage("tp: the link between such GPUs is not known", "tp(2, { gb_per_s = 300 }) states it")
  end
  local bytes = tokens * width * NUMBER_BYTES * 2 * (n - 1) / n
  local count, sent = REDUCES * depth * steps, bytes / rate * 1e9
  local least, most = LATENCY[1], LATENCY[2]
  if given.us then least, most = given.us * 1000, given.us * 1000 end
  -- a ring reaches between half and all of its link
  return count * (least + sent), count * (most + (given.gb_per_s and 1 or 2) * sent)
end


-- What may be said of the link between GPUs.
local LINK = { gb_per_s = { "number", false }, us = { "number", false } }

-- The CPU takes that much longer for each step of an engine.
local function hand_over(model, part, change, most)
  if not part.found.by_engine then return end
  local idle = model:change()
  idle:scale(part.number, part.operations, 0)
  local lengths = model:run(idle)[part.number]
  for i, one in ipairs(part.units) do one.cpu = lengths[i] end
  for _, own in ipairs((lists.grouped(part.units, "stage"))) do
    local mean = lists.sum(own, "cpu") / #own
    local factor = mean > 0 and 1 + HANDING[most and 1 or 2] / mean or 1
    change:cpu(part.number, ranges_of(model, part, own[1].stage, "whole"), factor, factor)
  end
end


function makers.tp(n, given)
  if math.type(n) ~= "integer" or n < 2 or n > 64 then usage("tp: over how many GPUs?", "tp(2)") end
  given = schema.read(given or {}, LINK, "tp")
  local by_stage = {}
  -- what collectives add to a matmul of a stage, as a share of it
  local function added(part, name, list, most)
    if not name then return 0 end
    if not by_stage[name] then
      if lists.find(list, "category", categories.COMMUNICATION) then
        usage("tp: the run has collectives: it is of several GPUs already",
          "tp takes a run of one GPU")
      end
      local stage = lists.find((part.source.results or {}).stages or {}, "name", name) or {}
      local ns = lists.sum(list, function(one)
        return one.stage == name and one.category == "gemm" and one.ns
      end) / (stage.wall and stage.wall.count or 1)
      local least, greatest = collective_ns(part, stage, n, given)
      by_stage[name] = { least / ns, greatest / ns }
    end
    return by_stage[name][most and 1 or 2]
  end
  return by_kernels { kind = "tp", by_bounds = true, words = ("matmuls over %d GPUs"):format(n),
    assumed = ("each GPU reads and computes its part of every matmul; two all-reduces a layer take "
      .. "%s us each and their bytes %s; an engine's processes take 0.3 to 0.9 ms of the CPU more "
      .. "a step, as vLLM's did; all else stays"):format(given.us or "4 to 15",
      given.gb_per_s and ("at %g GB/s"):format(given.gb_per_s) or "at half to all of the link"),
    also = hand_over,
    factor = function(kernel, most, part, list)
      return kernel.category == "gemm"
        and bounds.factor(kernel, most, n, n) + added(part, kernel.stage, list, most)
    end }
end


function makers.overlap(chosen)
  if not is_choice(chosen, "communication") then
    usage("overlap: of what?", 'overlap(communication) or overlap(communication "decode")')
  end
  local function is_sent(one) return one.category == categories.COMMUNICATION end
  return by_kernels { kind = "overlap",
    words = ("%s hidden by what computes"):format(words_of(chosen)),
    assumed = "at most as much of it as there is to compute in the stage, at least nothing, as it "
      .. "may need what is computed before",
    also = function(model) check_stage(model, chosen.stage) end,
    factor = function(kernel, most, _, list)
      if not is_sent(kernel) or chosen.stage and kernel.stage ~= chosen.stage then return nil end
      local sent, computed = lists.parted(list, is_sent)
      local function ns(one) return one.stage == kernel.stage and one.ns end
      local all = lists.sum(sent, ns)
      return most and all > 0 and math.max(0, 1 - lists.sum(computed, ns) / all) or 1
    end }
end


-- ---- answers of another length ----

-- An answer that is longer by more than this factor is another program; a slope is known from this
-- many steps, and times its own error, on.
local MOST_LONGER, LEAST_STEPS, SURE = 4, 8, 4

-- By category of a stage, what its kernels take in the mean at each place among the steps; and how
-- many places there are.
local function by_turn(part, stage)
  local steps = part.source.steps and check(query.rows(part.source.steps):where { phase = stage })
  local turn_of, counts, sums = {}, {}, {}
  local turns, numbers = steps and steps:values "turn" or {}, steps and steps:values "step"
  for i, turn in ipairs(turns) do
    if turn then
      turn_of[numbers[i]], counts[turn + 1] = turn + 1, (counts[turn + 1] or 0) + 1
    end
  end
  local rows = check(query.rows(part.source.kernels):where { stage = stage })
  for _, group in ipairs(rows:group { by = { "step", "category" }, sum = { "duration" } }) do
    local turn = turn_of[group.step]
    if turn then
      local own = sums[group.category] or lists.map(counts, function() return 0 end)
      sums[group.category] = own
      own[turn] = (own[turn] or 0) + group.duration.total / counts[turn]
    end
  end
  return sums, #counts
end


function makers.tokens(n, stage)
  stage = tostring(stage or "decode")
  if math.type(n) ~= "integer" or n < 2 then usage("tokens: how many an answer?", "tokens(512)") end
  local found = {}
  -- by category: by what its kernels are multiplied, from and to
  local function growing(part)
    local sums, steps = by_turn(part, stage)
    if steps == 0 then usage(("tokens: steps of %s are not known"):format(stage)) end
    if n > MOST_LONGER * (steps + 1) then
      usage(("tokens(%d): answers of %d were recorded, and a prediction reaches to %d times that")
        :format(n, steps + 1, MOST_LONGER), "a recording of longer answers reaches further")
    end
    local made = {}
    for category, values in pairs(sums) do
      local slope, err = statistics.slope { steps >= LEAST_STEPS and values or nil }
      if slope and slope > SURE * err then
        local by = (n - 1 - steps) / 2 / (statistics.sum(values) / steps)
        made[category] = lists.sort { 1 + by * (slope - 2 * err), 1 + by * (slope + 2 * err) }
      end
    end
    if not next(made) then
      usage(("tokens: no kernels of %s grow over its %d steps"):format(stage, steps),
        "a longer recording shows how they grow with the context, if they do")
    end
    return made
  end
  return by_kernels { kind = "tokens", words = ("answers of %d tokens"):format(n),
    assumed = "kernels that grow over the steps go on as they do; times are of a mean step, of "
      .. "which a longer answer has more",
    factor = function(kernel, most, part)
      found[part] = found[part] or growing(part)
      local ends = kernel.stage == stage and found[part][kernel.category]
      return ends and math.max(ends[most and 1 or 2], 0)
    end }
end


-- What no replay of one run tells, and what does.
for name, words in pairs { batch = { "one run says nothing of another batch",
    "alone, and with two runs of other batches: llmprof whatif RUN OTHER 'batch(8)'" },
  load = { "a replay says nothing of another load",
    "alone, of a run with the requests of its load: llmprof whatif RUN 'load(8)'" } } do
  makers[name] = function(n) usage(("%s(%s): %s"):format(name, tostring(n), words[1]), words[2]) end
end


-- ---- another batch ----

local function batch_of(source)
  local rate = source.results and source.results.latency and source.results.latency.tokens_per_s
  if not (rate and rate.batch and source.trace) then
    usage(("%s: its batch is not known"):format(source.path), "batch(n) takes runs, with their "
      .. "folders: metrics.json, or the engine's labels, tell the batch")
  end
  return rate.batch
end


-- ns of a step of a stage in kernels of a category; nil where it has none.
local function work_of(source, stage, category)
  local own = lists.find(source.results.stages, "name", stage)
  local group = own and own.wall and lists.find(own.categories or {}, "category", category)
  return group and group.gpu_time_ns > 0 and group.gpu_time_ns / (own.steps or 1) or nil
end


local function check_alike(a, b)
  local function kernels(stage) return (stage.kernels or 0) / (stage.steps or 1) end
  for _, stage in ipairs(a.stages) do
    local own = lists.find(b.stages, "name", stage.name)
    if a.run.recipe ~= b.run.recipe or not own
      or math.abs(kernels(own) - kernels(stage)) > MOST_OTHERS * kernels(stage) then
      usage("batch: these runs are not of one program",
        ("%s has other kernels, or is not there"):format(stage.name))
    end
  end
end


-- From one batch to another kernels do not grow along a line: at a part p of the way they are off
-- by up to this, times p (1 - p), of what they grow by.
local BEND = 0.25

-- The run of two whose batch is nearer to n, and a change of it: kernels take what lies between
-- the two, by stage and category.
function changes.between(one, other, n)
  local first, second = batch_of(one), batch_of(other)
  if math.abs(n - second) < math.abs(n - first) then
    one, other, first, second = other, one, second, first
  end
  if n <= math.min(first, second) or n >= math.max(first, second) then
    usage(("batch(%d) does not lie between %g and %g"):format(n, math.min(first, second),
      math.max(first, second)),
      "only batches between those of the two runs can be predicted")
  end
  check_alike(one.results, other.results)
  local part = (n - first) / (second - first)
  return one, by_kernels { kind = "batch", bend = BEND * (1 - part),
    words = ("batch %d, between %g and %g"):format(n, first, second),
    assumed = ("kernels take what lies between, by stage and category, along a line that may bend; "
      .. "the CPU what it did at batch %g"):format(first),
    factor = function(kernel)
      local now = work_of(one, kernel.stage, kernel.category)
      local far = work_of(other, kernel.stage, kernel.category)
      return now and far and math.max(1 + part * (far / now - 1), 0)
    end }
end


-- ---- reading them ----

local choices = {}
for _, kind in ipairs { "syncs", "gaps", "between", "allocations", "copies", "cpu", "experts",
  "communication", "none" } do
  choices[kind] = choice(kind)
end

-- The names that an expression may use besides those of the session.
changes.makers, changes.choices = makers, choices


-- What a change may choose from: it may come with results of somebody else, and reaches no files.
local FRAMES = { kernels = true, ops = true, transfers = true, api = true }

local EXAMPLE = 'for example: graphs("decode")'

-- A change from its text, over the session of one part, of which it is the `number`-th; nil where
-- the text says that this part has none, as `rank == 2 and remove(kernels)` does of others.
function changes.read(code, source, number)
  local own = merged(makers, choices, { rank = number - 1, gaps = choice("gaps", source) })
  local environment = session.strict(own, function(name)
    return FRAMES[name] and source[name] or nil
  end, FRAMES)
  local chunk, wrong = load("return " .. code, "=change", "t", environment)
  local ok, made = chunk ~= nil, nil
  if chunk then ok, made = errors.call(chunk) end
  local why = wrong or not ok and made.kind ~= "usage" and made.message:match "^change:1: [^\n]*"
  if why then usage(("%s: %s"):format(code, (why:gsub("^change:1: ", ""))), EXAMPLE) end
  if not ok then error(made, 0) end
  if not made then return nil end
  if type(made) ~= "table" or query.is(made) or not rawget(made, "apply") then
    usage(("%s: that is no change"):format(code), EXAMPLE)
  end
  return made
end


return changes
