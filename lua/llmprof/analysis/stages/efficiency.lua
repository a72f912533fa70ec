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
local model = require "llmprof.model"
local overhead = require "llmprof.analysis.latency.overhead"

local efficiency = { where = { "trace" },
  reads = { "stages", "stages.cost", "kernels", "hardware", "overhead", "repeats", "ranks", "arch",
    "run" },
  gives = { efficiency = "MFU, MBU and HFU of all stages together" } }

-- Counters stand for a stage when they cover this share of its GPU time.
local COVERED = 0.95

local quantities = {
  mfu = { "flops / (time_s * peak_flop_per_s)", { "flops", "time_s", "peak_flop_per_s" },
    function(i) return i.flops / (i.time_s * i.peak_flop_per_s) end, share = true },
  mfu_at_clock = { "flops / (time_s * peak_flop_per_s_at_clock)",
    { "flops", "time_s", "peak_flop_per_s_at_clock" },
    function(i) return i.flops / (i.time_s * i.peak_flop_per_s_at_clock) end, share = true },
  mbu = { "bytes / (time_s * bandwidth_byte_per_s)",
    { "bytes", "time_s", "bandwidth_byte_per_s" },
    function(i) return i.bytes / (i.time_s * i.bandwidth_byte_per_s) end, share = true },
  hfu = { "issued_flops / (time_s * peak_flop_per_s)",
    { "issued_flops", "time_s", "peak_flop_per_s" },
    function(i) return i.issued_flops / (i.time_s * i.peak_flop_per_s) end, share = true },
  mbu_sampled = { "sampled_bytes / (time_s * bandwidth_byte_per_s)",
    { "sampled_bytes", "time_s", "bandwidth_byte_per_s" },
    function(i) return i.sampled_bytes / (i.time_s * i.bandwidth_byte_per_s) end, share = true },
  hfu_sampled = { "tensor_s / time_s", { "tensor_s", "time_s" },
    function(i) return i.tensor_s / i.time_s end, share = true },
  intensity = { "flops / bytes", { "flops", "bytes" },
    function(i) return i.flops / i.bytes end },
  floor_ns = { "1e9 * max(flops / peak_flop_per_s, bytes / bandwidth_byte_per_s)",
    { "flops", "bytes", "peak_flop_per_s", "bandwidth_byte_per_s" },
    function(i)
      return 1e9 * math.max(i.flops / i.peak_flop_per_s, i.bytes / i.bandwidth_byte_per_s)
    end },
  floor_share = { "floor_ns / time_ns", { "floor_ns", "time_ns" },
    function(i) return i.floor_ns / i.time_ns end, share = true },
}


-- One quantity from a table that may hold its inputs; nil when one is not
-- known. A time of nothing is no time.
function efficiency.quantity(name, known)
  local formula, names, compute = table.unpack(quantities[name])
  local inputs = {}
  for _, input in ipairs(names) do
    if not known[input] then return nil end
    inputs[input] = known[input]
  end
  local value = compute(inputs)
  local made = { formula = formula, inputs = json.ordered(inputs, names) }
  if quantities[name].share and value > 1 then
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

-- What the least time of some work is set by.
local function bound_of(work, known)
  return work.flops / known.peak_flop_per_s >= work.bytes / known.bandwidth_byte_per_s
    and "compute" or "memory"
end


-- The least time of parts that run one after the other: the sum of theirs, and
-- what sets it where that is the same for all. nil where there are none, or the
-- floor is not known.
local function floor_of_sequence(sequence, known)
  if not sequence then return nil end
  local sum, inputs, names, bounds = 0, {}, {}, {}
  for _, part in ipairs(sequence) do
    local floor = efficiency.quantity("floor_ns", setmetatable({ flops = part.flops,
      bytes = part.bytes }, { __index = known }))
    if not floor then return nil end
    sum, inputs[part.name], names[#names + 1] = sum + floor.value, floor.value, part.name
    bounds[bound_of(part, known)] = true
  end
  return { value = sum, formula = "sum of floor_ns of parts that follow each other",
    inputs = json.ordered(inputs, names) },
    not (bounds.compute and bounds.memory) and next(bounds) or nil
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
  local sum, inputs, names, bounds = 0, {}, {}, {}
  for _, stage in ipairs(stages) do
    local floor = stage.efficiency.floor_ns
    if not floor then return end
    sum, inputs[stage.name] = sum + floor.value, floor.value
    names[#names + 1] = stage.name
    bounds[stage.efficiency.floor_bound or "mixed"] = true
  end
  made.floor_ns = { value = sum, formula = "sum of the stages' floor_ns",
    inputs = json.ordered(inputs, names) }
  made.floor_share = efficiency.quantity("floor_share", { floor_ns = sum, time_ns = made.time_ns })
  local bound = next(bounds)
  made.floor_bound = not next(bounds, bound) and bound ~= "mixed" and bound or nil
end


-- All stages without a parent as one; nil when one of them has no cost.
local function whole_record(results)
  local known, sources, top = peaks_of(results.hardware), {}, {}
  known.flops, known.bytes, known.time_ns = 0.0, 0.0, 0 -- sums of integers would wrap
  for _, stage in ipairs(results.stages) do
    if not stage.parent then
      local made = stage.efficiency
      if not (made and made.time_ns and stage.cost.flops and stage.cost.bytes) then return nil end
      known.flops = known.flops + stage.cost.flops
      known.bytes = known.bytes + stage.cost.bytes
      known.time_ns = known.time_ns + made.time_ns
      sources[made.time_source] = true
      top[#top + 1] = stage
      known.time_source = made.time_source
    end
  end
  if known.time_ns == 0 then return nil end
  for _, key in ipairs { "flops", "bytes" } do
    known[key] = math.tointeger(known[key]) or known[key]
  end
  if next(sources, (next(sources))) then known.time_source = "plain and profiled runs" end
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

-- What a step of a group had to do; nil where that is not known.
local function cost_of(group, arch, run)
  local requests = group.generation or 0
  if group.phase == "decode" and requests > 0 then
    return model.decode(arch, { batch = requests, steps = 1,
      context = run.prompt_tokens + (run.new_tokens or 0) // 2 })
  elseif group.phase == "prefill" and group.tokens and (group.batch or 0) > 0 then
    return model.prefill(arch, { tokens = group.tokens // group.batch, batch = group.batch })
  end
  return nil
end


-- Give groups of steps mfu and mbu, as far as they can be known. arch, run: of
-- llmprof.model, or nil.
function efficiency.add_to_steps(results, arch, run)
  local ranks, gpu = results.ranks, results.hardware
  if not (ranks and ranks.steps and arch and arch.decoder and run and run.prompt_tokens) then
    return
  end
  local compute = gpu.peaks[gpu.format]
  for _, group in ipairs(ranks.steps) do
    local cost = cost_of(group, arch, run)
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
