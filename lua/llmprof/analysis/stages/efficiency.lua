-- How far each stage is from what the hardware could do: MFU, MBU, HFU,
-- arithmetic intensity, the least time, and how far off it is.
--
-- Each is { value, formula, inputs }, so that it can be checked from
-- results.json alone. A share above 1 cannot be: then there is no value but a
-- contradiction, which names the inputs that cannot all be right.
--
-- Times are those of plain runs where there were any (results.overhead), since
-- profiling slows a launch-bound stage; else of the profiled one.
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local overhead = require "llmprof.analysis.latency.overhead"
local work = require "llmprof.analysis.stages.cost"

local efficiency = { where = { "trace" },
  reads = { "stages", "stages.cost", "kernels", "hardware", "overhead", "repeats", "ranks", "arch",
    "run" },
  gives = { efficiency = "MFU, MBU and HFU of all stages together" } }

-- Counters stand for a stage when they cover this share of its GPU time.
local COVERED = 0.95

-- By name, what each is of its inputs.
local FORMULAS = {
  mfu = "flops / (time_s * peak_flop_per_s)",
  mfu_at_clock = "flops / (time_s * peak_flop_per_s_at_clock)",
  mbu = "bytes / (time_s * bandwidth_byte_per_s)",
  hfu = "issued_flops / (time_s * peak_flop_per_s)",
  mbu_sampled = "sampled_bytes / (time_s * bandwidth_byte_per_s)",
  hfu_sampled = "tensor_s / time_s",
  intensity = "flops / bytes",
  floor_ns = "1e9 * max(flops / peak_flop_per_s, bytes / bandwidth_byte_per_s)",
  floor_share = "floor_ns / time_ns",
}

-- Those that are no shares.
local AMOUNTS = { intensity = true, floor_ns = true }


-- One quantity from a table that may hold its inputs; nil when one is not
-- known. A time of nothing is no time.
function efficiency.quantity(name, known)
  local formula, inputs, names = FORMULAS[name], {}, {}
  for input in formula:gsub("max", ""):gmatch "%f[%w_][%a_][%w_]*" do
    if not known[input] then return nil end
    inputs[input], names[#names + 1] = known[input], input
  end
  local env = setmetatable({ max = math.max }, { __index = inputs })
  local value = load("return " .. formula, name, "t", env)()
  local made = { formula = formula, inputs = json.ordered(inputs, names) }
  if not AMOUNTS[name] and value > 1 then
    made.ratio = value
    made.contradiction = ("%s comes to %.1f %%: not all of its inputs can be right"):format(name,
      value * 100)
  else
    made.value = value
  end
  return made
end


-- ---- inputs ----

-- Time of one instance in ns, and which.
function efficiency.time_of(results, stage)
  local plain = overhead.plain_ns(results, stage)
  if plain and plain > 0 then return plain, "plain runs" end
  local wall = stage.wall and stage.wall.mean_ns
  if wall and wall > 0 then return wall, "the profiled run, profiling included" end
  return nil
end


-- A figure of launches (a field of kernels' counters), summed over the kernels of one instance,
-- and the share of its GPU time whose kernels were measured. Of FLOP this is more than the
-- model's own work: tiles are filled up to their size.
function efficiency.counted(stage, kernels, field)
  local sum, measured, all = 0, 0, 0
  for _, kernel in ipairs(kernels) do
    local inside = stage.parent and kernel.part == stage.name or kernel.stage == stage.name
    if inside then
      local counters = kernel.counters
      all = all + kernel.total_ns
      if counters and counters[field] and counters.match == "exact" then
        sum = sum + counters[field] * counters.measured_calls
        measured = measured + kernel.total_ns * (counters.shape_share or 1)
      end
    end
  end
  return sum / (stage.wall and stage.wall.count or 1), all > 0 and measured / all or 0
end


-- Peaks of all GPUs together, as inputs.
local function peaks_of(gpu)
  if not gpu then return {} end
  local compute = gpu.peaks[gpu.format]
  return {
    peak_flop_per_s = compute and compute.per_s * gpu.count,
    peak_flop_per_s_at_clock = compute and compute.at_held_clock_per_s
      and compute.at_held_clock_per_s * gpu.count,
    bandwidth_byte_per_s = gpu.memory and gpu.memory.per_s * gpu.count,
  }
end


-- ---- records ----

-- What the least time of a part is set by.
local function bound_of(part, known)
  return part.flops / known.peak_flop_per_s >= part.bytes / known.bandwidth_byte_per_s
    and "compute" or "memory"
end


-- The least time of parts that run one after the other, list of { name, floor, bound }: the sum of
-- theirs, and what sets it where that is the same for all; nil where one is not known.
local function sum_of_floors(parts, formula)
  local sum, inputs, names, bounds = 0, {}, {}, {}
  for _, part in ipairs(parts) do
    if not part.floor then return nil end
    sum, inputs[part.name], names[#names + 1] = sum + part.floor.value, part.floor.value, part.name
    bounds[part.bound or "mixed"] = true
  end
  local bound = next(bounds)
  return { value = sum, formula = formula, inputs = json.ordered(inputs, names) },
    not next(bounds, bound) and bound ~= "mixed" and bound or nil
end


-- The same of the parts of a stage's work that cannot overlap; nil where there are none.
local function floor_of_sequence(sequence, known)
  if not sequence then return nil end
  return sum_of_floors(lists.map(sequence, function(part)
    local floor = efficiency.quantity("floor_ns", setmetatable({ flops = part.flops,
      bytes = part.bytes }, { __index = known }))
    return { name = part.name, floor = floor, bound = floor and bound_of(part, known) }
  end), "sum of floor_ns of parts that follow each other")
end


-- All quantities of known inputs, with what bounds the floor.
local function record(known)
  local made = { time_ns = known.time_ns, time_source = known.time_source }
  known.time_s = known.time_ns and known.time_ns / 1e9
  for _, name in ipairs { "mfu", "mfu_at_clock", "mbu", "hfu", "intensity", "floor_ns" } do
    made[name] = efficiency.quantity(name, known)
  end
  local whole, bound = floor_of_sequence(known.sequence, known)
  made.floor_ns = whole or made.floor_ns
  if made.floor_ns then
    known.floor_ns = made.floor_ns.value
    made.floor_share = efficiency.quantity("floor_share", known)
    made.floor_bound = not whole and bound_of(known, known) or bound
  end
  return made
end


local function stage_record(results, stage, kernels)
  local known = peaks_of(results.hardware)
  known.flops, known.bytes = stage.cost.flops, stage.cost.bytes
  known.sequence = stage.cost.sequence
  known.time_ns, known.time_source = efficiency.time_of(results, stage)
  local flops, covered = efficiency.counted(stage, kernels, "flop_per_launch")
  if covered >= COVERED then known.issued_flops = flops end
  local made = record(known)
  made.hfu_note = known.issued_flops and "FLOP that were issued, padding of tiles included"
    or ("FLOP counters cover %.0f %% of its kernels' time, it needs %.0f %%"):format(
      covered * 100, COVERED * 100)
  return made
end


-- Stages run one after the other, so their least times add up. Replaces the
-- floor of the sums, which is lower, where every stage has one.
local function add_floors(made, stages)
  local floor, bound = sum_of_floors(lists.map(stages, function(stage)
    return { name = stage.name, floor = stage.efficiency.floor_ns,
      bound = stage.efficiency.floor_bound }
  end), "sum of the stages' floor_ns")
  if not floor then return end
  made.floor_ns, made.floor_bound = floor, bound
  made.floor_share = efficiency.quantity("floor_share", { floor_ns = floor.value,
    time_ns = made.time_ns })
end


-- All stages without a parent as one; nil when one of them has no cost.
local function whole_record(results)
  local top = lists.filtered(results.stages, function(stage) return not stage.parent end)
  local known, sources = peaks_of(results.hardware), {}
  known.flops, known.bytes, known.time_ns = 0.0, 0.0, 0 -- sums of integers would wrap
  for _, stage in ipairs(top) do
    local made = stage.efficiency
    if not (made and made.time_ns and stage.cost.flops and stage.cost.bytes) then return nil end
    known.flops, known.bytes = known.flops + stage.cost.flops, known.bytes + stage.cost.bytes
    known.time_ns, sources[made.time_source] = known.time_ns + made.time_ns, true
  end
  if known.time_ns == 0 then return nil end
  known.flops = math.tointeger(known.flops) or known.flops
  known.bytes = math.tointeger(known.bytes) or known.bytes
  local source = next(sources)
  known.time_source = next(sources, source) and "plain and profiled runs" or source
  local made = record(known)
  made.flops, made.bytes = known.flops, known.bytes
  add_floors(made, top)
  return made
end


-- Every stage with a cost gets its efficiency; results.efficiency is that of
-- all together. kernels: the list with counters.
function efficiency.add(results, kernels)
  for _, stage in ipairs(results.stages) do
    if stage.cost then stage.efficiency = stage_record(results, stage, kernels) end
  end
  results.efficiency = whole_record(results)
end


-- ---- steps of an engine ----

-- MFU and MBU of an engine's steps, at the batch that each had: from the model's
-- description, half way through the texts, against the peaks of all its GPUs.

-- Give groups of steps mfu and mbu, as far as they can be known. arch, run: of
-- llmprof.model, or nil.
function efficiency.add_to_steps(results, arch, run)
  local ranks, gpu = results.ranks, results.hardware
  if not (ranks and ranks.steps and arch and arch.decoder and run and run.prompt_tokens) then
    return
  end
  local compute = gpu.peaks[gpu.format]
  for _, group in ipairs(ranks.steps) do
    local batch = (group.phase == "decode" and group.generation or group.batch) or 0
    local cost = work.of_step(arch, run, group.phase, batch,
      group.tokens and batch > 0 and group.tokens // batch)
    local seconds = (group.mean_ns or 0) / 1e9
    if cost and seconds > 0 then
      group.mfu = compute and cost.flops / (seconds * compute.per_s * gpu.count)
      group.mbu = gpu.memory and cost.bytes / (seconds * gpu.memory.per_s * gpu.count)
    end
  end
end


function efficiency.run(state)
  efficiency.add(state, state.kernels or {})
  efficiency.add_to_steps(state, state.arch, state.run)
end


return efficiency
